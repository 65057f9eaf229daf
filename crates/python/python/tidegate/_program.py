"""The program `tidegate`, which the package contains."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile


def path():
    """Returns the path of the program; the variable TIDEGATE can name another one."""
    named = os.environ.get("TIDEGATE")
    if named:
        return named
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "tidegate")
    found = own if os.path.exists(own) else shutil.which("tidegate")
    if found is None:
        from ._tidegate import Error

        raise Error(
            "the program tidegate is not in this package\n"
            "hint: install the wheel, or put the program on the PATH: cargo install --path crates/tidegate"
        )
    return found


def environment():
    """Returns the environment of the program, which names this Python for Ray."""
    return {"TIDEGATE_PYTHON": sys.executable, **os.environ}


def call(words, tell):
    """Runs a command and returns its exit code, its output, and its error or None.

    `tell` gets a list of the lines on standard error as they come, without the error. An exception, such as
    KeyboardInterrupt, stops the command: finished runs are kept. On Linux, so does the end of this Python.
    """
    columns = str(shutil.get_terminal_size().columns)
    variables = {"COLUMNS": columns, **environment(), "TIDEGATE_PARENT": str(os.getpid())}
    lines = []
    is_error = False
    with tempfile.TemporaryFile() as printed, subprocess.Popen(
        [path(), *words],
        stdin=subprocess.DEVNULL,
        stdout=printed,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        env=variables,
        start_new_session=True,  # Ctrl-C at the terminal reaches Python alone, which passes it on once.
    ) as process:
        try:
            for line in process.stderr:
                lines.append(line.rstrip("\n"))
                # The error ends the output. The caller gets it, and raises it.
                is_error = is_error or line.startswith("error: ")
                if not is_error:
                    tell(lines[-1:])
        except BaseException:
            process.send_signal(signal.SIGINT)
            for _ in process.stderr:
                pass
            raise
        code = process.wait()
        printed.seek(0)
        # 1 reports a result, such as unfinished runs. Any other code is a failure, also of the
        # program itself.
        failure = None if code in (0, 1) else _error(lines) or f"tidegate ended with code {code}"
        return code, printed.read().decode(), failure


def _error(lines):
    """Returns the error at the end of the lines, without its label."""
    begins = [number for number, line in enumerate(lines) if line.startswith("error: ")]
    text = "\n".join(lines[begins[-1] :] if begins else lines)
    return text.replace("error: ", "", 1)


def main():
    """Becomes the program."""
    program = path()
    os.execve(program, [program, *sys.argv[1:]], environment())

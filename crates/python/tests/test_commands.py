"""Commands of the program as functions, and the program itself."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

import tidegate
from common import SMALL, program


class Commands(unittest.TestCase):
    def test_names_are_explained(self):
        page = tidegate.explain("tcn")
        self.assertIn("threshold", page)
        self.assertEqual(repr(page), str(page))
        self.assertIn("## ", page._repr_markdown_())
        with self.assertRaisesRegex(tidegate.Error, "unknown name `tcnn`"):
            tidegate.explain("tcnn")

    def test_scheme_names_match_the_types(self):
        stub = (pathlib.Path(tidegate.__file__).parent / "_tidegate.pyi").read_text()
        known = re.search(r"_Scheme = Literal\[(.*?)\]", stub, re.DOTALL)
        known = re.findall(r'"([a-z-]+)"', known.group(1))
        self.assertEqual(known, sorted(set(tidegate.names("scheme")) - {"or"}))
        with self.assertRaisesRegex(tidegate.Error, "invalid value"):
            tidegate.names("nothing")

    def test_every_name_has_a_type(self):
        stub = (pathlib.Path(tidegate.__file__).parent / "__init__.pyi").read_text()
        for name in tidegate.__all__:
            self.assertRegex(stub, rf"\b{name}\b")
        compiled = (pathlib.Path(tidegate.__file__).parent / "_tidegate.pyi").read_text()
        for kind in ("Table", "Result", "Packet", "PortInfo", "Enqueued", "Departure", "Port"):
            body = re.search(rf"^class {kind}:(.*?)(?=^\S)", compiled, re.DOTALL | re.MULTILINE).group(1)
            typed = set(re.findall(r"def (\w+)", body))
            there = {name for name in vars(getattr(tidegate, kind)) if not name.startswith("_")}
            self.assertEqual({name for name in typed if not name.startswith("_")}, there, kind)

    def test_a_network_is_planned(self):
        answer = tidegate.plan("web")
        done = program("plan", "web", "--json", "--quiet")
        self.assertEqual(answer, json.loads(done.stdout))
        self.assertIn("WRED", tidegate.plan("web", emit="sonic"))
        with self.assertRaises(tidegate.Error):
            tidegate.plan({"rate": "100Gbps", "nothing": 1})

    def test_a_figure_is_reproduced(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "out"
            said = []
            done = tidegate.reproduce("diff-ecn-tables", quick=True, out=out, progress=said.append)
            self.assertEqual(done["figures"][0]["id"], "diff-ecn-tables")
            self.assertTrue((out / "index.html").exists())
        with self.assertRaisesRegex(tidegate.Error, "no figure is called"):
            tidegate.reproduce("tcn-f99")
        with self.assertRaisesRegex(tidegate.Error, "no figure given"):
            tidegate.reproduce()

    def test_a_scenario_is_checked(self):
        self.assertIn("star", tidegate.check(SMALL))
        self.assertIn("threshold", tidegate.check("incast", resolved=True))

    def test_a_command_that_was_stopped_raises(self):
        with mock.patch.object(tidegate._program, "call", return_value=(1, "", None)):
            with self.assertRaisesRegex(tidegate.Error, "`tidegate list` was stopped"):
                tidegate.names()

    def test_error_is_shown_once(self):
        told = []
        with self.assertRaisesRegex(tidegate.Error, "no figure is called"):
            tidegate.reproduce("tcn-f99", progress=told.append)
        self.assertEqual(told, [])

    @unittest.skipUnless(sys.platform == "linux", "only Linux ends a process with its parent")
    def test_command_stops_when_python_is_killed(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder, "out")
            words = ["run", "incast", "--set", "runs=2000", "--jobs", "1", "--out", str(out)]
            call = f"import tidegate; tidegate._program.call({words}, print)"

            def is_running():
                for process in pathlib.Path("/proc").glob("[0-9]*"):
                    try:
                        command = (process / "cmdline").read_bytes().split(b"\0")
                        state = (process / "stat").read_text().rsplit(")", 1)[1].split()[0]
                    except OSError:
                        continue
                    if state != "Z" and command[1:-1] == [word.encode() for word in words]:
                        return True
                return False

            def wait(condition):
                for _ in range(6000):
                    if condition():
                        return True
                    time.sleep(0.01)
                return False

            python = subprocess.Popen([sys.executable, "-c", call], stdout=subprocess.DEVNULL)
            self.assertTrue(wait(lambda: (out / "manifest.json").exists()))
            self.assertTrue(is_running())
            python.kill()
            python.wait()
            self.assertTrue(wait(lambda: not is_running()))

    def test_a_program_that_fails_raises(self):
        with tempfile.TemporaryDirectory() as folder:
            stub = pathlib.Path(folder, "tidegate")
            stub.write_text("#!/bin/sh\necho part of an answer\nexit 101\n")
            stub.chmod(0o755)
            with mock.patch.dict(os.environ, {"TIDEGATE": str(stub)}):
                with self.assertRaisesRegex(tidegate.Error, "ended with code 101"):
                    tidegate.explain("tcn")

    def test_ctrl_c_raises_in_python_after_a_command(self):
        # Where the tests run in the background it is ignored.
        before = signal.default_int_handler
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, before))
        tidegate.names()
        tidegate.run(SMALL)
        self.assertIs(signal.getsignal(signal.SIGINT), before)
        with self.assertRaises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)

    def test_the_program_is_in_the_package(self):
        done = program("list", "scheme")
        self.assertEqual(done.returncode, 0)
        self.assertIn("tcn", done.stdout)
        self.assertEqual(program("nonsense").returncode, 2)
        self.assertEqual(program("--version").stdout.split()[0], "tidegate")

    def test_engine_tasks_run_the_program_of_the_package(self):
        """Tasks run the program of the package, and Ray comes from the same Python."""
        with tempfile.TemporaryDirectory() as folder:
            room = pathlib.Path(folder)
            (room / "small.toml").write_text(tidegate.check(SMALL, sets={"runs": 3}, resolved=True))
            package = [sys.executable, "-m", "tidegate"]
            engine = ["--engine", "ray", "--chunk", "0.0001", "--out", "filled"]

            def run(*words, ray):
                path = [str(room), os.environ.get("PYTHONPATH", "")] if ray else [os.environ.get("PYTHONPATH", "")]
                environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path))}
                command = [*package, "run", "small.toml", "--quiet", *words]
                return subprocess.run(command, cwd=room, env=environment, capture_output=True, text=True)

            if subprocess.run([sys.executable, "-c", "import ray"], capture_output=True).returncode != 0:
                done = run(*engine, ray=False)
                self.assertEqual(done.returncode, 2)
                self.assertIn(f"Ray is not installed for {sys.executable}", done.stderr)
            (room / "ray.py").write_text(RAY)
            done = run(*engine, ray=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            done = run("--out", "local", ray=False)
            self.assertEqual(done.returncode, 0, done.stderr)

            def files(place):
                found = sorted(path for path in place.rglob("*") if path.is_file() and path.name != "log.jsonl")
                return [(path.relative_to(place), path.read_bytes()) for path in found]

            self.assertEqual(files(room / "filled"), files(room / "local"))


# The functions of Ray that the driver uses, within one process.
RAY = """
def init(**_):
    pass

def remote(**_):
    def task(function):
        task.remote = lambda *words: lambda: function(*words)
        return task
    return task

def wait(tasks, num_returns):
    return tasks[:num_returns], tasks[num_returns:]

def get(task):
    return task()

def shutdown():
    pass
"""


if __name__ == "__main__":
    unittest.main()

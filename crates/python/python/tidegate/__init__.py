"""Datacenter ECN, from paper to packet.

    >>> import tidegate
    >>> result = tidegate.run("incast", sets={"sweep": {}}, seeds=1, progress=False)
    >>> len(result.flows) > 0
    True

`run` and `sweep` run scenarios and return tables that polars, pyarrow and DuckDB take without copies, and
pandas by `pyarrow.table(result.flows).to_pandas()` or, from version 3 on, `pandas.DataFrame.from_arrow(result.flows)`.
`reproduce` runs published figures again, `plan` answers which thresholds a network needs, `explain` says what a name means.
`Port` is a switch's port to take apart, and `Marker` is what a marking scheme of your own is derived from.

It is the code of the command line: the same scenario and seed give the same bytes. While something runs, other threads
of Python go on, and Ctrl-C ends it.
"""

import operator
import os
import sys
from collections.abc import Mapping

from . import _tidegate, _toml
from ._tidegate import Departure, Enqueued, Error, Packet, Port, PortInfo, Result, Table, __version__

__all__ = [
    "Departure",
    "Enqueued",
    "Error",
    "Marker",
    "Packet",
    "Page",
    "Port",
    "PortInfo",
    "Result",
    "Table",
    "check",
    "explain",
    "main",
    "names",
    "plan",
    "reproduce",
    "run",
    "sweep",
    "__version__",
]


class Marker:
    """A marking scheme written in Python, for trying out an idea.

    Derive a class from it and give it to `run(..., marker=Mine)` or `Port(Mine)`. One object is made for each port of the
    switches. A method that returns true marks the packet, if it is ECN-capable; the name of a rule, such as
    "port-length", says in addition what the mark counts for. An exception ends the run and comes out of `run`.

        class Mine(tidegate.Marker):
            def on_enqueue(self, packet):
                return packet.queue_bytes > 30_000

    Each method that you write costs a packet a quarter of a microsecond, about five times what all else does in the
    simulator. Methods that you leave out cost nothing.
    """

    def __init__(self, port):
        self.port = port

    def on_enqueue(self, packet):
        """Decides on a packet that arrives: after it was admitted, before it waits."""
        return False

    def on_dequeue(self, packet):
        """Decides on a packet that leaves, which waited for `packet.sojourn` seconds."""
        return False

    def threshold(self, queue):
        """The marking threshold of a queue in bytes as it stands, for results; None if there is none."""
        return None


class Page(str):
    """A text that shows itself as it is, and in a notebook as a page."""

    markdown = ""

    def __repr__(self):
        return str(self)

    def _repr_markdown_(self):
        return self.markdown or f"```text\n{self}\n```"


def run(
    scenario,
    *,
    sets=None,
    seeds=None,
    marker=None,
    out=None,
    resume=False,
    baseline=None,
    jobs=None,
    threads=None,
    capture=None,
    at=None,
    capture_limit=None,
    progress=None,
):
    """Runs a scenario and returns its `Result`.

    scenario   the path of a file, the name of a built-in scenario or figure, a dictionary, or TOML of several lines
    sets       changes of keys: {"switch.marking.threshold": "60us", "traffic.0.load": 0.8}
    seeds      a seed, or several in a row: range(1, 6)
    marker     a class derived from `Marker`, which marks in the place of the scenario's scheme
    out        a results folder, as the command line writes it; without one, results stay in memory
    resume     go on in a folder that is not complete
    baseline   the label of the point that all others are compared with
    jobs       runs at a time; one for each core if it is not said, and one with a marker
    threads    at most so many threads for one run
    capture    a file for the packets of the links `at`, as pcapng for Wireshark; for a single run
    at         a link such as "leaf0>host3", or several; "all" is every link
    capture_limit   most packets in the capture; about a gigabyte by default
    progress   True or False for a line on standard error, or a function of (runs done, all runs, part of the work);
               by default a line on a terminal and in a notebook

    A mistake raises `Error` with the text of the command line: line, caret, and what is allowed.
    """
    source, is_text = _source(scenario)
    if marker is not None and jobs is None:
        jobs = 1  # Python runs one scheme at a time.
    with _Line(progress) as line:
        return _tidegate.run(
            source,
            is_text,
            [*_overrides(sets), *_seeds(seeds)],
            out=out,
            resume=resume,
            jobs=_count("jobs", jobs),
            threads=_count("threads", threads),
            baseline=baseline,
            marker=marker,
            capture=_capture(capture, at, capture_limit),
            tick=line.runs,
        )


def sweep(scenario, axes, *, sets=None, **options):
    """Runs a scenario at all combinations of values: {"traffic.0.load": [0.4, 0.8], "switch.marking": ["tcn", "codel"]}.

    An axis is a list of values, or a range such as {"from": "40us", "to": "80us", "step": "20us"}. What the scenario itself
    sweeps is left out. All else is as in `run`.
    """
    if not isinstance(axes, Mapping) or not axes:
        raise Error(f"axes is {axes!r}; allowed: a dictionary of keys and their values")
    changes = dict(sets or {})
    changes["sweep"] = {}
    for key, values in axes.items():
        if key == "switch.marking" and isinstance(values, (list, tuple)):
            values = [{"kind": one} if isinstance(one, str) else one for one in values]
        changes[f'sweep."{key}"'] = values
    return run(scenario, sets=changes, **options)


def check(scenario, *, sets=None, resolved=False):
    """What a scenario came to mean, or with `resolved` all of it with every default written out."""
    text, warnings = _tidegate.check(*_source(scenario), _overrides(sets), resolved)
    notes = [] if resolved else [f"warning: {warning}" for warning in warnings]
    return Page("\n".join([text.rstrip("\n"), *notes]))


def reproduce(*figures, paper=None, quick=False, sets=None, out=None, resume=False, jobs=None, progress=None):
    """Runs published figures again and says what holds of their claims, as a dictionary.

    `reproduce("tcn-f10")`, `reproduce(paper="tcn", quick=True)`; `names("figure")` lists all. Results go to the folder
    `out`, by default a new one in `tidegate-results`.
    """
    if not figures and paper is None:
        raise Error('nothing is asked for\nhint: such as reproduce("tcn-f10"); names("figure") lists all figures')
    words = ["reproduce", *figures]
    if paper is not None:
        words += ["--paper", paper]
    words += ["--quick"] * bool(quick) + ["--resume"] * bool(resume)
    words += [word for change in _overrides(sets) for word in ("--set", change)]
    words += _option("--out", out) + _option("--jobs", _count("jobs", jobs))
    return _json(words, progress)


def plan(network, *, current=None, emit=None, scheme=None, verify=False, progress=None):
    """Which thresholds a network needs, as a dictionary; with `emit`, a switch configuration as a text.

    network   the path of a file, the name of a built-in network, or a dictionary
    current   what is set today, such as "1MiB/2MiB/5%"
    emit      a dialect: names("dialect") lists them; `scheme` is what is configured
    verify    simulate the answer, half and double of it, and today's setting
    """
    import tempfile

    with tempfile.TemporaryDirectory(prefix="tidegate-") as folder:
        if isinstance(network, Mapping):
            text = _toml.document(network)
            network = os.path.join(folder, "network.toml")
            with open(network, "w", encoding="utf-8") as file:
                file.write(text)
        words = ["plan", os.fspath(network), *_option("--current", current)]
        words += _option("--emit", emit) + _option("--scheme", scheme)
        words += ["--verify"] * bool(verify)
        answer = _json(words, progress)
    return Page(answer["configuration"]) if emit is not None else answer


def explain(name):
    """What a name means and how to use it: a scheme, scheduler, buffer, transport, topology, source, figure or key."""
    page = Page(_command(["explain", name]))
    entries = _json(["explain", name])
    page.markdown = "\n\n".join(entry["page"] for entry in entries if "page" in entry)
    return page


def names(kind=None):
    """The names that scenarios can use, each with a line: all of them, or those of one kind, such as "scheme"."""
    entries = _json(["list", *([kind] if kind is not None else [])])
    return {entry["name"]: entry["line"] for entry in entries}


def main():
    """The command line."""
    import signal

    # The program listens for Ctrl-C itself, where it does more than end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    words = ["tidegate", *sys.argv[1:]]
    sys.exit(_tidegate.main(words, [sys.executable, "-m", "tidegate"]))


def _source(scenario):
    """A scenario as a name or a text, and whether it is a text."""
    if isinstance(scenario, Mapping):
        return _toml.document(scenario), True
    if isinstance(scenario, os.PathLike):
        return os.fspath(scenario), False
    if scenario == "-":
        raise Error("a scenario from standard input is for the command line\nhint: give its text")
    if isinstance(scenario, str):
        return scenario, "\n" in scenario
    kind = type(scenario).__name__
    raise Error(f"the scenario is of type {kind}; allowed: a path, a name, a dictionary, or TOML of several lines")


def _overrides(sets):
    if sets is None:
        return []
    if not isinstance(sets, Mapping):
        raise Error(f'sets is {sets!r}; allowed: a dictionary such as {{"traffic.0.load": 0.8}}')
    return [_toml.override(key, value) for key, value in sets.items()]


def _seeds(seeds):
    if seeds is None:
        return []
    one = _whole(seeds)
    try:
        all_seeds = [_whole(seed) for seed in seeds] if one is None else [one]
    except TypeError:
        all_seeds = []
    first = all_seeds[0] if all_seeds else None
    if first is None or first < 0 or all_seeds != list(range(first, first + len(all_seeds))):
        raise Error(f"seeds is {seeds!r}; allowed: a seed, or several in a row, such as range(1, 6)")
    return [f"seed={first}", f"runs={len(all_seeds)}"]


def _capture(file, at, limit):
    if file is None:
        if at is not None or limit is not None:
            raise Error("at and capture_limit are for a capture\nhint: name its file: capture='links.pcapng'")
        return None
    links = [at] if isinstance(at, str) else list(at or [])
    if not links or not all(isinstance(link, str) for link in links):
        raise Error(f"at is {at!r}; allowed: the links to capture, such as at=['leaf0>host3']")
    return os.fspath(file), ",".join(links), _count("capture_limit", limit)


def _count(name, number):
    count = _whole(number)
    if number is not None and (count is None or count <= 0):
        raise Error(f"{name} is {number!r}; allowed: a whole number above 0")
    return count


def _whole(number):
    """A whole number of Python, from one of any kind, such as NumPy's; None if it is something else."""
    try:
        return None if isinstance(number, bool) else operator.index(number)
    except TypeError:
        return None


def _option(flag, value):
    return [] if value is None else [flag, os.fspath(value) if isinstance(value, os.PathLike) else str(value)]


def _command(words, progress=False):
    """What a command of the program prints."""
    with _Line(progress) as line:
        words = ["tidegate", *words, "--color", "never"]
        code, printed, error = _tidegate.command(words, line.lines)
    if error is not None:
        raise Error(error)
    return printed


def _json(words, progress=False):
    import json

    printed = _command([*words, "--json"], progress)
    if not printed.strip():
        raise Error(f"`tidegate {words[0]}` was stopped before it had an answer")
    return json.loads(printed)


class _Line:
    """Says how far something is: by a line on standard error that is written over, or by a function."""

    def __init__(self, progress):
        self.function = progress if callable(progress) else None
        is_notebook = "ipykernel" in sys.modules
        is_seen = is_notebook or (sys.stderr is not None and sys.stderr.isatty())
        self.is_on = is_seen if progress is None else bool(progress) and self.function is None
        self.shown = ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.shown:
            sys.stderr.write("\n")
            sys.stderr.flush()

    def runs(self, done, runs, part):
        if self.function is not None:
            self.function(done, runs, part)
        elif self.is_on:
            text = f"{done} of {runs} runs, {int(part * 100)} %"
            if text != self.shown:
                sys.stderr.write("\r" + text.ljust(len(self.shown)))
                sys.stderr.flush()
                self.shown = text

    def lines(self, lines):
        if self.function is not None:
            for line in lines:
                self.function(line)
        elif self.is_on:
            sys.stderr.write("".join(f"{line}\n" for line in lines))
            sys.stderr.flush()


def _describe():
    """Adds the names that a port takes to its documentation."""
    parts = [
        f"{kind}s:\n" + "\n".join(f"    {name}: {line}" for name, line in named.items())
        for kind, named in _tidegate.PARTS.items()
    ]
    Port.__doc__ = "\n\n".join([Port.__doc__ or "", *parts])


_describe()

"""Datacenter ECN, from paper to packet.

    >>> import tidegate
    >>> result = tidegate.run("incast", sets={"sweep": {}}, seeds=1, progress=False)
    >>> len(result.flows) > 0
    True

`run` and `sweep` run scenarios and return tables that polars, pyarrow and DuckDB take without copies, and
pandas by `pyarrow.table(result.flows).to_pandas()` or, from version 3 on, `pandas.DataFrame.from_arrow(result.flows)`.
`reproduce` runs published figures and checks their papers' claims, `plan` calculates a network's marking thresholds, and
`explain` describes a name. `Port` is a switch port to experiment with. Derive your own marking scheme from `Marker`.

The package runs the same code as the command line: the same scenario and seed give the same bytes. During a run, other
Python threads continue, and Ctrl-C stops the run.
"""

import operator
import os
import sys
from collections.abc import Mapping

from . import _program, _tidegate, _toml
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
    """Base class of marking schemes written in Python, for prototypes.

    Derive a class and pass it to `run(..., marker=Mine)` or `Port(Mine)`. One object is created per switch port. A method
    that returns true marks the packet if it is ECN-capable. Return the name of a rule instead, such as "port-length", to
    count the mark under that rule. An exception ends the run, and `run` raises it.

        class Mine(tidegate.Marker):
            def on_enqueue(self, packet):
                return packet.queue_bytes > 30_000

    Each method you define costs 0.25 µs per packet, about five times the rest of the simulator. Methods you leave out
    cost nothing.
    """

    def __init__(self, port):
        self.port = port

    def on_enqueue(self, packet):
        """Decides on an arriving packet, after it was admitted and before it is queued."""
        return False

    def on_dequeue(self, packet):
        """Decides on a departing packet, which waited for `packet.sojourn` seconds."""
        return False

    def threshold(self, queue):
        """Returns the current marking threshold of a queue in bytes, for results; None if there is none."""
        return None


class Page(str):
    """Text that a notebook shows as a formatted page."""

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
    max_file=None,
    progress=None,
):
    """Runs a scenario and returns its `Result`.

    scenario   file path, name of a built-in scenario or figure, dictionary, or multi-line TOML text
    sets       overrides: {"switch.marking.threshold": "60us", "traffic.0.load": 0.8}
    seeds      one seed, or consecutive ones: range(1, 6)
    marker     class derived from `Marker` that replaces the scenario's marking scheme
    out        results folder, as the command line writes it; without one, results stay in memory
    resume     resume an incomplete results folder
    baseline   label of the point that all others are compared with
    jobs       concurrent runs; default: one per core, or one with a marker
    threads    maximum threads per run
    capture    pcapng file for Wireshark with the packets of the links `at`; single runs only
    at         link such as "leaf0>host3", or several; "all" is every link
    capture_limit   maximum packets in the capture; default: about a gigabyte
    max_file   maximum size of a flow list or a table of sizes, such as "1GiB" or bytes; default: 64 MiB
    progress   True or False for a line on standard error, or a function of (runs done, all runs, fraction of the work);
               default: a line on a terminal and in a notebook

    A mistake raises `Error` with the text of the command line: line, caret and allowed values.
    """
    source, is_text = _source(scenario)
    if marker is not None and jobs is None:
        jobs = 1  # Python runs one scheme at a time.
    with _Line(progress) as line:
        return _tidegate.run(
            source,
            is_text,
            [*_overrides(sets), *_seeds(seeds)],
            max_file=_size(max_file),
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

    An axis is a list of values, or a range such as {"from": "40us", "to": "80us", "step": "20us"}. The axes replace the
    scenario's own sweep. All other arguments are the same as for `run`.
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


def check(scenario, *, sets=None, resolved=False, max_file=None):
    """Validates a scenario and returns a summary, or with `resolved` the whole scenario with all defaults."""
    text, warnings = _tidegate.check(*_source(scenario), _overrides(sets), resolved, _size(max_file))
    notes = [] if resolved else [f"warning: {warning}" for warning in warnings]
    return Page("\n".join([text.rstrip("\n"), *notes]))


def reproduce(*figures, paper=None, quick=False, sets=None, out=None, resume=False, jobs=None, progress=None):
    """Runs published figures and returns the verdicts on their claims, as a dictionary.

    `reproduce("tcn-f10")`, `reproduce(paper="tcn", quick=True)`; `names("figure")` lists all. Results go to the folder
    `out`, by default a new one in `tidegate-results`.
    """
    if not figures and paper is None:
        raise Error('no figure given\nhint: for example reproduce("tcn-f10"); names("figure") lists all figures')
    words = ["reproduce", *figures]
    if paper is not None:
        words += ["--paper", paper]
    words += ["--quick"] * bool(quick) + ["--resume"] * bool(resume)
    words += [word for change in _overrides(sets) for word in ("--set", change)]
    words += _option("--out", out) + _option("--jobs", _count("jobs", jobs))
    return _json(words, progress)


def plan(network, *, current=None, emit=None, scheme=None, verify=False, progress=None):
    """Calculates a network's marking thresholds, as a dictionary; with `emit`, a switch configuration as text.

    network   file path, name of a built-in network, or dictionary
    current   current setting, such as "1MiB/2MiB/5%"
    emit      configuration dialect, see names("dialect")
    scheme    scheme to configure
    verify    simulate the plan, half and double the thresholds, and the current setting
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
    """Describes a name and its use: a scheme, scheduler, buffer, transport, topology, source, figure or key."""
    page = Page(_command(["explain", name]))
    entries = _json(["explain", name])
    page.markdown = "\n\n".join(entry["page"] for entry in entries if "page" in entry)
    return page


def names(kind=None):
    """Returns the names that scenarios can use with one-line descriptions; `kind` selects one kind, such as "scheme"."""
    entries = _json(["list", *([kind] if kind is not None else [])])
    return {entry["name"]: entry["line"] for entry in entries}


def main():
    """Runs the command line."""
    _program.main()


def _source(scenario):
    """Returns a scenario as a name or a text, and whether it is a text."""
    if isinstance(scenario, Mapping):
        return _toml.document(scenario), True
    if isinstance(scenario, os.PathLike):
        return os.fspath(scenario), False
    if scenario == "-":
        raise Error("only the command line reads scenarios from standard input\nhint: pass the text itself")
    if isinstance(scenario, str):
        return scenario, "\n" in scenario
    kind = type(scenario).__name__
    raise Error(f"the scenario is of type {kind}; allowed: a path, a name, a dictionary, or multi-line TOML text")


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
        raise Error(f"seeds is {seeds!r}; allowed: one seed, or consecutive ones, such as range(1, 6)")
    return [f"seed={first}", f"runs={len(all_seeds)}"]


def _capture(file, at, limit):
    if file is None:
        if at is not None or limit is not None:
            raise Error("at and capture_limit need a capture file\nhint: add capture='links.pcapng'")
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


def _size(size):
    """A size as the program reads it: text such as "1GiB", or a number of bytes."""
    count = _whole(size)
    return (None if size is None else str(size)) if count is None else f"{count}B"


def _whole(number):
    """Converts any integer, such as NumPy's, to a Python int; None if it is something else."""
    try:
        return None if isinstance(number, bool) else operator.index(number)
    except TypeError:
        return None


def _option(flag, value):
    return [] if value is None else [flag, os.fspath(value) if isinstance(value, os.PathLike) else str(value)]


def _command(words, progress=False):
    """Runs a command of the program and returns its standard output."""
    with _Line(progress) as line:
        code, printed, error = _program.call([*words, "--color", "never"], line.lines)
    if error is not None:
        raise Error(error)
    return printed


def _json(words, progress=False):
    import json

    printed = _command([*words, "--json"], progress)
    if not printed.strip():
        raise Error(f"`tidegate {words[0]}` was stopped before it finished")
    return json.loads(printed)


class _Line:
    """Shows progress: on one line of standard error that is overwritten, or through a function."""

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
    """Lists the schemes, schedulers and buffers of a port in its documentation."""
    parts = [
        f"{kind}s:\n" + "\n".join(f"    {name}: {line}" for name, line in named.items())
        for kind, named in _tidegate.PARTS.items()
    ]
    Port.__doc__ = "\n\n".join([Port.__doc__ or "", *parts])


_describe()

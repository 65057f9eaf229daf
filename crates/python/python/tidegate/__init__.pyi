from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any, Callable, Optional, Union

from ._tidegate import Departure as Departure
from ._tidegate import Enqueued as Enqueued
from ._tidegate import Error as Error
from ._tidegate import Packet as Packet
from ._tidegate import Port as Port
from ._tidegate import PortInfo as PortInfo
from ._tidegate import Result as Result
from ._tidegate import Table as Table

__version__: str

_Path = Union[str, PathLike[str]]
_Scenario = Union[_Path, Mapping[str, Any]]
"""The path of a file, the name of a built-in scenario or figure, a dictionary, or TOML of several lines."""
_Progress = Union[bool, Callable[[int, int, float], object], None]

class Marker:
    port: PortInfo
    def __init__(self, port: PortInfo) -> None: ...
    def on_enqueue(self, packet: Packet) -> Union[bool, str, None]: ...
    def on_dequeue(self, packet: Packet) -> Union[bool, str, None]: ...
    def threshold(self, queue: int) -> Optional[int]: ...

class Page(str):
    markdown: str

def run(
    scenario: _Scenario,
    *,
    sets: Optional[Mapping[str, Any]] = None,
    seeds: Union[int, Iterable[int], None] = None,
    marker: Union[type[Marker], Callable[[PortInfo], Marker], None] = None,
    out: Optional[_Path] = None,
    resume: bool = False,
    baseline: Optional[str] = None,
    jobs: Optional[int] = None,
    threads: Optional[int] = None,
    capture: Optional[_Path] = None,
    at: Union[str, Iterable[str], None] = None,
    capture_limit: Optional[int] = None,
    max_file: Union[str, int, None] = None,
    progress: _Progress = None,
) -> Result: ...
def sweep(
    scenario: _Scenario,
    axes: Mapping[str, Any],
    *,
    sets: Optional[Mapping[str, Any]] = None,
    seeds: Union[int, Iterable[int], None] = None,
    marker: Union[type[Marker], Callable[[PortInfo], Marker], None] = None,
    out: Optional[_Path] = None,
    resume: bool = False,
    baseline: Optional[str] = None,
    jobs: Optional[int] = None,
    threads: Optional[int] = None,
    capture: Optional[_Path] = None,
    at: Union[str, Iterable[str], None] = None,
    capture_limit: Optional[int] = None,
    max_file: Union[str, int, None] = None,
    progress: _Progress = None,
) -> Result: ...
def check(scenario: _Scenario, *, sets: Optional[Mapping[str, Any]] = None, resolved: bool = False, max_file: Union[str, int, None] = None) -> Page: ...
def reproduce(
    *figures: str,
    paper: Optional[str] = None,
    quick: bool = False,
    sets: Optional[Mapping[str, Any]] = None,
    out: Optional[_Path] = None,
    resume: bool = False,
    jobs: Optional[int] = None,
    progress: Union[bool, Callable[[str], object], None] = None,
) -> dict[str, Any]: ...
def plan(
    network: Union[_Path, Mapping[str, Any]],
    *,
    current: Optional[str] = None,
    emit: Optional[str] = None,
    scheme: Optional[str] = None,
    verify: bool = False,
    progress: Union[bool, Callable[[str], object], None] = None,
) -> Any: ...
def explain(name: str) -> Page: ...
def names(kind: Optional[str] = None) -> dict[str, str]: ...
def main() -> None: ...

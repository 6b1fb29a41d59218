"""What a benchmark measures and reports: one result for each case."""

from __future__ import annotations

import os
import platform
import resource
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

from bilex.version import __version__

__all__ = ["Range", "Result", "cpu_time", "machine", "promise", "ranges", "stopwatch", "taking_turns"]

Answer = TypeVar("Answer")
MAX_SPREAD = 0.15  # of the repetitions' middle half; a part that differs more is repeated
MIN_TURNS, MAX_TURNS = 3, 12
LIBRARIES = ("numpy", "numba", "scipy", "lap", "ortools", "faiss-cpu", "gensim")


@dataclass(frozen=True)
class Result:
    """One case: our figure and a peer's, in the same unit and from the same run; less is better.

    With `exceeded` the peer was stopped at its time limit: `peer` and `ratio` are then lower bounds. Only cases with a
    promised bound have `bound`, the bound in words, and `ok`, whether it is met.
    """

    name: str
    case: str
    unit: str
    ours: float
    peer_name: str
    peer: float
    exceeded: bool = False
    bound: str = ""
    ok: bool | None = None
    details: dict[str, float] = field(default_factory=dict)

    @property
    def ratio(self) -> float:
        """The peer's figure divided by ours."""
        return self.peer / self.ours

    def __str__(self) -> str:
        more = ">" if self.exceeded else ""
        verdict = "" if self.ok is None else f": {'PASS' if self.ok else 'FAIL'} ({self.bound})"
        figures = f"{self.ours:.3g} {self.unit}, {self.peer_name} {more}{self.peer:.3g} {self.unit}"
        return f"{self.name}: {self.case}: {figures}, {more}{self.ratio:.1f}x{verdict}"


def promise(bound: str, met: bool, quick: bool) -> dict[str, Any]:
    """Return the fields of a `Result` with a promised bound; tiny sizes promise nothing."""
    return {} if quick else {"bound": bound, "ok": met}


def stopwatch(call: Callable[[], Answer]) -> tuple[Answer, float, float]:
    """Call it; return its answer, CPU seconds and wall seconds."""
    cpu, wall = cpu_time(), time.perf_counter()
    answer = call()
    return answer, cpu_time() - cpu, time.perf_counter() - wall


@dataclass(frozen=True)
class Range:
    """The CPU seconds of several repetitions."""

    seconds: tuple[float, ...]

    @property
    def least(self) -> float:
        """The quickest."""
        return min(self.seconds)

    @property
    def most(self) -> float:
        """The slowest."""
        return max(self.seconds)

    @property
    def median(self) -> float:
        """The middle one."""
        return median(self.seconds)

    @property
    def steady(self) -> bool:
        """Whether the middle half of them lies within MAX_SPREAD of the median."""
        ordered, quarter = sorted(self.seconds), len(self.seconds) // 4
        return ordered[-1 - quarter] - ordered[quarter] <= MAX_SPREAD * self.median


def taking_turns(calls: Mapping[str, Callable[[], Any]], quick: bool) -> dict[str, Range]:
    """Measure the calls in turns, after one round that does not count; repeat while their times differ too much."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(1 + (1 if quick else MAX_TURNS)):
        for name, call in calls.items():
            seconds = stopwatch(call)[1]
            if turn:
                taken[name].append(seconds)
        if turn >= MIN_TURNS and all(Range(tuple(each)).steady for each in taken.values()):
            break
    return {name: Range(tuple(each)) for name, each in taken.items()}


def ranges(ours: Range, peer: Range) -> dict[str, float]:
    """Return the least and the most of both, as a result's details."""
    return {"our_least": ours.least, "our_most": ours.most, "peer_least": peer.least, "peer_most": peer.most}


def cpu_time() -> float:
    """Return the CPU seconds of this process and of those it started and that ended: all threads, user and system.

    `time.process_time` would not do: under a limit of CPU time, Linux advances that clock only at each tick.
    """
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def machine() -> dict[str, str | int]:
    """Describe the machine and the libraries."""
    return {
        "cpu": cpu_model(),
        "cores": os.cpu_count() or 1,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "bilex": __version__,
        **{library: installed(library) for library in LIBRARIES},
    }


def cpu_model() -> str:
    """Return the name of the processor."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def installed(library: str) -> str:
    """Return the version of a library."""
    try:
        return version(library)
    except PackageNotFoundError:
        return "not installed"

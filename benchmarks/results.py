"""What a benchmark measures and reports: one result for each case."""

from __future__ import annotations

import math
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

__all__ = [
    "Range",
    "Result",
    "cpu_of",
    "cpu_time",
    "machine",
    "promise",
    "shorten",
    "single",
    "stopwatch",
    "taking_turns",
]

Answer = TypeVar("Answer")
MAX_SPREAD = 0.15  # of the repetitions' middle half; a part that differs more is repeated
MIN_TURNS, MAX_TURNS = 3, 12
LIBRARIES = ("numpy", "numba", "scipy", "lap", "ortools", "faiss-cpu", "gensim")


@dataclass(frozen=True)
class Range:
    """The figures of several repetitions, or a single one."""

    figures: tuple[float, ...]

    @property
    def least(self) -> float:
        """The smallest."""
        return min(self.figures)

    @property
    def most(self) -> float:
        """The largest."""
        return max(self.figures)

    @property
    def median(self) -> float:
        """The middle one."""
        return median(self.figures)

    @property
    def steady(self) -> bool:
        """Whether the middle half of them lies within MAX_SPREAD of the median."""
        ordered, quarter = sorted(self.figures), len(self.figures) // 4
        return ordered[-1 - quarter] - ordered[quarter] <= MAX_SPREAD * self.median


def single(figure: float) -> Range:
    """Return the range of a figure that is computed, or measured once."""
    return Range((figure,))


@dataclass(frozen=True)
class Result:
    """One case: our figures and a peer's, in the same unit and from the same run; less is better.

    With `exceeded` the peer was stopped at its time limit: `peer` and `ratio` are then lower bounds. Only cases with a
    promised bound have `bound`, the bound in words, and `ok`, whether the medians meet it.
    """

    name: str
    case: str
    unit: str
    ours: Range
    peer_name: str
    peer: Range
    exceeded: bool = False
    bound: str = ""
    ok: bool | None = None
    details: dict[str, float] = field(default_factory=dict)

    @classmethod
    def from_json(cls, entry: dict[str, Any]) -> Result:
        """Return the result that was written as `to_json`."""
        return cls(**entry | {side: Range(tuple(entry[side])) for side in ("ours", "peer")})

    def to_json(self) -> dict[str, Any]:
        """Return the fields, the figures as lists."""
        return vars(self) | {"ours": self.ours.figures, "peer": self.peer.figures}

    @property
    def ratio(self) -> float:
        """The peer's median divided by ours."""
        return self.peer.median / self.ours.median

    def show(self, figures: Range) -> str:
        """Return the median in the result's unit, with the range if there are several."""
        text = f"{shorten(figures.median)} {self.unit}"
        return text if len(figures.figures) == 1 else f"{text} ({shorten(figures.least)} to {shorten(figures.most)})"

    def __str__(self) -> str:
        more = ">" if self.exceeded else ""
        verdict = "" if self.ok is None else f": {'PASS' if self.ok else 'FAIL'} ({self.bound})"
        figures = f"{self.show(self.ours)}, {self.peer_name} {more}{self.show(self.peer)}"
        return f"{self.name}: {self.case}: {figures}, {more}{shorten(self.ratio, 2)}x{verdict}"


def shorten(figure: float, digits: int = 3) -> str:
    """Return a figure with so many digits, or all those before the point."""
    return f"{figure:,.0f}" if figure >= 100 else f"{figure:.{digits}g}"


def promise(bound: str, met: bool, quick: bool) -> dict[str, Any]:
    """Return the fields of a `Result` with a promised bound; tiny sizes promise nothing."""
    return {} if quick else {"bound": bound, "ok": met}


def stopwatch(call: Callable[[], Answer]) -> tuple[Answer, float, float]:
    """Call it; return its answer, CPU seconds and wall seconds."""
    cpu, wall = cpu_time(), time.perf_counter()
    answer = call()
    return answer, cpu_time() - cpu, time.perf_counter() - wall


def cpu_of(call: Callable[[], object]) -> float:
    """Call it; return its CPU seconds."""
    return stopwatch(call)[1]


def taking_turns(
    measures: Mapping[str, Callable[[], float | None]],
    quick: bool,
    *,
    warm_up: bool = True,
    budget: float = math.inf,
) -> dict[str, Range]:
    """Measure in turns, at least three times, and on while the figures of any of them spread too much.

    What has taken more than `budget` seconds in all is not measured again, nor what has answered None. With `warm_up`
    one more round comes first, which does not count.
    """
    found: dict[str, list[float]] = {name: [] for name in measures}
    left = dict.fromkeys(measures, budget)
    if warm_up:
        for measure in measures.values():
            measure()
    for turn in range(1, 1 + (1 if quick else MAX_TURNS)):
        for name, measure in measures.items():
            if left[name] > 0:
                started = time.perf_counter()
                figure = measure()
                left[name] -= time.perf_counter() - started
                if figure is None:
                    left[name] = 0
                else:
                    found[name].append(figure)
        if turn >= MIN_TURNS and all(left[name] <= 0 or Range(tuple(each)).steady for name, each in found.items()):
            break
    return {name: Range(tuple(each)) for name, each in found.items()}


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

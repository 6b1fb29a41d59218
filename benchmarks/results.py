"""What a benchmark reports, and how: one line for each case, as a table and as JSON."""

from __future__ import annotations

import os
import platform
import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TypeVar

__all__ = ["Result", "machine", "stopwatch", "table"]

Answer = TypeVar("Answer")
LIBRARIES = ("bilex", "numpy", "numba", "scipy", "lap", "ortools", "faiss-cpu", "gensim")


@dataclass(frozen=True)
class Result:
    """One case: our figure and a peer's, in the same unit and from the same run; less is better.

    With `exceeded` the peer was stopped at its time limit: `peer` and `ratio` are then lower bounds. A case has a
    `bound` in words, and whether it is met, only where a bound was promised.
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
        """How many times the peer's figure is ours."""
        return self.peer / self.ours

    @property
    def verdict(self) -> str:
        """PASS or FAIL, with the bound; nothing where none was promised."""
        return "" if self.ok is None else f"{'PASS' if self.ok else 'FAIL'} ({self.bound})"


def stopwatch(call: Callable[[], Answer]) -> tuple[Answer, float, float]:
    """Run it; give its answer, its CPU seconds and its wall seconds."""
    cpu, wall = cpu_time(), time.perf_counter()
    answer = call()
    return answer, cpu_time() - cpu, time.perf_counter() - wall


def cpu_time() -> float:
    """Give the CPU seconds of this process, all threads and the system's work for it included.

    Not `time.process_time`: where a limit of CPU time is set, Linux lets that clock stand still between two ticks.
    """
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def table(results: Sequence[Result]) -> str:
    """Lay the results out for a person."""
    lines = [("benchmark", "case", "ours", "peer", "", "ratio", "bound")]
    for result in results:
        more = ">" if result.exceeded else ""
        lines.append(
            (
                result.name,
                result.case,
                f"{result.ours:.3g} {result.unit}",
                f"{more}{result.peer:.3g} {result.unit}",
                result.peer_name,
                f"{more}{result.ratio:.1f}x",
                result.verdict,
            )
        )
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = ("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)
    return "\n".join(line.rstrip() for line in padded)


def machine() -> dict[str, str | int]:
    """Describe the machine and the libraries: a figure means little without them."""
    return {
        "cpu": cpu_model(),
        "cores": os.cpu_count() or 1,
        "system": f"{platform.system()} {platform.machine()}",
        "load": f"{os.getloadavg()[0]:.1f}",
        "python": platform.python_version(),
        **{library: installed(library) for library in LIBRARIES},
    }


def cpu_model() -> str:
    """Name the processor, as well as the system knows it."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def installed(library: str) -> str:
    """Give the version of a library."""
    try:
        return version(library)
    except PackageNotFoundError:
        return "not installed"

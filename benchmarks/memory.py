"""The peak memory of a short EM run above its loaded vectors, beside a dense array of scores.

Measured in a process of its own: the largest resident size, less the resident size when the vectors are loaded and a
tiny fit has loaded the libraries and compiled the kernels.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.graphs import unit_vectors
from benchmarks.results import Result, promise, single, taking_turns
from bilex.em.context import Context
from bilex.em.em import fit
from bilex.matching.graph import RowPairs
from bilex.methods import METHODS
from bilex.model.prior import Prior
from bilex.search.local import LocalEngine

__all__ = ["benchmark", "measure"]

WORDS, DIMENSION = 40_000, 300
QUICK_WORDS, QUICK_DIMENSION = 2_000, 50
SEED_PAIRS = 1_000
MEMORY_LIMIT = 1_000.0  # MB
LOG_ODDS = 0.5  # random vectors have no cosine above 1/2, and would not be matched without this


def benchmark(quick: bool) -> Iterator[Result]:
    """Measure EM runs, each in a fresh process."""
    words, dimension = (QUICK_WORDS, QUICK_DIMENSION) if quick else (WORDS, DIMENSION)
    taken = taking_turns({"ours": lambda: measure(words, dimension)}, quick, warm_up=False)["ours"]
    yield Result(
        name="memory",
        case=f"{words:,} x {words:,} x {dimension}, k=3, 2 iterations of EM",
        unit="MB",
        ours=taken,
        peer_name="a dense float32 array (computed)",
        peer=single(4e-6 * words * words),
        **promise(f"below {MEMORY_LIMIT:g} MB", taken.most < MEMORY_LIMIT, quick),
    )


def measure(words: int, dimension: int) -> float:
    """Call `run` in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.memory", str(words), str(dimension)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def run(words: int, dimension: int) -> float:
    """Return by how many MB the resident size grows in a fit; raise if that finds no pairs."""
    method, prior = METHODS["ruder2018"].with_changes({"max_iterations": 2}), Prior(log_odds=LOG_ODDS)
    source, target = unit_vectors(words, dimension, 0), unit_vectors(words, dimension, 1)
    seed = np.arange(min(SEED_PAIRS, words))
    tiny = np.arange(100)
    fit(source[tiny], target[tiny], RowPairs(tiny, tiny), method, prior, Context(LocalEngine()))
    loaded = resident_size()
    found = fit(source, target, RowPairs(seed, seed), method, prior, Context(LocalEngine()))
    if not len(found.matching):
        raise ArithmeticError("the fit found no pairs")
    return largest_resident_size() - loaded


def resident_size() -> float:
    """Return the memory of this process in MB: now, or its maximum where the system does not know."""
    return status("self", "VmRSS") or largest_resident_size()


def largest_resident_size(whose: int = resource.RUSAGE_SELF) -> float:
    """Return the maximum memory of this process, or of one of those it started, in MB.

    Under Linux `getrusage` also counts the memory of the parent at the start, so /proc comes first.
    """
    unit = 1 if sys.platform == "darwin" else 1024  # getrusage counts kilobytes, but bytes on macOS
    known = status("self", "VmHWM") if whose == resource.RUSAGE_SELF else None
    return known or resource.getrusage(whose).ru_maxrss * unit / 1e6


def status(process: int | str, field: str) -> float | None:
    """Read a size of a process from /proc, in MB; None if the system has none, or the process has ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith(f"{field}:")), None)


if __name__ == "__main__":
    print(run(int(sys.argv[1]), int(sys.argv[2])))

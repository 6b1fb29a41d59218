"""What a run will need, before it starts: memory from the sizes, time from a measured sample of the search.

The largest arrays are the vectors, and at the peak there are several copies of them: as they were read, prepared,
mapped into the shared space, and with the crowding of CSLS beside them. Nothing grows with the product of
the vocabularies but the time, of which the searches over all pairs of words take most: two in EM before the answers
are reused (`search/reuse.py`), a small part of one in each later iteration, and three to build the lexicon.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bilex.errors import BilexError
from bilex.methods import Method
from bilex.numerics.types import Vectors
from bilex.search.engine import Engine

__all__ = ["Estimate", "check_fits", "estimate", "memory_here"]

COPIES = 6.2  # of both languages' vectors, at the peak; measured at 200,000 words a side
BASE = 350e6  # bytes: Python, the libraries and the compiled kernels
EDGE = 24  # bytes for each candidate edge and its kin
LATER_ITERATIONS, LATER_COST = 8, 0.1  # a usual number, and the share of a full search each costs with reuse
FINAL_SEARCHES = 3
PARSE_RATE = 60e6  # numbers a second read from text, on two cores
SAMPLE, SAMPLE_TARGETS = 2048, 32768


@dataclass(frozen=True)
class Estimate:
    """Bytes of memory at the peak, and seconds; the time is None where it was not measured."""

    memory: float
    seconds: float | None

    def __str__(self) -> str:
        time = "" if self.seconds is None else f" and {duration(self.seconds)}"
        return f"about {self.memory / 1e9:.1f} GB of memory{time}"

    def summary(self) -> dict[str, float | None]:
        """Give it as ``run.json`` has it."""
        seconds = None if self.seconds is None else float(f"{self.seconds:.3g}")
        return {"memory_mb": round(self.memory / 1e6), "seconds": seconds}


def estimate(words: tuple[int, int], dimension: int, method: Method, engine: Engine | None) -> Estimate:
    """Estimate a run over so many source and target words; without an engine only its memory."""
    rows, columns = words
    memory = BASE + COPIES * 4 * (rows + columns) * dimension + EDGE * method.candidates * rows
    if engine is None:
        return Estimate(memory, None)
    pairs = FINAL_SEARCHES * rows * columns
    if method.self_learning:
        most = method.max_rank or max(words)
        searches = 2 + LATER_ITERATIONS * (LATER_COST if method.maps != "cca" else 1)  # both sides move: no reuse
        pairs += int(searches * min(rows, most) * min(columns, most))
        pairs += rows * columns if method.match_all and max(words) > most else 0
    seconds = pairs / pairs_per_second(engine, dimension, words) + (rows + columns) * dimension / PARSE_RATE
    return Estimate(memory, seconds)


def pairs_per_second(engine: Engine, dimension: int, words: tuple[int, int]) -> float:
    """Time a search small enough not to be noticed."""
    generator = np.random.default_rng(0)

    def vectors(count: int) -> Vectors:
        made = generator.standard_normal((count, dimension), np.float32)
        made /= np.linalg.norm(made, axis=1, keepdims=True)
        return made

    queries, targets = vectors(min(SAMPLE, words[0])), vectors(min(SAMPLE_TARGETS, words[1]))
    engine.top_k(queries[:8], targets, 1)  # loads the kernels
    started = time.perf_counter()
    engine.top_k(queries, targets, min(3, len(targets)))
    return len(queries) * len(targets) / (time.perf_counter() - started)


def check_fits(needed: Estimate, words: tuple[int, int], dimension: int) -> None:
    """Raise if this machine does not have the memory, with what would fit."""
    here = memory_here()
    if here is None or needed.memory <= here:
        return
    room = max(here - BASE, 0) / (COPIES * 4 * dimension + EDGE * 3) / 2
    fewer = max(1000, int(room) // 1000 * 1000)
    raise BilexError(
        f"{words[0]:,} and {words[1]:,} words of {dimension} numbers need {needed.memory / 1e9:.1f} GB of memory, and "
        f"this machine has {here / 1e9:.1f} GB; read fewer words with --limit {fewer}"
    )


def memory_here() -> float | None:
    """Give the bytes of memory that this process may have, or None where the system does not say."""
    limits = []
    for file in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        text = Path(file).read_text("ascii").strip() if Path(file).is_file() else ""
        if text.isdecimal():
            limits.append(float(text))
    with suppress(AttributeError, ValueError, OSError):  # not every system counts its pages
        limits.append(float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE"))
    return min(limits, default=None)


def duration(seconds: float) -> str:
    """Say a time roughly."""
    if seconds < 10:
        return "a few seconds"
    return f"{seconds:.0f} seconds" if seconds < 90 else f"{seconds / 60:.0f} minutes"

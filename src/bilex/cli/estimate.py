"""Estimate what a run will need: memory from the sizes, time from a measured sample of the search.

The largest arrays are the vectors, and at the peak there are several copies of them: as they were read, prepared,
mapped into the shared space, and with the crowding of CSLS beside them. Nothing grows with the product of
the vocabularies but the time, of which the searches over all pairs of words take most: two in EM before the answers
are reused (`search/reuse.py`), a small part of one in each later iteration, and three to build the lexicon.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from bilex.cli.memory import Memory, measure_memory
from bilex.errors import BilexError
from bilex.methods import Method
from bilex.numerics.types import Vectors
from bilex.search.engine import Engine
from bilex.vectors.readers import peek_shape

__all__ = ["Estimate", "check_memory", "estimate_from_sizes", "estimate_run"]

COPIES = 6.2  # of both languages' vectors, at the peak; measured at 200,000 words a side
BASE_MEMORY = 350e6  # bytes: Python, the libraries and the compiled kernels
BYTES_PER_EDGE = 24  # of the candidate graph
LATER_ITERATIONS, LATER_COST = 8, 0.1  # a usual number, and the share of a full search each costs with reuse
FINAL_SEARCHES = 3
PARSE_RATE = 60e6  # numbers a second read from text, on two cores
SAMPLE_QUERIES, SAMPLE_TARGETS = 2048, 32768


@dataclass(frozen=True)
class Estimate:
    """Bytes of memory at the peak, and seconds; the time is None where it was not measured."""

    memory: float
    seconds: float | None

    def __str__(self) -> str:
        time = "" if self.seconds is None else f" and {time_in_words(self.seconds)}"
        return f"about {self.memory / 1e9:.1f} GB of memory{time}"

    def summary(self) -> dict[str, float | None]:
        """Return the fields of ``run.json``."""
        seconds = None if self.seconds is None else float(f"{self.seconds:.3g}")
        return {"memory_mb": round(self.memory / 1e6), "seconds": seconds}


def estimate_run(paths: tuple[str, str], limit: int, method: Method, engine: Engine | None) -> Estimate | None:
    """Estimate a run from the sizes of its files, if they can be told; raise if there is too little free memory."""
    source, target = (peek_shape(path, limit) for path in paths)
    if source is None or target is None:
        return None
    words, dimension = (source[0], target[0]), max(source[1], target[1])
    check_memory(estimate_from_sizes(words, dimension, method, None), words, dimension, measure_memory())
    return estimate_from_sizes(words, dimension, method, engine)


def estimate_from_sizes(words: tuple[int, int], dimension: int, method: Method, engine: Engine | None) -> Estimate:
    """Estimate a run over so many source and target words; without an engine, only its memory."""
    rows, columns = words
    memory = BASE_MEMORY + COPIES * 4 * (rows + columns) * dimension + BYTES_PER_EDGE * method.e_step.candidates * rows
    if engine is None:
        return Estimate(memory, None)
    pairs = FINAL_SEARCHES * rows * columns
    if method.self_learning:
        most = method.e_step.max_rank or max(words)
        searches = 2 + LATER_ITERATIONS * (LATER_COST if method.map.kind != "cca" else 1)  # both sides move: no reuse
        pairs += int(searches * min(rows, most) * min(columns, most))
        pairs += rows * columns if method.e_step.match_all and max(words) > most else 0
    seconds = pairs / pairs_per_second(engine, dimension, words) + (rows + columns) * dimension / PARSE_RATE
    return Estimate(memory, seconds)


def pairs_per_second(engine: Engine, dimension: int, words: tuple[int, int]) -> float:
    """Measure the speed of the search on a small sample."""
    generator = np.random.default_rng(0)

    def vectors(count: int) -> Vectors:
        made = generator.standard_normal((count, dimension), np.float32)
        made /= np.linalg.norm(made, axis=1, keepdims=True)
        return made

    queries, targets = vectors(min(SAMPLE_QUERIES, words[0])), vectors(min(SAMPLE_TARGETS, words[1]))
    engine.top_k(queries[:8], targets, 1)  # loads the kernels
    started = time.perf_counter()
    engine.top_k(queries, targets, min(3, len(targets)))
    return len(queries) * len(targets) / (time.perf_counter() - started)


def check_memory(needed: Estimate, words: tuple[int, int], dimension: int, memory: Memory) -> None:
    """Raise an error that says what would fit, if there is less memory than needed."""
    free = memory.total if memory.available is None else memory.available
    if free is None or needed.memory <= free:
        return
    bytes_per_word = COPIES * 4 * dimension + BYTES_PER_EDGE * 3
    fewer = max(1000, int(max(free - BASE_MEMORY, 0) / bytes_per_word / 2) // 1000 * 1000)
    raise BilexError(
        f"{words[0]:,} and {words[1]:,} words of {dimension} numbers need {needed.memory / 1e9:.1f} GB of memory, and "
        f"only {free / 1e9:.1f} GB are free; close other programs, or read fewer words with --limit {fewer}"
    )


def time_in_words(seconds: float) -> str:
    """Return a time in words, roughly."""
    if seconds < 10:
        return "a few seconds"
    return f"{seconds:.0f} seconds" if seconds < 90 else f"{seconds / 60:.0f} minutes"

"""One pass for both directions beside one search, and one word beside NumPy's product of a matrix and a vector.

Ours and the peer take turns; a part is repeated until its times agree (see `taking_turns`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.graphs import languages, map_words, unit_vectors
from benchmarks.results import Result, cpu_of, promise, taking_turns
from bilex.numerics.rows import unit
from bilex.search.local import LocalEngine
from bilex.search.space import CROWDING_NEIGHBOURS, SharedSpace

__all__ = ["benchmark"]

WORDS, DIMENSION, QUICK_WORDS, QUICK_DIMENSION = 200_000, 300, 2_000, 50
PASS_ROWS = 20_000  # of each side: the pass of all words takes minutes
MAX_PASS, MAX_WORD = 1.4, 1.5  # times the peer


def benchmark(quick: bool) -> Iterator[Result]:
    """Measure the pass and the word."""
    words, dimension = (QUICK_WORDS, QUICK_DIMENSION) if quick else (WORDS, DIMENSION)
    source, target = (unit_vectors(words, dimension, seed) for seed in range(2))
    engine = LocalEngine()
    crowding, nearest = np.full(words, 0.3), np.zeros(words, np.int64)
    space = SharedSpace(source, target, crowding, crowding, nearest, nearest)
    yield beside(
        f"one word of {words:,} x {dimension}, csls",
        lambda: space.search(np.array([7]), 30, "csls", engine),
        "NumPy's product",
        lambda: target @ source[7],
        MAX_WORD,
        quick,
    )
    mapped = map_words(languages(min(PASS_ROWS, words), dimension), "good")
    queries, targets = unit(mapped.queries), unit(mapped.targets)
    yield beside(
        f"both directions, {len(queries):,} x {len(targets):,} x {dimension}",
        lambda: engine.top_k_both(queries, targets, CROWDING_NEIGHBOURS),
        "one search",
        lambda: LocalEngine().top_k(queries, targets, CROWDING_NEIGHBOURS),  # a new one does not know the last answers
        MAX_PASS,
        quick,
    )


def beside(
    case: str, ours: Callable[[], Any], peer_name: str, peer: Callable[[], Any], most: float, quick: bool
) -> Result:
    """Measure ours and the peer in turns."""
    taken = taking_turns({"ours": lambda: cpu_of(ours), "peer": lambda: cpu_of(peer)}, quick)
    return Result(
        name="onepass",
        case=case,
        unit="CPU s",
        ours=taken["ours"],
        peer_name=peer_name,
        peer=taken["peer"],
        **promise(f"at most {most:g}x its time", taken["ours"].median <= most * taken["peer"].median, quick),
    )

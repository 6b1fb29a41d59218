"""One pass for both directions, beside one search; in turns."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from benchmarks.graphs import languages, map_words
from benchmarks.results import Result, cpu_of, promise, taking_turns
from bilex.numerics.rows import unit
from bilex.search.local import LocalEngine
from bilex.search.space import CROWDING_NEIGHBOURS

__all__ = ["benchmark"]

WORDS, DIMENSION, QUICK_WORDS, QUICK_DIMENSION = 20_000, 300, 2_000, 50
MAX_PASS = 1.4  # times the peer


def benchmark(quick: bool) -> Iterator[Result]:
    """Measure the pass."""
    words, dimension = (QUICK_WORDS, QUICK_DIMENSION) if quick else (WORDS, DIMENSION)
    mapped = map_words(languages(words, dimension), "good")
    sides = unit(mapped.queries), unit(mapped.targets)

    def search(both: bool) -> object:
        engine = LocalEngine()  # a new one does not know the last answers
        return (engine.top_k_both if both else engine.top_k)(*sides, CROWDING_NEIGHBOURS)

    taken = taking_turns({name: partial(cpu_of, partial(search, name == "ours")) for name in ("ours", "peer")}, quick)
    yield Result(
        name="onepass",
        case=f"both directions, {words:,} x {words:,} x {dimension}",
        unit="CPU s",
        ours=taken["ours"],
        peer_name="one search",
        peer=taken["peer"],
        **promise(f"at most {MAX_PASS:g}x its time", taken["ours"].median <= MAX_PASS * taken["peer"].median, quick),
    )

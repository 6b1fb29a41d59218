"""Time and memory against the size of the vocabularies and the number of candidates: the points of the plots.

The search is timed for a sample of the queries and scaled to all. Everything runs once: these points show the growth.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from benchmarks import memory, peers
from benchmarks.graphs import candidate_graph, languages, map_words
from benchmarks.results import Result, stopwatch
from benchmarks.topk import float32
from bilex.matching.graph import Capacities
from bilex.matching.solver import solve
from bilex.search.local import LocalEngine

__all__ = ["benchmark"]

WORDS, QUICK_WORDS = (10_000, 20_000, 50_000, 100_000, 200_000), (1_000, 2_000)
CANDIDATES = (3, 10)
DIMENSION, QUICK_DIMENSION = 300, 50
SAMPLE = 4_000
PEER_LIMIT = 60


def benchmark(quick: bool) -> Iterator[Result]:
    """Measure every size."""
    solve(candidate_graph(QUICK_WORDS[0], "good", 3), Capacities())  # compiles
    dimension = QUICK_DIMENSION if quick else DIMENSION
    for words in QUICK_WORDS if quick else WORDS:
        yield from matchings(words)
        yield from searches(words, dimension)
        yield memories(words, dimension)


def matchings(words: int) -> Iterator[Result]:
    """Time the matching, certificate included, beside lapmod."""
    for k in CANDIDATES:
        graph = candidate_graph(words, "good", k)
        cpu = min(stopwatch(partial(solve, graph, Capacities()))[1] for _ in range(3))
        run = peers.run("lapmod", peers.assignment(graph), PEER_LIMIT)
        peer = PEER_LIMIT if run is None else run.cpu
        yield point("matching", words, k, "CPU s", cpu, "lapmod", peer, exceeded=run is None)


def searches(words: int, dimension: int) -> Iterator[Result]:
    """Time a search for all words, from a sample of them."""
    mapped = map_words(languages(words, dimension), "good")
    sample, targets = mapped.queries[:: max(1, words // SAMPLE)][:SAMPLE].copy(), mapped.targets
    share = words / len(sample)
    for k in CANDIDATES:
        ours = stopwatch(partial(LocalEngine().top_k, sample, targets, k))[1] * share
        peer = stopwatch(partial(float32, sample, targets, k))[1] * share
        yield point("search", words, k, "CPU s", ours, "our float32 filter", peer)


def memories(words: int, dimension: int) -> Result:
    """Measure the memory of EM above its vectors."""
    loaded, peak, _ = memory.measure(words, dimension)
    return point("memory", words, 3, "MB", peak - loaded, "a dense array (computed)", 4e-6 * words * words)


def point(
    part: str, words: int, k: int, unit: str, ours: float, peer_name: str, peer: float, exceeded: bool = False
) -> Result:
    """Return one point of a plot."""
    return Result(
        name="scaling",
        case=f"{part}, {words:,} words, k={k}",
        unit=unit,
        ours=ours,
        peer_name=peer_name,
        peer=peer,
        exceeded=exceeded,
        details={"words": words, "k": k},
    )

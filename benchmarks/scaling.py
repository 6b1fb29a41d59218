"""Time and memory against the size of the vocabularies and the number of candidates: the points of the plots.

The search is timed for a sample of the queries and scaled to all. The whole command goes up to a million words, as
`benchmarks.million` runs it; its largest sizes run once.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import memory, million, peers
from benchmarks.graphs import candidate_graph, languages, map_words
from benchmarks.results import Range, Result, cpu_of, single, taking_turns
from benchmarks.topk import float32
from bilex.matching.graph import Capacities
from bilex.matching.solver import solve
from bilex.numerics.types import Vectors
from bilex.search.engine import Neighbours
from bilex.search.local import LocalEngine

__all__ = ["benchmark"]

WORDS, QUICK_WORDS = (10_000, 20_000, 50_000, 100_000, 200_000), (1_000, 2_000)
COMMAND_WORDS = (125_000, 250_000, 500_000, 1_000_000)
CANDIDATES = (3, 10)
DIMENSION, QUICK_DIMENSION = 300, 50
SAMPLE = 4_000
PEER_LIMIT = 60  # CPU seconds
BUDGET = 60  # seconds for each point


def benchmark(quick: bool) -> Iterator[Result]:
    """Measure every size."""
    solve(candidate_graph(QUICK_WORDS[0], "good", 3), Capacities())  # compiles
    dimension = QUICK_DIMENSION if quick else DIMENSION
    for words in QUICK_WORDS if quick else WORDS:
        yield from matchings(words, quick)
        yield from searches(words, dimension, quick)
        yield memories(words, dimension, quick)
    for words in QUICK_WORDS if quick else COMMAND_WORDS:
        yield from commands(words, quick)


def in_turns(quick: bool, **measures: Callable[[], float | None]) -> dict[str, Range]:
    """Measure within the budget of a point."""
    return taking_turns(measures, quick, warm_up=False, budget=BUDGET)


def matchings(words: int, quick: bool) -> Iterator[Result]:
    """Time the matching, certificate included, beside lapmod."""
    for k in CANDIDATES:
        graph = candidate_graph(words, "good", k)
        solver, problem = partial(solve, graph, Capacities()), peers.assignment(graph)
        taken = in_turns(quick, ours=partial(cpu_of, solver), lapmod=partial(run_lapmod, problem))
        exceeded = not taken["lapmod"].figures
        peer = single(PEER_LIMIT) if exceeded else taken["lapmod"]
        yield point("matching", words, "CPU s", taken["ours"], "lapmod", peer, k=k, exceeded=exceeded)


def run_lapmod(problem: peers.Assignment) -> float | None:
    """Return lapmod's CPU seconds; None if they are too many."""
    run = peers.run("lapmod", problem, PEER_LIMIT)
    return None if run is None else run.cpu


def searches(words: int, dimension: int, quick: bool) -> Iterator[Result]:
    """Time a search for all words, from a sample of them."""
    mapped = map_words(languages(words, dimension), "good")
    sample, targets = mapped.queries[:: max(1, words // SAMPLE)][:SAMPLE].copy(), mapped.targets

    def search_all(k: int, search: Callable[[Vectors, Vectors, int], object]) -> float:
        return cpu_of(lambda: search(sample, targets, k)) * words / len(sample)

    for k in CANDIDATES:
        taken = in_turns(quick, ours=partial(search_all, k, search_anew), float32=partial(search_all, k, float32))
        yield point("search", words, "CPU s", taken["ours"], "our float32 filter", taken["float32"], k=k)


def search_anew(queries: Vectors, targets: Vectors, k: int) -> Neighbours:
    """Search with an engine that does not know the last answers."""
    return LocalEngine().top_k(queries, targets, k)


def memories(words: int, dimension: int, quick: bool) -> Result:
    """Measure the memory of EM above its vectors."""
    ours = in_turns(quick, ours=lambda: memory.measure(words, dimension))["ours"]
    return point("memory", words, "MB", ours, "a dense array (computed)", single(4e-6 * words * words), k=3)


def commands(words: int, quick: bool) -> Iterator[Result]:
    """Measure the default's whole command: its time beside that of its search, its memory beside what it foretold."""
    with tempfile.TemporaryDirectory() as name:
        folder, runs = Path(name), list[dict[str, Any]]()
        command = [*million.write_matrices(folder, words, million.DIMENSION), "-o", str(folder / "run"), "--force"]

        def induce() -> float:
            runs.append(million.measure(command, folder))
            return float(runs[-1]["cpu"])

        seconds = in_turns(quick, ours=induce)["ours"]
        right = million.share_right(folder / "run", folder / "pairs.npy")
    search = Range(tuple(run["steps"]["measuring"] for run in runs))
    memories_taken = Range(tuple(run["memory_mb"] for run in runs))
    known = {"wall": median(run["wall"] for run in runs), "foretold_s": runs[0]["estimate"]["seconds"], "right": right}
    yield point("command", words, "CPU s", seconds, "its search alone", search, **known)
    foretold = single(runs[0]["estimate"]["memory_mb"])
    yield point("memory of the command", words, "MB", memories_taken, "what it foretold", foretold)


def point(
    part: str,
    words: int,
    unit: str,
    ours: Range,
    peer_name: str,
    peer: Range,
    *,
    exceeded: bool = False,
    **details: float,
) -> Result:
    """Return one point of a plot."""
    case = f"{part}, {words:,} words" + (f", k={details['k']}" if "k" in details else "")
    return Result("scaling", case, unit, ours, peer_name, peer, exceeded, details={"words": words, **details})

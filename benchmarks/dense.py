"""The optimum of the whole n × n graph, and how much of it the paper's three candidates per word miss."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from benchmarks.graphs import languages, map_words
from benchmarks.results import Result, cpu_of, stopwatch, taking_turns
from bilex.matching.candidates import candidate_graph
from bilex.matching.dense import dense_matching
from bilex.matching.graph import Matching
from bilex.matching.solver import solve
from bilex.model.prior import Prior
from bilex.model.theta import MappedWords
from bilex.numerics.types import Floats
from bilex.search.local import LocalEngine

__all__ = ["benchmark"]

WORDS, QUICK_WORDS, DIMENSION = 40_000, 500, 100
PEER_WORDS = 4_000  # what an array of all pairs lets the peers do in seconds
CANDIDATES = 3
BUDGET = 60  # seconds for each problem
AGREEMENT = 1e-6  # relative, of the objectives


def benchmark(quick: bool) -> Iterator[Result]:
    """Solve both problems under a good and a poor map, with two priors."""
    made = languages(QUICK_WORDS if quick else WORDS, DIMENSION)
    for map_name in ("good", "poor"):
        for log_odds in (0.0, 0.5):
            yield measure(map_words(made, map_name), map_name, log_odds, quick)
    yield from against_peers(map_words(languages(QUICK_WORDS if quick else PEER_WORDS, DIMENSION), "good"), quick)


def find_matching(words: MappedWords, log_odds: float, dense: bool) -> Matching:
    """Solve on the candidates alone or to the dense optimum, including the search for candidates."""
    prior, engine = Prior(log_odds=log_odds), LocalEngine()
    graph = prior.apply(candidate_graph(words, prior.capacities, k=CANDIDATES, previous=None, engine=engine))
    return dense_matching(words, graph, prior, engine, None) if dense else solve(graph, prior.capacities)


def measure(words: MappedWords, map_name: str, log_odds: float, quick: bool) -> Result:
    """Compare the candidates alone with the dense optimum."""
    few, best = (find_matching(words, log_odds, dense) for dense in (False, True))
    lost = 1 - few.objective / best.objective if best.objective else 0.0
    width = len(words.target)
    same = np.intersect1d(few.pairs.keys(width), best.pairs.keys(width))
    taken = taking_turns(
        {
            name: partial(cpu_of, partial(find_matching, words, log_odds, dense))
            for name, dense in (("few", False), ("best", True))
        },
        quick,
        warm_up=False,
        budget=BUDGET,
    )
    return Result(
        name="dense",
        case=f"{len(words.source):,} x {width:,} x {DIMENSION}, {map_name} map, log-odds {log_odds:g}",
        unit="CPU s",
        ours=taken["best"],
        peer_name=f"only {CANDIDATES} candidates, which lose {lost:.2g} of the weight",
        peer=taken["few"],
        details={
            "objective": best.objective,
            "certificate_gap": best.gap,
            "lost_by_candidates": lost,
            "pairs": len(best),
            "pairs_of_candidates": len(few),
            "pairs_in_both": len(same),
        },
    )


def against_peers(words: MappedWords, quick: bool) -> Iterator[Result]:
    """Solve the dense problem beside solvers that get the whole array.

    With as many sources as targets, the best partial matching is the best perfect one on weights clipped at 0.
    """
    log_odds = 0.5
    scores = words.queries.astype(np.float64) @ words.targets.T.astype(np.float64)
    gains = np.maximum(scores + words.offsets[:, None] + log_odds, 0)
    best = find_matching(words, log_odds, dense=True)

    def run_peer(solver: Callable[[Floats], float]) -> float:
        objective, cpu, _ = stopwatch(partial(solver, gains))
        if abs(objective - best.objective) > AGREEMENT * objective:
            raise ArithmeticError(f"our dense optimum is {best.objective!r}, that of {solver} is {objective!r}")
        return cpu

    peers = {"SciPy linear_sum_assignment": by_scipy, "POT emd": by_pot}
    ours = partial(cpu_of, partial(find_matching, words, log_odds, dense=True))
    taken = taking_turns({"ours": ours, **{name: partial(run_peer, each) for name, each in peers.items()}}, quick)
    for name in peers:
        yield Result(
            name="dense",
            case=f"{len(gains):,} x {len(gains):,} x {DIMENSION}, good map, log-odds {log_odds:g}, search included",
            unit="CPU s",
            ours=taken["ours"],
            peer_name=f"{name}, without its array",
            peer=taken[name],
            details={"objective": best.objective, "certificate_gap": best.gap},
        )


def by_scipy(gains: Floats) -> float:
    """Solve by SciPy's dense solver."""
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(gains, maximize=True)
    return float(gains[rows, columns].sum())


def by_pot(gains: Floats) -> float:
    """Solve as optimal transport, by the network simplex of POT."""
    import ot

    weights = np.full(len(gains), 1 / len(gains))
    plan = ot.emd(weights, weights, -gains, numItermax=10_000_000)
    return float((plan * gains).sum() * len(gains))

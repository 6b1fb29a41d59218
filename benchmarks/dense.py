"""The optimum of the whole n × n graph by pricing, and what the paper's three candidates per word miss of it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks.graphs import Languages, fitted_map, languages
from benchmarks.results import Result, stopwatch
from bilex.matching.candidates import candidate_graph
from bilex.matching.dense import dense_matching
from bilex.matching.graph import Matching
from bilex.matching.solver import solve
from bilex.model.prior import Prior
from bilex.model.theta import Theta
from bilex.model.weights import likelihood
from bilex.numerics.types import Floats, Indices
from bilex.search.local import LocalEngine

__all__ = ["benchmark"]

WORDS, QUICK_WORDS, DIMENSION = 40_000, 500, 100
PEER_WORDS = 4_000  # what an array of all pairs lets the peers do in seconds
CANDIDATES = 3
AGREEMENT = 1e-6  # relative, of the objectives


def benchmark(quick: bool) -> Iterator[Result]:
    """Solve both problems under a good and a poor map, with two priors."""
    made = languages(QUICK_WORDS if quick else WORDS, DIMENSION)
    for map_name in ("good", "poor"):
        theta = fitted_map(made, map_name)
        for log_odds in (0.0, 0.5):
            yield measure(made, theta, map_name, log_odds)
    yield from against_peers(languages(QUICK_WORDS if quick else PEER_WORDS, DIMENSION))


def measure(made: Languages, theta: Theta, map_name: str, log_odds: float) -> Result:
    """Solve with the candidates alone, then to the dense optimum; both times with the search for candidates."""
    prior, engine = Prior(log_odds=log_odds), LocalEngine()

    def sparse() -> Matching:
        edges = likelihood(theta, made.source, made.target)
        return solve(candidate_graph(edges, prior, k=CANDIDATES, previous=None, engine=engine), prior)

    def dense() -> Matching:
        edges = likelihood(theta, made.source, made.target)
        graph = candidate_graph(edges, prior, k=CANDIDATES, previous=None, engine=engine)
        return dense_matching(edges, graph, prior, engine, None)

    few, cpu, _ = stopwatch(sparse)
    all_of_them, dense_cpu, _ = stopwatch(dense)
    lost = 1 - few.objective / all_of_them.objective if all_of_them.objective else 0.0
    same = np.intersect1d(few.source * len(made.target) + few.target, keys(all_of_them, len(made.target)))
    return Result(
        name="dense",
        case=f"{len(made.source):,} x {len(made.target):,} x {DIMENSION}, {map_name} map, log-odds {log_odds:g}",
        unit="CPU s",
        ours=dense_cpu,
        peer_name=f"only {CANDIDATES} candidates, which lose {lost:.2g} of the weight",
        peer=cpu,
        details={
            "objective": all_of_them.objective,
            "certificate_gap": all_of_them.gap,
            "lost_by_candidates": lost,
            "pairs": len(all_of_them),
            "pairs_of_candidates": len(few),
            "pairs_in_both": len(same),
        },
    )


def against_peers(made: Languages) -> Iterator[Result]:
    """Solve the dense problem beside solvers that are given the whole array.

    With as many sources as targets, the best partial matching is the best perfect one on weights clipped at 0.
    """
    theta, prior, engine = fitted_map(made, "good"), Prior(log_odds=0.5), LocalEngine()

    def ours() -> Matching:
        edges = likelihood(theta, made.source, made.target)
        graph = candidate_graph(edges, prior, k=CANDIDATES, previous=None, engine=engine)
        return dense_matching(edges, graph, prior, engine, None)

    scores = theta.queries(made.source).astype(np.float64) @ made.target.T.astype(np.float64)
    gains = np.maximum(scores + theta.offsets(made.source)[:, None] + prior.log_odds, 0)
    peers = {"SciPy linear_sum_assignment": by_scipy, "POT emd": by_pot}
    best = min((stopwatch(ours) for _ in range(3)), key=lambda run: run[1])
    for name, peer in peers.items():
        objective, cpu, _ = stopwatch(partial(peer, gains))
        if abs(objective - best[0].objective) > AGREEMENT * objective:
            raise ArithmeticError(f"our dense optimum is {best[0].objective!r}, that of {name} is {objective!r}")
        yield Result(
            name="dense",
            case=f"{len(made.source):,} x {len(made.target):,} x {DIMENSION}, good map, log-odds 0.5, search included",
            unit="CPU s",
            ours=best[1],
            peer_name=f"{name}, without its array",
            peer=cpu,
            details={"objective": objective, "certificate_gap": best[0].gap},
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


def keys(matching: Matching, width: int) -> Indices:
    """Give one number for each pair."""
    return matching.source * width + matching.target

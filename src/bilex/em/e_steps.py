"""The E-steps: what EM may believe about the latent alignment, given θ.

- `viterbi`: the best edge set that the prior allows, exactly (paper, section 4.1). This is the paper's own.
- `mutual`: the pairs that are each other's nearest (Vulić and Korhonen 2016, Conneau et al. 2018).
- `posterior`: the exact posterior of the one-to-many model, over *all* source words and none (paper, section 5:
  "we can also efficiently compute the expectations necessary for EM").
- `sinkhorn`: entropic transport on the candidate graph with null options (the paper's footnote on Grave's remark).

The soft ones weigh an edge by ``exp(w / temperature)``; temperature 1 is the model as the paper states it.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from bilex.errors import BilexError
from bilex.matching.candidates import candidate_graph
from bilex.matching.dense import dense_matching
from bilex.matching.solver import Graph, Matching, solve
from bilex.model.constraints import Constraints
from bilex.model.edge_prior import EdgePrior
from bilex.model.prior import Prior
from bilex.model.theta import Expectation, Theta, free_capacity, null_log_density
from bilex.model.weights import WEIGHTS, likelihood
from bilex.numerics.rows import unit
from bilex.numerics.threads import single_threaded_blas, thread_count
from bilex.numerics.types import Floats, Vectors
from bilex.search.engine import Engine

__all__ = [
    "E_STEPS",
    "SOFT",
    "Belief",
    "EStep",
    "Problem",
    "mutual",
    "nearest_targets",
    "posterior",
    "sinkhorn",
    "viterbi",
]

SINKHORN_TOLERANCE = 1e-6
SINKHORN_ROUNDS = 1000
SCORES_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class Belief:
    """The result of an E-step.

    `pairs` is the (expected) number of pairs. A hard E-step gives its `matching`; a soft one instead its own
    `log_likelihood`, of the θ it saw.
    """

    expected: Expectation
    pairs: float
    matching: Matching | None = None
    log_likelihood: float | None = None


@dataclass(frozen=True)
class Problem:
    """What every E-step gets besides θ and the vectors."""

    prior: Prior
    candidates: int
    temperature: float
    exact: bool
    engine: Engine
    constraints: Constraints = field(default_factory=Constraints)
    weights: str = "likelihood"
    edge_prior: EdgePrior | None = None
    warm_start: bool = True
    lap: Callable[[str], None] = lambda part: None


EStep = Callable[[Theta, Vectors, Vectors, Problem, "Matching | None"], Belief]


def viterbi(theta: Theta, source: Vectors, target: Vectors, problem: Problem, previous: Matching | None) -> Belief:
    """Find the best edge set that the prior allows, among the candidates or, if `exact`, among all edges.

    The previous matching's pairs are always among the candidates, and its duals are where the solver may start.
    """
    edges = WEIGHTS[problem.weights](theta, source, target, problem.engine)
    graph = candidate_graph(edges, problem.prior, k=problem.candidates, previous=previous, engine=problem.engine)
    if problem.edge_prior is not None:
        if problem.exact:
            raise BilexError("a learnt prior knows the candidates only; leave out exact, or set edge_prior = 'uniform'")
        graph = problem.edge_prior.reweigh(graph)
    graph = problem.constraints.restrict(graph, problem.prior)
    problem.lap("candidates")
    start = previous if problem.warm_start else None
    if problem.exact:
        matching = dense_matching(edges, graph, problem.prior, problem.engine, start, problem.constraints)
    else:
        matching = solve(graph, problem.prior, start)
    kept = problem.constraints.kept
    matching = problem.constraints.complete(matching, edges.weigh(kept.source, kept.target) + problem.prior.log_odds)
    problem.lap("matching")
    return hard(source, target, matching, problem.prior)


def mutual(theta: Theta, source: Vectors, target: Vectors, problem: Problem, previous: Matching | None) -> Belief:
    """Take the pairs that are each other's nearest by cosine; whether their weight is positive does not matter."""
    del previous
    mapped, targets = unit(theta.map_source(source)), unit(theta.map_target(target))
    best_target = problem.engine.top_k(mapped, targets, 1).indices[:, 0]
    best_source = problem.engine.top_k(targets, mapped, 1).indices[:, 0]
    problem.lap("candidates")
    rows = np.flatnonzero(best_source[best_target] == np.arange(len(source)))
    nothing = np.zeros(0)
    matching = Matching(rows, best_target[rows], np.nan, np.nan, nothing, nothing)
    return hard(source, target, matching, problem.prior)


def nearest_targets(theta: Theta, source: Vectors, target: Vectors, engine: Engine) -> Belief:
    """Pair every source word with its nearest target by cosine: how a map without self-learning is read out."""
    best = engine.top_k(unit(theta.map_source(source)), unit(theta.map_target(target)), 1).indices[:, 0]
    nothing = np.zeros(0)
    matching = Matching(np.arange(len(source)), best, np.nan, np.nan, nothing, nothing)
    return Belief(Expectation(source, target[best], np.zeros(len(target))), len(source), matching)


def hard(source: Vectors, target: Vectors, matching: Matching, prior: Prior) -> Belief:
    """Believe in one edge set alone."""
    free = free_capacity(matching, prior, len(target))
    expected = Expectation(source[matching.source], target[matching.target], free)
    return Belief(expected, len(matching), matching)


def posterior(theta: Theta, source: Vectors, target: Vectors, problem: Problem, previous: Matching | None) -> Belief:
    """Compute p(a_i = j) for every target i and all sources j, and the exact marginal log-likelihood.

    Block by block over the targets: nothing of size n_src × n_trg is kept, only each target's expected source.
    """
    del previous
    prior, temperature = problem.prior, problem.temperature
    if not (prior.targets_choose and prior.null):
        raise BilexError("the exact posterior is known for the one-to-many prior only; set prior = 'one-to-many'")
    queries, offsets, targets = theta.queries(source), theta.offsets(source), theta.map_target(target)
    logits_of_source = ((offsets + prior.log_odds) / temperature).astype(np.float32)
    expected = np.empty((len(target), source.shape[1]), np.float32)
    free, evidence = np.empty(len(target)), np.empty(len(target))
    height = max(1, SCORES_AT_ONCE // len(source))

    def work(start: int) -> None:
        rows = slice(start, start + height)
        logits = targets[rows] @ queries.T / np.float32(temperature) + logits_of_source
        largest = np.maximum(logits.max(axis=1), 0)
        weights = np.exp(logits - largest[:, None])
        total = weights.sum(axis=1, dtype=np.float64) + np.exp(-largest, dtype=np.float64)
        expected[rows] = (weights @ source) / total[:, None]
        free[rows] = np.exp(-largest) / total
        evidence[rows] = largest + np.log(total)

    with single_threaded_blas(), ThreadPoolExecutor(thread_count()) as pool:
        list(pool.map(work, range(0, len(target), height)))
    problem.lap("posterior")
    # Alignments are uniform a priori: p(a_i = j) = 1 / (n_src + 1), or exp(log_odds) times as likely as none.
    alignments = np.logaddexp(np.log(len(source)) + prior.log_odds, 0)
    # At another temperature, what EM maximises is T log Σ p^(1/T), in which the null density has no T.
    likelihood = temperature * evidence.sum() + null_log_density(theta, target).sum() - len(target) * alignments
    return Belief(Expectation(expected, target, free), float(len(target) - free.sum()), None, float(likelihood))


def sinkhorn(theta: Theta, source: Vectors, target: Vectors, problem: Problem, previous: Matching | None) -> Belief:
    """Spread each word's probability over its candidates and none, so that no word is used more than once."""
    from bilex.em import sinkhorn_kernel as kernel

    prior, temperature = problem.prior, problem.temperature
    if (prior.source_capacity, prior.target_capacity) != (1, 1):
        raise BilexError("entropic transport is defined for the 1:1 prior here; set prior = '1:1'")
    edges = likelihood(theta, source, target)
    graph = candidate_graph(edges, prior, k=problem.candidates, previous=previous, engine=problem.engine)
    problem.lap("candidates")
    logits = (graph.weights + prior.log_odds) / temperature
    flow, source_null, target_null, _ = kernel.sinkhorn(
        graph.indptr, graph.indices, logits, graph.n_targets, SINKHORN_TOLERANCE, SINKHORN_ROUNDS
    )
    expected = weighted_sources(graph, flow, source)
    problem.lap("transport")
    # The free energy: expected log-likelihood plus the entropy of the transport, in units of the temperature.
    entropy = -sum(xlogx(part) for part in (flow, source_null, target_null))
    energy = flow @ (graph.weights + prior.log_odds) + null_log_density(theta, target).sum()
    value = float(energy + temperature * entropy)
    return Belief(Expectation(expected, target, target_null), float(flow.sum()), None, value)


def weighted_sources(graph: Graph, flow: Floats, source: Vectors) -> Vectors:
    """Sum each target's source vectors, weighted by the flow between them, in the order of the edges."""
    from bilex.em.sinkhorn_kernel import gather

    order = np.argsort(graph.indices, kind="stable")
    pointers = np.searchsorted(graph.indices[order], np.arange(graph.n_targets + 1))
    return np.asarray(gather(pointers, graph.rows[order], flow[order], source))


def xlogx(p: Floats) -> float:
    """Sum p log p - p, with 0 log 0 = 0."""
    positive = p[p > 0]
    return float((positive * np.log(positive)).sum() - p.sum())


SOFT = ("posterior", "sinkhorn")
E_STEPS: dict[str, EStep] = {"viterbi": viterbi, "mutual": mutual, "posterior": posterior, "sinkhorn": sinkhorn}

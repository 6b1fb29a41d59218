"""The E-steps: what EM infers about the latent matching, given θ.

- `viterbi`: the best edge set that the prior allows, exactly (paper, section 4.1). This is the paper's own.
- `mutual`: the pairs that are each other's nearest (Vulić and Korhonen 2016, Conneau et al. 2018).
- `posterior`: the exact posterior of the one-to-many model, over *all* source words and none (paper, section 5:
  "we can also efficiently compute the expectations necessary for EM").
- `sinkhorn`: entropic transport on the candidate graph with null options (the paper's footnote on Grave's remark).

The soft ones weigh an edge by ``exp(w / temperature)``; temperature 1 is the model as the paper states it. To add an
E-step, write a function of the type `EStep`, list it in `E_STEPS` and add its name to `bilex.methods.EStepKind`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bilex.em.context import Context
from bilex.errors import BilexError
from bilex.matching.candidates import candidate_graph
from bilex.matching.dense import dense_matching
from bilex.matching.graph import Graph, Matching
from bilex.matching.solver import solve
from bilex.methods import EStepConfig
from bilex.model.prior import Prior
from bilex.model.theta import MappedWords, PairStatistics, free_capacity
from bilex.numerics.rows import unit
from bilex.numerics.threads import for_each
from bilex.numerics.types import Floats, Vectors
from bilex.search.engine import Engine

SINKHORN_TOLERANCE = 1e-6
MAX_SINKHORN_ROUNDS = 1000
SCORES_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class EStepResult:
    """The result of an E-step.

    `pairs` is the (expected) number of pairs. A hard E-step has a `matching`; a soft one has its own `log_likelihood`,
    of the θ it was given.
    """

    statistics: PairStatistics
    pairs: float
    matching: Matching | None = None
    log_likelihood: float | None = None


EStep = Callable[[MappedWords, Prior, EStepConfig, Context, "Matching | None"], EStepResult]
"""Takes the mapped words, the prior, the configuration, the context and the previous matching."""


def viterbi(
    words: MappedWords, prior: Prior, config: EStepConfig, context: Context, previous: Matching | None
) -> EStepResult:
    """Find the best edge set that the prior allows, among the candidates or, if `exact`, among all edges.

    The previous matching's pairs are always among the candidates, and its duals are where the solver starts.
    """
    graph = candidate_graph(words, prior.capacities, k=config.candidates, previous=previous, engine=context.engine)
    graph = prior.apply(graph)
    context.clock.lap("candidates")
    if config.exact:
        matching = dense_matching(words, graph, prior, context.engine, previous)
    else:
        matching = solve(graph, prior.capacities, previous)
    matching = prior.complete(matching, words.weigh(prior.kept.source, prior.kept.target))
    context.clock.lap("matching")
    return hard_result(words, matching, prior)


def mutual(
    words: MappedWords, prior: Prior, config: EStepConfig, context: Context, previous: Matching | None
) -> EStepResult:
    """Take the pairs that are each other's nearest by cosine; whether their weight is positive does not matter."""
    del previous, config
    mapped, targets = unit(words.sources), unit(words.targets)
    best_target, best_source = (found.indices[:, 0] for found in context.engine.top_k_both(mapped, targets, 1))
    context.clock.lap("candidates")
    rows = np.flatnonzero(best_source[best_target] == np.arange(len(mapped)))
    nothing = np.zeros(0)
    return hard_result(words, Matching(rows, best_target[rows], np.nan, np.nan, nothing, nothing), prior)


def nearest_targets(words: MappedWords, engine: Engine) -> EStepResult:
    """Pair every source word with its nearest target by cosine: the lexicon of a map without self-learning."""
    best = engine.top_k(unit(words.sources), unit(words.targets), 1).indices[:, 0]
    nothing = np.zeros(0)
    matching = Matching(np.arange(len(words.source)), best, np.nan, np.nan, nothing, nothing)
    return EStepResult(
        PairStatistics(words.source, words.target[best], np.zeros(len(words.target))), len(best), matching
    )


def hard_result(words: MappedWords, matching: Matching, prior: Prior) -> EStepResult:
    """Return the result of an E-step that chose one edge set."""
    free = free_capacity(matching, prior.capacities, len(words.target))
    statistics = PairStatistics(words.source[matching.source], words.target[matching.target], free)
    return EStepResult(statistics, len(matching), matching)


def posterior(
    words: MappedWords, prior: Prior, config: EStepConfig, context: Context, previous: Matching | None
) -> EStepResult:
    """Compute p(a_i = j) for every target i and all sources j, and the exact marginal log-likelihood.

    Block by block over the targets: nothing of size n_src × n_trg is kept, only each target's expected source.
    """
    del previous
    if not (prior.capacities.targets_choose and prior.capacities.null):
        raise BilexError("the exact posterior is known for the one-to-many prior only; set prior = 'one-to-many'")
    temperature, source, target = config.temperature, words.source, words.target
    queries, targets = words.queries, words.targets
    logits_of_source = ((words.offsets + prior.log_odds) / temperature).astype(np.float32)
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

    for_each(work, range(0, len(target), height))
    context.clock.lap("posterior")
    # Alignments are uniform a priori: p(a_i = j) = 1 / (n_src + 1), or exp(log_odds) times as likely as none.
    alignments = np.logaddexp(np.log(len(source)) + prior.log_odds, 0)
    # At another temperature, what EM maximises is T log Σ p^(1/T), in which the null density has no T.
    likelihood = temperature * evidence.sum() + words.null_log_density().sum() - len(target) * alignments
    pairs = float(len(target) - free.sum())
    return EStepResult(PairStatistics(expected, target, free), pairs, None, float(likelihood))


def sinkhorn(
    words: MappedWords, prior: Prior, config: EStepConfig, context: Context, previous: Matching | None
) -> EStepResult:
    """Spread each word's probability over its candidates and none, so that no word is used more than once."""
    from bilex.em import sinkhorn_kernel as kernel

    if (prior.capacities.source, prior.capacities.target) != (1, 1):
        raise BilexError("entropic transport is defined for the 1:1 prior only; set prior = '1:1'")
    graph = prior.apply(
        candidate_graph(words, prior.capacities, k=config.candidates, previous=previous, engine=context.engine)
    )
    context.clock.lap("candidates")
    flow, source_null, target_null, _ = kernel.balance(
        graph.indptr,
        graph.indices,
        graph.weights / config.temperature,
        graph.n_targets,
        SINKHORN_TOLERANCE,
        MAX_SINKHORN_ROUNDS,
    )
    expected = weighted_sources(graph, flow, words.source)
    context.clock.lap("transport")
    # The free energy: expected log-likelihood plus the entropy of the transport, in units of the temperature.
    entropy = -sum(xlogx(part) for part in (flow, source_null, target_null))
    energy = flow @ graph.weights + words.null_log_density().sum()
    value = float(energy + config.temperature * entropy)
    return EStepResult(PairStatistics(expected, words.target, target_null), float(flow.sum()), None, value)


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


E_STEPS: dict[str, EStep] = {"viterbi": viterbi, "mutual": mutual, "posterior": posterior, "sinkhorn": sinkhorn}

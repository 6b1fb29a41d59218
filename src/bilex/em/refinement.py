"""EM on all evidence, after Algorithm 1: the exact matching on the weights of pairs, and the maps refitted to it.

The E-step weighs each edge by all that speaks for it (`bilex.model.pair_weights`), on the frequent words that EM sees;
the M-step fits the maps to the matching, in which a pair counts as much as it is probable. One round is enough: more
change little (`docs/results.md`).
"""

from dataclasses import replace

import numpy as np

from bilex.em.context import Context
from bilex.em.e_steps import hard_result
from bilex.em.edges import Languages, gather_edges, match_weighed
from bilex.em.em import Fit, measure_iteration
from bilex.matching.graph import Graph, RowPairs
from bilex.methods import Method
from bilex.model.counting import is_telling
from bilex.model.pair_weights import weigh_edges
from bilex.model.posterior import worthwhile_posterior
from bilex.model.prior import Prior
from bilex.model.theta import MappedWords, m_step
from bilex.numerics.types import Floats
from bilex.search.space import SharedSpace


def training_pairs(fit: Fit, seed: RowPairs, method: Method) -> RowPairs:
    """Return the pairs that the maps of a fit were fitted to last."""
    if not method.self_learning:
        return seed
    matched = fit.matching.pairs.among_frequent(method.e_step.max_rank)
    return matched if method.supervision == "start" else matched.union(seed)


def refine(fit: Fit, languages: Languages, seed: RowPairs, method: Method, prior: Prior, context: Context) -> Fit:
    """Take one more round of EM, with the matching on all evidence.

    Where the sources choose, EM reads the model in the other direction, and there is no such round.
    """
    if prior.capacities.sources_choose:
        return fit
    max_rank = method.e_step.max_rank
    frequent, prior = languages.among_frequent(max_rank), prior.among_frequent(max_rank)
    context.reporter.stage("weighing the evidence")
    words = MappedWords(fit.theta, frequent.source, frequent.target)
    space, neighbours = SharedSpace.of_units(*words.units, context.engine)
    context.clock.restart()
    trained = training_pairs(fit, seed, method).among_frequent(max_rank)
    edges = gather_edges(frequent, space, neighbours, trained, method.map, context.engine)
    context.clock.lap("candidates")
    weighed = weigh_edges(edges, prior.capacities)
    fit = replace(fit, weights=weighed.weights)
    if not is_telling(weighed.weights.purity, weighed.weights.deviation):
        return fit  # a failed run would learn from noise, and then look as if the evidence bore it out
    matching = match_weighed(weighed, prior, least_odds=-weighed.weights.log_odds)
    if not len(matching):
        return fit
    context.clock.lap("matching")
    result = hard_result(words, matching, prior)
    statistics = result.statistics.weighted(probabilities_of(matching.pairs, weighed.graph, prior))
    if method.supervision != "start":
        statistics = statistics.with_pairs(languages.source[seed.source], languages.target[seed.target])
    words = m_step(fit.theta, frequent.source, frequent.target, statistics, method.map)
    context.clock.lap("mapping")
    iteration = measure_iteration(words, result, prior, context.clock.seconds)
    context.reporter.iteration(iteration)
    return replace(fit, theta=words.theta, matching=matching, iterations=(*fit.iterations, iteration))


def probabilities_of(pairs: RowPairs, graph: Graph, prior: Prior) -> Floats:
    """Return the posterior of each pair; kept pairs are certain, whether they are edges or not."""
    posterior, keys = worthwhile_posterior(graph, prior.capacities), pairs.keys(graph.n_targets)
    places = np.minimum(np.searchsorted(graph.keys, keys), len(posterior) - 1)
    found = np.where(graph.keys[places] == keys, posterior[places], 0.0)
    return np.where(np.isin(keys, prior.kept.keys(graph.n_targets)), 1.0, found)

"""The round on all evidence, recomputed by NumPy and SciPy: matching, weighted M-step, and when it is left out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from bilex.em.context import Context
from bilex.em.edges import Languages, gather_edges
from bilex.em.em import Fit, fit
from bilex.em.refinement import probabilities_of, refine, training_pairs
from bilex.matching.graph import Graph, Matching, RowPairs
from bilex.methods import METHODS, Method
from bilex.model.evidence import kinds_between
from bilex.model.pair_weights import WeighedEdges, weigh_edges
from bilex.model.posterior import edge_posterior
from bilex.model.prior import Prior
from bilex.numerics.rows import unit
from bilex.numerics.types import Floats
from bilex.search.space import SharedSpace
from tests.em.fits import ENGINE, Recorder, pairs_of, row_pairs
from tests.languages import make_languages

DATA = make_languages(220, 12, 60, noise=0.9)
LANGUAGES = Languages(
    unit(DATA.source.vectors), unit(DATA.target.vectors), kinds_between(DATA.source.words, DATA.target.words)
)
SEED = row_pairs(*((DATA.source.index[s], DATA.target.index[t]) for s, t in DATA.gold[::4]))
MAX_RANK = 180


def method(**changes: Any) -> Method:
    """The default with the paper's map and no held-out pairs."""
    return METHODS["bilex"].with_changes(
        {"map": "orthogonal", "supervision": "start", "max_rank": MAX_RANK, "max_iterations": 3, **changes}
    )


def em(config: Method, prior: Prior) -> Fit:
    return fit(LANGUAGES.source, LANGUAGES.target, SEED, config, prior, Context(ENGINE))


def weigh(start: Fit, trained: RowPairs, config: Method) -> WeighedEdges:
    """Weigh the edges of the frequent words under the maps of a fit; both parts have oracles of their own."""
    frequent = LANGUAGES.among_frequent(MAX_RANK)
    mapped = (frequent.source @ start.theta.omega.T).astype(np.float32)
    space, near = SharedSpace.of_units(unit(mapped), unit(frequent.target), ENGINE)
    edges = gather_edges(frequent, space, near, trained, config.map, ENGINE)
    return weigh_edges(edges, Prior().capacities)


def best_pairs(weighed: WeighedEdges, prior: Prior) -> list[tuple[int, int]]:
    """Solve the assignment over the whole matrix; a pair has to be worth more than none, without the log-odds."""
    graph = weighed.graph
    worth = np.zeros((graph.n_sources, graph.n_targets))
    worth[graph.rows, graph.indices] = np.maximum(graph.weights - weighed.weights.log_odds + prior.log_odds, 0)
    worth[prior.kept.source], worth[:, prior.kept.target] = 0, 0
    worth[prior.kept.source, prior.kept.target] = 1e6
    worth[prior.forbidden.source, prior.forbidden.target] = 0
    rows, columns = linear_sum_assignment(worth, maximize=True)
    return [(s, t) for s, t in zip(rows.tolist(), columns.tolist(), strict=True) if worth[s, t] > 0]


def procrustes_by_hand(pairs: list[tuple[int, int]], counts: Floats) -> Floats:
    total = sum(
        count * np.outer(LANGUAGES.target[t].astype(float), LANGUAGES.source[s])
        for (s, t), count in zip(pairs, counts, strict=True)
    )
    u, _, v = np.linalg.svd(total)
    return np.asarray(u @ v)


SETTLED = Prior(kept=row_pairs((5, 170), (11, 12), (200, 3)), forbidden=row_pairs((0, 1), (30, 40)))


@pytest.mark.parametrize("prior", [Prior(), SETTLED, Prior(log_odds=-2.0)], ids=["plain", "settled", "log-odds"])
@pytest.mark.parametrize("supervision", ["start", "soft"])
def test_equals_an_assignment_and_a_weighted_procrustes(supervision: str, prior: Prior) -> None:
    config, recorder = method(supervision=supervision), Recorder()
    before = em(config, prior)
    after = refine(before, LANGUAGES, SEED, config, prior, Context(ENGINE, recorder))
    trained = training_pairs(before, SEED, config).among_frequent(MAX_RANK)
    weighed, seen = weigh(before, trained, config), prior.among_frequent(MAX_RANK)
    pairs = best_pairs(weighed, seen)
    assert len(seen.kept) == len(prior.kept) - (prior is SETTLED)  # one has a rare word
    assert pairs_of(after.matching) == pairs != pairs_of(before.matching)

    posterior, _ = edge_posterior(weighed.graph, prior.capacities)
    edges = zip(weighed.graph.rows.tolist(), weighed.graph.indices.tolist(), strict=True)
    probable = dict(zip(edges, posterior.tolist(), strict=True)) | dict.fromkeys(pairs_of(seen.kept), 1.0)
    counts = [probable[pair] for pair in pairs]
    assert min(counts) < 0.9 < max(counts)  # otherwise the weights would make no difference
    lessons = [*pairs, *(pairs_of(SEED) if supervision == "soft" else [])]
    expected = procrustes_by_hand(lessons, np.array(counts + [1.0] * (len(lessons) - len(pairs))))
    np.testing.assert_allclose(after.theta.omega, expected, atol=2e-3)
    assert np.abs(after.theta.omega - before.theta.omega).max() > 1e-2
    free = sorted(set(range(MAX_RANK)) - {t for _, t in pairs})
    np.testing.assert_allclose(after.theta.mu, LANGUAGES.target[free].mean(axis=0), atol=1e-6)

    assert after.iterations[:-1] == before.iterations and recorder.iterations == [after.iterations[-1]]
    assert after.iterations[-1].pairs == len(pairs) and set(after.iterations[-1].seconds) >= {"matching", "mapping"}
    cosines = [LANGUAGES.target[t] @ after.theta.omega @ LANGUAGES.source[s] for s, t in pairs]
    assert after.iterations[-1].mean_cosine == pytest.approx(np.mean(cosines), abs=1e-5)
    assert after.stopped == before.stopped


def test_settled_pairs_are_put_where_em_ended_without_them_unless_the_seed_is_certain() -> None:
    free, settled, certain = (
        em(method(certain_seed=is_certain), prior)
        for is_certain, prior in ((False, Prior()), (False, SETTLED), (True, SETTLED))
    )
    assert settled.theta.omega.tobytes() == free.theta.omega.tobytes() != certain.theta.omega.tobytes()
    kept = set(pairs_of(SETTLED.kept.among_frequent(MAX_RANK)))
    assert kept <= set(pairs_of(settled.matching)) and not kept <= set(pairs_of(free.matching))


def test_the_round_finds_more_than_em_alone() -> None:
    gold = {(DATA.source.index[s], DATA.target.index[t]) for s, t in DATA.gold}
    before = em(method(), Prior())
    after = refine(before, LANGUAGES, SEED, method(), Prior(), Context(ENGINE))
    assert len(gold & set(pairs_of(after.matching))) > len(gold & set(pairs_of(before.matching)))


def test_it_is_left_out_where_it_would_learn_from_noise() -> None:
    before = em(method(), Prior())
    others = np.random.default_rng(3).permutation(len(LANGUAGES.target))
    shuffled = replace(
        LANGUAGES,
        target=LANGUAGES.target[others],
        kinds=kinds_between(DATA.source.words, tuple(DATA.target.words[row] for row in others)),
    )
    noise = refine(before, shuffled, SEED, method(), Prior(), Context(ENGINE))
    assert noise.theta is before.theta and noise.weights is not None and noise.weights.purity < 0.3
    hopeless, choosing = Prior(log_odds=-1e4), Prior.named("many-to-one")
    for prior in (hopeless, choosing):
        assert refine(before, LANGUAGES, SEED, method(), prior, Context(ENGINE)).theta is before.theta


def test_training_pairs_are_those_of_the_last_m_step() -> None:
    matched, seed = row_pairs((1, 1), (2, 9), (300, 2)), row_pairs((1, 1), (4, 4), (250, 8))
    nothing = np.zeros(0)
    learnt = replace(em(method(), Prior()), matching=Matching(matched.source, matched.target, 0, 0, nothing, nothing))
    assert pairs_of(training_pairs(learnt, seed, method())) == [(1, 1), (2, 9)]
    assert pairs_of(training_pairs(learnt, seed, method(max_rank=None))) == pairs_of(matched)
    both = [(1, 1), (2, 9), (4, 4), (250, 8)]  # the seed may use rare words
    assert pairs_of(training_pairs(learnt, seed, method(supervision="soft"))) == both
    assert pairs_of(training_pairs(learnt, seed, method(self_learning=False))) == pairs_of(seed)


def test_a_pair_without_an_edge_has_no_chance_unless_it_is_kept() -> None:
    graph = Graph.from_edges(np.array([0, 0, 2]), np.array([0, 1, 2]), np.array([1.0, 0.0, -3.0]), (3, 4))
    prior = Prior(kept=row_pairs((1, 3), (2, 2)))
    found = probabilities_of(row_pairs((0, 0), (0, 2), (1, 3), (2, 2), (2, 3)), graph, prior)
    first = np.e / (1 + np.e + 1)  # beside the other edge of the word, and none
    np.testing.assert_allclose(found, [first, 0, 1, 1, 0], atol=1e-9)
    found = probabilities_of(row_pairs((2, 2), (2, 3)), graph, Prior())  # the last edge, and none behind it
    np.testing.assert_allclose(found, [1 / (1 + np.exp(3)), 0], atol=1e-9)

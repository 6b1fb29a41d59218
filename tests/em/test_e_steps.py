"""The E-steps one by one: dense definitions, blocks, priors they refuse, and what is made of their beliefs."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from bilex.em import e_steps as expectation
from bilex.em import em
from bilex.em.e_steps import E_STEPS, Belief, Problem, mutual, posterior, sinkhorn, viterbi, weighted_sources
from bilex.em.em import Settings, fit
from bilex.errors import BilexError
from bilex.matching.graph import Graph
from bilex.model.prior import PRIOR_NAMES, Prior
from bilex.model.theta import Theta
from bilex.numerics.types import Vectors
from bilex.search.local import LocalEngine
from tests import oracles
from tests.em import baselines

ENGINE = LocalEngine(threads=1)


def unit_vectors(seed: int, n: int, dimension: int = 6) -> Vectors:
    vectors = np.random.default_rng(seed).normal(size=(n, dimension))
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def some_theta(dimension: int = 6) -> Theta:
    rng = np.random.default_rng(9)
    return Theta(oracles.random_orthogonal(rng, dimension), 0.2 * rng.normal(size=dimension))


def problem(prior: str, temperature: float = 1.0, candidates: int = 10**6, log_odds: float = 0.0) -> Problem:
    return Problem(
        prior=Prior.named(prior, log_odds), candidates=candidates, temperature=temperature, exact=False, engine=ENGINE
    )


def weights_of(theta: Theta, source: Vectors, target: Vectors) -> baselines.Array:
    return oracles.weight_matrix(theta.omega, theta.mu, source, target)


def same_belief(one: Belief, other: Belief, tolerance: float) -> None:
    np.testing.assert_allclose(one.expected.source, other.expected.source, atol=tolerance)
    np.testing.assert_allclose(one.expected.free, other.expected.free, atol=tolerance)
    assert one.pairs == pytest.approx(other.pairs, abs=tolerance * len(one.expected.free))
    assert one.log_likelihood == pytest.approx(other.log_likelihood, rel=tolerance)


# The exact posterior


@pytest.mark.parametrize("log_odds", [0.0, -3.0, 2.0])
@pytest.mark.parametrize("temperature", [1.0, 0.02, 20.0])
@pytest.mark.parametrize("sizes", [(30, 40), (1, 25), (25, 1)], ids=str)
def test_the_posterior_is_the_softmax_over_sources_and_none(
    sizes: tuple[int, int], temperature: float, log_odds: float
) -> None:
    theta, source, target = some_theta(), unit_vectors(0, sizes[0]), unit_vectors(1, sizes[1])
    belief = posterior(theta, source, target, problem("one-to-many", temperature, log_odds=log_odds), None)
    p, none = baselines.ibm1_posterior(weights_of(theta, source, target) + log_odds, temperature)
    np.testing.assert_allclose(belief.expected.source, p.T @ source, atol=2e-5)
    np.testing.assert_allclose(belief.expected.free, none, atol=2e-5)
    assert belief.expected.target is target
    assert belief.matching is None
    assert belief.pairs == pytest.approx(p.sum(), abs=1e-3)


@pytest.mark.parametrize("log_odds", [0.0, -3.0, 2.0])
def test_its_likelihood_is_the_sum_over_all_alignments(log_odds: float) -> None:
    theta, source, target = some_theta(), unit_vectors(2, 12), unit_vectors(3, 9)
    belief = posterior(theta, source, target, problem("one-to-many", log_odds=log_odds), None)
    odds = np.array([np.exp(log_odds)] * 12 + [1.0])
    total = 0.0
    for t in target:
        densities = [oracles.log_normal(t, theta.omega @ s) for s in source] + [oracles.log_normal(t, theta.mu)]
        total += np.log((odds / odds.sum()) @ np.exp(densities))
    assert belief.log_likelihood == pytest.approx(total, rel=1e-6)


@pytest.mark.parametrize("height", [1, 7, 10**6])
def test_the_posterior_in_blocks_is_the_same(height: int, monkeypatch: pytest.MonkeyPatch) -> None:
    theta, source, target = some_theta(), unit_vectors(4, 50), unit_vectors(5, 61)
    whole = posterior(theta, source, target, problem("one-to-many"), None)
    monkeypatch.setattr(expectation, "SCORES_AT_ONCE", 50 * height)
    blocks = posterior(theta, source, target, problem("one-to-many"), None)
    same_belief(blocks, whole, 1e-6)
    monkeypatch.setattr(expectation, "SCORES_AT_ONCE", 1)  # less than one row: still one row at a time
    same_belief(posterior(theta, source, target, problem("one-to-many"), None), whole, 1e-6)


def test_the_posterior_needs_memory_for_its_blocks_only(monkeypatch: pytest.MonkeyPatch) -> None:
    theta, source, target = some_theta(), unit_vectors(6, 3000), unit_vectors(7, 3000)
    monkeypatch.setenv("BILEX_THREADS", "2")
    monkeypatch.setattr(expectation, "SCORES_AT_ONCE", 1 << 15)
    tracemalloc.start()
    posterior(theta, source, target, problem("one-to-many"), None)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * 3000 * 3000 / 8  # a small part of the scores of all pairs


def test_the_posterior_at_a_low_temperature_is_viterbis_choice() -> None:
    theta, source, target = some_theta(), unit_vectors(8, 40), unit_vectors(9, 40)
    soft = posterior(theta, source, target, problem("one-to-many", 1e-6), None)
    hard = viterbi(theta, source, target, problem("one-to-many"), None)
    assert np.isfinite(soft.expected.source).all()
    assert hard.matching is not None
    expected = np.zeros_like(target)
    expected[hard.matching.target] = source[hard.matching.source]
    np.testing.assert_allclose(soft.expected.source, expected, atol=1e-3)


# Entropic transport


@pytest.mark.parametrize("log_odds", [0.0, 0.3])
@pytest.mark.parametrize("temperature", [0.1, 1.0])
def test_sinkhorn_on_the_whole_graph(temperature: float, log_odds: float) -> None:
    theta, source, target = some_theta(), unit_vectors(10, 20), unit_vectors(11, 26)
    belief = sinkhorn(theta, source, target, problem("1:1", temperature, log_odds=log_odds), None)
    plan, _, none = baselines.transport(weights_of(theta, source, target) + log_odds, temperature)
    np.testing.assert_allclose(belief.expected.source, plan.T @ source, atol=1e-5)
    np.testing.assert_allclose(belief.expected.free, none, atol=1e-5)
    assert belief.pairs == pytest.approx(plan.sum(), abs=1e-4)


def test_sinkhorn_sees_only_the_candidates() -> None:
    theta, source, target = some_theta(), unit_vectors(12, 20), unit_vectors(13, 26)
    weights = weights_of(theta, source, target)
    weights[weights < np.sort(weights, axis=1)[:, -4:-3]] = -np.inf
    plan, _, none = baselines.transport(weights, 0.2)
    belief = sinkhorn(theta, source, target, problem("1:1", 0.2, candidates=4), None)
    np.testing.assert_allclose(belief.expected.source, plan.T @ source, atol=1e-5)
    np.testing.assert_allclose(belief.expected.free, none, atol=1e-5)
    assert (belief.expected.free == 1).any(), "a target that is nobody's candidate"


def test_weighted_sources_is_the_dense_product() -> None:
    rng = np.random.default_rng(14)
    edges = rng.random((15, 11)) < 0.3
    edges[:, 4] = edges[3] = False
    rows, columns = np.nonzero(edges)
    shuffled = rng.permutation(len(rows))
    graph = Graph.from_edges(rows[shuffled], columns[shuffled], rng.random(len(rows)), (15, 11))
    flow, source = rng.random(len(rows)), unit_vectors(15, 15)
    dense = np.zeros((15, 11))
    dense[graph.rows, graph.indices] = flow
    expected = weighted_sources(graph, flow, source)
    assert expected.dtype == np.float32
    assert expected.shape == (11, 6)
    np.testing.assert_allclose(expected, dense.T @ source, atol=1e-6)
    assert not expected[4].any()


# Mutual neighbours


@pytest.mark.parametrize("seed", range(5))
def test_mutual_by_loops(seed: int) -> None:
    theta, source, target = some_theta(), unit_vectors(seed, 40), unit_vectors(seed + 50, 30)
    belief = mutual(theta, source, target, problem("1:1"), None)
    assert belief.matching is not None
    pairs = list(zip(belief.matching.source.tolist(), belief.matching.target.tolist(), strict=True))
    assert pairs == baselines.mutual_neighbours(weights_of(Theta(theta.omega, 0 * theta.mu), source, target))
    assert belief.pairs == len(pairs)
    free = np.ones(30)
    free[belief.matching.target] = 0
    assert (belief.expected.free == free).all()


def test_two_words_are_always_mutual_even_at_a_negative_weight() -> None:
    source, target = np.array([[1, 0]], np.float32), np.array([[-1, 0]], np.float32)
    belief = mutual(Theta(np.eye(2), np.zeros(2)), source, target, problem("1:1"), None)
    assert belief.pairs == 1


# Priors they are not defined for


@pytest.mark.parametrize("name", PRIOR_NAMES)
def test_soft_steps_refuse_priors_they_are_not_defined_for(name: str) -> None:
    source, target, seed = unit_vectors(16, 12), unit_vectors(17, 14), (np.arange(8), np.arange(8))
    steps = {"posterior": (("one-to-many", "many-to-one"), "set prior = 'one-to-many'"), "sinkhorn": (("1:1",), "1:1")}
    for step, (allowed, remedy) in steps.items():
        settings = Settings(Prior.named(name), e_step=step, max_iterations=2)
        if name in allowed:
            assert len(fit(source, target, seed, settings, ENGINE).iterations) == 2
        else:
            with pytest.raises(BilexError, match=remedy):
                fit(source, target, seed, settings, ENGINE)


@pytest.mark.parametrize("name", ["1:1", "2:2", "one-to-many", "many-to-one-no-null"])
def test_hard_steps_know_all_priors(name: str) -> None:
    source, target, seed = unit_vectors(18, 12), unit_vectors(19, 14), (np.arange(8), np.arange(8))
    for step in ("viterbi", "mutual"):
        result = fit(source, target, seed, Settings(Prior.named(name), e_step=step), ENGINE)
        assert len(result.matching)


# What EM makes of them


@pytest.mark.parametrize(("step", "prior"), [("posterior", "one-to-many"), ("sinkhorn", "1:1")])
def test_the_lexicon_of_a_soft_method_is_the_best_edge_set_at_the_end(step: str, prior: str) -> None:
    source, target, seed = unit_vectors(20, 30), unit_vectors(21, 34), (np.arange(20), np.arange(20))
    settings = Settings(Prior.named(prior), candidates=5, e_step=step, temperature=0.1, max_iterations=7)
    seen, times = list[em.Iteration](), list[dict[str, float]]()

    def report(iteration: em.Iteration) -> None:
        seen.append(iteration)
        times.append(dict(iteration.seconds))

    result = fit(source, target, seed, settings, ENGINE, report)
    best = viterbi(result.theta, source, target, problem(prior, candidates=5), None).matching
    assert best is not None
    assert (result.matching.source == best.source).all()
    assert (result.matching.target == best.target).all()
    assert abs(result.matching.gap) < 1e-9
    # Finding it is no part of the last iteration, which was reported already.
    assert [iteration.seconds for iteration in seen] == times
    assert all(iteration.certificate_gap is None for iteration in result.iterations)


@pytest.mark.parametrize("step", E_STEPS)
def test_without_self_learning_no_step_is_taken(step: str) -> None:
    source, target, seed = unit_vectors(22, 20), unit_vectors(23, 25), (np.arange(9), np.arange(9))
    result = fit(source, target, seed, Settings(e_step=step, self_learning=False), ENGINE)
    expected = baselines.procrustes(source[:9].astype(float), target[:9].astype(float))
    np.testing.assert_allclose(result.theta.omega, expected, atol=1e-9)
    assert not result.theta.mu.any()
    assert result.stopped == em.SEED_ONLY
    nearest = baselines.nearest_by_cosine(source @ expected.T, target.astype(float))
    assert (result.matching.source == np.arange(20)).all()
    assert result.matching.target.tolist() == nearest


# Both directions


def test_a_map_of_one_side_mirrored() -> None:
    theta, source, target = some_theta(), unit_vectors(24, 8), unit_vectors(25, 9)
    other = theta.mirrored()
    np.testing.assert_allclose(other.omega @ theta.omega, np.eye(6), atol=1e-12)
    np.testing.assert_allclose(theta.omega @ other.mu, theta.mu, atol=1e-12)
    # Words are as far from each other, whichever side is mapped.
    there = theta.map_source(source) @ theta.map_target(target).T
    back = other.map_source(target) @ other.map_target(source).T
    np.testing.assert_allclose(there, back.T, atol=1e-6)
    again = other.mirrored()
    np.testing.assert_allclose(again.omega, theta.omega, atol=1e-12)
    np.testing.assert_allclose(again.mu, theta.mu, atol=1e-12)


def test_maps_of_both_sides_mirrored() -> None:
    rng = np.random.default_rng(26)
    theta = Theta(rng.normal(size=(4, 6)), rng.normal(size=4), rng.normal(size=(4, 5)))
    source, target = unit_vectors(27, 8), unit_vectors(28, 9, dimension=5)
    other = theta.mirrored()
    assert (other.map_source(target) == theta.map_target(target)).all()
    assert (other.map_target(source) == theta.map_source(source)).all()
    assert (other.mu == theta.mu).all()  # in the space between the two
    assert other.mirrored().omega is theta.omega
    np.testing.assert_allclose(np.linalg.norm(theta.map_source(source), axis=1), 1, atol=1e-6)
    # The weights of a theta with two maps are the paper's, between the mapped vectors.
    mapped, aligned = theta.map_source(source), theta.map_target(target)
    weights = theta.queries(source) @ aligned.T + theta.offsets(source)[:, None]
    np.testing.assert_allclose(weights, oracles.weight_matrix(np.eye(4), theta.mu, mapped, aligned), atol=1e-5)

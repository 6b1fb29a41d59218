"""The E-steps one by one: dense definitions, blocks, priors they refuse, and what is made of their results."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

from bilex.em import e_steps, em
from bilex.em.context import Context
from bilex.em.e_steps import E_STEPS, EStep, EStepResult, mutual, posterior, sinkhorn, viterbi, weighted_sources, xlogx
from bilex.errors import BilexError
from bilex.matching.graph import Graph
from bilex.methods import EStepConfig
from bilex.model.prior import Prior
from bilex.model.theta import MappedWords, Theta
from bilex.numerics.types import Vectors
from bilex.search.local import LocalEngine
from tests import oracles
from tests.em import baselines
from tests.em.fits import Data, Recorder, paper, run_fit

ENGINE = LocalEngine(threads=1)


def unit_vectors(seed: int, n: int, dimension: int = 6) -> Vectors:
    vectors = np.random.default_rng(seed).normal(size=(n, dimension))
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def some_theta(dimension: int = 6) -> Theta:
    rng = np.random.default_rng(9)
    return Theta(oracles.random_orthogonal(rng, dimension), 0.2 * rng.normal(size=dimension))


def run_step(
    step: EStep,
    theta: Theta,
    source: Vectors,
    target: Vectors,
    prior: str,
    temperature: float = 1.0,
    candidates: int = 10**6,
    log_odds: float = 0.0,
) -> EStepResult:
    config = EStepConfig(candidates=candidates, temperature=temperature)
    return step(MappedWords(theta, source, target), Prior.named(prior, log_odds), config, Context(ENGINE), None)


def weights_of(theta: Theta, source: Vectors, target: Vectors) -> baselines.Array:
    return oracles.weight_matrix(theta.omega, theta.mu, source, target)


def same_result(one: EStepResult, other: EStepResult, tolerance: float) -> None:
    np.testing.assert_allclose(one.statistics.source, other.statistics.source, atol=tolerance)
    np.testing.assert_allclose(one.statistics.free, other.statistics.free, atol=tolerance)
    assert one.pairs == pytest.approx(other.pairs, abs=tolerance * len(one.statistics.free))
    assert one.log_likelihood == pytest.approx(other.log_likelihood, rel=tolerance)


# The exact posterior


@pytest.mark.parametrize(
    ("sizes", "temperature", "log_odds"),
    [((30, 40), 1.0, 0.0), ((30, 40), 0.02, -3.0), ((1, 25), 20.0, 2.0), ((25, 1), 1.0, 2.0)],
    ids=str,
)
def test_the_posterior_is_the_softmax_over_sources_and_none(
    sizes: tuple[int, int], temperature: float, log_odds: float
) -> None:
    theta, source, target = some_theta(), unit_vectors(0, sizes[0]), unit_vectors(1, sizes[1])
    result = run_step(posterior, theta, source, target, "one-to-many", temperature, log_odds=log_odds)
    p, none = baselines.ibm1_posterior(weights_of(theta, source, target) + log_odds, temperature)
    np.testing.assert_allclose(result.statistics.source, p.T @ source, atol=2e-5)
    np.testing.assert_allclose(result.statistics.free, none, atol=2e-5)
    assert result.statistics.target is target
    assert result.matching is None
    assert result.pairs == pytest.approx(p.sum(), abs=1e-3)


@pytest.mark.parametrize("log_odds", [0.0, -3.0, 2.0])
def test_its_likelihood_is_the_sum_over_all_alignments(log_odds: float) -> None:
    theta, source, target = some_theta(), unit_vectors(2, 12), unit_vectors(3, 9)
    result = run_step(posterior, theta, source, target, "one-to-many", log_odds=log_odds)
    odds = np.array([np.exp(log_odds)] * 12 + [1.0])
    total = 0.0
    for t in target:
        densities = [oracles.log_normal(t, theta.omega @ s) for s in source] + [oracles.log_normal(t, theta.mu)]
        total += np.log((odds / odds.sum()) @ np.exp(densities))
    assert result.log_likelihood == pytest.approx(total, rel=1e-6)


@pytest.mark.parametrize("height", [1, 7, 10**6])
def test_the_posterior_in_blocks_is_the_same(height: int, monkeypatch: pytest.MonkeyPatch) -> None:
    theta, source, target = some_theta(), unit_vectors(4, 50), unit_vectors(5, 61)
    whole = run_step(posterior, theta, source, target, "one-to-many")
    monkeypatch.setattr(e_steps, "SCORES_AT_ONCE", 50 * height)
    blocks = run_step(posterior, theta, source, target, "one-to-many")
    same_result(blocks, whole, 1e-6)
    monkeypatch.setattr(e_steps, "SCORES_AT_ONCE", 1)  # less than one row: still one row at a time
    same_result(run_step(posterior, theta, source, target, "one-to-many"), whole, 1e-6)


def test_the_posterior_needs_memory_for_its_blocks_only(monkeypatch: pytest.MonkeyPatch) -> None:
    theta, source, target = some_theta(), unit_vectors(6, 3000), unit_vectors(7, 3000)
    monkeypatch.setenv("BILEX_THREADS", "2")
    monkeypatch.setattr(e_steps, "SCORES_AT_ONCE", 1 << 15)
    tracemalloc.start()
    run_step(posterior, theta, source, target, "one-to-many")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * 3000 * 3000 / 8  # a small part of the scores of all pairs


def test_the_posterior_at_a_low_temperature_is_viterbis_choice() -> None:
    theta, source, target = some_theta(), unit_vectors(8, 40), unit_vectors(9, 40)
    soft = run_step(posterior, theta, source, target, "one-to-many", 1e-6)
    hard = run_step(viterbi, theta, source, target, "one-to-many")
    assert np.isfinite(soft.statistics.source).all()
    assert hard.matching is not None
    expected = np.zeros_like(target)
    expected[hard.matching.target] = source[hard.matching.source]
    np.testing.assert_allclose(soft.statistics.source, expected, atol=1e-3)


# Entropic transport


@pytest.mark.parametrize("log_odds", [0.0, 0.3])
@pytest.mark.parametrize("temperature", [0.1, 1.0])
def test_sinkhorn_on_the_whole_graph(temperature: float, log_odds: float) -> None:
    theta, source, target = some_theta(), unit_vectors(10, 20), unit_vectors(11, 26)
    result = run_step(sinkhorn, theta, source, target, "1:1", temperature, log_odds=log_odds)
    plan, _, none = baselines.transport(weights_of(theta, source, target) + log_odds, temperature)
    np.testing.assert_allclose(result.statistics.source, plan.T @ source, atol=1e-5)
    np.testing.assert_allclose(result.statistics.free, none, atol=1e-5)
    assert result.pairs == pytest.approx(plan.sum(), abs=1e-4)


def test_sinkhorn_sees_only_the_candidates() -> None:
    theta, source, target = some_theta(), unit_vectors(12, 20), unit_vectors(13, 26)
    weights = weights_of(theta, source, target)
    weights[weights < np.sort(weights, axis=1)[:, -4:-3]] = -np.inf
    plan, _, none = baselines.transport(weights, 0.2)
    result = run_step(sinkhorn, theta, source, target, "1:1", 0.2, candidates=4)
    np.testing.assert_allclose(result.statistics.source, plan.T @ source, atol=1e-5)
    np.testing.assert_allclose(result.statistics.free, none, atol=1e-5)
    assert (result.statistics.free == 1).any(), "a target that is nobody's candidate"


def test_nothing_has_no_entropy() -> None:
    assert xlogx(np.array([0.0, 1.0, 0.5])) == pytest.approx(0.5 * np.log(0.5) - 1.5)


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


@pytest.mark.parametrize("seed", range(2))
def test_mutual_by_loops(seed: int) -> None:
    theta, source, target = some_theta(), unit_vectors(seed, 40), unit_vectors(seed + 50, 30)
    result = run_step(mutual, theta, source, target, "1:1")
    assert result.matching is not None
    pairs = list(zip(result.matching.source.tolist(), result.matching.target.tolist(), strict=True))
    assert pairs == baselines.mutual_neighbours(weights_of(Theta(theta.omega, 0 * theta.mu), source, target))
    assert result.pairs == len(pairs)
    free = np.ones(30)
    free[result.matching.target] = 0
    assert (result.statistics.free == free).all()


def test_two_words_are_always_mutual_even_at_a_negative_weight() -> None:
    source, target = np.array([[1, 0]], np.float32), np.array([[-1, 0]], np.float32)
    result = run_step(mutual, Theta(np.eye(2), np.zeros(2)), source, target, "1:1")
    assert result.pairs == 1


# What EM makes of them


@pytest.mark.parametrize(("step", "prior"), [("posterior", "one-to-many"), ("sinkhorn", "1:1")])
def test_the_lexicon_of_a_soft_method_is_the_best_edge_set_at_the_end(step: str, prior: str) -> None:
    source, target = unit_vectors(20, 30), unit_vectors(21, 34)
    data, reporter = Data(source, target, np.arange(34), np.eye(6)), Recorder()
    options: dict[str, Any] = {"prior": prior, "candidates": 5, "e_step": step, "temperature": 0.1}
    result = run_fit(data, 20, max_iterations=7, reporter=reporter, **options)
    best = run_step(viterbi, result.theta, source, target, prior, candidates=5).matching
    assert best is not None
    assert (result.matching.source == best.source).all()
    assert (result.matching.target == best.target).all()
    assert abs(result.matching.gap) < 1e-9
    # Finding it is not part of the last iteration, which was reported already.
    assert all("matching" not in iteration.seconds for iteration in reporter.iterations)
    assert all(iteration.certificate_gap is None for iteration in result.iterations)


@pytest.mark.parametrize("step", E_STEPS)
def test_without_self_learning_no_step_is_taken(step: str) -> None:
    source, target = unit_vectors(22, 20), unit_vectors(23, 25)
    result = run_fit(Data(source, target, np.arange(25), np.eye(6)), 9, e_step=step, self_learning=False)
    expected = baselines.procrustes(source[:9].astype(float), target[:9].astype(float))
    np.testing.assert_allclose(result.theta.omega, expected, atol=1e-9)
    assert not result.theta.mu.any()
    assert result.stopped == em.SEED_ONLY
    assert (result.matching.source == np.arange(20)).all()
    assert result.matching.target.tolist() == baselines.nearest_by_cosine(source @ expected.T, target.astype(float))


@pytest.mark.parametrize(("step", "prior"), [("posterior", "1:1"), ("sinkhorn", "2:2")])
def test_soft_steps_refuse_priors_they_are_not_defined_for(step: str, prior: str) -> None:
    with pytest.raises(BilexError):
        paper(e_step=step, prior=prior)
    with pytest.raises(BilexError):
        run_step(E_STEPS[step], some_theta(), unit_vectors(16, 12), unit_vectors(17, 14), prior)


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
    words = MappedWords(theta, source, target)
    weights = words.queries @ aligned.T + words.offsets[:, None]
    np.testing.assert_allclose(weights, oracles.weight_matrix(np.eye(4), theta.mu, mapped, aligned), atol=1e-5)

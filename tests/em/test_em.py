"""Algorithm 1: the log-likelihood never falls, planted lexicons are found, and every end is explained."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bilex.em import em
from bilex.em.em import Fit, Iteration, Settings, fit, mean_cosine, viterbi_em, why_stop
from bilex.matching.candidates import candidate_graph
from bilex.matching.graph import Matching
from bilex.matching.solver import solve
from bilex.model.maps import Steps
from bilex.model.prior import PRIOR_NAMES, Prior
from bilex.model.theta import Theta, log_likelihood, m_step
from bilex.model.weights import likelihood
from bilex.numerics.types import Indices, Vectors
from bilex.search.local import LocalEngine
from tests import oracles

ENGINE = LocalEngine(threads=1)


@dataclass(frozen=True)
class Data:
    """Two vocabularies with a planted lexicon: ``target[gold[j]]`` is Ω ``source[j]`` and noise."""

    source: Vectors
    target: Vectors
    gold: Indices
    omega: np.ndarray

    def seed(self, n: int) -> tuple[Indices, Indices]:
        return np.arange(n), self.gold[:n]


def unit(vectors: np.ndarray) -> Vectors:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def planted(
    seed: int, n: int = 80, more_sources: int = 0, more_targets: int = 0, dimension: int = 12, noise: float = 0.1
) -> Data:
    """Plant n pairs among words that have no partner; noise is the length of the error beside a length of 1."""
    rng = np.random.default_rng(seed)
    omega = oracles.random_orthogonal(rng, dimension)
    source = unit(rng.normal(size=(n + more_sources, dimension)))
    mapped = source[:n] @ omega.T + noise * rng.normal(size=(n, dimension)) / np.sqrt(dimension)
    others = rng.normal(size=(more_targets, dimension)) + 0.5  # the words that nothing generated have a mean
    order = rng.permutation(n + more_targets)
    return Data(source, unit(np.concatenate([mapped, others]))[order], np.argsort(order)[:n], omega)


def rounding(pairs: int, longest: float = 1.0) -> float:
    """How much a float32 can cost the log-likelihood: Ωs and Ωs - μ are rounded to it.

    So the weight of a pair, and its term in the log-likelihood, is off by about 2^-24 ‖t‖‖Ωs - μ‖ at most.
    """
    return pairs * 2.0**-23 * longest**2 + 1e-9


def falls(values: list[float]) -> float:
    return max((before - after for before, after in itertools.pairwise(values)), default=0.0)


# What both steps maximise


@pytest.mark.parametrize("log_odds", [0.0, 0.4, -0.1])
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("name", PRIOR_NAMES)
def test_the_log_likelihood_never_falls(name: str, k: int, log_odds: float) -> None:
    longest = 0
    for seed, noise in enumerate((0.05, 0.6, 1.2)):
        data = planted(seed, n=70, more_sources=20 * seed, more_targets=30, dimension=10, noise=noise)
        result = fit(
            data.source, data.target, data.seed(6), Settings(Prior.named(name, log_odds), k, max_iterations=40), ENGINE
        )
        values = [iteration.log_likelihood for iteration in result.iterations]
        assert np.isfinite(values).all()
        assert falls(values) <= 1e-9 * np.abs(values).max()
        for iteration in result.iterations:
            assert iteration.certificate_gap is not None
            assert abs(iteration.certificate_gap) < 1e-9
        longest = max(longest, len(values))
    assert longest >= 3, "EM that stops at once shows nothing"


@given(st.integers(0, 2**32), st.sampled_from(PRIOR_NAMES), st.integers(1, 4), st.floats(-0.3, 1), st.floats(0.1, 2))
@settings(deadline=None, max_examples=60)
def test_the_log_likelihood_never_falls_on_any_vectors(
    seed: int, name: str, k: int, log_odds: float, length: float
) -> None:
    rng = np.random.default_rng(seed)
    n_sources, n_targets, dimension = rng.integers(2, 30, 3)
    source = (length * rng.normal(size=(n_sources, dimension))).astype(np.float32)
    target = (length * rng.normal(size=(n_targets, dimension))).astype(np.float32)
    pairs = np.arange(min(n_sources, n_targets, 4))
    options = Settings(Prior.named(name, log_odds), k, max_iterations=15)
    values = [i.log_likelihood for i in fit(source, target, (pairs, pairs), options, ENGINE).iterations]
    assert np.isfinite(values).all()
    longest = max(np.linalg.norm(vectors, axis=1).max() for vectors in (source, target))
    assert falls(values) <= rounding(2 * max(n_sources, n_targets), longest)


@pytest.mark.parametrize("name", [name for name in PRIOR_NAMES if not name.startswith("many")])
@pytest.mark.parametrize("noise", [0.3, 1.0])
def test_neither_half_step_lowers_it(name: str, noise: float) -> None:
    data, prior = planted(5, n=60, more_targets=25, dimension=10, noise=noise), Prior.named(name, log_odds=0.1)
    source, target, (rows, columns) = data.source, data.target, data.seed(5)
    theta, matching = Theta.from_pairs(source[rows], target[columns]), None
    values = list[float]()
    for _ in range(8):
        graph = candidate_graph(likelihood(theta, source, target), prior, k=2, previous=matching, engine=ENGINE)
        if matching is not None:
            # The E-step is never worse than keeping the pairs it had.
            kept = graph.weights[[find(graph.rows, graph.indices, pair) for pair in pairs_of(matching)]]
            assert solve(graph, prior).objective >= (kept + prior.log_odds).sum() - 1e-9
        matching = solve(graph, prior)
        values.append(log_likelihood(theta, source, target, matching, prior))
        theta = m_step(theta, source, target, matching, prior)
        values.append(log_likelihood(theta, source, target, matching, prior))
    assert falls(values) <= rounding(85)
    assert values[-1] > values[0] + 1  # and it does rise


def pairs_of(matching: Matching) -> list[tuple[int, int]]:
    return [(int(j), int(i)) for j, i in zip(matching.source, matching.target, strict=True)]


def find(rows: Indices, columns: Indices, pair: tuple[int, int]) -> int:
    return int(np.flatnonzero((rows == pair[0]) & (columns == pair[1]))[0])


def test_forgetting_the_previous_pairs_could_lower_it() -> None:
    # Why candidate_graph is given them: without, some run of the same kind falls by more than rounding.
    worst = 0.0
    for seed in range(60):
        data, prior, values = planted(seed, n=40, more_sources=10, dimension=6, noise=1.2), Prior(), list[float]()
        theta = Theta.from_pairs(data.source[:4], data.target[data.gold[:4]])
        for _ in range(12):
            graph = candidate_graph(
                likelihood(theta, data.source, data.target), prior, k=1, previous=None, engine=ENGINE
            )
            matching = solve(graph, prior)
            theta = m_step(theta, data.source, data.target, matching, prior)
            values.append(log_likelihood(theta, data.source, data.target, matching, prior))
        worst = max(worst, falls(values))
    assert worst > 100 * rounding(50)


# What it finds


@pytest.mark.parametrize("name", PRIOR_NAMES)
def test_recovers_a_planted_lexicon_from_a_handful_of_seeds(name: str) -> None:
    # Twelve seed pairs and noise: the first map is off, and EM has to mend it.
    data = planted(1, n=300, dimension=20, noise=0.35)
    start = Theta.from_pairs(data.source[:14], data.target[data.gold[:14]])
    result = fit(data.source, data.target, data.seed(14), Settings(Prior.named(name)), ENGINE)
    assert result.stopped.startswith("converged")
    assert np.linalg.norm(result.theta.omega - data.omega) < 0.3 * np.linalg.norm(start.omega - data.omega)
    found = set(pairs_of(result.matching))
    assert len(found & set(enumerate(data.gold))) >= 0.95 * 300
    if name == "1:1":
        assert len(found) <= 300


@pytest.mark.parametrize(("more_sources", "more_targets"), [(0, 150), (150, 0), (60, 90)])
def test_vocabularies_of_different_sizes(more_sources: int, more_targets: int) -> None:
    data = planted(2, 120, more_sources, more_targets, dimension=25, noise=0.2)
    result = fit(data.source, data.target, data.seed(30), Settings(), ENGINE)
    assert len(set(pairs_of(result.matching)) & set(enumerate(data.gold))) >= 118
    # Where a word was left unmatched, μ is the mean of those words.
    unmatched = np.setdiff1d(np.arange(len(data.target)), result.matching.target)
    if len(unmatched):
        np.testing.assert_allclose(result.theta.mu, data.target[unmatched].astype(float).mean(axis=0), atol=1e-12)


@pytest.mark.parametrize("name", ["1:1", "2:2", "one-to-many", "many-to-one"])
def test_the_frequency_constraint_is_a_fit_to_the_frequent_words(name: str) -> None:
    data = planted(11, n=120, more_sources=10, more_targets=30, noise=0.4)
    rows, columns = data.seed(40)  # with words of rank 70 and more on the target side
    assert columns.max() >= 70
    result = fit(data.source, data.target, (rows, columns), Settings(Prior.named(name), max_rank=70), ENGINE)
    assert result.matching.source.max() < 70
    assert result.matching.target.max() < 70
    # The same from the same start with only those words; the seed may use the rarer ones.
    prior = Prior.named(name)
    sides = (data.source, rows), (data.target, columns)
    (source, left), (target, right) = sides if not prior.sources_choose else sides[::-1]
    start = Theta.from_pairs(source[left], target[right])
    few = viterbi_em(
        start, source[:70], target[:70], Settings(prior.mirrored() if prior.sources_choose else prior), ENGINE
    )
    pairs = pairs_of(few.matching.mirrored() if prior.sources_choose else few.matching)
    assert pairs_of(result.matching) == pairs
    # A limit beyond the vocabularies is no limit.
    generous, free = (
        fit(data.source, data.target, (rows, columns), Settings(prior, max_rank=limit), ENGINE)
        for limit in (10**6, None)
    )
    assert same(generous, free)


def test_two_translations_of_a_word_are_found_by_1_2_only() -> None:
    rng = np.random.default_rng(3)
    source = unit(rng.normal(size=(60, 15)))
    omega = oracles.random_orthogonal(rng, 15)
    target = unit(np.concatenate([source, source]) @ omega.T + 0.05 * rng.normal(size=(120, 15)))
    seed = (np.arange(20), np.arange(20))
    both = {(j, j) for j in range(60)} | {(j, j + 60) for j in range(60)}
    assert set(pairs_of(fit(source, target, seed, Settings(Prior.named("1:2")), ENGINE).matching)) == both
    assert len(fit(source, target, seed, Settings(Prior.named("1:1")), ENGINE).matching) == 60
    # The other way round it is 2:1: two sources of one target.
    other = fit(target, source, seed, Settings(Prior.named("2:1")), ENGINE).matching
    assert {(j, i) for i, j in pairs_of(other)} == both


@pytest.mark.parametrize("log_odds", [-0.3, 0.3])
@pytest.mark.parametrize("name", ["many-to-one", "many-to-one-no-null"])
def test_many_to_one_is_one_to_many_read_from_the_other_side(name: str, log_odds: float) -> None:
    data = planted(4, n=70, more_sources=20, more_targets=40, noise=0.5)
    rows, columns = data.seed(10)
    prior = Prior.named(name, log_odds)
    result = fit(data.source, data.target, (rows, columns), Settings(prior), ENGINE)
    other = fit(data.target, data.source, (columns, rows), Settings(prior.mirrored()), ENGINE)
    assert (result.theta.omega == other.theta.omega.T).all()
    np.testing.assert_allclose(result.theta.omega @ other.theta.omega, np.eye(12), atol=1e-12)
    assert pairs_of(result.matching) == sorted((j, i) for i, j in pairs_of(other.matching))
    assert [i.log_likelihood for i in result.iterations] == [i.log_likelihood for i in other.iterations]
    assert result.stopped == other.stopped
    assert np.bincount(result.matching.source).max() == 1
    assert other.theta.mu.any() == (name == "many-to-one" and log_odds < 0)  # some sources are left then
    # The mean of the unmatched sources, where they would be in the target space.
    np.testing.assert_allclose(result.theta.mu, result.theta.omega @ other.theta.mu, atol=1e-12)


# How it ends


def test_nothing_matched() -> None:
    # Opposite halves of a sphere: Ω is fixed by the seed, and then every cosine is below 1/2.
    data = planted(6, n=30)
    seen = list[Iteration]()
    options = Settings(Prior(log_odds=-2.0))
    result = fit(data.source, data.target, data.seed(15), options, ENGINE, seen.append)
    assert result.stopped == em.NOTHING_MATCHED
    assert result.stopped.startswith("failed")
    assert len(result.matching) == result.iterations[0].pairs == 0
    assert len(result.iterations) == len(seen) == 1
    assert result.iterations[0].mean_cosine == 0
    assert np.isfinite(result.iterations[0].log_likelihood)
    assert np.isfinite(result.theta.omega).all()
    np.testing.assert_allclose(result.theta.mu, data.target.astype(float).mean(axis=0), atol=1e-12)


@pytest.mark.parametrize("cap", [1, 2, 3])
def test_the_limit_of_iterations(cap: int) -> None:
    data = planted(7, n=60, dimension=10, noise=1.0)
    result = fit(data.source, data.target, data.seed(4), Settings(max_iterations=cap), ENGINE)
    assert len(result.iterations) == cap
    assert result.stopped == em.TOO_LONG


def test_report_is_called_with_every_iteration_as_it_happens() -> None:
    data = planted(8, noise=0.6)
    seen = list[Iteration]()
    result = fit(data.source, data.target, data.seed(8), Settings(), ENGINE, seen.append)
    assert tuple(seen) == result.iterations
    assert len(seen) > 2
    for iteration in seen:
        assert set(iteration.seconds) == {"candidates", "matching", "mapping"}
        assert all(seconds >= 0 for seconds in iteration.seconds.values())
    assert seen[-1].pairs == len(result.matching)
    assert seen[-1].certificate_gap == result.matching.gap
    final = log_likelihood(result.theta, data.source, data.target, result.matching, Prior())
    assert seen[-1].log_likelihood == final
    assert seen[-1].mean_cosine == mean_cosine(result.theta, data.source, data.target, result.matching)


def iterations(*cosines: float, pairs: int = 5) -> list[Iteration]:
    return [Iteration(pairs, cosine, 0.0, 0.0, {}) for cosine in cosines]


def test_why_stop() -> None:
    options = Settings(max_iterations=4)
    assert why_stop(iterations(0.5), options) == ""
    assert why_stop(iterations(0.5, 0.5 + 1.1e-6), options) == ""
    assert why_stop(iterations(0.5, 0.5 + 0.9e-6), options) == em.CONVERGED
    assert why_stop(iterations(0.5, 0.5), options) == em.CONVERGED
    assert why_stop(iterations(0.5, 0.6, 0.6), options) == em.CONVERGED
    assert why_stop(iterations(0.5, 0.5, 0.6), options) == ""  # only the last step counts
    # A fall is no convergence: the mean falls while EM grows from 25 sure pairs to thousands.
    assert why_stop(iterations(0.9, 0.8), options) == ""
    assert why_stop(iterations(0.5, 0.6, 0.7, 0.8), options) == em.TOO_LONG
    assert why_stop(iterations(0.5, 0.6, 0.7, 0.7), options) == em.CONVERGED  # the better reason of the two
    assert why_stop(iterations(0.5, pairs=0), options) == em.NOTHING_MATCHED
    assert why_stop(iterations(0.5, 0.55), replace(options, tolerance=0.1)) == em.CONVERGED
    # Nor is it one if the mean stands still by chance while the matching still grows.
    assert why_stop([*iterations(0.5, pairs=2106), *iterations(0.5, pairs=2675)], options) == ""
    assert why_stop([*iterations(0.5, pairs=2675), *iterations(0.5, pairs=2106)], options) == ""
    assert why_stop([*iterations(0.5, pairs=2660), *iterations(0.5, pairs=2675)], options) == em.CONVERGED
    assert why_stop(iterations(0.5, 0.75), replace(options, tolerance=0.25)) == ""  # less than that, not as much
    assert why_stop([], options) == ""
    slack = replace(options, slack=0.04, tightening=0.04)  # gone in the second iteration
    assert why_stop(iterations(0.5, 0.5), slack) == em.CONVERGED
    assert why_stop(iterations(0.5, 0.5), replace(slack, tightening=0.03)) == ""


def test_the_defaults_are_the_papers() -> None:
    plain = Settings()
    assert plain == Settings(Prior.named("1:1"), 3, None, 1e-6, 100, "viterbi", "orthogonal", Steps(), 1.0, True)
    assert plain.warm_start and not (plain.exact or plain.slack or plain.match_all)
    assert (plain.weights, plain.supervision, plain.tightening) == ("likelihood", "start", 0.02)


def test_a_stopwatch_gives_each_part_the_time_since_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter([100.0, 102.0, 105.5, 105.75])
    monkeypatch.setattr("time.perf_counter", lambda: next(moments))
    clock = em.Stopwatch()
    for part in ("candidates", "matching", "mapping"):
        clock.lap(part)
    assert clock.seconds == {"candidates": 2.0, "matching": 3.5, "mapping": 0.25}


def test_a_converged_fit_is_a_fixed_point() -> None:
    data = planted(9, n=60, more_targets=20, noise=0.2)
    result = fit(data.source, data.target, data.seed(15), Settings(), ENGINE)
    assert result.stopped == em.CONVERGED
    gains = np.diff([iteration.mean_cosine for iteration in result.iterations])
    assert abs(gains[-1]) < 1e-6
    assert (np.abs(gains[:-1]) >= 1e-6).all()
    again = viterbi_em(result.theta, data.source, data.target, Settings(max_iterations=2), ENGINE)
    assert pairs_of(again.matching) == pairs_of(result.matching)
    np.testing.assert_allclose(again.theta.omega, result.theta.omega, atol=1e-12)
    np.testing.assert_allclose(again.theta.mu, result.theta.mu, atol=1e-12)


def test_mean_cosine_is_of_the_induced_pairs() -> None:
    theta = Theta(np.array([[0.0, 1.0], [1.0, 0.0]]), np.ones(2))
    source, target = np.array([[0, 2], [3, 3], [0, 0]], np.float32), np.array([[5, 0], [0, 1]], np.float32)
    nothing = Matching(np.zeros(0, np.int64), np.zeros(0, np.int64), 0.0, 0.0, np.zeros(3), np.zeros(2))
    pairs = replace(nothing, source=np.array([0, 1]), target=np.array([0, 1]))
    assert mean_cosine(theta, source, target, pairs) == pytest.approx((1 + np.sqrt(0.5)) / 2)
    shorter = np.float32(0.01)
    assert mean_cosine(theta, source * shorter, target * shorter, pairs) == pytest.approx((1 + np.sqrt(0.5)) / 2)
    assert mean_cosine(theta, source, target, nothing) == 0
    zero = replace(nothing, source=np.array([2]), target=np.array([0]))
    assert mean_cosine(theta, source, target, zero) == 0  # and not undefined


def test_one_dimension_and_three_words() -> None:
    source, target = np.array([[1], [-1], [1]], np.float32), np.array([[-1], [1], [-1]], np.float32)
    result = fit(source, target, (np.array([0]), np.array([0])), Settings(candidates=50), ENGINE)
    assert result.theta.omega == [[-1]]
    assert len(result.matching) == 3
    assert result.stopped == em.CONVERGED


# The same to the bit


def same(one: Fit, other: Fit) -> bool:
    arrays = [
        (fit.theta.omega, fit.theta.mu, fit.matching.source, fit.matching.target, fit.matching.target_duals)
        for fit in (one, other)
    ]
    figures = [
        [(i.pairs, i.mean_cosine, i.log_likelihood, i.certificate_gap) for i in fit.iterations] for fit in (one, other)
    ]
    return figures[0] == figures[1] and all(a.tobytes() == b.tobytes() for a, b in zip(*arrays, strict=True))


@pytest.mark.parametrize("name", ["1:1", "2:2", "one-to-many", "many-to-one-no-null"])
def test_a_fit_does_not_depend_on_threads_and_blocks(name: str) -> None:
    data = planted(10, n=250, more_sources=30, more_targets=50, dimension=30, noise=0.6)
    results = [
        fit(data.source, data.target, data.seed(25), Settings(Prior.named(name)), engine)
        for engine in (
            LocalEngine(1),
            LocalEngine(1),
            LocalEngine(4),
            LocalEngine(2, 97, 97),
            LocalEngine(3, 1, 10**6),
        )
    ]
    assert len(results[0].iterations) > 2
    for result in results[1:]:
        assert same(result, results[0])

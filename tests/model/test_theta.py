"""The model of section 3: the edge weight, the log-likelihood, and an M-step that maximises it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from bilex.matching.graph import Matching
from bilex.methods import MapConfig
from bilex.model.prior import Prior
from bilex.model.theta import MappedWords, PairStatistics, Theta, free_capacity, log_likelihood, m_step
from bilex.numerics.rows import unit
from bilex.numerics.types import Vectors
from tests import oracles

PRIORS = ["1:1", "1:2", "2:1", "2:2", "one-to-many", "one-to-many-no-null"]


def random_vectors(seed: int, n: int, dimension: int, unit: bool = False) -> Vectors:
    vectors = np.random.default_rng(seed).normal(size=(n, dimension))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True) if unit else vectors).astype(np.float32)


def random_theta(seed: int, dimension: int) -> Theta:
    rng = np.random.default_rng(seed)
    return Theta(oracles.random_orthogonal(rng, dimension), rng.normal(size=dimension) / 2)


def weights(theta: Theta, source: Vectors, target: Vectors) -> NDArray[np.float64]:
    """Compute all edge weights as the E-step does: queries, offsets, inner products."""
    rows, columns = np.divmod(np.arange(len(source) * len(target)), len(target))
    return MappedWords(theta, source, target).weigh(rows, columns).reshape(len(source), len(target))


def statistics_of(words: MappedWords, matching: Matching, prior: Prior) -> PairStatistics:
    """Collect what the M-step needs of a matching."""
    free = free_capacity(matching, prior.capacities, len(words.target))
    return PairStatistics(words.source[matching.source], words.target[matching.target], free)


def refit(theta: Theta, source: Vectors, target: Vectors, matching: Matching, prior: Prior) -> Theta:
    """Take the M-step of a matching."""
    statistics = statistics_of(MappedWords(theta, source, target), matching, prior)
    return m_step(theta, source, target, statistics, MapConfig()).theta


def random_matching(rng: np.random.Generator, n_sources: int, n_targets: int, prior: Prior) -> Matching:
    """Add random pairs while the prior allows them, leaving every third target out if it lets them be."""
    sources, targets, limits = list[int](), list[int](), prior.capacities
    for pair in rng.permutation(n_sources * n_targets):
        j, i = divmod(int(pair), n_targets)
        room = limits.source is None or sources.count(j) < limits.source
        if room and targets.count(i) < (limits.target or 0) and not (limits.null and i % 3 == 0):
            sources.append(j)
            targets.append(i)
    return Matching(
        np.array(sources, np.int64), np.array(targets, np.int64), 0.0, 0.0, np.zeros(n_sources), np.zeros(n_targets)
    )


@given(st.integers(0, 2**32), st.integers(1, 40), st.floats(0.1, 10))
@settings(max_examples=50)
def test_weight_is_the_difference_of_two_log_densities(seed: int, dimension: int, length: float) -> None:
    theta = random_theta(seed, dimension)
    source, target = random_vectors(seed + 1, 5, dimension), random_vectors(seed + 2, 6, dimension)
    source *= np.float32(length)  # the general weight: nothing has norm 1
    expected = oracles.weight_matrix(theta.omega, theta.mu, source, target)
    # The queries are rounded to float32, with a relative error of 2^-24 in each coordinate.
    queries = np.linalg.norm(MappedWords(theta, source, source).queries.astype(float), axis=1)[:, None]
    tolerance = 2.0**-23 * queries * np.linalg.norm(target, axis=1) + 1e-10
    assert (np.abs(weights(theta, source, target) - expected) <= tolerance).all()


@given(st.integers(0, 2**32), st.integers(1, 60))
@settings(max_examples=50)
def test_proposition_on_the_cosine(seed: int, dimension: int) -> None:
    theta = random_theta(seed, dimension)
    source, target = (random_vectors(seed + i, 6, dimension, unit=True) for i in (1, 2))
    mapped = np.array([theta.omega @ s for s in source.astype(np.float64)])
    right = (mapped - theta.mu) @ target.astype(np.float64).T + (theta.mu @ theta.mu - 1) / 2
    # float32 keeps the norms at 1 up to 1e-7, and so the proposition
    np.testing.assert_allclose(oracles.weight_matrix(theta.omega, theta.mu, source, target), right, atol=1e-6)
    np.testing.assert_allclose(weights(theta, source, target), right, atol=1e-6)
    plain = Theta(theta.omega, np.zeros(dimension))
    cosines = mapped @ target.T
    np.testing.assert_allclose(weights(plain, source, target), cosines - 0.5, atol=1e-6)


def test_weight_of_one_edge_by_hand() -> None:
    # Ω exchanges the axes: Ωs = (2, 1). w = (3, 1)·((2, 1) - (1, 0)) - 5/2 + 1/2 = 4 - 2
    theta = Theta(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([1.0, 0.0]))
    source, target = np.array([[1, 2]], np.float32), np.array([[3, 1]], np.float32)
    assert weights(theta, source, target) == [[2.0]]
    assert oracles.weight_matrix(theta.omega, theta.mu, source, target) == pytest.approx(2)


def test_a_query_is_rounded_once_and_after_the_mean_is_taken_away() -> None:
    # Rounded before, 1 + 2^-30 would be 1 and nothing would be left of it.
    theta = Theta(np.array([[1.0 + 2.0**-30]]), np.array([1.0]))
    assert MappedWords(theta, np.ones((1, 1), np.float32), np.ones((1, 1), np.float32)).queries == np.float32(2.0**-30)


def test_null_log_density() -> None:
    theta, target = random_theta(0, 7), random_vectors(1, 9, 7)
    expected = [oracles.log_normal(t, theta.mu) for t in target]
    np.testing.assert_allclose(MappedWords(theta, target, target).null_log_density(), expected, rtol=1e-13)


@pytest.mark.parametrize(("prior", "log_odds"), list(zip(PRIORS, [0.0, 0.7] * 3, strict=True)))
def test_log_likelihood_equals_the_textbook(prior: str, log_odds: float) -> None:
    chosen = Prior.named(prior, log_odds)
    for seed in range(5):
        theta, source, target = random_theta(seed, 6), random_vectors(seed, 9, 6), random_vectors(seed + 9, 11, 6)
        matching = random_matching(np.random.default_rng(seed), 9, 11, chosen)
        pairs = [(int(j), int(i)) for j, i in zip(matching.source, matching.target, strict=True)]
        expected = oracles.log_likelihood(
            theta.omega,
            theta.mu,
            source,
            target,
            pairs,
            chosen.capacities.target or 0,
            chosen.capacities.null,
            log_odds,
        )
        assert log_likelihood(MappedWords(theta, source, target), matching, chosen) == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("prior", PRIORS[:-1])
def test_a_pair_adds_its_weight_and_the_log_odds(prior: str) -> None:
    # Why the E-step is a matching problem (appendix, proof of Proposition 1): the likelihood is a sum over edges.
    chosen = Prior.named(prior, log_odds=0.3)
    theta, source, target = random_theta(3, 6), random_vectors(4, 9, 6), random_vectors(5, 11, 6)
    matching = random_matching(np.random.default_rng(6), 9, 11, chosen)
    nothing = random_matching(np.random.default_rng(6), 0, 11, chosen)
    words = MappedWords(theta, source, target)
    gain = log_likelihood(words, matching, chosen) - log_likelihood(words, nothing, chosen)
    worth = oracles.weight_matrix(theta.omega, theta.mu, source, target)[matching.source, matching.target] + 0.3
    assert gain == pytest.approx(worth.sum(), abs=1e-5)


def rotation(rng: np.random.Generator, dimension: int, angle: float) -> NDArray[np.float64]:
    """Draw a rotation by about that angle: the exponential series of a skew matrix."""
    skew = rng.normal(size=(dimension, dimension))
    skew = angle * (skew - skew.T) / np.linalg.norm(skew)
    term, total = np.eye(dimension), np.eye(dimension)
    for power in range(1, 20):
        term = term @ skew / power
        total = total + term
    return np.asarray(total)


@pytest.mark.parametrize("prior", PRIORS)
def test_m_step_maximises_the_log_likelihood(prior: str) -> None:
    chosen = Prior.named(prior, log_odds=0.2)
    rng = np.random.default_rng(7)
    for seed in range(3):
        before, source, target = random_theta(seed, 5), random_vectors(seed, 20, 5), random_vectors(seed + 9, 24, 5)
        matching = random_matching(rng, 20, 24, chosen)

        def objective(
            theta: Theta, source: Vectors = source, target: Vectors = target, matching: Matching = matching
        ) -> float:
            return log_likelihood(MappedWords(theta, source, target), matching, chosen)

        after = refit(before, source, target, matching, chosen)
        np.testing.assert_allclose(after.omega @ after.omega.T, np.eye(5), atol=1e-12)
        best = objective(after)
        rounding = len(matching) * 2.0**-22 * 10  # log_likelihood rounds the mapped vectors to float32
        assert best >= objective(before) - rounding
        if chosen.capacities.null:
            assert best > objective(Theta(before.omega, after.mu))
            assert best > objective(Theta(after.omega, before.mu))
        for angle in (1e-3, 1e-2, 0.1, 1.0):
            for _ in range(10):
                turned = Theta(after.omega @ rotation(rng, 5, angle), after.mu)
                moved = Theta(after.omega, after.mu + angle * rng.normal(size=5))
                assert objective(turned) <= best + rounding
                assert objective(moved) <= best + rounding


def test_mu_is_the_centroid_of_the_unmatched_targets() -> None:
    source, target = random_vectors(0, 6, 4), random_vectors(1, 5, 4)
    matching = Matching(np.array([0, 2]), np.array([3, 1]), 0.0, 0.0, np.zeros(6), np.zeros(5))
    theta = refit(random_theta(2, 4), source, target, matching, Prior())
    np.testing.assert_allclose(theta.mu, target[[0, 2, 4]].astype(float).mean(axis=0), atol=1e-15)
    # With two copies of each target, the matched ones still have one unmatched copy.
    theta = refit(random_theta(2, 4), source, target, matching, Prior.named("2:1"))
    np.testing.assert_allclose(theta.mu, target[[0, 0, 1, 2, 2, 3, 4, 4]].astype(float).mean(axis=0), atol=1e-15)


def test_free_capacity() -> None:
    matching = Matching(np.array([0, 1, 2]), np.array([1, 1, 2]), 0.0, 0.0, np.zeros(3), np.zeros(4))
    assert list(free_capacity(matching, Prior.named("2:2").capacities, 4)) == [2, 0, 1, 2]
    assert list(free_capacity(matching, Prior.named("one-to-many-no-null").capacities, 4)) == [0, 0, 0, 0]


def test_m_step_keeps_what_nothing_is_known_about() -> None:
    theta, source, target = random_theta(0, 3), random_vectors(1, 4, 3), random_vectors(2, 4, 3)
    nothing = Matching(np.zeros(0, np.int64), np.zeros(0, np.int64), 0.0, 0.0, np.zeros(4), np.zeros(4))
    after = refit(theta, source, target, nothing, Prior())
    assert (after.omega == theta.omega).all()
    np.testing.assert_allclose(after.mu, target.astype(float).mean(axis=0), atol=1e-15)
    everything = Matching(np.arange(4), np.arange(4), 0.0, 0.0, np.zeros(4), np.zeros(4))
    assert (refit(theta, source, target, everything, Prior()).mu == theta.mu).all()


def test_a_seed_gives_procrustes_and_no_mean() -> None:
    source = random_vectors(0, 20, 6)
    planted = oracles.random_orthogonal(np.random.default_rng(1), 6)
    theta = Theta.from_pairs(source, (source @ planted.T).astype(np.float32))
    np.testing.assert_allclose(theta.omega, planted, atol=1e-6)
    assert not theta.mu.any()


def two_sided(seed: int, dimension: int) -> Theta:
    rng = np.random.default_rng(seed)
    maps = rng.normal(size=(2, dimension, dimension))
    return Theta(maps[0], rng.normal(size=dimension) / 2, maps[1])


def test_a_map_of_each_side_meets_on_the_unit_sphere() -> None:
    """Each side is mapped and scaled to length 1; the weight is then the model's, of the mapped target."""
    theta, source, target = two_sided(3, 4), random_vectors(1, 5, 4), random_vectors(2, 6, 4)
    assert theta.target_map is not None
    mapped = source @ theta.omega.T
    mapped /= np.linalg.norm(mapped, axis=1, keepdims=True)
    other = target @ theta.target_map.T
    other /= np.linalg.norm(other, axis=1, keepdims=True)
    np.testing.assert_allclose(theta.map_source(source), mapped, atol=1e-6)
    np.testing.assert_allclose(theta.map_target(target), other, atol=1e-6)
    before = source.copy(), target.copy()
    for both, expected in ((theta, other), (Theta(theta.omega, theta.mu), unit(target))):
        shared = both.shared_units(source, target)
        np.testing.assert_allclose(shared[0], mapped, atol=1e-6)
        np.testing.assert_allclose(shared[1], expected, atol=1e-6)
        np.testing.assert_allclose(np.vstack(MappedWords(both, source, target).units), np.vstack(shared), atol=1e-6)
    assert (source == before[0]).all() and (target == before[1]).all()
    distances = ((other[None] - mapped[:, None]) ** 2).sum(axis=2)
    free = ((other - theta.mu) ** 2).sum(axis=1)
    np.testing.assert_allclose(weights(theta, source, target), (free - distances) / 2, atol=1e-5)
    assert MappedWords(theta, source, source).queries.dtype == np.float32


def test_mirrored_exchanges_the_languages() -> None:
    both, source, target = two_sided(5, 4), random_vectors(1, 5, 4), random_vectors(2, 6, 4)
    np.testing.assert_array_equal(both.mirrored().map_source(target), both.map_target(target))
    np.testing.assert_array_equal(both.mirrored().map_target(source), both.map_source(source))
    one = random_theta(6, 4)
    np.testing.assert_allclose(one.mirrored().map_source(one.map_source(source)), source, atol=1e-6)
    np.testing.assert_allclose(one.omega @ one.mirrored().mu, one.mu, atol=1e-12)
    assert one.map_target(target) is target


def test_words_are_mapped_once_and_a_new_mean_moves_no_target() -> None:
    words = MappedWords(two_sided(7, 4), random_vectors(1, 5, 4), random_vectors(2, 6, 4))
    targets = words.targets
    assert words.targets is targets
    moved = words.with_mean(np.ones(4))
    assert moved.targets is targets
    assert (moved.theta.mu == 1).all()
    np.testing.assert_allclose(moved.queries, words.queries + words.theta.mu - 1, atol=1e-6)

"""The M-step's maps: Procrustes and the float64 sums around it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from bilex.model import maps as mapping
from bilex.numerics import rows
from bilex.numerics.types import Vectors
from tests.oracles import random_orthogonal


def random_vectors(seed: int, n: int, dimension: int) -> Vectors:
    return np.random.default_rng(seed).normal(size=(n, dimension)).astype(np.float32)


def loss(omega: NDArray[np.float64], source: Vectors, target: Vectors) -> float:
    """Sum up ‖t - Ωs‖², one pair at a time."""
    return sum(float(np.sum((t - omega @ s.astype(np.float64)) ** 2)) for s, t in zip(source, target, strict=True))


@pytest.fixture(params=[3, 8192], ids=["many blocks", "one block"])
def block(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(rows, "BLOCK", request.param)
    return int(request.param)


@pytest.mark.parametrize("dimension", [1, 7])
def test_procrustes_recovers_a_planted_map(dimension: int, block: int) -> None:
    source = random_vectors(0, 5 * dimension, dimension)
    planted = random_orthogonal(np.random.default_rng(1), dimension)
    target = (source @ planted.T).astype(np.float32)
    np.testing.assert_allclose(mapping.procrustes(source, target), planted, atol=1e-6)
    # A reflection as well as a rotation: one of the two has the determinant -1.
    planted[0] *= -1
    target = (source @ planted.T).astype(np.float32)
    np.testing.assert_allclose(mapping.procrustes(source, target), planted, atol=1e-6)


@pytest.mark.parametrize("n", [0, 3, 200])
def test_procrustes_is_orthogonal_and_best(n: int, block: int) -> None:
    # Also with fewer pairs than the 10 dimensions, or none at all.
    source, target = random_vectors(2, n, 10), random_vectors(3, n, 10)
    omega = mapping.procrustes(source, target)
    np.testing.assert_allclose(omega @ omega.T, np.eye(10), atol=1e-12)
    best = loss(omega, source, target)
    rng = np.random.default_rng(4)
    for _ in range(50):
        assert best <= loss(random_orthogonal(rng, 10), source, target) + 1e-9
        for angle in (1e-4, 1e-2):
            nearby = omega @ np.linalg.qr(np.eye(10) + angle * rng.normal(size=(10, 10)))[0]
            assert best <= loss(np.asarray(nearby), source, target) + 1e-9


def test_procrustes_maps_few_pairs_exactly_if_they_can_be() -> None:
    rng = np.random.default_rng(5)
    source = random_vectors(6, 4, 12)
    target = (source @ random_orthogonal(rng, 12).T).astype(np.float32)
    omega = mapping.procrustes(source, target)
    np.testing.assert_allclose(source @ omega.T, target, atol=1e-5)


def test_procrustes_with_repeated_pairs_counts_them() -> None:
    source, target = random_vectors(7, 30, 5), random_vectors(8, 30, 5)
    heavy = np.concatenate([np.arange(30), np.zeros(500, np.int64)])
    once, often = mapping.procrustes(source, target), mapping.procrustes(source[heavy], target[heavy])
    assert loss(often, source[:1], target[:1]) < loss(once, source[:1], target[:1])


@pytest.mark.parametrize("n", [1, 3, 5])
def test_procrustes_in_the_span_of_few_pairs_is_as_good(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = random_vectors(12, n, 10), random_vectors(13, n, 10)
    source[-1] = source[0]  # a span of even fewer dimensions
    best = loss(mapping.procrustes(source, target), source, target)
    monkeypatch.setattr(mapping, "LARGE_DIMENSION", 9)
    assert mapping.span_little(source, target)
    omega = mapping.procrustes(source, target)
    np.testing.assert_allclose(omega @ omega.T, np.eye(10), atol=1e-12)
    np.testing.assert_allclose(loss(omega, source, target), best, rtol=1e-9)


def test_reflections_are_the_qr_decomposition() -> None:
    columns = np.random.default_rng(4).normal(size=(9, 4))
    columns[:, 0] = 2 * np.eye(9)[0]  # needs no reflection
    columns[:, 3] = columns[:, 1]
    (vectors, triangle), across = mapping.reflections(columns)
    basis = np.eye(9) - vectors @ triangle @ vectors.T
    assert vectors.shape == (9, 3)
    np.testing.assert_allclose(basis @ basis.T, np.eye(9), atol=1e-12)
    np.testing.assert_allclose(basis[:, :4] @ across, columns, atol=1e-12)


def test_few_pairs_span_at_most_half_of_many_dimensions() -> None:
    many = mapping.LARGE_DIMENSION + 2
    side = np.zeros((many, many), np.float32)
    found = [mapping.span_little(side[:pairs], side[:pairs]) for pairs in (0, 1, many // 2, many // 2 + 1)]
    assert found == [False, True, True, False]
    assert not mapping.span_little(side[:4, :100], side[:4, :100])

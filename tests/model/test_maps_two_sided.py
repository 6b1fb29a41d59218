"""The maps beside Procrustes: least squares, canonical correlations, and what they are made of."""

from __future__ import annotations

import math
from typing import Any, get_args

import numpy as np
import pytest
import scipy.linalg

from bilex.errors import BilexError
from bilex.methods import MapConfig, MapKind
from bilex.model import maps as mapping
from bilex.model.theta import PairStatistics, Theta, m_step
from bilex.numerics import rows
from bilex.numerics.types import Vectors
from tests.em import baselines
from tests.oracles import random_orthogonal


def random_vectors(seed: int, n: int, dimension: int) -> Vectors:
    return np.random.default_rng(seed).normal(size=(n, dimension)).astype(np.float32)


def correlated(seed: int, n: int, dimension: int) -> tuple[Vectors, Vectors]:
    """Make two views of the same latent vectors, each with noise of its own."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(n, 3))
    views = [latent @ rng.normal(size=(3, dimension)) + 0.5 * rng.normal(size=(n, dimension)) for _ in range(2)]
    return views[0].astype(np.float32), views[1].astype(np.float32)


def two_sided(x: Vectors, y: Vectors, **options: Any) -> tuple[baselines.Array, baselines.Array]:
    return mapping.two_sided(MapConfig(kind="cca", **options), x, y)


# Least squares


@pytest.mark.parametrize("n", [8, 30, 300])
def test_least_squares_solves_the_normal_equations(n: int) -> None:
    source, target = random_vectors(0, n, 6), random_vectors(1, n, 6)
    expected = baselines.regression(source.astype(float), target.astype(float))
    np.testing.assert_allclose(mapping.least_squares(source, target), expected, atol=1e-8)


@pytest.mark.parametrize("n", [1, 4])
def test_with_few_pairs_it_fits_them_with_the_least_norm(n: int) -> None:
    source, target = random_vectors(2, n, 6), random_vectors(3, n, 6)
    w = mapping.least_squares(source, target)
    np.testing.assert_allclose(source @ w.T, target, atol=1e-5)
    np.testing.assert_allclose(w, (np.linalg.pinv(source.astype(float)) @ target).T, atol=1e-9)


def test_least_squares_of_words_without_direction() -> None:
    assert not mapping.least_squares(np.zeros((3, 4), np.float32), random_vectors(4, 3, 4)).any()


# Canonical correlations


@pytest.mark.parametrize("ridge", [1e-6, 1.0])
def test_cca_is_the_generalised_eigenvalue_problem(ridge: float) -> None:
    x, y = correlated(5, 60, 5)
    expected = baselines.canonical_correlations(x.astype(float), y.astype(float), ridge)
    left, right = two_sided(x, y, ridge=ridge)
    # Each direction: a has aᵀ Cxx a = 1 and is scaled with the root of its correlation.
    cxx, cyy = (moments(side, ridge) for side in (x, y))
    np.testing.assert_allclose(left @ cxx @ left.T, np.diag(expected.correlations), atol=1e-9)
    np.testing.assert_allclose(right @ cyy @ right.T, np.diag(expected.correlations), atol=1e-9)
    cross = x.T.astype(float) @ y / len(x)
    np.testing.assert_allclose(left @ cross @ right.T, np.diag(expected.correlations**2), atol=1e-9)
    # The same subspaces, whichever of the first correlations are kept; the rest is noise.
    for kept in (1, 2, 3):
        for mine, theirs in ((left, expected.source), (right, expected.target)):
            angles = scipy.linalg.subspace_angles(mine[:kept].T, theirs[:, :kept])
            assert angles.max() < 1e-6
    # The inner products between the sides need no eigenvectors: Cxx⁻¹ Cxy Cyy⁻¹.
    np.testing.assert_allclose(left.T @ right, np.linalg.solve(cxx, cross) @ np.linalg.inv(cyy), atol=1e-7)
    cosines = rows.unit(rows.apply(left, x)) @ rows.unit(rows.apply(right, y)).T
    np.testing.assert_allclose(cosines, expected.cosines(x.astype(float), y.astype(float)), atol=1e-5)


def moments(side: Vectors, ridge: float) -> baselines.Array:
    c = side.T.astype(float) @ side / len(side)
    return np.asarray(c + ridge * np.trace(c) / len(c) * np.eye(len(c)))


def test_the_correlations_are_between_0_and_1_and_of_a_rotation_near_1() -> None:
    x = random_vectors(6, 200, 5)
    y = (x @ random_orthogonal(np.random.default_rng(7), 5).T).astype(np.float32)
    left, right = two_sided(x, y, ridge=1e-9)
    np.testing.assert_allclose(left @ moments(x, 0) @ left.T, np.eye(5), atol=1e-5)
    np.testing.assert_allclose(rows.apply(left, x), rows.apply(right, y), atol=1e-4)


def test_cca_does_not_change_with_the_scale_of_a_side() -> None:
    x, y = correlated(8, 60, 5)
    cosines = [
        rows.unit(rows.apply(left, a * x)) @ rows.unit(rows.apply(right, b * y)).T
        for a, b in ((1, 1), (1e-3, 50))
        for left, right in [two_sided(np.float32(a) * x, np.float32(b) * y)]
    ]
    np.testing.assert_allclose(cosines[0], cosines[1], atol=1e-4)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_cca_of_a_few_pairs_or_of_nothing_but_zeros(n: int) -> None:
    x, y = random_vectors(9, n, 8), random_vectors(10, n, 8)
    for left, right in (two_sided(x, y), two_sided(0 * x, y), two_sided(0 * x, 0 * y)):
        assert np.isfinite(left).all()
        assert np.isfinite(right).all()
        assert left.shape == right.shape == (8, 8)


def test_cca_takes_sides_of_different_dimension() -> None:
    x, _ = correlated(11, 50, 4)
    y, _ = correlated(11, 50, 7)
    left, right = two_sided(x, y)
    assert (left.shape, right.shape) == ((4, 4), (4, 7))


@pytest.mark.parametrize("ridge", [0.0, 0.1, 2.0])
def test_inverse_root(ridge: float) -> None:
    c = moments(random_vectors(12, 40, 6), 0)
    root = mapping.inverse_root(c, ridge)
    np.testing.assert_allclose(root, root.T, atol=1e-12)
    np.testing.assert_allclose(root @ root @ (c + ridge * np.trace(c) / 6 * np.eye(6)), np.eye(6), atol=1e-9)
    assert (np.linalg.eigvalsh(root) > 0).all()
    np.testing.assert_array_equal(mapping.inverse_root(c, math.inf), np.eye(6))  # whitens nothing, exactly


def test_inverse_root_of_a_singular_matrix_stays_finite() -> None:
    c = np.outer([1.0, 2, 3], [1.0, 2, 3])
    root = mapping.inverse_root(c, 0.1)
    assert np.linalg.eigvalsh(root).max() == pytest.approx((0.1 * 14 / 3) ** -0.5)
    assert np.isfinite(mapping.inverse_root(np.zeros((3, 3)), 0.1)).all()


def test_without_a_ridge_a_direction_without_variance_stays_without() -> None:
    # What is left of it by rounding is no variance, whatever the scale.
    for scale in (1.0, 1e-20, 4.0, 1e20):
        np.testing.assert_allclose(
            mapping.inverse_root(np.diag([scale, 3e-16 * scale]), 0.0), np.diag([scale**-0.5, 0]), rtol=1e-12
        )
    assert not mapping.inverse_root(np.zeros((3, 3)), 0.0).any()
    np.testing.assert_allclose(mapping.inverse_root(np.diag([1.0, 1e-14]), 0.0), np.diag([1, 1e7]), rtol=1e-9)


# The rest


def test_fit_maps_by_kind() -> None:
    source, target = correlated(13, 40, 5)
    expected = {
        "orthogonal": (mapping.procrustes(source, target), None),
        "least-squares": (mapping.least_squares(source, target), None),
        "cca": two_sided(source, target),
    }
    assert set(get_args(MapKind)) == set(expected)
    for kind, (omega, target_map) in expected.items():
        found = mapping.fit_maps(MapConfig(kind=kind), source, target)  # type: ignore[arg-type]
        assert (found[0] == omega).all()
        assert (found[1] is None) == (target_map is None)
        if found[1] is not None and target_map is not None:
            assert (found[1] == target_map).all()


@pytest.mark.parametrize("kind", get_args(MapKind))
def test_without_pairs_the_maps_stay_as_they_were(kind: Any) -> None:
    source, target = correlated(14, 20, 5)
    theta, config = Theta.from_pairs(source, target, MapConfig(kind=kind)), MapConfig(kind=kind)
    nothing, free = np.zeros((20, 5), np.float32), np.ones(20)
    for statistics in (PairStatistics(nothing[:0], target[:0], free), PairStatistics(nothing, target, free)):
        after = m_step(theta, source, target, statistics, config).theta
        assert after.omega is theta.omega
        assert after.target_map is theta.target_map
        np.testing.assert_allclose(after.mu, theta.map_target(target).mean(axis=0, dtype=float), atol=1e-6)


# The steps that canonical correlations are made of


def test_without_whitening_and_reweighting_the_steps_are_procrustes() -> None:
    x, y = correlated(20, 80, 6)
    left, right = two_sided(x, y, ridge=math.inf, reweight=0.0)
    np.testing.assert_allclose(left.T @ left, np.eye(6), atol=1e-9)
    np.testing.assert_allclose(right.T @ left, mapping.procrustes(x, y), atol=1e-9)


@pytest.mark.parametrize(("reweight", "dewhiten"), [(0.0, False), (0.5, True), (1.0, True)])
def test_each_step_is_what_a_textbook_does(reweight: float, dewhiten: bool) -> None:
    x, y = correlated(21, 90, 5)
    left, right = two_sided(x, y, ridge=0.2, reweight=reweight, dewhiten=dewhiten)
    white_x, white_y = (np.linalg.inv(scipy.linalg.sqrtm(moments(side, 0.2))) for side in (x, y))
    u, p, v = np.linalg.svd(white_x @ (x.T.astype(float) @ y / len(x)) @ white_y)
    expected_x, expected_y = np.diag(p**reweight) @ u.T @ white_x, np.diag(p**reweight) @ v @ white_y
    if dewhiten:
        expected_x = u.T @ np.linalg.inv(white_x) @ u @ expected_x
        expected_y = v @ np.linalg.inv(white_y) @ v.T @ expected_y
    np.testing.assert_allclose(np.abs(left), np.abs(expected_x), atol=1e-8)  # singular vectors have no sign
    np.testing.assert_allclose(left.T @ right, expected_x.T @ expected_y, atol=1e-8)


def test_whitened_without_a_ridge_both_sides_are_uncorrelated() -> None:
    x, y = correlated(22, 90, 5)
    left, _ = two_sided(x, y, ridge=0.0, reweight=0.0)
    mapped = x.astype(float) @ left.T
    np.testing.assert_allclose(mapped.T @ mapped / len(x), np.eye(5), atol=1e-9)


def test_fewer_directions_are_the_first_ones() -> None:
    x, y = correlated(23, 90, 5)
    whole, part = two_sided(x, y), two_sided(x, y, dimensions=2)
    for every, first in zip(whole, part, strict=True):
        np.testing.assert_array_equal(every[:2], first)
    assert [len(side) for side in two_sided(x, y, dimensions=1)] == [1, 1]


def test_fewer_pairs_than_dimensions_need_no_ridge() -> None:
    x, y = correlated(24, 3, 6)
    for side in two_sided(x, y, ridge=0.0, dewhiten=True):
        assert np.isfinite(side).all()
        assert np.linalg.matrix_rank(side, tol=1e-6) <= 3


def test_the_ridge_falls_as_the_pairs_grow() -> None:
    x, y = correlated(25, 40, 5)  # annealing · dimension / pairs = 16 · 5 / 40
    np.testing.assert_array_equal(two_sided(x, y, ridge=0.3, annealing=16.0)[0], two_sided(x, y, ridge=2.0)[0])
    np.testing.assert_array_equal(two_sided(x, y, ridge=3.0, annealing=16.0)[0], two_sided(x, y, ridge=3.0)[0])
    np.testing.assert_array_equal(two_sided(x[:1], y[:1], annealing=2.0)[0], two_sided(x[:1], y[:1], ridge=10.0)[0])


@pytest.mark.parametrize("wrong", [{"ridge": -1.0}, {"annealing": math.inf}, {"reweight": math.nan}, {"dimensions": 0}])
def test_impossible_options_of_two_sided_maps(wrong: dict[str, Any]) -> None:
    with pytest.raises(BilexError, match=next(iter(wrong))):
        MapConfig(**wrong)


@pytest.mark.parametrize(
    "options",
    [
        {"annealing": 6.0},
        {"ridge": 0.0},
        {"ridge": math.inf},
        {"dimensions": 2},
        {"ridge": 0.5, "dewhiten": True},
        {"ridge": 0.5, "reweight": 0.0},
    ],
    ids=str,
)
def test_in_the_span_of_few_pairs_the_maps_are_the_same(options: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (x, y), others = correlated(20, 5, 12), random_vectors(21, 9, 12)
    x, y = x[[0, 1, 2, 3, 4, 4]], y[[0, 1, 2, 3, 4, 4]]
    dense = two_sided(x, y, **options)
    monkeypatch.setattr(mapping, "LARGE_DIMENSION", 11)
    few = two_sided(x, y, **options)
    assert few[0].shape == dense[0].shape and few[1].shape == dense[1].shape
    for left in (x, others):
        expected, found = ((left @ maps[0].T) @ (others @ maps[1].T).T for maps in (dense, few))
        np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())


def test_in_the_span_of_few_pairs_sides_of_different_dimension_meet_in_the_smaller_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, y = correlated(20, 5, 12)[0], correlated(21, 5, 14)[1]
    dense = two_sided(x, y, ridge=0.5)
    monkeypatch.setattr(mapping, "LARGE_DIMENSION", 11)
    few = two_sided(x, y, ridge=0.5)
    assert [side.shape for side in few] == [side.shape for side in dense] == [(12, 12), (12, 14)]
    np.testing.assert_allclose(few[0].T @ few[1], dense[0].T @ dense[1], atol=1e-9)


def test_a_matrix_on_which_lapack_fails_is_decomposed_by_its_transpose(monkeypatch: pytest.MonkeyPatch) -> None:
    """As that of NumPy 2.5 does on some of low rank."""
    matrix, svd, tried = np.random.default_rng(0).normal(size=(4, 6)), np.linalg.svd, []

    def fail_once(*arguments: Any, **options: Any) -> Any:
        tried.append(arguments)
        if len(tried) == 1:
            raise np.linalg.LinAlgError("SVD did not converge")
        return svd(*arguments, **options)

    monkeypatch.setattr(np.linalg, "svd", fail_once)
    left, values, right = mapping.decompose(matrix)
    np.testing.assert_allclose(left * values @ right, matrix)

"""Row algebra: mapping, norms and means in float64, independent of the size of a block."""

from __future__ import annotations

import numpy as np
import pytest

from bilex.errors import BilexError
from bilex.numerics import rows
from bilex.numerics.rows_kernel import weighted_sums
from bilex.numerics.types import Vectors
from tests.oracles import random_orthogonal


def random_vectors(seed: int, n: int, dimension: int) -> Vectors:
    return np.random.default_rng(seed).normal(size=(n, dimension)).astype(np.float32)


@pytest.fixture(params=[3, 8192], ids=["many blocks", "one block"])
def block(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(rows, "BLOCK", request.param)
    monkeypatch.setattr(rows, "ROWS_OF_A_THREAD", max(request.param // 2, 1))
    return int(request.param)


def test_apply(block: int) -> None:
    rng = np.random.default_rng(9)
    omega, shift, vectors = random_orthogonal(rng, 6), rng.normal(size=6), random_vectors(10, 20, 6)
    expected = np.array([omega @ x + shift for x in vectors.astype(np.float64)])
    mapped, norms = rows.apply_with_norms(omega, vectors, shift)
    assert mapped.dtype == np.float32
    np.testing.assert_allclose(mapped, expected, rtol=2.0**-23, atol=1e-14)
    np.testing.assert_allclose(norms, ((expected - shift) ** 2).sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(rows.apply(omega, vectors), expected - shift, rtol=2.0**-23, atol=1e-14)


def test_apply_rounds_only_once() -> None:
    # 1 + 2^-30 has to survive until the shift takes the 1 away.
    omega = np.array([[1.0 + 2.0**-30]])
    mapped, _ = rows.apply_with_norms(omega, np.ones((1, 1), np.float32), np.array([-1.0]))
    assert mapped[0, 0] == np.float32(2.0**-30)


def test_numbers_that_float32_cannot_hold_are_an_error() -> None:
    with pytest.raises(BilexError):
        rows.apply(np.array([[1e30]]), np.full((1, 1), 1e30, np.float32))


def test_apply_to_nothing() -> None:
    assert rows.apply(np.eye(3), np.zeros((0, 3), np.float32)).shape == (0, 3)


def test_squared_norms(block: int) -> None:
    rng = np.random.default_rng(11)
    shift, vectors = rng.normal(size=6), random_vectors(12, 20, 6)
    exact = vectors.astype(np.float64)
    np.testing.assert_allclose(rows.squared_norms(vectors), (exact**2).sum(axis=1))
    np.testing.assert_allclose(rows.squared_norms(vectors, shift=shift), ((exact + shift) ** 2).sum(axis=1))


def test_rows_of_a_kernel_are_the_same_memory_where_nothing_can_be_written() -> None:
    vectors = random_vectors(1, 4, 3)
    found, copied = rows.as_rows(vectors), rows.as_rows(vectors[:, ::2])
    assert np.shares_memory(found, vectors) and vectors.flags.writeable
    assert copied.flags.c_contiguous and (copied == vectors[:, ::2]).all()
    assert not (found.flags.writeable or copied.flags.writeable)


def test_weighted_mean(block: int) -> None:
    vectors = random_vectors(13, 20, 6)
    weights = np.random.default_rng(14).integers(0, 3, 20)
    expected = np.average(vectors.astype(np.float64), axis=0, weights=weights)
    np.testing.assert_allclose(rows.weighted_mean(vectors, weights), expected, atol=1e-14)


def test_sums_are_made_in_float64() -> None:
    # In float32, 2^24 + 1 is 2^24.
    vectors = np.array([[2.0**24], [1.0], [1.0], [-(2.0**24)]], np.float32)
    assert rows.weighted_mean(vectors, np.ones(4)) == 0.5
    assert rows.squared_norms(np.array([[2.0**12, 1.0]], np.float32)) == 2.0**24 + 1


def test_unit() -> None:
    vectors = np.array([[3, 4], [0, 0], [1e-30, 0], [1e30, 1e30]], np.float32)
    scaled = rows.unit(vectors)
    assert scaled.dtype == np.float32
    np.testing.assert_allclose(scaled, np.array([[0.6, 0.8], [0, 0], [1, 0], [np.sqrt(0.5)] * 2]), atol=1e-6)
    assert vectors[0, 0] == 3


@pytest.mark.parametrize("row", [[3e-44, 4e-44], [-1e-45, 0], [2e-39, 1e-40], [3e38, -3e38], [2e30, 1e-30]])
def test_unit_of_the_smallest_and_the_largest_numbers(row: list[float]) -> None:
    # The norm itself has few digits in float32, or none.
    vectors = np.array([row, [3, 4]], np.float32)
    exact = vectors[0].astype(np.float64)
    np.testing.assert_allclose(rows.unit(vectors), [exact / np.linalg.norm(exact), [0.6, 0.8]], atol=1e-7)


@pytest.mark.parametrize("count", [200, 50])
def test_ordinary_rows_are_divided_in_float32_and_extreme_ones_in_float64(count: int) -> None:
    vectors = random_vectors(15, count, 7)
    for length, in_float32 in ((1.0, True), (5e29, True), (1.5e30, False), (5e-31, False)):
        scaled = (length * rows.unit(vectors)).astype(np.float32)
        norms = np.sqrt(rows.squared_norms(scaled))[:, None]
        single, double = scaled / norms.astype(np.float32), (scaled / norms).astype(np.float32)
        assert (single != double).any()
        np.testing.assert_array_equal(rows.unit(scaled), single if in_float32 else double)


def test_rows_are_scaled_in_their_place_to_the_same_bytes() -> None:
    vectors = np.random.default_rng(0).standard_normal((rows.BLOCK + 5, 3)).astype(np.float32)
    vectors[:3] = np.array([[0, 0, 0], [1e-38, 3e-38, 0], [1e38, 2e38, 0]])
    expected = rows.unit(vectors)
    norms = np.linalg.norm(vectors[1:].astype(np.float64), axis=1, keepdims=True)
    np.testing.assert_allclose(expected[1:], vectors[1:] / norms, rtol=1e-6)
    assert rows.make_unit(vectors) is vectors
    assert vectors.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dimension", [1, 7, 8, 9, 128, 129, 300, 1000])
def test_the_kernels_compute_what_numpy_does_to_the_bit(dimension: int, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, shift = random_vectors(11, 100, dimension), np.random.default_rng(12).normal(size=dimension)
    vectors[3], vectors[4], vectors[5] = 0, vectors[4] * np.float32(1e-36), vectors[5] * np.float32(1e33)
    found = rows.squared_norms(vectors), rows.squared_norms(vectors, shift), rows.unit(vectors)
    monkeypatch.setattr(rows, "MANY_ROWS", 1000)
    expected = rows.squared_norms(vectors), rows.squared_norms(vectors, shift), rows.unit(vectors)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_many_rows_of_float64_are_not_rounded() -> None:
    vectors = 1 + 1e-12 * np.random.default_rng(16).normal(size=(100, 3))
    np.testing.assert_array_equal(rows.squared_norms(vectors), (vectors**2).sum(axis=1))  # type: ignore[arg-type]


def test_weighted_sums_of_lists() -> None:
    rng, starts = np.random.default_rng(15), np.array([0, 1, 9, 30, 159, 288, 300])
    numbers, rows, weights = rng.normal(size=(200, 13)), rng.integers(0, 200, 300), rng.normal(size=300)
    expected = np.add.reduceat(numbers[rows] * weights[:, None], starts[:-1], axis=0)
    np.testing.assert_allclose(weighted_sums(numbers, rows, weights, starts), expected, rtol=1e-12, atol=1e-12)

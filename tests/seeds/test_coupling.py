"""A seed from the vectors alone: two views of one space are matched, softly at first."""

from __future__ import annotations

import numpy as np
import pytest

from bilex.seeds.coupling import (
    COUPLED_SHARE,
    Coupling,
    coordinates,
    couple,
    couple_parts,
    in_blocks,
    moments,
    signature_similarity,
)
from tests.seeds.test_signatures import clusters, rotated


def views(words: int, noise: float, dimension: int = 30) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Make two noisy views of one space, the second rotated and in a similar order; return them and the true pairs."""
    rng = np.random.default_rng(3)
    vectors = clusters(words, dimension)
    order = np.argsort(np.log(np.arange(words) + 10) + 0.3 * rng.normal(size=words))
    other = rotated(vectors + noise * rng.normal(size=vectors.shape).astype(np.float32), order)
    return vectors, other, np.argsort(order)


def test_cooling_finds_what_signatures_alone_do_not() -> None:
    source, target, truth = views(400, noise=0.5)
    rows, columns = couple(source, target, 400)
    assert (signature_similarity(source, target).argmax(axis=1) == truth).mean() < 0.5
    assert (truth[rows] == columns).mean() > 0.9
    assert len(rows) > 300


def test_only_the_most_frequent_words_are_used_and_a_few_are_enough() -> None:
    vectors = clusters(50, 4)
    rows, columns = couple(vectors, vectors[:30], 20)
    assert rows.max() < 20
    assert columns.max() < 20
    assert [part.tolist() for part in couple(vectors[:3], vectors[:1], 20)] == [[0], [0]]


@pytest.mark.parametrize("vectors", [np.zeros((7, 3), np.float32), np.ones((7, 3), np.float32)])
def test_uninformative_vectors_still_have_a_pair(vectors: np.ndarray) -> None:
    rows, columns = couple(vectors, vectors, 7)
    assert len(rows) == len(columns) > 0


def test_it_does_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bilex.seeds.coupling.BLOCK_ROWS", 64)
    source, target, _ = views(130, noise=0.5)
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("BILEX_THREADS", threads)
        found.append([part.tolist() for part in couple(source, target, 130)])
    assert found[0] == found[1]


def test_a_balanced_coupling_is_a_soft_matching() -> None:
    logits = np.random.default_rng(1).normal(size=(30, 30)).astype(np.float32)
    found = Coupling(30)
    found.fill(lambda block: logits[block])
    found.balance(50)
    matrix = found.rows[:, None] * found.kernel * found.columns
    np.testing.assert_allclose(matrix.sum(axis=0), 1, atol=1e-5)
    np.testing.assert_allclose(matrix.sum(axis=1), 1, atol=1e-3)
    # Only the two scalings came between it and the exponentials, so all cross ratios are theirs.
    ratios = np.log(matrix[:-1, :-1] * matrix[1:, 1:] / (matrix[:-1, 1:] * matrix[1:, :-1]))
    expected = logits[:-1, :-1] + logits[1:, 1:] - logits[:-1, 1:] - logits[1:, :-1]
    np.testing.assert_allclose(ratios, expected, atol=1e-3)
    vectors = np.random.default_rng(2).normal(size=(30, 4)).astype(np.float32)
    np.testing.assert_allclose(found.times(vectors), matrix @ vectors, atol=1e-5)
    rows, columns = found.mutual()
    for row, column in zip(rows, columns, strict=True):
        assert matrix[row, column] == matrix[row].max() == matrix[:, column].max()


def test_coordinates_are_centred_and_keep_half_of_the_spread() -> None:
    vectors = clusters(60, 6)
    found = coordinates(vectors)
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-6)
    unit = vectors - vectors.mean(axis=0)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    values = np.linalg.svd(unit - unit.mean(axis=0), compute_uv=False)
    np.testing.assert_allclose(np.linalg.svd(found, compute_uv=False) ** 2, values / values[0], atol=1e-5)


def test_moments_of_all_products() -> None:
    x, y = clusters(20, 5), clusters(30, 5)
    mean, deviation = moments(x, y)
    np.testing.assert_allclose(mean, (x @ y.T).mean(), rtol=1e-4)
    np.testing.assert_allclose(deviation, (x @ y.T).std(), rtol=1e-4)


def test_blocks_come_in_order() -> None:
    found = in_blocks(lambda block: np.arange(1234)[block], 1234)
    assert np.concatenate(found).tolist() == list(range(1234))


def test_parts_are_other_words_each_time_and_the_same_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bilex.seeds.coupling.COUPLINGS", 3)
    source, target, truth = views(200, noise=0.5)
    found = [list(couple_parts(source, target)) for _ in range(2)]
    assert len(found[0]) == 3
    for one, two in zip(*found, strict=True):
        assert [part.tolist() for part in one] == [part.tolist() for part in two]
    assert len({rows.tobytes() for rows, _ in found[0]}) == 3
    assert all(0 < len(rows) <= COUPLED_SHARE * 200 for rows, _ in found[0])
    assert np.mean(np.concatenate([truth[rows] == columns for rows, columns in found[0]])) > 0.3

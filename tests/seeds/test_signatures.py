"""Signatures do not depend on a rotation, and find the pairs of two views of one space."""

from __future__ import annotations

import numpy as np
import pytest

from bilex.induction import induce
from bilex.seeds.coupling import signature_similarity, signatures
from bilex.seeds.seed import find_seed
from tests.languages import make_languages


def clusters(words: int, dimension: int) -> np.ndarray:
    rng = np.random.default_rng(5)
    centres = rng.normal(size=(12, dimension)) * rng.random((12, 1)) * 3
    return np.asarray(centres[rng.integers(12, size=words)] + rng.normal(size=(words, dimension)), np.float32)


def textbook(vectors: np.ndarray) -> np.ndarray:
    values, basis = np.linalg.eigh(vectors.astype(float) @ vectors.T.astype(float))
    return np.asarray((basis * np.sqrt(np.maximum(values, 0))) @ basis.T)


def scaled(rows: np.ndarray) -> np.ndarray:
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    rows = rows - rows.mean(axis=0)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def test_signatures_are_sorted_similarities_by_the_textbook() -> None:
    vectors = clusters(40, 5)
    root = textbook(vectors)
    own, neighbours, theirs = signatures(vectors)
    np.testing.assert_allclose(own, scaled(np.sort(root, axis=1)), atol=2e-4)
    nearest = np.argsort(-root, axis=1)[:, :10]
    np.testing.assert_allclose(neighbours, scaled(np.stack([own[rows].mean(axis=0) for rows in nearest])), atol=1e-4)
    np.testing.assert_allclose(theirs, scaled(np.stack([neighbours[rows].mean(axis=0) for rows in nearest])), atol=1e-4)


def rotated(vectors: np.ndarray, order: np.ndarray) -> np.ndarray:
    size = vectors.shape[1]
    rotation = np.linalg.qr(np.random.default_rng(6).normal(size=(size, size)))[0]
    return np.asarray((vectors @ rotation)[order], np.float32)


def test_a_rotation_does_not_change_them() -> None:
    vectors, order = clusters(200, 10), np.random.default_rng(7).permutation(200)
    alike = signature_similarity(vectors, rotated(vectors, order))
    assert (alike.argmax(axis=1) == np.argsort(order)).all()
    assert abs(alike.mean()) < 1e-3
    assert abs(alike.std() - 1) < 1e-3


@pytest.mark.parametrize("method", ["bilex", "ruder2018"])
def test_em_starts_from_them(method: str) -> None:
    languages = make_languages(300, noise=0.02)
    run = induce(languages.source, languages.target, "unsupervised", method)
    gold = set(languages.gold)
    found = [(entry.source, entry.target) for entry in run.lexicon]
    assert len(found) > 150
    assert sum(pair in gold for pair in found) > 0.9 * len(found)
    choice = next(choice for choice in run.info["choices"] if choice["about"] == "start")
    assert choice["measured"][choice["chosen"]] == max(choice["measured"].values())


def test_wrong_pairs_of_the_start_do_not_count_in_the_verdict() -> None:
    languages = make_languages(120, noise=0.02)
    run = induce(languages.source, languages.target, "unsupervised", "ruder2018")
    assert run.info["configuration"]["seed"]["agreement"] is None
    assert run.info["configuration"]["seed"]["name"] == "unsupervised"
    assert not any("seed" in reason for reason in run.info["verdict"]["reasons"])


def test_it_is_deterministic() -> None:
    languages = make_languages(100)
    first, second = (find_seed("unsupervised", languages.source, languages.target) for _ in range(2))
    assert first.source.tolist() == second.source.tolist()
    assert first.target.tolist() == second.target.tolist()

"""A seed from nothing: signatures do not see rotations, and on two views of one space they find the pairs."""

from __future__ import annotations

import numpy as np
import pytest

from bilex.induction import induce
from bilex.learning import learn
from bilex.seeds import find_seed
from bilex.signatures import alike, signatures
from tests.languages import make_languages


def clusters(words: int, dimension: int) -> np.ndarray:
    rng = np.random.default_rng(5)
    centres = rng.normal(size=(12, dimension)) * rng.random((12, 1)) * 3
    return np.asarray(centres[rng.integers(12, size=words)] + rng.normal(size=(words, dimension)), np.float32)


def test_signatures_are_sorted_similarities_by_the_textbook() -> None:
    vectors = clusters(40, 5)
    values, basis = np.linalg.eigh(vectors.astype(float) @ vectors.T.astype(float))
    root = (basis * np.sqrt(np.maximum(values, 0))) @ basis.T
    expected = np.sort(root, axis=1)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    expected -= expected.mean(axis=0)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(signatures(vectors, 40), expected, atol=2e-4)


def test_a_rotation_is_not_seen() -> None:
    vectors = clusters(200, 10)
    rotation = np.linalg.qr(np.random.default_rng(6).normal(size=(10, 10)))[0]
    order = np.random.default_rng(7).permutation(200)
    rows, columns = alike(vectors, np.asarray((vectors @ rotation)[order], np.float32), 200)
    truth = np.argsort(order)
    assert (truth[rows] == columns).mean() > 0.95


def test_only_the_most_frequent_words_are_used_and_few_words_do() -> None:
    vectors = clusters(50, 4)
    rows, columns = alike(vectors, vectors[:30], 20)
    assert rows.max() < 20
    assert columns.max() < 20
    assert len(alike(vectors[:3], vectors[:1], 20)[0]) == 1


@pytest.mark.parametrize("method", ["bilex", "ruder2018"])
def test_em_goes_on_from_there(method: str) -> None:
    languages = make_languages(300, noise=0.02)
    learnt = learn(languages.source, languages.target, "unsupervised", method)
    gold = set(languages.gold)
    found = [
        (languages.source.words[row], languages.target.words[column])
        for row, column in zip(learnt.fit.matching.source, learnt.fit.matching.target, strict=True)
    ]
    assert len(found) > 150
    assert sum(pair in gold for pair in found) > 0.9 * len(found)
    choice = next(choice for choice in learnt.chosen.choices if choice.about == "start")
    assert choice.measured[choice.chosen] == max(choice.measured.values())


def test_the_verdict_does_not_hold_the_wrong_pairs_of_the_start_against_the_run() -> None:
    languages = make_languages(300, noise=0.02)
    run = induce(languages.source, languages.target, "unsupervised", "ruder2018")
    assert run.info["configuration"]["seed"]["agreement"] is None
    assert run.info["configuration"]["seed"]["name"] == "unsupervised"
    assert not any("seed" in reason for reason in run.info["verdict"]["reasons"])


def test_it_is_deterministic() -> None:
    languages = make_languages(100)
    first, second = (find_seed("unsupervised", languages.source, languages.target) for _ in range(2))
    assert first.source.tolist() == second.source.tolist()
    assert first.target.tolist() == second.target.tolist()

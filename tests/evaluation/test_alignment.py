"""Two models of one language: planted words are found, by maps that did not see them, whatever the dimensions."""

from __future__ import annotations

import numpy as np
import pytest

import bilex
from bilex.errors import BilexError
from bilex.vectors.embeddings import Embeddings

WORDS, DIMENSION = 400, 20


@pytest.fixture(scope="module")
def planted() -> tuple[Embeddings, Embeddings, set[str]]:
    """A model, the same turned and blurred (rare words more), and the words whose vectors were exchanged in it."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(20, DIMENSION))
    vectors = centres[rng.integers(20, size=WORDS)] + 0.6 * rng.normal(size=(WORDS, DIMENSION))
    moved = rng.permutation(WORDS // 2)[:8]
    other = vectors + np.linspace(0.1, 0.5, WORDS)[:, None] * rng.normal(size=vectors.shape)
    other[moved] = other[np.roll(moved, 1)]
    other = other @ np.linalg.qr(rng.normal(size=(DIMENSION, DIMENSION)))[0]
    names = [f"w{row}" for row in range(WORDS)]
    order = rng.permutation(WORDS)  # the second model has another order and words of its own
    second = Embeddings((*(names[row] for row in order), "own"), np.vstack([other[order], np.ones(DIMENSION)]))
    return Embeddings((*names, "alone"), np.vstack([vectors, vectors[:1]])), second, {names[row] for row in moved}


def test_planted_words_are_the_first(planted: tuple[Embeddings, Embeddings, set[str]]) -> None:
    first, second, moved = planted
    aligned = bilex.align(first, second)
    assert {word.word for word in aligned.moved(len(moved))} == moved
    assert aligned.held_out > 0.8 and aligned.fits and len(aligned.words) == WORDS
    assert aligned.words == first.words[:WORDS] and len(aligned.source) == len(second) == WORDS + 1
    np.testing.assert_allclose(aligned.omega @ aligned.omega.T, np.eye(DIMENSION), atol=1e-9)


def test_neighbours_are_those_of_each_model(planted: tuple[Embeddings, Embeddings, set[str]]) -> None:
    first, second, _ = planted
    word = bilex.align(first, second).moved(1, neighbours=3)[0]
    for side, found in ((first, word.old_neighbours), (second, word.new_neighbours)):
        units = side.normalise("unit,centre,unit").vectors.astype(float)
        nearest = np.argsort(-(units @ units[side.index[word.word]]))[1:4]
        assert found == tuple(side.words[row] for row in nearest)


def test_dimensions_may_differ(planted: tuple[Embeddings, Embeddings, set[str]]) -> None:
    first, second, moved = planted
    short = Embeddings(second.words, second.vectors[:, : DIMENSION - 4])
    for pair in ((first, short), (short, first)):
        aligned = bilex.align(*pair)
        assert aligned.source.dimension == aligned.target.dimension == pair[1].dimension
        assert len({word.word for word in aligned.moved(len(moved))} & moved) >= len(moved) - 2


def test_a_word_is_judged_without_itself() -> None:
    """In as many dimensions as words a map fits anything it has seen, but not the words that are held out."""
    rng = np.random.default_rng(1)
    names = tuple(f"w{row}" for row in range(60))
    one, other = (Embeddings(names, rng.normal(size=(60, 60)).astype(np.float32)) for _ in range(2))
    aligned = bilex.align(one, other)
    assert abs(float(np.median(aligned.cosine))) < 0.2
    assert not aligned.fits


def test_models_that_share_too_little() -> None:
    one, other = (Embeddings(tuple(f"{side}{row}" for row in range(20)), np.ones((20, 2), np.float32)) for side in "ab")
    with pytest.raises(BilexError, match="share 0 words"):
        bilex.align(one, other)

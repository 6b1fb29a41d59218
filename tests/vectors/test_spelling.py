"""Spelling as vectors: the same everywhere, and words that look alike are near each other."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bilex.vectors import spelling
from bilex.vectors.spelling import SpellingComparison, fold_spelling, spelling_vectors
from tests.oracles import edit_distance

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@given(st.lists(WORDS, max_size=5))
def test_every_word_has_a_unit_vector_that_depends_on_it_alone(words: list[str]) -> None:
    vectors = spelling_vectors(words)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(words), 256)
    lengths = np.linalg.norm(vectors, axis=1)
    assert (np.isclose(lengths, 1, atol=1e-5) | (lengths == 0)).all()
    for word, vector in zip(words, vectors, strict=True):
        assert (spelling_vectors([word])[0] == vector).all()


def test_words_that_look_alike_are_near() -> None:
    nation, nacion, hund = spelling_vectors(["nation", "nación", "hund"])
    assert nation @ nacion > 0.4
    assert abs(nation @ hund) < 0.3


def test_beginnings_and_ends_count() -> None:
    # The same letters in another order share single letters only.
    tap, pat, tapped = spelling_vectors(["tap", "pat", "tapped"])
    assert tap @ pat < 0.6
    assert tap @ tapped > tap @ pat - 0.2


def ngrams(word: str) -> dict[str, int]:
    marked = ["\x02", *word, "\x03"]
    counts = dict[str, int]()
    for length in (1, 2, 3):
        for start in range(len(marked) - length + 1):
            gram = "".join(marked[start : start + length])
            counts[gram] = counts.get(gram, 0) + 1
    return counts


@pytest.mark.parametrize(
    ("one", "other"), [("house", "haus"), ("mississippi", "missis"), ("", "a"), ("東京", "東京都")]
)
def test_in_many_dimensions_the_cosine_is_that_of_the_counts(one: str, other: str) -> None:
    a, b = ngrams(one), ngrams(other)
    dot = sum(count * b.get(gram, 0) for gram, count in a.items())
    lengths = [np.sqrt(sum(count**2 for count in grams.values())) for grams in (a, b)]
    hashed = spelling_vectors([one, other], dimension=1 << 20)  # where hardly two of them meet
    assert hashed[0] @ hashed[1] == pytest.approx(dot / (lengths[0] * lengths[1]), abs=1e-5)


def test_the_hash_is_the_same_in_every_process() -> None:
    # Python's own hash() of a text is not; a saved run depends on this.
    vector = spelling_vectors(["a"], dimension=8)[0]
    expected = np.zeros(8)
    for gram in ngrams("a"):
        code = zlib.crc32(gram.encode())
        expected[code % 8] += 1 if code >= 1 << 31 else -1
    np.testing.assert_allclose(vector, expected / np.linalg.norm(expected), atol=1e-6)


def test_no_words() -> None:
    assert spelling_vectors([]).shape == (0, 256)


def test_likeness_counts_edits_of_folded_words_whatever_the_size_of_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spelling, "PAIRS_AT_ONCE", 4)
    ours, others = ["Café", "", "москва", "tea"], ["coffee", "", "Moscow", "thé", "cafe"]
    rows, columns = (side.ravel() for side in np.indices((len(ours), len(others))))
    expected = []
    for row, column in zip(rows, columns, strict=True):
        one, other = fold_spelling(ours[row]), fold_spelling(others[column])
        expected.append(1 - edit_distance(one, other) / max(len(one), len(other), 1))
    np.testing.assert_allclose(SpellingComparison(ours, others).likeness(rows, columns), expected)

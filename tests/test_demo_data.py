"""The shipped demo: the vectors of two languages, and the gold list that scores them."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from safetensors import safe_open

import bilex.errors

DATA = Path(bilex.errors.__file__).parent / "data"
GOLD = DATA / "gold.en-fr.txt"
LANGUAGES = ("en", "fr")


def load(language: str) -> tuple[list[str], npt.NDArray[np.float16], dict[str, str]]:
    with safe_open(DATA / f"{language}.safetensors", framework="numpy") as file:
        assert set(file.keys()) == {"vectors", "words"}
        raw = file.get_tensor("words")
        assert raw.dtype == np.uint8
        words = raw.tobytes().decode("utf-8").split("\n")
        return words, file.get_tensor("vectors"), file.metadata()


def gold_pairs() -> list[tuple[str, str]]:
    pairs = []
    for line in GOLD.read_text(encoding="utf-8").removesuffix("\n").split("\n"):
        english, french = line.split("\t")
        pairs.append((english, french))
    return pairs


@pytest.mark.parametrize("language", LANGUAGES)
def test_vectors(language: str) -> None:
    words, vectors, metadata = load(language)
    assert vectors.dtype == np.float16
    assert vectors.shape == (6000, 300)
    assert np.isfinite(vectors).all()
    assert (np.linalg.norm(vectors.astype(np.float64), axis=1) > 0).all()
    assert len(words) == len(set(words)) == 6000
    assert all(word and not any(character.isspace() for character in word) for word in words)
    assert metadata["licence"] == "CC0-1.0"
    assert "Explosion" in metadata["source"]


def test_vectors_are_small() -> None:
    assert sum((DATA / f"{language}.safetensors").stat().st_size for language in LANGUAGES) < 7_500_000


def test_neighbours_make_sense() -> None:
    # A row out of step with its word would pass every check above.
    for language, word, near, distant in (
        ("en", "cat", "dog", "parliament"),
        ("fr", "chat", "chien", "parlement"),
    ):
        words, vectors, _ = load(language)
        unit = vectors.astype(np.float64)
        unit /= np.linalg.norm(unit, axis=1, keepdims=True)
        query = unit[words.index(word)]
        assert query @ unit[words.index(near)] > query @ unit[words.index(distant)] + 0.2


def test_gold_format() -> None:
    text = GOLD.read_bytes().decode("utf-8")
    assert text.endswith("\n")
    assert "\r" not in text
    assert unicodedata.is_normalized("NFC", text)
    pairs = gold_pairs()
    assert len(pairs) == len(set(pairs))
    for pair in pairs:
        for word in pair:
            assert word
            assert word == word.lower()
            assert all(character.isalpha() or character in "'-" for character in word)


def test_gold_is_grouped_by_word_in_the_order_of_the_vocabulary() -> None:
    rank = {word: row for row, word in enumerate(load("en")[0])}
    ranks = [rank[english] for english, _ in gold_pairs()]
    assert ranks == sorted(ranks)


def test_gold_covers_the_vocabulary() -> None:
    french_words = set(load("fr")[0])
    translations: dict[str, set[str]] = {}
    for english, french in gold_pairs():
        translations.setdefault(english, set()).add(french)
    assert len(translations) >= 1000
    assert [english for english, french in translations.items() if not french & french_words] == []
    rank = {word: row for row, word in enumerate(load("en")[0])}
    rows = np.array([rank[english] for english in translations])
    counts, _ = np.histogram(rows, bins=[0, 1500, 4000, 6000])
    assert (counts >= 300).all()
    spelt_alike = sum(english in french for english, french in translations.items())
    assert spelt_alike < len(translations) / 4


def test_every_file_is_named_with_its_licence() -> None:
    readme = (DATA / "README.md").read_text(encoding="utf-8")
    pairs = gold_pairs()
    assert f"{len({english for english, _ in pairs}):,} English words, {len(pairs):,} pairs" in readme
    for path in DATA.iterdir():
        if path.suffix in {".safetensors", ".txt"}:
            assert f"`{path.name}`" in readme

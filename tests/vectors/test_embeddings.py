"""Embeddings: look up, cut, normalise, save, and load from objects."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import FrozenInstanceError, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from bilex.errors import BilexError, BilexWarning, InputError
from bilex.vectors.embeddings import Embeddings, load


def some(rows: int = 5, dimension: int = 3, scale: float = 1.0) -> Embeddings:
    vectors = np.random.default_rng(rows).standard_normal((rows, dimension)) * scale
    return Embeddings(tuple(f"w{row}" for row in range(rows)), vectors.astype(np.float32), name="en")


def test_look_up() -> None:
    embeddings = some()
    assert len(embeddings) == 5
    assert embeddings.dimension == 3
    assert "w3" in embeddings
    assert "none" not in embeddings
    assert embeddings.index["w3"] == 3
    np.testing.assert_array_equal(vector := embeddings["w3"], embeddings.vectors[3])
    vector[:] = 9  # the caller's own
    assert 9 not in embeddings["w3"]
    with pytest.raises(FrozenInstanceError):
        embeddings.name = "fr"  # type: ignore[misc]


def test_rows_and_words_must_match() -> None:
    with pytest.raises(BilexError):
        Embeddings(("a",), np.zeros((2, 2), dtype=np.float32))


def test_a_word_with_two_rows_is_an_error() -> None:
    with pytest.raises(BilexError, match="'a' occurs 2 times"):
        Embeddings(("a", "b", "a"), np.ones((3, 2), np.float32))


def test_words_are_text() -> None:
    with pytest.raises(BilexError, match="type int"):
        Embeddings(("a", 7), np.ones((2, 3), np.float32))  # type: ignore[arg-type]
    assert Embeddings((np.str_("a"), "b"), np.ones((2, 3), np.float32)).words == ("a", "b")


def test_top_is_a_view() -> None:
    embeddings = some()
    top = embeddings.top(2)
    assert top.words == ("w0", "w1")
    assert top.index == {"w0": 0, "w1": 1}
    assert np.shares_memory(top.vectors, embeddings.vectors)
    assert embeddings.top(None) is embeddings
    assert len(embeddings.top(100)) == 5
    with pytest.raises(BilexError):
        embeddings.top(-1)


# Normalisation ------------------------------------------------------------------------------------------------------


def oracle(vectors: NDArray[np.float32], steps: list[str]) -> NDArray[np.float64]:
    result = vectors.astype(np.float64)
    for step in steps:
        if step == "unit":
            result = np.array([row / np.linalg.norm(row) if row.any() else row for row in result])
        if step in ("centre", "center"):
            result = result - result.mean(axis=0)
    return result


@settings(max_examples=50)
@given(
    steps=st.lists(st.sampled_from(["unit", "centre", "center", "none"]), min_size=1, max_size=4),
    rows=st.integers(2, 30),
    scale=st.sampled_from([1e-30, 1e-3, 1.0, 1e30]),
)
def test_normalise_agrees_with_the_oracle(steps: list[str], rows: int, scale: float) -> None:
    embeddings = some(rows, 4, scale)
    before = embeddings.vectors.copy()
    result = embeddings.normalise(", ".join(steps))
    size = 1.0 if "unit" in steps else scale
    np.testing.assert_allclose(result.vectors / size, oracle(before, steps) / size, atol=1e-5)
    np.testing.assert_array_equal(result.vectors, embeddings.normalise(steps).vectors)
    np.testing.assert_array_equal(embeddings.vectors, before)
    assert not np.shares_memory(result.vectors, embeddings.vectors)
    if steps[-1] == "unit":
        np.testing.assert_allclose(np.linalg.norm(result.vectors, axis=1), 1, rtol=1e-6)


def test_normalise_over_several_blocks() -> None:
    embeddings = some(10_000, 2)
    np.testing.assert_allclose(
        embeddings.normalise().vectors, oracle(embeddings.vectors, ["unit", "centre", "unit"]), atol=1e-6
    )


def test_zero_vectors_stay_zero() -> None:
    result = Embeddings(("a", "b"), np.array([[0, 0], [3, 4]], dtype=np.float32)).normalise("unit")
    np.testing.assert_allclose(result.vectors, np.array([[0, 0], [0.6, 0.8]]), rtol=1e-6)


@pytest.mark.parametrize("steps", ["length", "unit,,centre", "", ["unit", "Centre"]])
def test_unknown_steps(steps: str | list[str]) -> None:
    with pytest.raises(BilexError):
        some().normalise(steps)


# Saving -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["en.vec", "en.txt", "en.vec.gz", "en.txt.gz", "en.bin", "en.safetensors"])
def test_saved_vectors_load_back_exactly(tmp_path: Path, name: str) -> None:
    vectors = np.random.default_rng(0).standard_normal((40, 5)).astype(np.float32)
    vectors[0] = [1e-45, 3.4028235e38, -1e-38, 0.1, -0.0]
    words = ("a\u00a0b", "\u3000", "é", *(f"w{row}" for row in range(37)))
    Embeddings(words, vectors).save(tmp_path / name)
    embeddings = load(tmp_path / name)
    assert embeddings.words == words
    np.testing.assert_array_equal(embeddings.vectors.view(np.uint32), vectors.view(np.uint32))
    assert embeddings.name == "en"
    assert embeddings.paths == (str(tmp_path / name),)
    first = (tmp_path / name).read_bytes()
    embeddings.save(tmp_path / name)
    assert (tmp_path / name).read_bytes() == first


@pytest.mark.parametrize(
    ("name", "word"), [("en.vec", "top 10"), ("en.vec", " a"), ("en.vec", "a\nb"), ("en.bin", "a b"), ("en.bin", "\na")]
)
def test_words_that_would_not_survive_are_refused_and_nothing_is_written(tmp_path: Path, name: str, word: str) -> None:
    embeddings = Embeddings(("a", word), np.ones((2, 1), dtype=np.float32))
    with pytest.raises(BilexError, match=r"save as \.safetensors"):
        embeddings.save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_words_with_spaces_survive_in_text(tmp_path: Path) -> None:
    embeddings = Embeddings(("a", "new york"), np.ones((2, 1), dtype=np.float32))
    embeddings.save(tmp_path / "en.vec")
    with pytest.warns(BilexWarning, match="1 word with spaces"):
        assert load(tmp_path / "en.vec").words == ("a", "new york")


def test_unknown_ending(tmp_path: Path) -> None:
    with pytest.raises(BilexError, match=r"use \.vec"):
        some().save(tmp_path / "en.xyz")


# Objects ------------------------------------------------------------------------------------------------------------


def test_embeddings_are_returned_as_they_are() -> None:
    embeddings = some()
    assert load(embeddings) is embeddings
    assert load(embeddings, limit=2).words == ("w0", "w1")
    for limit in (0, 1.5, math.nan, "5"):
        with pytest.raises(BilexError):
            load(embeddings, limit=limit)  # type: ignore[arg-type]


@dataclass
class WordsAndVectors:
    words: tuple[str, ...]
    vectors: NDArray[Any]


def test_objects_with_words_and_vectors() -> None:
    embeddings = load(WordsAndVectors(("a", "b"), np.array([[1, 2], [3, 4]])))
    assert embeddings.words == ("a", "b")
    assert embeddings.vectors.tolist() == [[1, 2], [3, 4]]


@dataclass
class Keyed:
    index_to_key: list[Any]
    vectors: NDArray[Any]


def test_keyed_vectors() -> None:
    keyed = Keyed(["a", "b", "c"], np.array([[1, 2], [3, 4], [5, 6]], dtype=np.float64))
    embeddings = load(keyed, limit=2)
    assert embeddings.words == ("a", "b")
    assert embeddings.vectors.tolist() == [[1, 2], [3, 4]]
    embeddings.vectors[0] = 9
    assert keyed.vectors[0, 0] == 1


def test_keyed_vectors_are_checked_like_files() -> None:
    with pytest.warns(BilexWarning, match="Keyed: 1 duplicate word"):
        load(Keyed(["a", "a"], np.ones((2, 2))))
    with pytest.raises(InputError, match="NaN"):
        load(Keyed(["a", "b"], np.array([[1.0], [np.nan]])))
    with pytest.raises(BilexError):
        load(Keyed(["a"], np.ones((2, 2))))
    with pytest.raises(BilexError):
        load(Keyed([1], np.ones((1, 2))))
    with pytest.raises(BilexError):
        load(Keyed(["a"], np.ones((1, 2))), limit=0)


def test_other_objects() -> None:
    for other in (7, WordsAndVectors((), None), {"words": ["a"]}):  # type: ignore[arg-type]
        with pytest.raises(BilexError):
            load(other)


def test_importing_does_not_bring_the_compiler() -> None:
    code = "import sys, bilex.vectors.embeddings; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_iterative_normalisation_ends_with_unit_norms_and_mean_zero() -> None:
    vectors = (np.random.default_rng(3).normal(size=(200, 6)) + 2).astype(np.float32)
    once, often = (
        Embeddings(tuple(map(str, range(200))), vectors).normalise(s) for s in ("unit,centre,unit", "iterative")
    )
    np.testing.assert_allclose(np.linalg.norm(often.vectors, axis=1), 1, atol=1e-6)
    assert np.linalg.norm(often.vectors.mean(axis=0)) < 1e-5
    assert np.linalg.norm(once.vectors.mean(axis=0)) > 1e-3

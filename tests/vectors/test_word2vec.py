"""The binary word2vec format, in both of its variants, and damaged."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from bilex.vectors import word2vec
from bilex.vectors.embeddings import load
from tests.vectors.helpers import fails, repaired, write


def binary(words: list[bytes], vectors: NDArray[np.float32], end: bytes = b"\n", header: bytes | None = None) -> bytes:
    rows = [word + b" " + vector.astype("<f4").tobytes() + end for word, vector in zip(words, vectors, strict=True)]
    return (header or b"%d %d\n" % vectors.shape) + b"".join(rows)


VECTORS = np.array([[1, 2], [3, 4], [5, 6]], dtype=np.float32)
WORDS = [b"a", "b\u00a0é".encode(), b"c"]


@pytest.mark.parametrize(("name", "end"), [("en.bin", b"\n"), ("en.vec", b""), ("en.bin.gz", b"\n")])
def test_both_variants_under_any_name(tmp_path: Path, name: str, end: bytes) -> None:
    content = binary(WORDS, VECTORS, end)
    embeddings = load(write(tmp_path, gzip.compress(content) if name.endswith("gz") else content, name))
    assert embeddings.words == ("a", "b\u00a0é", "c")
    np.testing.assert_array_equal(embeddings.vectors, VECTORS)


def test_text_in_a_file_named_bin(tmp_path: Path) -> None:
    assert load(write(tmp_path, "2 2\na 1 2\nb 3 4\n", "en.bin")).vectors.tolist() == [[1, 2], [3, 4]]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(data=st.data(), end=st.sampled_from([b"\n", b""]), block=st.integers(1, 200))
def test_reads_back_what_was_written(tmp_path: Path, data: st.DataObject, end: bytes, block: int) -> None:
    characters = st.characters(exclude_characters=" \n\r", exclude_categories=["Cs"])
    words = data.draw(st.lists(st.text(characters, min_size=1, max_size=6), min_size=1, max_size=8, unique=True))
    seed, dimension = data.draw(st.integers(0, 99)), data.draw(st.integers(1, 5))
    vectors = np.random.default_rng(seed).standard_normal((len(words), dimension)).astype(np.float32)
    path = write(tmp_path, binary([word.encode() for word in words], vectors, end), "en.bin")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(word2vec, "PIECE_BYTES", block)
        embeddings = load(path)
    assert embeddings.words == tuple(words)
    np.testing.assert_array_equal(embeddings.vectors, vectors)


def test_limit_does_not_look_behind_the_rows(tmp_path: Path) -> None:
    content = binary(WORDS, VECTORS)[:-4]
    assert load(write(tmp_path, content, "en.bin"), limit=2).words == ("a", "b\u00a0é")


def test_repairs_are_those_of_text(tmp_path: Path) -> None:
    content = binary([b"a", b"a", b"", b"z", b"b"], np.array([[1], [2], [3], [0], [4]], dtype=np.float32))
    embeddings = repaired(write(tmp_path, content, "en.bin"), "1 empty word", "1 duplicate word", "1 word .* zero")
    assert embeddings.words == ("a", "b")
    assert embeddings.vectors.tolist() == [[1], [4]]


def test_more_rows_than_the_header_says(tmp_path: Path) -> None:
    path = write(tmp_path, binary(WORDS, VECTORS, header=b"2 2\n"), "en.bin")
    assert len(repaired(path, "promises 2 words but more follow; the rest was left out")) == 2


@pytest.mark.parametrize("missing", [1, 9, 25])
def test_cut_off(tmp_path: Path, missing: int) -> None:
    content = binary(WORDS, VECTORS, end=b"")
    fails(write(tmp_path, content[:-missing], "en.bin"), "promises 3 words but only [012] follow; .*cut off")


def test_not_finite(tmp_path: Path) -> None:
    vectors = VECTORS.copy()
    vectors[1, 1] = np.nan
    fails(write(tmp_path, binary(WORDS, vectors), "en.bin"), "NaN, infinite", 2)


def test_bad_utf8(tmp_path: Path) -> None:
    fails(write(tmp_path, binary([b"a", b"\xff", b"c"], VECTORS), "en.bin"), "not UTF-8", 2)


@pytest.mark.parametrize(
    ("header", "pattern", "zipped"),
    [
        (b"1000000000000 2\n", "only 3 follow", False),
        (b"1000000000000 2\n", "only 3 follow", True),
        (b"3 1000000000000\n", "more than the file can hold", False),
        (b"3 1000000000000\n", "more than the file can hold", True),
        (b"0 2\n", "promises no vectors", False),
    ],
)
def test_false_headers(tmp_path: Path, header: bytes, pattern: str, zipped: bool) -> None:
    content = binary(WORDS, VECTORS, header=header, end=b"")
    line = None if "follow" in pattern else 1
    fails(write(tmp_path, gzip.compress(content) if zipped else content, "en.bin"), pattern, line)


def test_absurdly_long_word(tmp_path: Path) -> None:
    fails(write(tmp_path, b"1 2\n" + b"\x01" * 20_000 + b" 12345678", "en.bin"), "more than 10,000 bytes", 1)

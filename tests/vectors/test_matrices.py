"""Matrices with their words beside them or inside: NumPy and safetensors files."""

from __future__ import annotations

import gzip
import json
import struct
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from bilex.errors import InputError
from bilex.vectors.embeddings import load
from tests.vectors.helpers import fails, repaired, write

MATRIX = np.array([[1, 2], [3, 4], [5, 6.5]])
WORDS = b"a\nb\xc2\xa0c\nd e\n"


def npy(folder: Path, matrix: NDArray[np.generic], words: bytes | None = WORDS, suffix: str = ".vocab") -> Path:
    np.save(folder / "en.npy", matrix)
    if words is not None:
        write(folder, words, "en" + suffix)
    return folder / "en.npy"


def safetensors(folder: Path, tensors: dict[str, tuple[str, list[int], bytes]]) -> Path:
    """Write the format by hand, so that the test does not lean on the library that the reader uses."""
    header, data = {}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    encoded = json.dumps(header).encode()
    encoded += b" " * (-len(encoded) % 8)
    return write(folder, struct.pack("<Q", len(encoded)) + encoded + data, "en.safetensors")


@pytest.mark.parametrize(
    ("dtype", "order", "suffix"),
    [("f2", "C", ".vocab"), ("f4", "F", ".vocab.txt"), ("f8", "C", ".words"), (">f4", "F", ".txt")],
)
def test_npy_with_vocabulary_beside_it(tmp_path: Path, dtype: str, order: str, suffix: str) -> None:
    path = npy(tmp_path, np.array(MATRIX, dtype=dtype, order="C" if order == "C" else "F"), suffix=suffix)
    embeddings = load(path)
    assert embeddings.words == ("a", "b\u00a0c", "d e")
    assert embeddings.vectors.dtype == np.float32
    assert embeddings.vectors.tolist() == MATRIX.tolist()
    assert embeddings.paths == (str(path), str(path.with_suffix(suffix)))
    assert load(path, limit=2).words == ("a", "b\u00a0c")


def test_npy_with_named_vocabulary(tmp_path: Path) -> None:
    path = npy(tmp_path, MATRIX, b"wrong\n")
    assert load(path, vocabulary=write(tmp_path, b"x\ny\nz", "other")).words == ("x", "y", "z")


@pytest.mark.parametrize("words", [b"a 10\nb 9\nc 8\n", b"a\t10\nb\t9\nc\t8\n"])
def test_counts_behind_the_words_are_dropped(tmp_path: Path, words: bytes) -> None:
    assert load(npy(tmp_path, MATRIX, words)).words == ("a", "b", "c")


def test_vocabulary_repairs_name_the_vocabulary(tmp_path: Path) -> None:
    path = npy(tmp_path, MATRIX, b"\xef\xbb\xbfa\r\n\r\na\r\n\r\n")
    with pytest.warns() as caught:
        assert load(path).words == ("a",)
    messages = [str(warning.message) for warning in caught]
    vocabulary = path.with_suffix(".vocab")
    assert messages[0] == f"{vocabulary}: byte order mark at the start left out"
    assert messages[1] == f"{vocabulary}: 4 Windows line ends (CRLF) read as line ends"
    assert messages[2].startswith(f"{path}: 1 empty word")
    assert messages[3].startswith(f"{path}: 1 duplicate word")


def test_no_vocabulary(tmp_path: Path) -> None:
    fails(npy(tmp_path, MATRIX, None), r"no vocabulary; .*en\.vocab")


def test_empty_vocabulary(tmp_path: Path) -> None:
    for words, pattern in ((b"", "the file is empty"), (b"\n\n\n\n", "no usable word|vocabulary is empty")):
        with pytest.raises(InputError, match=pattern):
            load(npy(tmp_path, MATRIX, words))


@pytest.mark.parametrize("words", [b"a\nb\n", b"a\nb\nc\nd\n"])
def test_vocabulary_of_another_length(tmp_path: Path, words: bytes) -> None:
    with pytest.raises(InputError, match=r"has [24] words but the matrix has 3 rows"):
        load(npy(tmp_path, MATRIX, words))


def test_vectors_are_not_a_vocabulary(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        load(npy(tmp_path, MATRIX, b"a 1 2 3\nb 1 2 3\nc 1 2 3\n", ".txt"))


def test_vocabulary_bad_utf8(tmp_path: Path) -> None:
    fails(npy(tmp_path, MATRIX, b"a\n\xe9\nc\n"), "not UTF-8.*iconv", 2)


def test_vocabulary_only_for_matrices(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        load(write(tmp_path, "1 1\na 1\n"), vocabulary=write(tmp_path, "a\n", "v"))


@pytest.mark.parametrize("bad", [np.nan, 1e300])
def test_not_finite(tmp_path: Path, bad: float) -> None:
    matrix = MATRIX.copy()
    matrix[2, 0] = bad
    fails(npy(tmp_path, matrix), "NaN, infinite or too large", 3)


def test_zero_rows(tmp_path: Path) -> None:
    assert repaired(npy(tmp_path, MATRIX * [[1], [0], [1]]), "1 word left out .* zero").words == ("a", "d e")


@pytest.mark.parametrize(
    "matrix", [np.zeros((3, 2), dtype=int), np.ones(3), np.ones((3, 2), dtype=complex)], ids=["int", "flat", "complex"]
)
def test_npy_of_the_wrong_kind(tmp_path: Path, matrix: NDArray[np.generic]) -> None:
    fails(npy(tmp_path, matrix), "dimensional of type")


def test_npy_with_objects_is_not_unpickled(tmp_path: Path) -> None:
    np.save(tmp_path / "en.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    fails(tmp_path / "en.npy", "not a readable NumPy matrix")


@pytest.mark.parametrize("length", [3, 60, 160])
def test_npy_cut_off(tmp_path: Path, length: int) -> None:
    path = npy(tmp_path, MATRIX)
    path.write_bytes(path.read_bytes()[:length])
    fails(path, "not a readable NumPy matrix")


@pytest.mark.parametrize("old", [b"{", b"(3, 2)", b"<f4"])
def test_npy_with_a_damaged_header(tmp_path: Path, old: bytes) -> None:
    path = npy(tmp_path, MATRIX.astype("<f4"))
    path.write_bytes(path.read_bytes().replace(old, b"~" * len(old), 1))
    fails(path, "not a readable NumPy matrix")


def test_npy_without_dimensions_or_rows(tmp_path: Path) -> None:
    fails(npy(tmp_path, np.zeros((3, 0))), "no dimensions|not a readable")
    with pytest.raises(InputError):
        load(npy(tmp_path, np.zeros((0, 3))))


@pytest.mark.parametrize(
    ("dtype", "name"), [("F16", "vectors"), ("F32", "embeddings"), ("F64", "weight"), ("BF16", "vectors")]
)
def test_safetensors(tmp_path: Path, dtype: str, name: str) -> None:
    if dtype == "BF16":
        content = (MATRIX.astype("<f4").view("<u4") >> 16).astype("<u2").tobytes()
    else:
        content = MATRIX.astype({"F16": "<f2", "F32": "<f4", "F64": "<f8"}[dtype]).tobytes()
    words = WORDS.rstrip(b"\n")
    tensors = {"aaa": ("F32", [1], bytes(4)), "zzz": ("I64", [1, 1], bytes(8)), name: (dtype, [3, 2], content)}
    path = safetensors(tmp_path, {**tensors, "words": ("U8", [len(words)], words)})
    embeddings = load(path)
    assert embeddings.words == ("a", "b\u00a0c", "d e")
    assert embeddings.vectors.tolist() == MATRIX.tolist()
    assert load(safetensors(tmp_path, tensors), vocabulary=write(tmp_path, "x\ny\nz\n", "v")).words == ("x", "y", "z")


def test_safetensors_prefers_the_tensor_named_vectors(tmp_path: Path) -> None:
    content = MATRIX.astype("<f4").tobytes()
    tensors = {"a": ("F32", [3, 2], bytes(24)), "vectors": ("F32", [3, 2], content), "words": ("U8", [5], b"x\ny\nz")}
    assert load(safetensors(tmp_path, tensors)).vectors.tolist() == MATRIX.tolist()


def test_safetensors_without_a_matrix(tmp_path: Path) -> None:
    fails(safetensors(tmp_path, {"vectors": ("F32", [2], bytes(8))}), "no two-dimensional tensor")


@pytest.mark.parametrize(
    "content",
    [b"short", struct.pack("<Q", 2) + b"[]", struct.pack("<Q", 5) + b"{}"],
)
def test_safetensors_damaged(tmp_path: Path, content: bytes) -> None:
    fails(write(tmp_path, content, "en.safetensors"), "not a readable safetensors file")


def test_safetensors_cut_off(tmp_path: Path) -> None:
    path = safetensors(tmp_path, {"vectors": ("F32", [3, 2], bytes(24))})
    path.write_bytes(path.read_bytes()[:-1])
    fails(path, "not a readable safetensors file")


def test_gzipped_matrix_is_explained(tmp_path: Path) -> None:
    path = npy(tmp_path, MATRIX)
    fails(write(tmp_path, gzip.compress(path.read_bytes()), "fr.npy.gz"), "decompress")

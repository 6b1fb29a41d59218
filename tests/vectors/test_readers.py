"""The shape of a file of vectors, read from its first bytes."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from bilex.vectors.readers import peek_shape

ROWS = b"a 1 2 3\nb 4 5 6\nc 7 8 9\n"


@pytest.mark.parametrize(
    ("name", "content", "limit", "expected"),
    [
        ("a.vec", b"3 3\n" + ROWS, None, (3, 3)),
        ("a.vec", b"3 3\n" + ROWS, 2, (2, 3)),
        ("a.vec", ROWS, None, (4, 3)),  # a guess from sizes
        ("a.vec.gz", gzip.compress(b"3 3\n" + ROWS, mtime=0), None, (3, 3)),
        ("a.vec.gz", gzip.compress(ROWS, mtime=0), 50, (50, 3)),
        ("a.vec.gz", gzip.compress(ROWS, mtime=0), None, None),
        ("a.bin", b"3 1\na \0\0\0\0", None, (3, 1)),
        ("a.vec", b"3 9999999\n" + ROWS, None, None),  # no file of this size holds so many numbers
        ("a.vec.gz", gzip.compress(b"3 9999999\n" + ROWS, mtime=0), None, None),
        ("a.vec", b"", None, None),
        ("a.vec", b"word", None, None),
        ("a.npy", b"nonsense", None, None),
        ("a.safetensors", b"nonsense", None, None),
    ],
)
def test_shapes(tmp_path: Path, name: str, content: bytes, limit: int | None, expected: tuple[int, int] | None) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    assert peek_shape(file, limit) == expected


def test_shapes_of_matrices(tmp_path: Path) -> None:
    matrix = np.zeros((5, 7), np.float32)
    np.save(tmp_path / "a.npy", matrix)
    save_file({"vectors": matrix, "words": np.zeros(20, np.uint8)}, tmp_path / "a.safetensors")
    np.save(tmp_path / "flat.npy", np.zeros(5, np.float32))
    save_file({"words": np.zeros(20, np.uint8)}, tmp_path / "none.safetensors")
    assert peek_shape(tmp_path / "a.npy") == (5, 7)
    assert peek_shape(tmp_path / "a.safetensors") == (5, 7)
    assert peek_shape(tmp_path / "flat.npy") is None
    assert peek_shape(tmp_path / "none.safetensors") is None
    assert peek_shape(tmp_path / "missing.vec") is None


def test_a_pipe_is_not_touched(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.vec"
    os.mkfifo(pipe)
    assert peek_shape(pipe) is None  # opening it would wait for a writer for ever

"""What a run needs is foretold roughly right, and refused with a remedy where it cannot fit."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from bilex.cli import estimate as module
from bilex.cli.estimate import check_fits, estimate, memory_here
from bilex.errors import BilexError
from bilex.methods import find_method
from bilex.search.local import LocalEngine
from bilex.vectors.shape import peek_shape

ROWS = b"a 1 2 3\nb 4 5 6\nc 7 8 9\n"


@pytest.mark.parametrize(
    ("name", "content", "limit", "expected"),
    [
        ("a.vec", b"3 3\n" + ROWS, None, (3, 3)),
        ("a.vec", b"3 3\n" + ROWS, 2, (2, 3)),
        ("a.vec", ROWS, None, (4, 3)),  # a guess from sizes
        ("a.vec.gz", gzip.compress(b"3 3\n" + ROWS), None, (3, 3)),
        ("a.vec.gz", gzip.compress(ROWS), 50, (50, 3)),
        ("a.vec.gz", gzip.compress(ROWS), None, None),
        ("a.bin", b"3 1\na \0\0\0\0", None, (3, 1)),
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


def test_more_words_need_more() -> None:
    method, engine = find_method("ruder2018"), LocalEngine()
    small = estimate((10_000, 10_000), 50, method, engine)
    large = estimate((100_000, 200_000), 50, method, engine)
    assert small.seconds is not None
    assert large.seconds is not None
    assert large.seconds > 20 * small.seconds
    assert large.memory > 4 * (100_000 + 200_000) * 50 * 4
    limited = estimate((100_000, 200_000), 50, method.with_changes({"max_rank": 5_000}), engine)
    assert limited.seconds is not None
    assert limited.seconds < large.seconds
    assert estimate((10, 10), 3, method, None).seconds is None


def test_words_for_a_person() -> None:
    said = [str(module.Estimate(2.34e9, seconds)) for seconds in (None, 3, 47, 300)]
    assert said == [
        "about 2.3 GB of memory",
        "about 2.3 GB of memory and a few seconds",
        "about 2.3 GB of memory and 47 seconds",
        "about 2.3 GB of memory and 5 minutes",
    ]


def test_what_cannot_fit_is_refused_with_what_would(monkeypatch: pytest.MonkeyPatch) -> None:
    method, words = find_method("ruder2018"), (200_000, 200_000)
    needed = estimate(words, 300, method, None)
    monkeypatch.setattr(module, "memory_here", lambda: 1e9)
    with pytest.raises(BilexError, match=r"this machine has 1\.0 GB; read fewer words with --limit (\d+)") as raised:
        check_fits(needed, words, 300)
    fewer = int(str(raised.value).split()[-1])
    assert 1000 <= fewer < 200_000
    check_fits(estimate((fewer, fewer), 300, method, None), (fewer, fewer), 300)
    monkeypatch.setattr(module, "memory_here", lambda: None)
    check_fits(needed, words, 300)


def test_this_machine_has_memory() -> None:
    here = memory_here()
    assert here is None or here > 1e8

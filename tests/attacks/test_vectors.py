"""Hostile vectors, dictionaries and similarity sets: false headers, gzip bombs, devices and pickles."""

from __future__ import annotations

import os
import pickle
import re
import socket
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.attacks.forgeries import HUGE, Evil, bomb, heavy, npy, safetensors
from tests.attacks.guard import Guard, Verdict

Forge = Callable[[Path], object]
ROW = b"word 0.25 -0.5\n"
SQUARE = "{'descr': '<f4', 'fortran_order': False, 'shape': %s}"


def assert_refused(verdict: Verdict, mention: str) -> None:
    """Check that the file was refused in one line, quickly and with little memory."""
    assert verdict.error == "InputError", verdict
    assert re.fullmatch(r"[^\n]+", verdict.message), verdict
    assert re.search(mention, verdict.message), verdict
    assert verdict.seconds < 1, verdict
    assert verdict.megabytes < 200, verdict


CLAIMS: dict[str, tuple[str, Forge, str]] = {
    "text-header": ("a.vec", lambda path: path.write_bytes(b"%d 2\n" % HUGE + ROW), "promises 1000000000000 words"),
    "text-dimension": ("a.vec", lambda path: path.write_bytes(b"1 %d\n" % HUGE + ROW), "this row has 2"),
    "text-header-gz": (
        "a.vec.gz",
        lambda path: bomb(path, ROW, 16, b"%d 2\n" % HUGE),
        "more than 100 times its size",
    ),
    "bin-header": (
        "a.bin",
        lambda path: path.write_bytes(b"%d 2\nword " % HUGE + bytes(range(1, 9))),
        "promises 1000000000000 words but only 1",
    ),
    "bin-dimension": ("a.bin", lambda path: path.write_bytes(b"1 %d\nword \x01\x02\x03\x04" % HUGE), "than the file"),
    "npy-rows": ("a.npy", lambda path: npy(path, SQUARE % f"({HUGE}, 300)"), "not a readable NumPy"),
    "npy-negative": ("a.npy", lambda path: npy(path, SQUARE % "(-1, 4)", b"x" * 16), "NumPy|vocabulary|dimension"),
    "npy-header": (
        "a.npy",
        lambda path: path.write_bytes(b"\x93NUMPY\x02\x00\xff\xff\xff\xff{'descr': "),
        "not a readable NumPy",
    ),
    "npy-nested": ("a.npy", lambda path: npy(path, "(" * 9000), "not a readable NumPy"),
    "safetensors-rows": (
        "a.safetensors",
        lambda path: safetensors(
            path, {"vectors": {"dtype": "F32", "shape": [HUGE, 300], "data_offsets": [0, HUGE * 1200]}}
        ),
        "not a readable safetensors",
    ),
    "safetensors-header": (
        "a.safetensors",
        lambda path: safetensors(path, b"{}", length=2**63),
        "a header of 9,223,372,036,854,775,808 bytes",
    ),
    "safetensors-long-header": (
        "a.safetensors",
        lambda path: safetensors(path, b'{"a": [' + b"[]," * 1_000_000 + b"[]]}"),
        "a header of 3,",
    ),
    "safetensors-nested": ("a.safetensors", lambda path: safetensors(path, b"[" * 900_000), "not a readable safeten"),
}

OFFSETS: dict[str, tuple[dict[str, list[int]], int]] = {
    "overlapping": ({"vectors": [0, 16], "other": [8, 24]}, 24),
    "beyond-the-end": ({"vectors": [16, 32]}, 16),
    "backwards": ({"vectors": [16, 0]}, 16),
    "a-gap": ({"vectors": [8, 24]}, 24),
    "too-short": ({"vectors": [0, 8]}, 8),
}


@pytest.mark.parametrize(("name", "forge", "mention"), CLAIMS.values(), ids=CLAIMS)
def test_a_header_that_claims_too_much(guard: Guard, tmp_path: Path, name: str, forge: Forge, mention: str) -> None:
    forge(tmp_path / name)
    assert_refused(guard.open("vectors", tmp_path / name), mention)


@pytest.mark.parametrize(("offsets", "size"), OFFSETS.values(), ids=OFFSETS)
def test_offsets_of_safetensors(guard: Guard, tmp_path: Path, offsets: dict[str, list[int]], size: int) -> None:
    path = tmp_path / "a.safetensors"
    safetensors(
        path, {k: {"dtype": "F32", "shape": [2, 2], "data_offsets": v} for k, v in offsets.items()}, b"x" * size
    )
    path.with_suffix(".vocab").write_text("a\nb\n")
    assert_refused(guard.open("vectors", path), "not a readable safetensors file")


def test_a_sparse_matrix_of_a_terabyte(guard: Guard, tmp_path: Path) -> None:
    """It takes no space on the disk, and its header is true."""
    path = tmp_path / "a.npy"
    npy(path, SQUARE % f"({1 << 31}, 128)")
    os.truncate(path, path.stat().st_size + (1 << 31) * 512)
    path.with_suffix(".vocab").write_text("a\nb\n")
    assert_refused(guard.open("vectors", path), "2 words but the matrix has 2147483648 rows")


@pytest.mark.parametrize(
    ("reader", "unit"),
    [
        ("vectors", ROW),
        ("vectors", b"\n"),
        ("pairs", b"a b\n"),
        ("pairs", b"\n"),
        ("similarity", b"a\tb\t1\n"),
        ("lexicon", b"\n"),
        ("toml", b"\0"),
    ],
)
def test_a_gzip_bomb(guard: Guard, tmp_path: Path, reader: str, unit: bytes) -> None:
    path = tmp_path / ("a.vec.gz" if reader == "vectors" else "a.gz")
    bomb(path, unit)
    assert path.stat().st_size < 12_000_000
    assert_refused(guard.open(reader, path), "")


@pytest.mark.parametrize("name", ["a.bin.gz", "a.npy"])
def test_a_bomb_beside_the_text_formats(guard: Guard, tmp_path: Path, name: str) -> None:
    bomb(tmp_path / name, b"\1word abcdefgh" if "bin" in name else b"a\n", start=b"100000000 2\n" * ("bin" in name))
    assert_refused(guard.open("vectors", tmp_path / name), "times its size|plain file")


def test_a_bomb_for_a_vocabulary(guard: Guard, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.ones((2, 2), np.float32))
    bomb(tmp_path / "a.vocab", b"\n")
    assert_refused(guard.open("vectors", tmp_path / "a.npy"), "more than 100 times its size")


@pytest.mark.parametrize(
    ("name", "protocol", "other"),
    [
        ("a.bin", 0, "pairs"),
        ("a.npy", 2, "similarity"),
        ("a.vec", 4, "lexicon"),
        ("a.safetensors", 5, "toml"),
        ("a.kv", 1, "pairs"),
        ("a.npz", 3, "lexicon"),
    ],
)
def test_a_pickle_is_never_read(guard: Guard, tmp_path: Path, name: str, protocol: int, other: str) -> None:
    (tmp_path / name).write_bytes(pickle.dumps(Evil(tmp_path / "witness"), protocol=protocol))
    for reader in ("vectors", other):
        assert_refused(guard.open(reader, tmp_path / name), "")
    assert not (tmp_path / "witness").exists()


def test_a_pickle_inside_a_numpy_file_is_never_read(guard: Guard, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([[Evil(tmp_path / "witness")]], dtype=object), allow_pickle=True)
    (tmp_path / "a.vocab").write_text("a\n")
    assert_refused(guard.open("vectors", tmp_path / "a.npy"), "not a readable NumPy")
    assert not (tmp_path / "witness").exists()


@pytest.mark.parametrize(
    ("reader", "name", "start", "end"),
    [
        ("vectors", "a.vec", b"1 2\n", b" 1 2\n"),
        ("vectors", "a.bin", b"1 2\n", b" 12345678"),
        ("pairs", "a.txt", b"", b" b\n"),
        ("similarity", "a.txt", b"", b"\tb\t1\n"),
        ("lexicon", "a.tsv", b"source\ttarget\tscore\trank\tmutual\torigin\n", b"\tb\t1\t1\t1\tseed\n"),
        ("toml", "a.toml", b"name = '", b"'\n"),
    ],
)
def test_a_word_of_100_megabytes(
    guard: Guard, tmp_path: Path, reader: str, name: str, start: bytes, end: bytes
) -> None:
    heavy(tmp_path / name, start, end)
    assert_refused(guard.open(reader, tmp_path / name), "bytes")


def test_a_heavy_word_in_a_vocabulary(guard: Guard, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.ones((1, 2), np.float32))
    heavy(tmp_path / "a.vocab")
    assert_refused(guard.open("vectors", tmp_path / "a.npy"), "a.vocab:1: .*longer than")


def test_a_heavy_word_in_a_tensor(guard: Guard, tmp_path: Path) -> None:
    header = {
        "vectors": {"dtype": "F32", "shape": [1, 2], "data_offsets": [0, 8]},
        "words": {"dtype": "U8", "shape": [100_000_000], "data_offsets": [8, 100_000_008]},
    }
    safetensors(tmp_path / "a.safetensors", header, bytes(range(8)) + b"x" * 100_000_000)
    assert_refused(guard.open("vectors", tmp_path / "a.safetensors"), "a word of more than 10,000 bytes")


@pytest.mark.parametrize(
    ("reader", "device"),
    [
        ("vectors", "/dev/zero"),
        ("pairs", "/dev/urandom"),
        ("similarity", "/dev/null"),
        ("lexicon", "/dev/zero"),
        ("toml", "/dev/zero"),
    ],
)
def test_a_device_is_no_file(guard: Guard, tmp_path: Path, reader: str, device: str) -> None:
    assert_refused(guard.open(reader, Path(device)), "this is a device")
    (tmp_path / "link").symlink_to(device)
    assert_refused(guard.open(reader, tmp_path / "link"), "this is a device")


def test_a_vocabulary_that_is_a_device(guard: Guard, tmp_path: Path) -> None:
    """The one beside the matrix is not found; one that is named is refused."""
    np.save(tmp_path / "a.npy", np.ones((2, 2), np.float32))
    (tmp_path / "a.vocab").symlink_to("/dev/zero")
    assert_refused(guard.open("vectors", tmp_path / "a.npy"), "no vocabulary")
    assert_refused(guard.open("vocabulary", tmp_path / "a.npy"), "this is a device")


def test_a_vocabulary_that_is_a_pipe_or_a_socket(guard: Guard, tmp_path: Path) -> None:
    """Nothing is written to the pipe, so opening it would block for ever."""
    np.save(tmp_path / "a.npy", np.ones((2, 2), np.float32))
    os.mkfifo(tmp_path / "a.vocab")
    assert_refused(guard.open("vectors", tmp_path / "a.npy"), "no vocabulary")
    assert_refused(guard.open("vocabulary", tmp_path / "a.npy"), "this is a pipe")
    (tmp_path / "a.vocab").unlink()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "a.vocab"))
        assert_refused(guard.open("vocabulary", tmp_path / "a.npy"), "this is a device")


def test_the_guard_measures_memory(guard: Guard, tmp_path: Path) -> None:
    """A valid file is read, and one of 80 MB takes more than 200: the limits above can fail."""
    (tmp_path / "good.vec").write_bytes(b"1 2\n" + ROW)
    assert guard.open("vectors", tmp_path / "good.vec")[:2] == ("", "")
    matrix = np.lib.format.open_memmap(tmp_path / "a.npy", "w+", np.float32, (1000, 20_000))  # mostly a hole on disk
    matrix[:, 0] = 1
    matrix.flush()
    (tmp_path / "a.vocab").write_text("".join(f"{row}\n" for row in range(1000)))
    assert guard.open("vectors", tmp_path / "a.npy").megabytes > 200

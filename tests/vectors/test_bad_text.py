"""Text that cannot be read, gzip that is damaged, and foreign files: one line that says what and where."""

from __future__ import annotations

import gzip
import pickle
import re
from pathlib import Path

import pytest

from bilex.errors import InputError
from bilex.files import lines
from bilex.vectors.embeddings import load
from tests.vectors.helpers import fails, repaired, write

# What is refused ----------------------------------------------------------------------------------------------------


def test_much_bad_utf8(tmp_path: Path) -> None:
    fails(write(tmp_path, b"2 1\na 1\ncaf\xe9 1\n"), "1 of 2 words are not UTF-8; .*iconv", 3)


def test_utf16(tmp_path: Path) -> None:
    fails(write(tmp_path, "1 1\na 1\n".encode("utf-16")), "UTF-16.*iconv")


def test_missing_file(tmp_path: Path) -> None:
    fails(tmp_path / "none.vec", "no such file")


def test_folder(tmp_path: Path) -> None:
    fails(tmp_path, "folder")


@pytest.mark.parametrize("content", [b"", gzip.compress(b"", mtime=0)])
def test_empty_file(tmp_path: Path, content: bytes) -> None:
    fails(write(tmp_path, content), "the file is empty")


@pytest.mark.parametrize("content", ["\n\n", " \n"])
def test_nothing_but_blank_lines(tmp_path: Path, content: str) -> None:
    fails(write(tmp_path, content), "nothing but blank lines")


def test_no_usable_word(tmp_path: Path) -> None:
    fails(write(tmp_path, "1 2\na 0 0\n"), "no usable word vector")


@pytest.mark.parametrize("header", ["0 300", "3 0"])
def test_header_that_promises_nothing(tmp_path: Path, header: str) -> None:
    fails(write(tmp_path, header + "\na 1\n"), "promises no vectors", 1)


def test_fewer_rows_than_the_header_says(tmp_path: Path) -> None:
    fails(write(tmp_path, "3 2\na 1 2\nb 3 4\n"), "promises 3 words but only 2 follow; .*cut off")
    fails(write(tmp_path, "3 2\n"), "promises 3 words but none follows; .*cut off")
    fails(write(tmp_path, "9 2\na 1 2\nb 3 4\n"), "promises 9 words but only 2 follow; .*cut off", limit=3)


def test_header_that_contradicts_the_rows(tmp_path: Path) -> None:
    fails(write(tmp_path, "2 3\na 1 2\nb 3 4\n"), "header says 3 numbers per word but this row has 2", 2)
    fails(write(tmp_path, "2 1\na 1 2\nb 3 4\n"), "header says 1 numbers per word but this row has 2", 2)


def test_a_false_header_reserves_no_memory(tmp_path: Path) -> None:
    fails(write(tmp_path, f"{10**12} 2\na 1 2\n"), "only 1 follow")
    fails(write(tmp_path, f"{10**12} 2\na 1 2\n".encode()), "only 1 follow")
    fails(write(tmp_path, gzip.compress(f"{10**12} 2\na 1 2\n".encode())), "only 1 follow")
    fails(write(tmp_path, f"1 {10**12}\na 1 2\n"), "this row has 2", 2)


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("b 3", "expected 2 numbers after the word 'b' but found 1"),
        ("b 3 4 5", "expected 2 numbers after the word 'b' but found 3"),
        ("new 10 3 4", "found 3"),
        ("b 3 x", "'x' is not a number"),
        ("b c 3 x", "'x' is not a number"),
        ("b 3,5 4", "'3,5' is not a number"),
        ("b 0x1 4", "'0x1' is not a number"),
        ("b 1e 4", "'1e' is not a number"),
        ("b 3 \u0664", "is not a number"),
        ("b nan 4", "'nan' is not a finite"),
        ("b 3 -inf", "'-inf' is not a finite"),
        ("b 3 1e39", "'1e39' is not a finite"),
        ("b nan 3 4", "found 3"),
        ("x" * 10_001 + " 3 4", "a word of 10,001 bytes"),
    ],
)
def test_bad_row_is_named_by_its_line(tmp_path: Path, row: str, problem: str) -> None:
    fails(write(tmp_path, f"3 2\na 1 2\n{row}\nc 5 6\n"), re.escape(problem), 3)
    with pytest.raises(InputError, match=re.escape(problem)):
        load(write(tmp_path, f"a 1 2\n{row}\nc 5 6\n", "glove.txt"))


@pytest.mark.parametrize("first", ["word", "word x", "word 1 x 2"])
def test_first_line_without_header_or_numbers(tmp_path: Path, first: str) -> None:
    fails(write(tmp_path, first + "\na 1\n"), "without numbers|is not a number", 1)


def test_a_line_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "PIECE_BYTES", 100)
    monkeypatch.setattr(lines, "MAX_VECTOR_BYTES", 1000)
    fails(write(tmp_path, "2 2\na 1 2\n" + "x" * 5000), "longer than 1,000 bytes", 3)


# gzip ---------------------------------------------------------------------------------------------------------------

PACKED = gzip.compress(b"2 2\na 1 2\nb 3 4\n", mtime=0)


def test_gzip_under_any_name_and_in_several_members(tmp_path: Path) -> None:
    members = gzip.compress(b"2 2\na 1") + gzip.compress(b" 2\nb 3 4\n") + bytes(512)
    assert load(write(tmp_path, members, "en.txt")).vectors.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("length", [1, 12, len(PACKED) - 1])
def test_gzip_cut_off(tmp_path: Path, length: int) -> None:
    with pytest.raises(InputError, match=r"stops early|not a number|without numbers|not text"):
        load(write(tmp_path, PACKED[:length], "en.vec.gz"))


def test_gzip_damaged(tmp_path: Path) -> None:
    broken = bytearray(PACKED)
    broken[-6] ^= 0xFF
    fails(write(tmp_path, bytes(broken), "en.vec.gz"), "gzip data is damaged")


def test_gzip_with_garbage_behind_it(tmp_path: Path) -> None:
    path = write(tmp_path, PACKED + b"garbage", "en.vec.gz")
    assert repaired(path, "not gzip follows the gzip data").words == ("a", "b")


# Foreign files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "magic", "pattern"),
    [
        ("en.vec", b"PK\x03\x04", "zip archive"),
        ("en.npy", b"BZh9", "bunzip2"),
        ("en.bin", b"\xfd7zXZ\x00", "unxz"),
        ("en.vec", b"\x28\xb5\x2f\xfd", "unzstd"),
        ("en.bin", b"\xba\x16\x4f\x2f\x0c", "the file ends within the header"),
    ],
)
def test_foreign_files_are_recognised(tmp_path: Path, name: str, magic: bytes, pattern: str) -> None:
    fails(write(tmp_path, magic + bytes(50), name), pattern)


class Bomb:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (pytest.fail, ("a pickle was read",))


@pytest.mark.parametrize(("name", "protocol"), [("en.kv", 0), ("en.model", 2), ("en.npy", 5)])
def test_pickles_are_never_read(tmp_path: Path, name: str, protocol: int) -> None:
    path = write(tmp_path, pickle.dumps(Bomb(), protocol), name)
    with pytest.raises(InputError) as caught:
        load(path)
    if protocol >= 2:
        assert "save_word2vec_format" in str(caught.value)

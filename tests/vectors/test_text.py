"""Vectors as text: the fast reader agrees with an obvious one, and bad input is repaired or explained."""

from __future__ import annotations

import gzip
import os
import threading
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bilex.errors import BilexError, InputError
from bilex.files import lines as lines_module
from bilex.vectors import text
from bilex.vectors.embeddings import load
from tests.vectors.helpers import fails, repaired, write

Row = tuple[str, list[str]]


# The fast reader against Python's own split and float -------------------------------------------------------------


def nearly_halfway(odd: int, exponent: int) -> str:
    """Sixteen digits as close as they get to the middle between two neighbouring float32."""
    target = Fraction(2 * odd + 1) / Fraction(10) ** exponent
    while target >= 2**53:
        target /= 2
    while target < 2**52:
        target *= 2
    return f"{round(target)}e{exponent}"


plain_numbers = st.one_of(
    st.floats(-1e30, 1e30).map(repr),
    st.floats(-1, 1).map(lambda value: f"{value:.5f}"),
    st.floats(-1e3, 1e3, width=32).map(lambda value: f"{value:.18e}"),
    st.from_regex(r"[+-]?([0-9]{1,25}\.?[0-9]{0,25}|\.[0-9]{1,25})([eE][+-]?[0-9]{1,2})?", fullmatch=True),
    st.sampled_from(["0", "-0", "+1", "1.", ".5", "1e-400", "1E5", "3.4028234e38", "1e-45", "7e-46", "00012"]),
    # Halfway between two neighbouring float32: any carelessness in rounding shows here.
    st.integers(1, 2**24).map(lambda n: repr((n + 0.5) * 2.0**-24)),
    st.builds(nearly_halfway, st.integers(2**23, 2**24 - 1), st.integers(-40, 22)),
    st.integers(2**23, 2**24 - 1).map(lambda n: f"{(2 * n + 1) * 2**40}.00000000000000000001"),
)
words = st.text(st.characters(exclude_characters=" \t\n\r\0\ufeff", exclude_categories=["Cs"]), min_size=1, max_size=8)


def finite_in_float32(text: str) -> bool:
    with np.errstate(over="ignore"):
        return bool(np.isfinite(np.float32(float(text))))


@st.composite
def tables(draw: st.DrawFn) -> list[Row]:
    dimension = draw(st.integers(1, 4))
    numbers = st.lists(plain_numbers.filter(finite_in_float32), min_size=dimension, max_size=dimension)
    rows = draw(st.lists(st.tuples(words, numbers), min_size=1, max_size=6, unique_by=lambda row: row[0]))
    return [(word, ["1", *numbers]) for word, numbers in rows]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(
    rows=tables(),
    separator=st.sampled_from([" ", "\t", "  "]),
    trailing=st.sampled_from(["", " "]),
    zipped=st.booleans(),
)
def test_agrees_with_the_oracle(tmp_path: Path, rows: list[Row], separator: str, trailing: str, zipped: bool) -> None:
    dimension = len(rows[0][1])
    lines = [f"{len(rows)} {dimension}", *(separator.join([word, *numbers]) + trailing for word, numbers in rows)]
    content = ("\n".join(lines) + "\n").encode()
    embeddings = load(write(tmp_path, gzip.compress(content) if zipped else content))
    oracle = np.array([[np.float32(float(text)) for text in numbers] for _, numbers in rows])
    assert embeddings.words == tuple(word for word, _ in rows)
    assert embeddings.vectors.dtype == np.float32
    assert embeddings.vectors.flags.c_contiguous
    np.testing.assert_array_equal(embeddings.vectors, oracle)
    np.testing.assert_array_equal(np.signbit(embeddings.vectors), np.signbit(oracle))


def test_numbers_as_tools_write_them_never_need_the_slow_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "examine_line", None)
    values = np.random.default_rng(3).standard_normal((400, 5)).tolist()
    for style in ("%.4f", "%g", "%.9g", "%.17g", "%.18e", "%r"):
        rows = [f"w{row} " + " ".join(style % value for value in vector) for row, vector in enumerate(values)]
        path = write(tmp_path, "\n".join(["400 5", *rows, ""]))
        oracle = np.array([[np.float32(float(style % value)) for value in vector] for vector in values])
        np.testing.assert_array_equal(load(path).vectors, oracle)


@pytest.mark.parametrize(("zipped", "threads"), [(False, "3"), (True, "1")])
def test_block_edges_and_threads_do_not_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zipped: bool, threads: str
) -> None:
    vectors = np.random.default_rng(1).standard_normal((500, 7)).astype(np.float32)
    lines = [f"w{row}é " + " ".join(map(repr, vector.tolist())) for row, vector in enumerate(vectors)]
    content = "\n".join(["500 7", *lines, ""]).encode()
    path = write(tmp_path, gzip.compress(content) if zipped else content)
    monkeypatch.setenv("BILEX_THREADS", threads)
    for block in (300, len(content) - 1, len(content)):
        monkeypatch.setattr(lines_module, "PIECE_BYTES", block)
        embeddings = load(path)
        assert embeddings.words == tuple(f"w{row}é" for row in range(500))
        np.testing.assert_array_equal(embeddings.vectors, vectors)


def test_words_may_hold_any_white_space_but_ascii_space_and_tab(tmp_path: Path) -> None:
    strange = ["a\u00a0b", "\u3000", "x\u0085", "\u2028y", "\u1680", "z\x0b\x0c", "\u00a0", "in\u2029fra", "a\rb"]
    path = write(tmp_path, f"{len(strange)} 2\n" + "".join(f"{word} 1 {row}\n" for row, word in enumerate(strange)))
    embeddings = load(path)
    assert embeddings.words == tuple(strange)
    assert embeddings.vectors[:, 1].tolist() == list(range(len(strange)))


# Shapes of file -----------------------------------------------------------------------------------------------------


def test_glove_text_has_no_header(tmp_path: Path) -> None:
    embeddings = repaired(
        write(tmp_path, "the 0.5 1\n1999 2 3\nof 4 5\n"), "no header line; read as 3 words of 2 numbers"
    )
    assert embeddings.words == ("the", "1999", "of")
    assert embeddings.vectors.tolist() == [[0.5, 1], [2, 3], [4, 5]]


def test_a_last_number_that_may_be_cut_off(tmp_path: Path) -> None:
    """With a header a program wrote the file, and it would have ended the line; a person may not have."""
    path = write(tmp_path, "3 2\na 1 2\nb 3 4\nc 5 0.1")
    fails(path, "the last line has no line end, .*; get the file again; if it is whole, add a line end", 4)
    assert load(path, limit=2).words == ("a", "b")
    path = write(tmp_path, "a 1 2\nb 3 4\nc 5 0.1")
    assert repaired(path, "3 words of 2 numbers, the last one without a line end").words == ("a", "b", "c")


def test_one_dimension_with_header(tmp_path: Path) -> None:
    assert load(write(tmp_path, "2 1\na 1\n3 5\n")).vectors.tolist() == [[1], [5]]


def test_one_dimension_without_header(tmp_path: Path) -> None:
    assert repaired(write(tmp_path, "a 1\n3 5\n"), "2 words of 1 numbers").words == ("a", "3")


def test_one_dimension_with_a_first_row_like_a_header_never_loses_it_silently(tmp_path: Path) -> None:
    fails(write(tmp_path, "3 5\na 1\nb 2\n"), "says 5 numbers per word but this row has 1; .*put a header before", 2)
    fails(write(tmp_path, "3 1\na 1\nb 2\n"), "promises 3 words but only 2")


def test_limit_takes_the_first_rows_and_ignores_the_rest(tmp_path: Path) -> None:
    path = write(tmp_path, "5 2\na 1 2\nb 3 4\nthis is wrong\n")
    assert load(path, limit=2).words == ("a", "b")
    assert repaired(write(tmp_path, "a 1 2\nb 3 4\nwrong\n"), "2 words", limit=2).words == ("a", "b")


@pytest.mark.parametrize("block", [16, 1 << 20])
def test_limit_counts_rows_over_blocks_and_blank_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(lines_module, "PIECE_BYTES", block)
    path = write(tmp_path, "9 2\na 1 2\n\nb 3 4\nc 5 6\nthis is wrong\n")
    assert repaired(path, "1 blank line ", limit=3).words == ("a", "b", "c")


def test_limit_stops_decompression(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines_module, "PIECE_BYTES", 1 << 17)
    vectors = np.random.default_rng(0).standard_normal((8_000, 10))
    content = "8000 10\n" + "".join(
        f"w{row} " + " ".join(map(repr, v)) + "\n" for row, v in enumerate(vectors.tolist())
    )
    packed = bytearray(gzip.compress(content.encode(), 1))
    packed[-400_000:] = b"\xff" * 400_000
    path = write(tmp_path, bytes(packed))
    assert len(load(path, limit=500)) == 500
    with pytest.raises(InputError):
        load(path)


@pytest.mark.parametrize("limit", [0])
def test_limit_must_be_positive(tmp_path: Path, limit: int) -> None:
    with pytest.raises(BilexError):
        load(write(tmp_path, "1 1\na 1\n"), limit=limit)


def test_a_pipe_can_be_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.vec"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b"2 2\na 1 2\nb 3 4\n",))
    writer.start()
    assert load(pipe).words == ("a", "b")
    writer.join()


# What is repaired ---------------------------------------------------------------------------------------------------


def test_more_rows_than_the_header_says(tmp_path: Path) -> None:
    embeddings = repaired(write(tmp_path, "1 2\na 1 2\nb 3 4\nc 5 6\n"), "promises 1 words but 3 follow; all")
    assert embeddings.words == ("a", "b", "c")


def test_words_with_spaces_keep_them(tmp_path: Path) -> None:
    path = write(tmp_path, "5 2\nnew york 1 2\nb 3 4\n. . . 5 6\nat a@b.c 7 8\nfoo nano 1 1\n")
    embeddings = repaired(path, r"4 words with spaces kept as they are \(first: 'new york', line 2\)")
    assert embeddings.words == ("new york", "b", ". . .", "at a@b.c", "foo nano")
    assert embeddings.vectors[:4].ravel().tolist() == [1, 2, 3, 4, 5, 6, 7, 8]


def test_words_with_spaces_in_the_first_line_without_header(tmp_path: Path) -> None:
    assert repaired(write(tmp_path, "new york 1 2\nb 3 4\n"), "no header", "1 word with spaces").dimension == 2


def test_byte_order_mark(tmp_path: Path) -> None:
    assert repaired(write(tmp_path, b"\xef\xbb\xbf1 1\na 1\n"), "byte order mark").words == ("a",)
    assert repaired(write(tmp_path, b"\xef\xbb\xbfa 1\n"), "byte order mark", "no header").words == ("a",)


def test_windows_line_ends(tmp_path: Path) -> None:
    embeddings = repaired(write(tmp_path, "2 2\r\na 1 2\r\nb 3 4 \r\n"), "3 Windows line ends")
    assert embeddings.vectors.tolist() == [[1, 2], [3, 4]]


def test_duplicate_words(tmp_path: Path) -> None:
    path = write(tmp_path, "5 1\nthe 1\na 2\nthe 3\na 4\nb 5\n")
    embeddings = repaired(path, r"2 duplicate words left out \(first: 'the', line 4\); the first occurrence is kept")
    assert embeddings.words == ("the", "a", "b")
    assert embeddings.vectors.ravel().tolist() == [1, 2, 5]


def test_zero_vectors(tmp_path: Path) -> None:
    embeddings = repaired(
        write(tmp_path, "3 2\na 0 0\nb 1 0\nc -0 1e-60\n"), r"2 words left out .* zero \(first: 'a', line 2\)"
    )
    assert embeddings.words == ("b",)


def test_empty_words(tmp_path: Path) -> None:
    embeddings = repaired(write(tmp_path, "2 2\n 1 2\nb 3 4\n"), r"1 empty word left out \(first: line 2\)")
    assert embeddings.vectors.tolist() == [[3, 4]]


def test_blank_lines_inside_are_counted_and_at_the_end_ignored(tmp_path: Path) -> None:
    embeddings = repaired(write(tmp_path, "2 2\n\na 1 2\n \t\nb 3 4\n\n\n"), "2 blank lines")
    assert embeddings.vectors.tolist() == [[1, 2], [3, 4]]
    assert load(write(tmp_path, "1 2\na 1 2\n\n \n")).words == ("a",)


def test_a_little_bad_utf8_is_left_out(tmp_path: Path) -> None:
    rows = [b"w%d 1" % number for number in range(300)]
    rows[7] = b"caf\xe9 1"
    embeddings = repaired(
        write(tmp_path, b"\n".join([b"300 1", *rows, b""])), r"1 word not UTF-8 left out \(first: line 9\)"
    )
    assert len(embeddings) == 299

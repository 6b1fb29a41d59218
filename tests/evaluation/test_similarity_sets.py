"""Similarity sets: what is read, what is repaired, what is refused."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from bilex.errors import BilexWarning, InputError
from bilex.evaluation import similarity
from bilex.evaluation.similarity import read_similarity_set
from tests.vectors.helpers import write


def fails(path: Path, pattern: str, line: int | None = None) -> None:
    with pytest.raises(InputError, match=pattern) as caught:
        list(read_similarity_set(path))
    assert caught.value.line == line
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_terms_keep_their_capitals_and_spaces(tmp_path: Path) -> None:
    path = write(tmp_path, "Olympic Games\tGemütsart\t0.41\n\n tank \tAuto\t-2e0\nzero\tNull\t4\nzero\tNull\t4\n")
    assert list(read_similarity_set(path)) == [
        ("Olympic Games", "Gemütsart", 0.41),
        ("tank", "Auto", -2.0),
        ("zero", "Null", 4.0),
        ("zero", "Null", 4.0),  # a pair that was judged twice counts twice
    ]


def test_gzipped(tmp_path: Path) -> None:
    assert list(read_similarity_set(write(tmp_path, gzip.compress(b"a\tb\t1\n")))) == [("a", "b", 1.0)]


def test_a_header_is_skipped(tmp_path: Path) -> None:
    assert list(read_similarity_set(write(tmp_path, "\nword1\tword2\tScore\na\tb\t1\n"))) == [("a", "b", 1.0)]


def test_a_header_can_only_come_first(tmp_path: Path) -> None:
    fails(write(tmp_path, "a\tb\t1\nword1\tword2\tscore\n"), "the score 'score' is not a finite number", 2)
    fails(write(tmp_path, "x\ty\tscore\nword1\tword2\tscore\n"), "the score 'score' is not a finite number", 2)
    fails(write(tmp_path, "dog\tHund\tn/a\n"), "the score 'n/a' is not a finite number", 1)
    fails(write(tmp_path, "word1\tword2\tscore\n"), "no pair in the file")


@pytest.mark.parametrize(
    ("bad", "found"),
    [("dog\tHund\t3\t4", "4 fields"), ("dog Hund 3", "one field"), ("a\t \t3", "an empty field")],
)
def test_not_three_fields(tmp_path: Path, bad: str, found: str) -> None:
    fails(write(tmp_path, f"a\tb\t1\n{bad}\n"), found, 2)


@pytest.mark.parametrize("bad", ["2,5", "nan", "1e999", "1_0", "٣"])
def test_not_a_finite_number(tmp_path: Path, bad: str) -> None:
    fails(write(tmp_path, f"a\tb\t1\na\tb\t{bad}\n"), "is not a finite number", 2)


def test_a_set_that_no_people_have_judged_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similarity, "MAX_PAIRS", 1000)
    fails(write(tmp_path, "a\tb\t1\n" * 1001), "more than 1,000 pairs")


def test_repairs_are_counted(tmp_path: Path) -> None:
    with pytest.warns(BilexWarning) as caught:
        pairs = list(read_similarity_set(write(tmp_path, b"\xef\xbb\xbfa\tb\t1\r\nc\td\t2\r\n")))
    assert pairs == [("a", "b", 1.0), ("c", "d", 2.0)]
    assert [str(warning.message).split(": ")[-1] for warning in caught] == [
        "byte order mark at the start left out",
        "2 Windows line ends (CRLF) read as line ends",
    ]


def test_bad_utf8(tmp_path: Path) -> None:
    fails(write(tmp_path, b"a\tb\t1\ncaf\xe9\tb\t1\n"), "not UTF-8.*iconv", 2)


def test_missing_empty_and_folder(tmp_path: Path) -> None:
    fails(tmp_path / "none", "no such file")
    fails(write(tmp_path, ""), "empty")
    fails(write(tmp_path, " \n\t\n"), "no pair in the file")
    fails(tmp_path, "folder")

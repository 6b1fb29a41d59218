"""Seed and gold dictionaries."""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bilex.errors import BilexWarning, InputError
from bilex.seeds.dictionaries import read_pairs
from tests.vectors.helpers import write


def fails(path: Path, pattern: str, line: int | None = None) -> None:
    with pytest.raises(InputError, match=pattern) as caught:
        read_pairs(path)
    assert caught.value.line == line


def test_tabs_or_spaces(tmp_path: Path) -> None:
    path = write(tmp_path, "dog chien\ncat\tchat\n\nNew York\tNew York\n the   le \nno\u00a0break a\u3000b")
    assert list(read_pairs(path)) == [
        ("dog", "chien"),
        ("cat", "chat"),
        ("New York", "New York"),
        ("the", "le"),
        ("no\u00a0break", "a\u3000b"),
    ]


def test_gzipped(tmp_path: Path) -> None:
    assert list(read_pairs(write(tmp_path, gzip.compress(b"a b\n")))) == [("a", "b")]


word = st.text(
    st.characters(exclude_characters="\t\n\r\ufeff", exclude_categories=["Cs"]), min_size=1, max_size=5
).filter(lambda text: text.strip(" ") == text)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
@given(pairs=st.lists(st.tuples(word, word), min_size=1, max_size=8))
def test_duplicates_are_one_pair_in_the_first_place(tmp_path: Path, pairs: list[tuple[str, str]]) -> None:
    path = write(tmp_path, " \n" + "".join(f"{source}\t{target}\n" for source, target in pairs))
    assert list(read_pairs(path)) == list(dict.fromkeys(pairs))


@pytest.mark.parametrize("bad", ["one", "one two three", "a\tb\tc"])
def test_not_two_words(tmp_path: Path, bad: str) -> None:
    fails(write(tmp_path, f"dog chien\n{bad}\n"), "expected a source and a target word but found", 2)


def test_repairs(tmp_path: Path) -> None:
    with pytest.warns(BilexWarning) as caught:
        assert list(read_pairs(write(tmp_path, b"\xef\xbb\xbfa b\r\nc\td\r\n"))) == [("a", "b"), ("c", "d")]
    assert [str(warning.message).split(": ")[-1] for warning in caught] == [
        "byte order mark at the start left out",
        "2 Windows line ends (CRLF) read as line ends",
    ]
    assert {warning.filename for warning in caught} == {__file__}


def test_bad_utf8(tmp_path: Path) -> None:
    fails(write(tmp_path, b"a b\ncaf\xe9 b\n"), "not UTF-8.*iconv", 2)


@pytest.mark.parametrize("content", [" \n\t\n"])
def test_no_pair(tmp_path: Path, content: str) -> None:
    fails(write(tmp_path, content), "no pair")


def test_missing_empty_folder_and_pickle(tmp_path: Path) -> None:
    fails(tmp_path / "none", "no such file")
    fails(write(tmp_path, ""), "empty")
    fails(tmp_path, "folder")
    fails(write(tmp_path, b"\x80\x04\x95"), "pickle")


def test_pairs_are_read_like_a_list_and_held_in_little_memory(tmp_path: Path) -> None:
    lines = [f"word{number} mot{number}" for number in range(20_000)]
    path = write(tmp_path, "\n".join(lines) + "\n")
    tracemalloc.start()
    pairs = read_pairs(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert pairs[0] == ("word0", "mot0")
    assert pairs[-1] == ("word19999", "mot19999")
    assert len(pairs) == 20_000
    with pytest.raises(IndexError):
        pairs[20_000]
    assert peak < 4 * path.stat().st_size + (1 << 20)

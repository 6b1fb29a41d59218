"""The lexicon: its table can be read back whatever the words hold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bilex.errors import BilexError, InputError
from bilex.lexicon.lexicon import Entry, Lexicon

HEADER = "source\ttarget\tscore\trank\tmutual\torigin"


def lexicon_of(*entries: Entry) -> Lexicon:
    source, target, score, rank, mutual, origin, sure = zip(*entries, strict=True)
    confidence = None if None in sure else np.array(sure)
    return Lexicon(source, target, np.array(score), np.array(rank), np.array(mutual), origin, confidence)


ENTRIES = (
    Entry("house", "maison", 0.75, 1, True, "seed"),
    Entry("house", "domicile", 0.5, 3, False, "matching"),
    Entry('"quoted" ', "l'«été»", -0.25, 12, False, "matching"),
    Entry("no\u00a0break", "שלום", 0.125, 2, True, "retrieval"),
    Entry("👩‍👧", "\u2028\x85\x1c\x0b\x0c", 1.0, 1, True, "matching"),
    Entry("#comment", "e\u0301", 0.0, 1, True, "matching"),
)
LEXICON = lexicon_of(*ENTRIES)


def test_the_table_is_the_one_of_the_contract() -> None:
    lines = LEXICON.to_tsv().split("\n")
    assert lines[:3] == [HEADER, "house\tmaison\t0.750000\t1\t1\tseed", "house\tdomicile\t0.500000\t3\t0\tmatching"]
    assert lines[-1] == ""


def test_words_with_anything_in_them_survive_the_file(tmp_path: Path) -> None:
    LEXICON.save(tmp_path / "lexicon.tsv")
    back = Lexicon.load(tmp_path / "lexicon.tsv")
    assert list(back) == list(ENTRIES)
    assert [(type(e.score), type(e.rank), type(e.mutual)) for e in back] == [(float, int, bool)] * len(ENTRIES)
    assert back.to_tsv() == LEXICON.to_tsv()


def test_tabs_and_line_ends_in_words_do_not_break_the_table(tmp_path: Path) -> None:
    lexicon_of(Entry("new\tyork", "a\r\nb", 0.5, 1, True, "seed")).save(tmp_path / "lexicon.tsv")
    assert list(Lexicon.load(tmp_path / "lexicon.tsv")) == [Entry("new york", "a  b", 0.5, 1, True, "seed")]


def test_an_empty_lexicon_survives_the_file(tmp_path: Path) -> None:
    LEXICON.head(0).save(tmp_path / "lexicon.tsv")
    back = Lexicon.load(tmp_path / "lexicon.tsv")
    assert len(back) == 0
    assert list(back) == []
    assert back.to_tsv() == HEADER + "\n"


def test_columns_added_at_the_end_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "lexicon.tsv"
    path.write_text(f"{HEADER}\tnote\na\tb\t0.5\t1\t0\tseed\tsure\n")
    assert list(Lexicon.load(path)) == [Entry("a", "b", 0.5, 1, False, "seed")]


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("\n", 1, "not a lexicon"),
        ("house maison\n", 1, "not a lexicon"),
        (f"{HEADER}\na\tb\t0.5\t1\t0\n", 2, "not an entry"),
        (f"{HEADER}\na\tb\t0.5\t1\t0\tseed\na\tb\thigh\t1\t0\tseed\n", 3, "not an entry"),
        (f"{HEADER}\na\tb\t0.5\t1\t0\tseed\n\n", 3, "not an entry"),
    ],
)
def test_a_damaged_table_is_explained_with_its_line(tmp_path: Path, text: str, line: int, problem: str) -> None:
    path = tmp_path / "lexicon.tsv"
    path.write_text(text)
    with pytest.raises(InputError, match=problem) as caught:
        Lexicon.load(path)
    assert caught.value.line == line
    assert str(caught.value).startswith(f"{path}:{line}: ")


def test_a_table_that_is_not_utf8_is_explained(tmp_path: Path) -> None:
    path = tmp_path / "lexicon.tsv"
    path.write_bytes(f"{HEADER}\n".encode() + b"caf\xe9\tb\t0.5\t1\t0\tseed\n")
    with pytest.raises(InputError, match="not UTF-8"):
        Lexicon.load(path)


def test_a_word_gives_its_entries_and_head_the_first_ones() -> None:
    assert LEXICON["house"] == list(ENTRIES[:2])
    assert LEXICON["nonesuch"] == []
    assert list(LEXICON.head(1)) == [ENTRIES[0]]
    assert len(LEXICON.head()) == len(LEXICON) == len(ENTRIES)


def test_the_repr_is_short_and_shows_words() -> None:
    long = lexicon_of(*ENTRIES, *(Entry(f"s{i}", f"t{i}", 0.5, 1, True, "seed") for i in range(6)))
    lines = repr(long).split("\n")
    assert lines[:2] == ["Lexicon of 12 pairs", "house  maison  0.750"]
    assert lines[-1] == "... 2 more"
    assert "more" not in repr(LEXICON)


SURE = lexicon_of(*(entry._replace(confidence=place / 5) for place, entry in enumerate(ENTRIES)))


def test_the_confidence_is_the_last_column_and_survives_the_file(tmp_path: Path) -> None:
    assert SURE.to_tsv().split("\n")[:2] == [f"{HEADER}\tconfidence", "house\tmaison\t0.750000\t1\t1\tseed\t0.0000"]
    SURE.save(tmp_path / "lexicon.tsv")
    assert list(Lexicon.load(tmp_path / "lexicon.tsv")) == list(SURE)
    assert SURE.to_pandas().columns[-1] == "confidence"
    assert "0.20" in repr(SURE) and "confidence" in SURE._repr_html_()


def test_only_confident_entries_are_kept_and_their_mean_is_what_to_expect() -> None:
    sure = SURE.confident(0.6)
    assert list(sure) == [entry for entry in SURE if entry.confidence is not None and entry.confidence >= 0.6]
    assert sure.expected_precision == pytest.approx(0.8)
    assert np.isnan(SURE.head(0).expected_precision)
    with pytest.raises(BilexError, match="no confidence; induce it again"):
        LEXICON.confident(0.5)


@pytest.mark.parametrize("last", ["", "\tmany", "\tnan", "\t1.5", "\t-0.1"])
def test_a_confidence_is_a_probability(tmp_path: Path, last: str) -> None:
    path = tmp_path / "lexicon.tsv"
    path.write_text(f"{HEADER}\tconfidence\na\tb\t0.5\t1\t0\tseed{last}\n")
    with pytest.raises(InputError, match="not an entry") as caught:
        Lexicon.load(path)
    assert caught.value.line == 2

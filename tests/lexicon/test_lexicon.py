"""The lexicon: a container of entries, whose table can be read back whatever the words hold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bilex.errors import BilexError, InputError
from bilex.lexicon.lexicon import Entry, Lexicon

HEADER = "source\ttarget\tscore\trank\tmutual\torigin"


def lexicon_of(*entries: Entry) -> Lexicon:
    source, target, score, rank, mutual, origin, probability, *_ = zip(*entries, strict=True)
    confidence = None if None in probability else np.array(probability)
    return Lexicon(source, target, np.array(score), np.array(rank), np.array(mutual), origin, confidence)


ENTRIES = (
    Entry("house", "maison", 0.75, 1, True, "seed"),
    Entry('"quoted" ', "l'«été»", -0.25, 12, False, "matching"),
    Entry("house", "domicile", 0.5, 3, False, "matching"),
    Entry("no\u00a0break", "שלום", 0.125, 2, True, "retrieval"),
    Entry("👩‍👧", "\u2028\x85\x1c\x0b\x0c", 1.0, 1, True, "matching"),
    Entry("#comment", "e\u0301", 0.0, 1, True, "matching"),
)
LEXICON = lexicon_of(*ENTRIES)
CONFIDENT = lexicon_of(*(entry._replace(confidence=place / 5) for place, entry in enumerate(ENTRIES)))


def test_words_pairs_and_entries_are_found_with_in() -> None:
    assert "house" in LEXICON
    assert "maison" not in LEXICON  # a target word
    assert ("house", "domicile") in LEXICON
    assert ("house", "été") not in LEXICON
    assert ("nonesuch", "maison") not in LEXICON
    assert ENTRIES[3] in LEXICON
    assert ENTRIES[3]._replace(rank=9) not in LEXICON
    for other in (0, None, (), (0, 1), ["house", "maison"], b"house"):
        assert other not in LEXICON


@pytest.mark.parametrize("lexicon", [LEXICON, CONFIDENT])
def test_indexing_by_number_returns_an_entry(lexicon: Lexicon) -> None:
    entries = list(lexicon)
    assert [lexicon[row] for row in range(len(lexicon))] == entries
    assert lexicon[-1] == entries[-1]
    assert [*map(type, lexicon[0])][2:6] == [float, int, bool, str]
    with pytest.raises(IndexError):
        lexicon[len(lexicon)]


@pytest.mark.parametrize("part", [slice(3), slice(1, None, 2), slice(None, None, -1), slice(5, 2)])
def test_indexing_by_slice_returns_a_lexicon(part: slice) -> None:
    found = CONFIDENT[part]
    assert isinstance(found, Lexicon)
    assert list(found) == list(CONFIDENT)[part]


def test_indexing_by_word_returns_its_entries_without_a_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    assert LEXICON["house"] == [ENTRIES[0], ENTRIES[2]]
    assert LEXICON["nonesuch"] == []
    with monkeypatch.context() as patch:
        patch.setattr(Lexicon, "__iter__", None)
        assert LEXICON["house"] == [ENTRIES[0], ENTRIES[2]]


def test_head_and_where_return_parts() -> None:
    assert list(LEXICON.head(1)) == [ENTRIES[0]]
    assert len(LEXICON.head()) == len(LEXICON) == len(ENTRIES)
    assert list(LEXICON.where(LEXICON.score > 0.4)) == [entry for entry in ENTRIES if entry.score > 0.4]


def test_the_table_has_the_documented_columns() -> None:
    lines = LEXICON.to_tsv().split("\n")
    assert lines[:2] == [HEADER, "house\tmaison\t0.750000\t1\t1\tseed"]
    assert lines[-1] == ""
    assert CONFIDENT.to_tsv().split("\n")[:2] == [
        f"{HEADER}\tconfidence",
        "house\tmaison\t0.750000\t1\t1\tseed\t0.0000",
    ]


@pytest.mark.parametrize("lexicon", [LEXICON, CONFIDENT, LEXICON.head(0), CONFIDENT.head(0)])
def test_the_table_is_read_back(tmp_path: Path, lexicon: Lexicon) -> None:
    lexicon.save(tmp_path / "lexicon.tsv")
    back = Lexicon.load(tmp_path / "lexicon.tsv")
    assert list(back) == list(lexicon)
    assert [[*map(type, entry)] for entry in back] == [[*map(type, entry)] for entry in lexicon]
    assert back.to_tsv() == lexicon.to_tsv()


def test_tabs_and_line_ends_in_words_do_not_break_the_table(tmp_path: Path) -> None:
    lexicon_of(Entry("new\tyork", "a\r\nb", 0.5, 1, True, "seed")).save(tmp_path / "lexicon.tsv")
    assert list(Lexicon.load(tmp_path / "lexicon.tsv")) == [Entry("new york", "a  b", 0.5, 1, True, "seed")]


def test_a_score_that_is_not_finite_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(BilexError):
        lexicon_of(ENTRIES[0]._replace(score=float("nan"))).save(tmp_path / "lexicon.tsv")
    assert not list(tmp_path.iterdir())


def test_further_columns_are_ignored(tmp_path: Path) -> None:
    path = tmp_path / "lexicon.tsv"
    path.write_text(f"{HEADER}\tnote\na\tb\t0.5\t1\t0\tseed\tchecked\n")
    assert list(Lexicon.load(path)) == [Entry("a", "b", 0.5, 1, False, "seed")]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("\n", 1),
        ("house maison\n", 1),
        (f"{HEADER}\na\tb\t0.5\t1\t0\n", 2),
        (f"{HEADER}\na\tb\t0.5\t1\t0\tseed\na\tb\thigh\t1\t0\tseed\n", 3),
        (f"{HEADER}\na\tb\tinf\t1\t0\tseed\n", 2),
        (f"{HEADER}\na\tb\t0.5\t0\t0\tseed\n", 2),
        (f"{HEADER}\na\tb\t0.5\t1\t2\tseed\n", 2),
        (f"{HEADER}\na\tb\t0.5\t1\t0\tseed\n\n", 3),
        (f"{HEADER}\ncaf\udce9\tb\t0.5\t1\t0\tseed\n", 2),
        (f"{HEADER}\na\tb\t0.5\t1\t0\tseed", None),
        *((f"{HEADER}\tconfidence\na\tb\t0.5\t1\t0\tseed{last}\n", 2) for last in ("", "\tnan", "\t1.5", "\t-0.1")),
    ],
)
def test_a_damaged_table_is_refused_with_its_line(tmp_path: Path, text: str, line: int | None) -> None:
    path = tmp_path / "lexicon.tsv"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError) as caught:
        Lexicon.load(path)
    assert caught.value.line == line


def test_the_repr_shows_the_first_entries() -> None:
    long = lexicon_of(*ENTRIES, *(Entry(f"s{i}", f"t{i}", 0.5, 1, True, "seed") for i in range(6)))
    lines = repr(long).split("\n")
    assert lines[:2] == ["Lexicon of 12 pairs", "house  maison  0.750"]
    assert lines[-1] == "... 2 more"
    assert "more" not in repr(LEXICON)
    assert repr(CONFIDENT).split("\n")[1] == "house  maison  0.750  0.00"


def test_confidence_selects_entries_and_predicts_their_precision() -> None:
    confident = CONFIDENT.confident(0.6)
    assert list(confident) == list(CONFIDENT)[3:]
    assert confident.expected_precision == pytest.approx(0.8)
    assert np.isnan(CONFIDENT.head(0).expected_precision)
    with pytest.raises(BilexError):
        LEXICON.confident(0.5)


def test_it_is_a_sequence() -> None:
    lexicon = LEXICON
    mask = np.arange(len(lexicon)) < 2
    assert lexicon[:2] == lexicon[[0, 1]] == lexicon[mask] != lexicon
    assert hash(lexicon[:2]) == hash(lexicon[mask])
    assert next(reversed(lexicon)) == lexicon[-1]
    assert lexicon.index(lexicon[1]) == 1
    pandas = pytest.importorskip("pandas")
    assert pandas.DataFrame(lexicon).source.tolist() == lexicon.to_pandas().source.tolist() == list(lexicon.source)

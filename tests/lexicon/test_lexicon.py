"""The lexicon: a container of entries, whose table can be read back whatever the words hold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bilex.errors import BilexError, InputError
from bilex.lexicon.lexicon import Entry, Lexicon

HEADER = "source\ttarget\tscore\trank\tmutual\torigin\tconfidence"


def lexicon_of(*entries: Entry) -> Lexicon:
    source, target, score, rank, mutual, origin, probability, *_ = zip(*entries, strict=True)
    return Lexicon(source, target, np.array(score), np.array(rank), np.array(mutual), origin, np.array(probability))


ENTRIES = (
    Entry("house", "maison", 0.75, 1, True, "seed", 0.0),
    Entry('"quoted" ', "l'«été»", -0.25, 12, False, "matching", 0.2),
    Entry("house", "domicile", 0.5, 3, False, "matching", 0.4),
    Entry("no\u00a0break", "שלום", 0.125, 2, True, "retrieval", 0.6),
    Entry("👩‍👧", "\u2028\x85\x1c\x0b\x0c", 1.0, 1, True, "matching", 0.8),
    Entry("#comment", "e\u0301", 0.0, 1, True, "matching", 1.0),
)
LEXICON = lexicon_of(*ENTRIES)


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


def test_indexing_by_number_returns_an_entry() -> None:
    assert [LEXICON[row] for row in range(len(LEXICON))] == list(LEXICON) == list(ENTRIES)
    assert LEXICON[-1] == ENTRIES[-1]
    assert [*map(type, LEXICON[0])][2:7] == [float, int, bool, str, float]
    with pytest.raises(IndexError):
        LEXICON[len(LEXICON)]


@pytest.mark.parametrize("part", [slice(3), slice(1, None, 2), slice(None, None, -1), slice(5, 2)])
def test_indexing_by_slice_returns_a_lexicon(part: slice) -> None:
    found = LEXICON[part]
    assert isinstance(found, Lexicon)
    assert list(found) == list(LEXICON)[part]


def test_indexing_by_word_returns_its_entries_without_a_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    assert LEXICON["house"] == [ENTRIES[0], ENTRIES[2]]
    assert LEXICON["nonesuch"] == []
    with monkeypatch.context() as patch:
        patch.setattr(Lexicon, "__iter__", None)
        assert LEXICON["house"] == [ENTRIES[0], ENTRIES[2]]


def test_head_and_masks_return_parts() -> None:
    assert list(LEXICON.head(1)) == [ENTRIES[0]]
    assert len(LEXICON.head()) == len(LEXICON) == len(ENTRIES)
    assert list(LEXICON[LEXICON.score > 0.4]) == [entry for entry in ENTRIES if entry.score > 0.4]


def test_the_table_has_the_documented_columns() -> None:
    lines = LEXICON.to_tsv().split("\n")
    assert lines[:2] == [HEADER, "house\tmaison\t0.750000\t1\t1\tseed\t0.0000"]
    assert lines[-1] == ""


@pytest.mark.parametrize("lexicon", [LEXICON, LEXICON.head(0)])
def test_the_table_is_read_back(tmp_path: Path, lexicon: Lexicon) -> None:
    lexicon.save(tmp_path / "lexicon.tsv")
    back = Lexicon.load(tmp_path / "lexicon.tsv")
    assert list(back) == list(lexicon)
    assert [[*map(type, entry)] for entry in back] == [[*map(type, entry)] for entry in lexicon]
    assert back.to_tsv() == lexicon.to_tsv()


def test_tabs_and_line_ends_in_words_do_not_break_the_table(tmp_path: Path) -> None:
    lexicon_of(Entry("new\tyork", "a\r\nb", 0.5, 1, True, "seed", 0.5)).save(tmp_path / "lexicon.tsv")
    assert list(Lexicon.load(tmp_path / "lexicon.tsv")) == [Entry("new york", "a  b", 0.5, 1, True, "seed", 0.5)]


def test_a_score_that_is_not_finite_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(BilexError):
        lexicon_of(ENTRIES[0]._replace(score=float("nan"))).save(tmp_path / "lexicon.tsv")
    assert not list(tmp_path.iterdir())


def test_further_columns_are_ignored(tmp_path: Path) -> None:
    path = tmp_path / "lexicon.tsv"
    path.write_text(f"{HEADER}\tnote\na\tb\t0.5\t1\t0\tseed\t0.5\tchecked\n")
    assert list(Lexicon.load(path)) == [Entry("a", "b", 0.5, 1, False, "seed", 0.5)]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("\n", 1),
        ("house maison\n", 1),
        ("source\ttarget\tscore\trank\tmutual\torigin\n", 1),  # of a version before 0.2
        (f"{HEADER}\na\tb\t0.5\t1\t0\n", 2),
        (f"{HEADER}\na\tb\t0.5\t1\t0\tseed\t0.5\na\tb\thigh\t1\t0\tseed\t0.5\n", 3),
        (f"{HEADER}\na\tb\tinf\t1\t0\tseed\t0.5\n", 2),
        (f"{HEADER}\na\tb\t0.5\t0\t0\tseed\t0.5\n", 2),
        (f"{HEADER}\na\tb\t0.5\t1\t2\tseed\t0.5\n", 2),
        (f"{HEADER}\na\tb\t0.5\t1\t0\tseed\t0.5\n\n", 3),
        (f"{HEADER}\ncaf\udce9\tb\t0.5\t1\t0\tseed\t0.5\n", 2),
        (f"{HEADER}\na\tb\t0.5\t1\t0\tseed\t0.5", None),
        *((f"{HEADER}\na\tb\t0.5\t1\t0\tseed{last}\n", 2) for last in ("", "\tnan", "\t1.5", "\t-0.1")),
    ],
)
def test_a_damaged_table_is_refused_with_its_line(tmp_path: Path, text: str, line: int | None) -> None:
    path = tmp_path / "lexicon.tsv"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError) as caught:
        Lexicon.load(path)
    assert caught.value.line == line


def test_the_repr_shows_the_first_entries() -> None:
    long = lexicon_of(*ENTRIES, *(Entry(f"s{i}", f"t{i}", 0.5, 1, True, "seed", 0.5) for i in range(6)))
    lines = repr(long).split("\n")
    assert lines[:3] == ["Lexicon of 12 entries", "source  target  score  confidence", "house  maison  0.750  0.00"]
    assert lines[-1] == "... 2 more"
    assert "more" not in repr(LEXICON)


def test_confidence_selects_entries_and_predicts_their_precision() -> None:
    confident = LEXICON.confident(0.6)
    assert list(confident) == list(LEXICON)[3:]
    assert confident.expected_precision == pytest.approx(0.8)
    assert np.isnan(LEXICON.head(0).expected_precision)


def test_it_is_a_sequence() -> None:
    lexicon = LEXICON
    mask = np.arange(len(lexicon)) < 2
    assert lexicon[:2] == lexicon[[0, 1]] == lexicon[mask] != lexicon
    assert hash(lexicon[:2]) == hash(lexicon[mask])
    assert next(reversed(lexicon)) == lexicon[-1]
    assert lexicon.index(lexicon[1]) == 1
    pandas = pytest.importorskip("pandas")
    assert pandas.DataFrame(lexicon).source.tolist() == lexicon.to_pandas().source.tolist() == list(lexicon.source)

"""Bad input at the command line; the readers' own tests have every kind of it.

Repaired input: exit code 0 and one warning. Other bad input: one line that names the file and the line, exit code 1 or
2, and nothing written: no output directory, no change to an existing run, nothing left beside it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.helpers import Bilex, assert_error_line, contents
from tests.languages import Languages, make_languages, vec_text


def assert_refuses(bilex: Bilex, folder: Path, *arguments: object, place: str) -> None:
    """Check that `induce` refuses, for a new run and over an old one, names the place, and changes nothing."""
    before = contents(folder)
    assert "run/lexicon.tsv" in before
    for output in ("new", "run"):
        assert_error_line(bilex("induce", *arguments, "-o", output, "--force"), place)
        assert contents(folder) == before


FAST = ("--method", "ruder2018", "--no-report")


def repairs(bilex: Bilex, *arguments: object, place: str) -> str:
    """Check that `induce` works with one warning that names the place, and return the lexicon."""
    outcome = bilex("induce", *arguments, "-o", "new", "--force", *FAST)
    assert outcome.code == 0, outcome
    assert re.fullmatch(rf"bilex: warning: {place}[^\n]+\n", outcome.err), outcome.err
    return Path("new/lexicon.tsv").read_text("utf-8")


Lines = list[bytes]
Change = Callable[[Lines], Lines]


@pytest.fixture
def changed(work: Path) -> Callable[[Change], Path]:
    """Write src.vec again with its lines changed, as bad.vec."""

    def write(change: Change) -> Path:
        lines = (work / "src.vec").read_bytes().split(b"\n")[:-1]
        (work / "bad.vec").write_bytes(b"".join(line + b"\n" for line in change(lines)))
        return Path("bad.vec")

    return write


def field(lines: Lines, row: int, number: int, value: bytes) -> Lines:
    """Replace one number of one row."""
    fields = lines[row].split(b" ")
    fields[number] = value
    return [*lines[:row], b" ".join(fields), *lines[row + 1 :]]


# Refused


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda lines: [], "bad.vec: "),
        (lambda lines: [b"400 24", *lines[1:]], "bad.vec: "),
        (lambda lines: [*lines[:50], lines[50].rpartition(b" ")[0], *lines[51:]], "bad.vec:51: "),
        (lambda lines: field(lines, 7, 3, b"NaN"), "bad.vec:8: "),
        (lambda lines: [b"\x80\x04\x95"], "bad.vec: "),
    ],
    ids=["empty-file", "header-counts-too-many", "too-few-numbers", "nan", "pickle"],
)
def test_vectors_that_cannot_be_repaired(
    bilex: Bilex, work: Path, changed: Callable[[Change], Path], change: Change, place: str
) -> None:
    assert_refuses(bilex, work, changed(change), "trg.vec", place=place)


def test_bad_target_vectors(bilex: Bilex, work: Path, changed: Callable[[Change], Path]) -> None:
    assert_refuses(bilex, work, "src.vec", changed(lambda lines: field(lines, 7, 3, b"x")), place="bad.vec:8: ")


def test_missing_file(bilex: Bilex, work: Path) -> None:
    assert_refuses(bilex, work, "nonesuch.vec", "trg.vec", place="nonesuch.vec: ")
    assert_refuses(bilex, work, "src.vec", "nonesuch.vec", place="nonesuch.vec: ")
    assert_refuses(bilex, work, "src.vec", "trg.vec", "--seed", "nonesuch.vec", place="nonesuch.vec: ")


def test_a_folder_instead_of_a_file(bilex: Bilex, work: Path) -> None:
    assert_refuses(bilex, work, "run", "trg.vec", place="run: ")


def test_different_dimensions(bilex: Bilex, work: Path) -> None:
    side = make_languages(30, 7, 10).target
    Path("seven.vec").write_text(vec_text(side.words, side.vectors))
    assert_refuses(bilex, work, "src.vec", "seven.vec", "--method", "ruder2018", place="seven.vec")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (b"", "seed.txt: "),
        (b"s1 t1\n\ns2 t2 t3\n", "seed.txt:3: "),
        (b"t1 s1\nS2 T2\n", "seed.txt: "),
        (b"s1 t1\ncaf\xe9 t2\n", "seed.txt:2: "),
    ],
    ids=["empty", "three-fields", "no-pair-in-both-vocabularies", "not-utf8"],
)
def test_seeds_that_cannot_be_used(bilex: Bilex, work: Path, text: bytes, place: str) -> None:
    Path("seed.txt").write_bytes(text)
    assert_refuses(bilex, work, "src.vec", "trg.vec", "--seed", "seed.txt", place=place)


def test_no_word_in_common(bilex: Bilex, work: Path) -> None:
    side = make_languages(30, 24, 0).target
    Path("other.vec").write_text(vec_text(side.words, side.vectors))
    for seed in ("identical", "numerals"):
        assert_refuses(bilex, work, "src.vec", "other.vec", "--seed", seed, place="share no")


# Repaired


def test_repaired_vectors_give_the_same_lexicon(bilex: Bilex, work: Path, changed: Callable[[Change], Path]) -> None:
    changes: list[Change] = [
        lambda lines: [line + b"\r" for line in lines],
        lambda lines: [b"302 24", *lines[1:], *lines[3:5]],  # words that are there twice
        lambda lines: lines[1:],  # no header
    ]
    assert bilex("induce", "src.vec", "trg.vec", "-o", "clean", "-q", *FAST) == (0, "", "")
    clean = (work / "clean" / "lexicon.tsv").read_text("utf-8")
    for change in changes:
        assert repairs(bilex, changed(change), "trg.vec", place="bad.vec: ") == clean


def test_a_token_with_spaces_is_kept(bilex: Bilex, work: Path, changed: Callable[[Change], Path]) -> None:
    """A tab is white space too, but would break the table: it becomes a space there."""
    path = changed(lambda lines: [re.sub(rb"^taxi11 ", b"New\tYork ", line) for line in lines])
    lexicon = repairs(bilex, path, "trg.vec", place="bad.vec: ")
    entry = next(line for line in lexicon.split("\n") if line.startswith("New"))
    assert entry.split("\t")[0] == "New York"
    assert len(entry.split("\t")) == 7
    assert bilex("translate", "new", "New\tYork").code == 0


def test_a_seed_from_windows_is_read(bilex: Bilex, work: Path, languages: Languages) -> None:
    Path("seed.txt").write_bytes("".join(f"{s} {t}\r\n" for s, t in languages.gold[:50]).encode())
    assert "\tseed\t" in repairs(bilex, "src.vec", "trg.vec", "--seed", "seed.txt", place="seed.txt: ")


def test_more_candidates_than_targets(bilex: Bilex, work: Path) -> None:
    repairs(bilex, "src.vec", "trg.vec", "--candidates", 5000, place="5000 candidates")


# Small, but valid


def test_three_words(bilex: Bilex, work: Path) -> None:
    Path("three.vec").write_text("3 2\na 1 0\nb 0 1\nc -1 -1\n")
    assert bilex("induce", "three.vec", "three.vec", "-o", "new", "-q") == (0, "", "")
    rows = [line.split("\t") for line in Path("new/lexicon.tsv").read_text().split("\n")[1:-1]]
    assert [(row[0], row[1], row[5]) for row in rows] == [(word, word, "seed") for word in "abc"]
    assert [float(row[2]) for row in rows] == pytest.approx([1, 1, 1])


def test_one_dimension(bilex: Bilex, work: Path) -> None:
    Path("one.vec").write_text("4 1\na 1\nb -2\nc 3\nd -0.5\n")
    assert bilex("induce", "one.vec", "one.vec", "-o", "new", "-q") == (0, "", "")
    assert bilex("translate", "new", "a", "-k", 1).out.startswith("a\ta\t")


def test_one_word(bilex: Bilex, work: Path) -> None:
    """Centred, it is zero, and nothing can be learnt: that is an error, and no run is replaced."""
    Path("one.vec").write_text("1 2\na 1 2\n")
    before = contents(work)
    assert_error_line(bilex("induce", "one.vec", "one.vec", "-o", "run", "--candidates", 1))
    assert contents(work) == before

"""Every kind of bad input of the issue, at the command line.

Repaired: exit 0, one warning that counts. Otherwise one line that names the file, the line and a remedy, a code of 1
or 2, and nothing written: no output directory, no change to a run that was there, nothing left lying beside it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.helpers import Bilex, contents, refused
from tests.languages import Languages, make_languages, vec_text


def refuses(bilex: Bilex, folder: Path, *arguments: object, mentions: tuple[str, ...], code: int = 1) -> None:
    """Check that `induce` refuses, for a new run and over an old one, and leaves no trace."""
    before = contents(folder)
    assert "run/lexicon.tsv" in before
    for place in ("new", "run"):
        refused(bilex("induce", *arguments, "-o", place), *mentions, code=code)
        assert contents(folder) == before


def repairs(bilex: Bilex, *arguments: object, warning: str) -> str:
    """Check that `induce` works with one warning that matches, and return the lexicon."""
    outcome = bilex("induce", *arguments, "-o", "new")
    assert outcome.code == 0, outcome
    assert re.fullmatch(rf"bilex: warning: {warning}\n", outcome.err), outcome.err
    assert "new/lexicon.tsv" in outcome.out
    return Path("new/lexicon.tsv").read_text("utf-8")


Lines = list[bytes]
Change = Callable[[Lines], Lines]
NUMBERS = b" ".join([b"0.5"] * 24)


@pytest.fixture
def changed(work: Path) -> Callable[[Change], Path]:
    """Write src.vec again with its lines changed, as bad.vec."""

    def write(change: Change) -> Path:
        lines = (work / "src.vec").read_bytes().split(b"\n")[:-1]
        (work / "bad.vec").write_bytes(b"".join(line + b"\n" for line in change(lines)))
        return Path("bad.vec")

    return write


@pytest.fixture
def clean(work: Path, bilex: Bilex) -> str:
    """The lexicon from the good files."""
    assert bilex("induce", "src.vec", "trg.vec", "-o", "clean", "-q") == (0, "", "")
    return (work / "clean" / "lexicon.tsv").read_text("utf-8")


def field(lines: Lines, row: int, number: int, value: bytes) -> Lines:
    """Replace one number of one row."""
    fields = lines[row].split(b" ")
    fields[number] = value
    return [*lines[:row], b" ".join(fields), *lines[row + 1 :]]


# Refused


@pytest.mark.parametrize(
    ("change", "mentions"),
    [
        (lambda lines: [], ("bad.vec: the file is empty; get the file again",)),
        (lambda lines: [b"", b""], ("bad.vec: ", "nothing but blank lines; check")),
        (lambda lines: [b"0 24"], ("bad.vec:1: ", "promises no vectors; get the file again")),
        (lambda lines: [b"400 24", *lines[1:]], ("bad.vec: ", "promises 400 words but only 300 follow; get the file")),
        (lambda lines: [b"300 30", *lines[1:]], ("bad.vec:2: ", "30 numbers per word but this row has 24; correct")),
        (
            lambda lines: [*lines[:50], lines[50].rpartition(b" ")[0], *lines[51:]],
            ("bad.vec:51: expected 24 numbers after the word", "found 23; correct the line"),
        ),
        (
            lambda lines: [*lines[:50], lines[50] + b" 0.5", *lines[51:]],
            ("bad.vec:51: expected 24 numbers after the word", "found 25; correct the line"),
        ),
        (lambda lines: field(lines, 7, 3, b"x"), ("bad.vec:8: 'x' is not a number; correct the line",)),
        (lambda lines: field(lines, 7, 3, b"NaN"), ("bad.vec:8: 'NaN' is not a finite", "; remove or correct")),
        (lambda lines: field(lines, 7, 3, b"inf"), ("bad.vec:8: 'inf' is not a finite", "; remove or correct")),
        (lambda lines: field(lines, 7, 3, b"1e39"), ("bad.vec:8: '1e39' is not a finite", "; remove or correct")),
        (
            lambda lines: [line.replace(b"s", b"\xe9") for line in lines],
            ("bad.vec:", "words are not UTF-8; convert to UTF-8, e.g. with iconv"),
        ),
        (lambda lines: [b"1 24", b"zero " + b" ".join([b"0"] * 24)], ("bad.vec: no usable word vector", "; check")),
        (lambda lines: [b"\x80\x04\x95"], ("bad.vec: this is a pickle", "never read; save the vectors")),
    ],
    ids=[
        "empty-file",
        "blank-lines",
        "empty-vocabulary",
        "header-counts-too-many",
        "header-wrong-dimension",
        "too-few-numbers",
        "too-many-numbers",
        "not-a-number",
        "nan",
        "infinity",
        "too-large",
        "not-utf8",
        "only-zero-vectors",
        "pickle",
    ],
)
@pytest.mark.parametrize("side", ["source", "target"])
def test_vectors_that_cannot_be_repaired(
    bilex: Bilex,
    work: Path,
    changed: Callable[[Change], Path],
    change: Change,
    mentions: tuple[str, ...],
    side: str,
) -> None:
    files = (changed(change), "trg.vec") if side == "source" else ("src.vec", changed(change))
    refuses(bilex, work, *files, mentions=mentions)


def test_missing_file(bilex: Bilex, work: Path) -> None:
    mentions = ("nonesuch.vec: no such file; check the name and the folder",)
    refuses(bilex, work, "nonesuch.vec", "trg.vec", mentions=mentions)
    refuses(bilex, work, "src.vec", "nonesuch.vec", mentions=mentions)
    refuses(bilex, work, "src.vec", "trg.vec", "--seed", "nonesuch.vec", mentions=mentions)


def test_a_folder_instead_of_a_file(bilex: Bilex, work: Path) -> None:
    refuses(bilex, work, "run", "trg.vec", mentions=("run: this is a folder, not a file; name a file",))


def test_different_dimensions(bilex: Bilex, work: Path) -> None:
    side = make_languages(30, 7, 10).target
    Path("seven.vec").write_text(vec_text(side.words, side.vectors))
    mentions = ("src.vec has 24 dimensions and seven.vec has 7; give vectors of the same dimension",)
    refuses(bilex, work, "src.vec", "seven.vec", mentions=mentions)


@pytest.mark.parametrize(
    ("text", "mentions"),
    [
        (b"", ("seed.txt: the file is empty",)),
        (b"\n \n", ("seed.txt: no pair in the file; put a source and a target word on each line",)),
        (b"s1 t1\ns2\n", ("seed.txt:2: ", "found one field; put two words on the line")),
        (b"s1 t1\n\ns2 t2 t3\n", ("seed.txt:3: ", "found 3 fields; put two words on the line")),
        (b"t1 s1\nS2 T2\n", ("seed.txt: none of its 2 pairs is in both vocabularies", "; put the source word first")),
        (b"s1 t1\ncaf\xe9 t2\n", ("seed.txt:2: the line is not UTF-8; convert to UTF-8",)),
    ],
    ids=["empty", "blank", "one-field", "three-fields", "no-pair-in-both-vocabularies", "not-utf8"],
)
def test_seeds_that_cannot_be_used(bilex: Bilex, work: Path, text: bytes, mentions: tuple[str, ...]) -> None:
    Path("seed.txt").write_bytes(text)
    refuses(bilex, work, "src.vec", "trg.vec", "--seed", "seed.txt", mentions=mentions)


@pytest.mark.parametrize("seed", ["identical", "numerals"])
def test_no_word_in_common(bilex: Bilex, work: Path, seed: str) -> None:
    side = make_languages(30, 24, 0).target
    Path("other.vec").write_text(vec_text(side.words, side.vectors))
    refuses(bilex, work, "src.vec", "other.vec", "--seed", seed, mentions=("the two vocabularies share no", "; "))


# Repaired


@pytest.mark.parametrize(
    ("change", "warning"),
    [
        (lambda lines: [b"\xef\xbb\xbf" + lines[0], *lines[1:]], "bad.vec: byte order mark at the start left out"),
        (lambda lines: [line + b"\r" for line in lines], r"bad.vec: 301 Windows line ends \(CRLF\) read as line ends"),
        (lambda lines: [b"299 24", *lines[1:]], "bad.vec: the header promises 299 words but 300 follow; all .* read"),
        (
            lambda lines: [b"302 24", *lines[1:], *lines[3:5]],
            r"bad.vec: 2 duplicate words left out \(first: '[^']+', line 302\); the first occurrence is kept",
        ),
        (
            lambda lines: [b"301 24", *lines[1:], b"zero " + b" ".join([b"0"] * 24)],
            r"bad.vec: 1 word left out because all numbers of the vector are zero \(first: 'zero', line 302\)",
        ),
        (
            lambda lines: [b"301 24", *lines[1:], b"caf\xe9 " + NUMBERS],
            r"bad.vec: 1 word not UTF-8 left out \(first: line 302\)",
        ),
        (lambda lines: lines[1:], "bad.vec: no header line; read as 300 words of 24 numbers"),
        (lambda lines: [*lines[:5], b"", b"", *lines[5:]], "bad.vec: 2 blank lines .* skipped"),
    ],
    ids=["bom", "crlf", "header-counts-too-few", "duplicates", "zero-vector", "bad-utf8", "no-header", "blank-lines"],
)
def test_vectors_that_are_repaired_give_the_same_lexicon(
    bilex: Bilex, clean: str, changed: Callable[[Change], Path], change: Change, warning: str
) -> None:
    assert repairs(bilex, changed(change), "trg.vec", warning=warning) == clean


@pytest.mark.parametrize(("token", "spelt"), [("New York", "New York"), ("New\tYork", "New York")])
def test_a_token_with_spaces_is_kept(
    bilex: Bilex, clean: str, changed: Callable[[Change], Path], token: str, spelt: str
) -> None:
    """A tab is white space too, but would break the table: it becomes a space there."""
    word = clean.split("\n")[4].split("\t", maxsplit=1)[0]
    path = changed(lambda lines: [re.sub(rb"^%b " % word.encode(), token.encode() + b" ", line) for line in lines])
    warning = r"bad.vec: 1 word with spaces kept as they are \(first: 'New.+York', line \d+\)"
    lexicon = repairs(bilex, path, "trg.vec", warning=warning)
    entry = next(line for line in lexicon.split("\n") if line.startswith("New"))
    assert entry.split("\t")[0] == spelt
    assert len(entry.split("\t")) == 7
    assert bilex("translate", "new", token).code == 0


def test_a_seed_from_windows_is_read(bilex: Bilex, work: Path, languages: Languages) -> None:
    Path("seed.txt").write_bytes("".join(f"{s} {t}\r\n" for s, t in languages.gold[:50]).encode())
    warning = r"seed.txt: 50 Windows line ends \(CRLF\) read as line ends"
    assert "\tseed\t" in repairs(bilex, "src.vec", "trg.vec", "--seed", "seed.txt", warning=warning)


def test_more_candidates_than_targets(bilex: Bilex, work: Path) -> None:
    warning = r"5000 candidates asked for, but there are only \d+ target words; all are used"
    repairs(bilex, "src.vec", "trg.vec", "--candidates", 5000, warning=warning)


# Small, but nothing is wrong with it


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
    """Centred, it is zero, and nothing can be learnt; that is an error, and no run takes another's place."""
    Path("one.vec").write_text("1 2\na 1 2\n")
    outcome = bilex("induce", "one.vec", "one.vec", "-o", "new", "--candidates", 1)
    assert outcome.code == 1
    assert re.fullmatch(r"bilex: error: nothing was matched from the 1 seed pairs; give more .*\n", outcome.err)
    assert not Path("new").exists()

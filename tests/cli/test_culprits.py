"""Errors name the culprit: the option, the file or the pair that is wrong."""

from __future__ import annotations

import io
import unicodedata
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import bilex as package
from bilex.cli.estimate import estimate_memory
from bilex.errors import BilexError, BilexWarning, InputError
from bilex.files.run_directory import run_directory
from bilex.matching.graph import RowPairs
from bilex.methods import find_method
from bilex.model.prior import Prior
from bilex.seeds.dictionaries import read_pairs
from tests.cli.helpers import Bilex, assert_error_line
from tests.languages import make_languages

OPTIONS = [
    *(("--limit", "0"), ("-o", ""), ("-o", " "), ("--seed", ""), ("--resume", "")),
    *((option, "9" * 20) for option in ("--limit", "--max-rank", "--threads")),
]


@pytest.mark.parametrize("options", OPTIONS)
def test_an_option_without_sense_is_wrong_usage(bilex: Bilex, work: Path, options: tuple[str, str]) -> None:
    before = sorted(work.iterdir())
    assert_error_line(bilex("induce", "src.vec", "trg.vec", *options), options[0], code=2)
    assert sorted(work.iterdir()) == before


@pytest.mark.parametrize(
    "arguments",
    [
        ("induce", "src.vec", "trg.vec", "-o", "circle"),
        ("induce", "src.vec", "trg.vec", "-o", "circle/new"),
        ("export", "run", "-o", "circle"),
        ("report", "run", "-o", "circle"),
        ("induce", "circle", "trg.vec", "-o", "new"),
        ("translate", "circle", "dog"),
    ],
)
def test_links_that_lead_to_each_other(bilex: Bilex, work: Path, arguments: tuple[str, ...]) -> None:
    (work / "circle").symlink_to("back")
    (work / "back").symlink_to("circle")
    assert_error_line(bilex(*arguments), "circle")
    assert (work / "circle").is_symlink() and not (work / "new").exists()


def test_odds_that_drown_every_weight_are_refused(bilex: Bilex, work: Path) -> None:
    assert_error_line(bilex("induce", "src.vec", "trg.vec", "--log-odds", "1e308", "-o", "new"), "log_odds")


def test_more_candidates_than_words_need_no_more_memory() -> None:
    few, many = (find_method("ruder2018").with_changes({"candidates": count}) for count in (200, 10**9))
    assert estimate_memory((300, 200), 20, few) == estimate_memory((300, 200), 20, many)


def test_an_input_that_may_not_be_read_is_not_blamed_on_the_output(tmp_path: Path) -> None:
    with pytest.raises(PermissionError), run_directory(tmp_path / "run"):
        raise PermissionError(13, "Permission denied", "en.vec")


@pytest.mark.parametrize("kind", [">f4", "<f8", ">f8"])
def test_other_numbers_than_word2vecs_are_refused(tmp_path: Path, kind: str) -> None:
    vectors = np.random.default_rng(0).normal(size=(30, 20)).astype(kind)
    rows = b"".join(b"w%d " % row + vector.tobytes() + b"\n" for row, vector in enumerate(vectors))
    (tmp_path / "a.bin").write_bytes(b"30 20\n" + rows)
    with pytest.raises(InputError, match="its numbers are"):
        package.load(tmp_path / "a.bin")


def test_lines_that_end_in_cr_alone_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.vec").write_bytes(b"2 2\ra 1 2\rb 3 4\r")
    (tmp_path / "pairs.txt").write_bytes(b"a b\rc d\r")
    with pytest.raises(InputError, match="CR"):
        package.load(tmp_path / "a.vec")
    with pytest.raises(InputError, match="CR"):
        read_pairs(tmp_path / "pairs.txt")


def test_a_byte_order_mark_on_stdin_is_no_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"\xef\xbb\xbfhouse\n")))
    assert import_module("bilex.cli.translate").read_lines() == ["house", ""]


def test_vectors_in_two_unicode_forms() -> None:
    composed, decomposed = (
        package.Embeddings(
            tuple(unicodedata.normalize(form, f"é{row}") for row in range(60)), np.eye(60, dtype=np.float32)
        )
        for form in ("NFC", "NFD")
    )
    for attempt in (lambda: package.induce(composed, decomposed), lambda: package.align(composed, decomposed)):
        with pytest.raises(BilexError, match="NFC 60"):
            attempt()
    pairs = [(word, word) for word in composed.words]
    with pytest.raises(BilexError, match="form of each vocabulary 60 would be"):
        package.induce(composed, decomposed, pairs)


def test_the_readers_tell_what_may_not_be_read(bilex: Bilex, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)  # click asks it, and calls it wrong usage
    assert bilex("translate", work / "run", "s1").code == 0


def test_a_word_of_a_megabyte_is_shortened(bilex: Bilex, work: Path) -> None:
    outcome = bilex("translate", work / "run", "x" * 10**6)
    assert_error_line(outcome, "xxx...")
    assert len(outcome.err) < 500


def test_a_pair_both_kept_and_forbidden_is_an_error() -> None:
    languages = make_languages(100, 10)
    pair = languages.gold[0]
    with pytest.raises(BilexError, match="both kept and forbidden"):
        package.induce(languages.source, languages.target, languages.gold[:50], kept=[pair], forbidden=[pair])
    rows = RowPairs(np.array([3]), np.array([5]))
    with pytest.raises(BilexError, match="both kept and forbidden"):
        Prior(kept=rows, forbidden=rows)
    wrong: Any
    for wrong in ([pair[:1]], [(1, 2)], "ab"):
        with pytest.raises(BilexError, match="pair of words"):
            package.induce(languages.source, languages.target, languages.gold[:50], kept=wrong)


def test_settled_pairs_that_cannot_be_used_are_told() -> None:
    languages = make_languages(100, 10)
    (house, maison), (cat, chat) = (languages.gold[place] for place in (10, 20))

    def warned(**settled: Any) -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", BilexWarning)
            package.induce(languages.source, languages.target, languages.gold[:50], "ruder2018", **settled)
        return [str(warning.message) for warning in caught if issubclass(warning.category, BilexWarning)]

    assert warned(kept=[(house, maison)], forbidden=[(cat, maison)]) == []
    assert warned(kept=[(house, maison), ("huose", chat)]) == [
        "1 of the 2 kept pairs left out, for want of a word's vector (first: 'huose " + chat + "')"
    ]
    assert "1 of the 1 forbidden pairs left out" in warned(forbidden=[(house, "mayson")])[0]
    (two,) = warned(kept=[(house, maison), (house, chat)])
    assert two == f"{house!r} is in 2 kept pairs, and the prior allows 1; all 2 are in the lexicon"
    (two,) = warned(kept=[(house, maison), (cat, maison)])
    assert two.startswith(f"{maison!r} is in 2 kept pairs")


def test_a_probability_that_is_none_is_told(bilex: Bilex, work: Path) -> None:
    """NaN is in no range, but also outside of none."""
    assert_error_line(bilex("translate", "run", "s0", "--min-probability", "nan"), "probability", code=2)
    for option in ("--min-confidence", "--min-probability"):
        assert_error_line(bilex("export", "run", option, "nan"), option, code=2)
    run = package.Run.load(work / "run")
    attempts: list[Callable[[Any], object]] = [
        run.confident,
        run.sets,
        lambda least: run.translate("s0", min_probability=least),
        lambda least: run.evaluate([("s0", "t0")], min_probability=least),
    ]
    for attempt in attempts:
        for wrong in (float("nan"), 1.5, -0.1, "half"):
            with pytest.raises(BilexError, match="from 0 to 1"):
                attempt(wrong)
        attempt(np.float32(0.5))


def test_white_space_around_a_word_is_no_part_of_it(bilex: Bilex, work: Path) -> None:
    plain = bilex("translate", "run", "s0")
    assert bilex("translate", "run", " s0\n") == plain
    assert plain.code == 0 and plain.out.startswith("s0\t")


@pytest.mark.parametrize("place", [".", "..", "folder/"])
def test_an_export_of_several_files_needs_a_name(bilex: Bilex, work: Path, place: str) -> None:
    (work / "folder").mkdir(exist_ok=True)
    before = sorted(work.rglob("*"))
    outcome = bilex("export", "run", "--format", "lex", "-o", place)
    assert outcome.code == 2 and "is a folder" in outcome.err
    assert sorted(work.rglob("*")) == before


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file whose first byte cannot be read")
def test_a_file_that_cannot_be_read_is_named(bilex: Bilex, work: Path) -> None:
    assert_error_line(bilex("induce", "src.vec", "trg.vec", "--seed", "/proc/self/mem", "-o", "new"), "/proc/self/mem")


def test_a_false_header_is_not_foretold_as_memory(bilex: Bilex, work: Path) -> None:
    (work / "false.vec").write_bytes(b"300 99999999999\nword 1 2\n")
    assert_error_line(bilex("induce", "false.vec", "trg.vec", "-o", "new"), "false.vec")

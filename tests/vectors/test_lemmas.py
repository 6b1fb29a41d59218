"""Lemmas: which side they are of, where they come from, and that they stay with a run."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import bilex as package
from bilex.errors import BilexError
from bilex.lexicon.lexicon import LEMMA_COLUMNS
from bilex.runs.run import Run
from bilex.vectors.lemmas import lemma_languages, lemmatise
from tests.cli.conftest import bilex  # noqa: F401 (a fixture)
from tests.cli.helpers import Bilex, assert_error_line
from tests.languages import make_languages, write_vec


@pytest.mark.parametrize(
    ("given", "names", "expected"),
    [
        (None, ("en", "fi"), ("", "")),
        ("fi", ("en", "fi"), ("", "fi")),
        ("en", ("en", "fi"), ("en", "")),
        ("en", ("wiki.en", "fi"), ("en", "")),
        ("en", ("en-books-law", "de-books-law"), ("en", "")),
        ("fi", ("", ""), ("", "fi")),
        ("fi", ("src", "trg"), ("", "fi")),
        ("en", ("en", "en"), ("", "en")),
        ("en:fi", ("a", "b"), ("en", "fi")),
        (":fi", ("fi", "en"), ("", "fi")),
        ("en:", ("a", "b"), ("en", "")),
    ],
)
def test_the_side_is_the_one_named_so_or_the_target(
    given: str | None, names: tuple[str, str], expected: tuple[str, str]
) -> None:
    assert lemma_languages(given, names) == expected


def test_another_language_s_vectors_get_no_lemmas() -> None:
    with pytest.raises(BilexError):
        lemma_languages("fi", ("en", "fr"))


def test_simplemma_finds_the_lemmas(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("simplemma")
    assert lemmatise(["", "rumah-rumah", "xqzt"], "ms")[::2] == ("", "xqzt")
    with pytest.raises(BilexError):
        lemmatise(["house"], "tlh")
    monkeypatch.setitem(sys.modules, "simplemma", None)
    with pytest.raises(BilexError, match=r"pip install 'bilex\[lemmas\]'"):
        lemmatise(["house"], "en")


def test_the_command_line_records_them(bilex: Bilex, tmp_path: Path) -> None:  # noqa: F811
    pytest.importorskip("simplemma")
    languages = make_languages(80)
    files = write_vec(tmp_path / "a.vec", languages.source), write_vec(tmp_path / "b.vec", languages.target)
    assert_error_line(bilex("induce", *files, "-o", tmp_path / "no", "--lemmas", "tlh"), "tlh", code=2)
    assert bilex("induce", *files, "-o", tmp_path / "run", "--lemmas", "ms", "--quiet").code in (0, 3)
    assert json.loads((tmp_path / "run/run.json").read_text())["configuration"]["method"]["lemmas"] == "ms"
    run = Run.load(tmp_path / "run")
    assert not run.source.lemmas and len(run.target.lemmas) == len(run.target)
    header = (tmp_path / "run/lexicon.tsv").read_text().splitlines()[0].split("\t")
    assert tuple(header[-2:]) == LEMMA_COLUMNS
    exported = bilex("export", tmp_path / "run", "--group-by-lemma", "--quiet")
    assert exported.code == 0 and len(exported.out.splitlines()) == len(run.lexicon) + 1  # each is its own lemma
    assert "lemma" not in exported.out.splitlines()[0]
    package.induce(languages.source, languages.target).save(tmp_path / "plain")
    assert_error_line(bilex("export", tmp_path / "plain", "--group-by-lemma"), "--lemmas")
    (tmp_path / "gold.txt").write_text("".join(f"{source} {target}\n" for source, target in languages.gold))
    asked = bilex("evaluate", tmp_path / "plain", tmp_path / "gold.txt", "--lemmas", "ms", "--json")
    assert json.loads(asked.out)["p@1_lexeme"] >= json.loads(asked.out)["p@1"] > 0


def test_they_stay_with_the_run_and_count_forms_as_right(tmp_path: Path) -> None:
    """Every two target words are forms of one: the lemma of an answer is right where the answer is not."""
    languages = make_languages(100)
    target = replace(languages.target, lemmas=tuple(f"l{row // 2}" for row in range(len(languages.target))))
    plain = package.induce(languages.source, languages.target, seed=languages.gold[20:60])
    run = package.induce(languages.source, target, seed=languages.gold[20:60])
    assert plain.lexicon.source == run.lexicon.source  # so few pairs teach nothing of forms
    assert (plain.lexicon.source_lemma, set(run.lexicon.source_lemma)) == ((), {""})
    run.save(tmp_path / "run")
    loaded = Run.load(tmp_path / "run")
    assert (loaded.target.lemmas, loaded.lexicon.target_lemma) == (target.lemmas, run.lexicon.target_lemma)
    assert all(entry.target_lemma == target.lemmas[target.index[entry.target]] for entry in loaded.lexicon)
    assert loaded.lexicon[5:7].target_lemma == run.lexicon.target_lemma[5:7]
    assert run.sets(0.5).target_lemma
    gold = [(word, target.words[target.index[run.translate(word, 1)[0].word] ^ 1]) for word in ("s1", "s2", "s3")]
    figures = loaded.evaluate(gold).figures()
    assert (figures["p@1"], figures["p@1_lexeme"]) == (0, 1)
    assert "p@1_lexeme" not in plain.evaluate(gold).figures()
    turned = [(second, first) for first, second in gold]
    assert "p@1_lexeme" not in loaded.evaluate(turned, reverse=True).figures()  # the source's are not known

"""`bilex translate`: words from arguments or stdin, both directions, both retrievals."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

import bilex as package
from tests.cli.helpers import Bilex, Outcome, assert_error_line
from tests.languages import Languages


def answers(outcome: Outcome) -> list[tuple[str, str, float]]:
    """Parse the printed table."""
    assert outcome.code == 0, outcome
    rows = [line.split("\t") for line in outcome.out.splitlines()]
    assert all(0 <= float(row[3]) <= 1 for row in rows)
    return [(word, translation, float(score)) for word, translation, score, _ in rows]


def give(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    """Put bytes on stdin."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data), "ascii"))


@pytest.fixture
def words(languages: Languages) -> list[str]:
    """Some words with one translation, which is not spelt the same."""
    known = [source for source, _ in languages.gold]
    return [source for source, target in languages.gold if source != target and known.count(source) == 1][:6]


def test_words_as_arguments(bilex: Bilex, made: Path, languages: Languages, words: list[str]) -> None:
    found = answers(bilex("translate", made / "run", *words))
    assert [word for word, _, _ in found] == [word for word in words for _ in range(5)]
    assert [(word, other) for word, other, _ in found[::5]] == [(w, dict(languages.gold)[w]) for w in words]
    for start in range(0, len(found), 5):
        scores = [score for _, _, score in found[start : start + 5]]
        assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize(("retrieval", "reverse"), [("nn", True), ("csls", False)])
def test_both_directions_and_retrievals_agree_with_python(
    bilex: Bilex, made: Path, words: list[str], retrieval: str, reverse: bool
) -> None:
    run = package.Run.load(made / "run")
    words = [run.translate(word)[0].word for word in words] if reverse else words
    arguments = ["--retrieval", retrieval, *["--reverse"] * reverse, "-k", 3]
    expected = run.translate_many(words, 3, retrieval=retrieval, reverse=reverse)
    found = answers(bilex("translate", made / "run", *words, *arguments))
    flat = [(word, answer) for word, answers in zip(words, expected, strict=True) for answer in answers]
    assert [(word, other) for word, other, _ in found] == [(word, answer.word) for word, answer in flat]
    assert [score for _, _, score in found] == pytest.approx([answer.score for _, answer in flat], abs=1e-6)


def test_the_retrievals_differ(bilex: Bilex, made: Path, words: list[str]) -> None:
    printed = {
        bilex("translate", made / "run", *words, "--retrieval", name).out for name in ("nn", "csls", "isf", "model")
    }
    assert len(printed) == 4
    assert bilex("translate", made / "run", *words).out in printed


def test_sets_hold_all_translations_of_a_probability(bilex: Bilex, made: Path, words: list[str]) -> None:
    run, asked = package.Run.load(made / "run"), [*words, f"{words[0]} {words[1]}"]
    for reverse in (False, True):
        asked = [run.translate(word)[0].word for word in words] if reverse else asked
        every = run.translate_many(asked, len(run.target), reverse=reverse)
        expected = [[one for one in found if one.probability and one.probability >= 0.01] for found in every]
        assert run.translate_many(asked, min_probability=0.01, reverse=reverse) == expected
        assert 0 < sum(map(len, expected)) < sum(map(len, every))
    rest = sum(one.probability or 0.0 for one in run.translate(f"{words[0]} {words[1]}", len(run.target)))
    assert 0 < rest < 1  # none has a chance too
    printed = json.loads(bilex("translate", made / "run", *words, "--min-probability", 0.01, "--json").out)
    found = run.translate_many(words, min_probability=0.01)
    assert printed["translations"] == {
        word: [vars(one) for one in each] for word, each in zip(words, found, strict=True)
    }
    assert bilex("translate", made / "run", words[0], "--min-probability", 1) == (0, "", "")
    for other in (("-k", 3), ("--retrieval", "nn")):
        assert_error_line(
            bilex("translate", made / "run", words[0], "--min-probability", 0.1, *other), other[0], code=2
        )


def test_words_on_stdin_whatever_the_locale(
    bilex: Bilex, made: Path, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = bilex("translate", made / "run", *words).out
    give(monkeypatch, "\r\n\n".join([*words, "été"]).encode() + b"\n")
    outcome = bilex("translate", made / "run")
    assert outcome[:2] == (0, expected)
    assert outcome.err.startswith("bilex: warning: ") and outcome.err.endswith(" été\n")


def test_bad_utf8_on_stdin_is_an_error(bilex: Bilex, made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, b"s0\ncaf\xe9\n")
    assert_error_line(bilex("translate", made / "run"), "stdin:2: ")


def test_a_line_or_a_list_on_stdin_is_bounded(bilex: Bilex, made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, b"s0\n" + bytes(100_000))
    assert_error_line(bilex("translate", made / "run"), "stdin:2: ")
    monkeypatch.setattr("bilex.files.lines.MAX_LIST_BYTES", 10)
    give(monkeypatch, b"s0\n" * 4)
    assert_error_line(bilex("translate", made / "run"), "stdin: ")


def test_nothing_on_stdin_is_an_error(bilex: Bilex, made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, b"\n\n")
    assert_error_line(bilex("translate", made / "run"), "stdin")


def test_unknown_words_give_one_warning_and_the_others_are_translated(
    bilex: Bilex, made: Path, words: list[str]
) -> None:
    known = bilex("translate", made / "run", *words)
    mixed = bilex("translate", made / "run", "nonesuch", *words, "Nope", "nonesuch")
    assert mixed[:2] == (0, known.out)
    assert mixed.err.startswith("bilex: warning: ") and mixed.err.endswith(" nonesuch, Nope\n")
    assert bilex("translate", made / "run", "nonesuch", *words, "--quiet") == (0, known.out, "")


def test_only_unknown_words_are_an_error(bilex: Bilex, made: Path) -> None:
    outcome = bilex("translate", made / "run", "nonesuch", "nope")
    assert_error_line(outcome, "run: ", "nonesuch, nope", "--reverse")
    many = bilex("translate", made / "run", *(f"nonesuch{number}" for number in range(50)))
    assert_error_line(many, "nonesuch9 ...;")
    assert len(many.err) < 400


def test_k_larger_than_the_vocabulary_gives_all_there_is(
    bilex: Bilex, made: Path, words: list[str], languages: Languages
) -> None:
    found = answers(bilex("translate", made / "run", words[0], "-k", 100_000))
    assert sorted(other for _, other, _ in found) == sorted(languages.target.words)


def test_json_is_one_object(bilex: Bilex, made: Path, words: list[str]) -> None:
    outcome = bilex("translate", made / "run", *words[:2], "nonesuch", "--json", "--quiet", "-k", 2)
    assert (outcome.code, outcome.err) == (0, "")
    printed = json.loads(outcome.out)
    assert list(printed["translations"]) == [*words[:2], "nonesuch"]
    assert printed["translations"]["nonesuch"] == []
    plain = answers(bilex("translate", made / "run", words[0], "-k", 2))
    assert [answer["word"] for answer in printed["translations"][words[0]]] == [other for _, other, _ in plain]
    assert set(printed["translations"][words[0]][0]) == {"word", "score", "probability"}


@pytest.mark.parametrize("options", [("-k", "0"), ("-k", "few"), ("--retrieval", "cosine")], ids="".join)
def test_wrong_options_are_wrong_usage(bilex: Bilex, made: Path, options: tuple[str, str]) -> None:
    assert_error_line(bilex("translate", made / "run", "s0", *options), options[1], "`bilex translate --help`", code=2)


def test_a_word_of_the_other_language_names_the_direction(bilex: Bilex, work: Path) -> None:
    run = package.Run.load(work / "run")
    word = next(word for word in run.target.words if word not in run.source.index)
    for arguments, hint in (((word,), "add --reverse"), (("nowhere", "--reverse"), "(--reverse)")):
        outcome = bilex("translate", "run", *arguments)
        assert outcome.code == 1
        assert hint in outcome.err

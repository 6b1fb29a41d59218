"""How to make a run again: every option that differs, and nothing where no command could do it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import bilex
from bilex.report.reproduce import ASTRAY, choice_sentences, repeating_command
from tests.languages import Languages, make_languages, write_vec


@pytest.fixture(scope="module")
def languages() -> Languages:
    return make_languages(words=120, dimension=10)


@pytest.fixture
def command(tmp_path: Path, languages: Languages) -> Any:
    paths = [
        write_vec(tmp_path / name, side) for name, side in (("a.vec", languages.source), ("b.vec", languages.target))
    ]

    def run(**options: Any) -> str | None:
        source, target = map(bilex.load, paths)
        info = bilex.induce(source, target, **options).info
        text, given = repeating_command(info)
        assert not given
        return None if text is None else text.replace(f"{tmp_path}/", "")

    return run


def test_options_that_differ_from_the_method_are_named(command: Any) -> None:
    assert command() == "bilex induce a.vec b.vec --seed identical --method bilex --limit 120"
    text = command(method="ruder2018", prior="2:2", max_rank=90, exact=True, complete=True)
    assert text is not None
    for part in ("--method ruder2018", "--prior 2:2", "--max-rank 90", "--exact", "--complete"):
        assert part in text


def test_the_least_confidence_is_named(command: Any) -> None:
    assert "--min-confidence 0.5" in command(min_confidence=0.5)


def test_pairs_settled_in_python_cannot_be_named(command: Any, languages: Languages) -> None:
    assert command(kept=languages.gold[:1]) is None
    assert command(forbidden=languages.gold[:1]) is None


def test_what_the_command_line_lacks_cannot_be_named(command: Any) -> None:
    assert command(method="ruder2018", ridge=0.5) is None
    assert command(max_rank=None) is None


def test_a_command_is_shown_as_it_was_given() -> None:
    assert repeating_command({"command": ["bilex", "induce", "a b.vec"]}) == ("bilex induce 'a b.vec'", True)
    words = [
        "bilex",
        "induce-many",
        "/home/me/en.vec",
        "fi=/home/me/cc.vec",
        "x/y=z",
        "--seed=/home/me/s.txt",
        "-o/tmp/me",
        "-q",
    ]
    shown = "bilex induce-many en.vec fi=cc.vec x/y=z --seed=s.txt -ome -q"
    assert repeating_command({"command": words})[0] == shown


@pytest.mark.parametrize(
    ("seed", "expected"), [("pairs.txt", [ASTRAY, "the best of 2 starts: x (y)"]), ("unsupervised", ["soft", "x"])]
)
def test_another_start_takes_the_place_of_the_seeds_role(seed: str, expected: list[str]) -> None:
    role = {"about": "supervision", "chosen": "soft", "why": "soft", "measured": {}}
    start = {"about": "start", "chosen": "x", "why": "y", "measured": {"x": 1.0, "z": 0.0}}
    found = choice_sentences({"choices": [role, start], "configuration": {"seed": {"name": seed}}})
    assert len(found) == 2
    assert all(each in sentence for each, sentence in zip(expected, found, strict=True))


def test_a_run_learnt_again_has_a_command_though_its_first_run_decided_the_seeds_role(
    tmp_path: Path, languages: Languages
) -> None:
    paths = [
        write_vec(tmp_path / name, side) for name, side in (("a.vec", languages.source), ("b.vec", languages.target))
    ]
    source, target = map(bilex.load, paths)
    info = bilex.induce(source, target, languages.gold[:30]).info
    assert info["configuration"]["method"]["supervision"] == "soft"
    info["configuration"] |= {"learnt_again_from": "run", "kept": 1}
    text, given = repeating_command({**info, "choices": []})
    assert text is not None and "--seed run/reviewed" in text
    assert not given

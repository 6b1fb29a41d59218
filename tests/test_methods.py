"""Methods: one nested configuration, from which the command line, TOML files, run.json and the report follow."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

from bilex import cli, methods
from bilex.cli.options import method_options
from bilex.errors import BilexError, InputError
from bilex.methods import DEFAULT_METHOD, METHODS, OPTIONS, Method, declared_options, find_method
from bilex.report.reproduce import changed_options
from tests.languages import make_languages, write_vec


def test_the_default_chooses_by_itself_and_ruder2018_is_the_paper() -> None:
    assert find_method(DEFAULT_METHOD).supervision == "choose"
    method = find_method("ruder2018")
    assert method == Method("ruder2018")  # every default is the paper's
    assert (method.map.kind, method.e_step.kind) == ("orthogonal", "viterbi")
    assert (method.prior.kind, method.prior.log_odds, method.normalise) == ("1:1", 0, "unit,centre,unit")
    assert (method.e_step.candidates, method.e_step.max_rank, method.stopping.tolerance) == (3, None, 1e-6)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_found_by_its_name_and_read_back_from_json(name: str) -> None:
    method = find_method(name)
    assert method.name == name
    assert find_method(method) is method
    assert Method.from_manifest(json.loads(json.dumps(asdict(method)))) == method
    assert METHODS["ruder2018"].with_changes({"name": name, **method.options()}) == method


@pytest.mark.parametrize(
    ("name", "hint"), [("ruder", "'ruder2018'"), ("ruder2018-22", "'ruder2018-2:2'"), ("vecmap", ", ".join(METHODS))]
)
def test_an_unknown_method_suggests_the_nearest(name: str, hint: str) -> None:
    with pytest.raises(BilexError, match=hint):
        find_method(name)


def test_changes_replace_only_what_is_given_and_none_means_none() -> None:
    method = find_method("ruder2018-freq").with_changes({"prior": "2:2", "log_odds": 0.5})
    assert (method.prior.kind, method.prior.log_odds, method.e_step.max_rank) == ("2:2", 0.5, 40_000)
    assert find_method("bilex").with_changes({"max_rank": None}).e_step.max_rank is None


def test_an_explicit_max_rank_disables_match_all() -> None:
    assert find_method("bilex").e_step.match_all
    assert not find_method("bilex").with_changes({"max_rank": 500}).e_step.match_all
    assert find_method("bilex").with_changes({"max_rank": 500, "match_all": True}).e_step.match_all


def test_an_unknown_option_suggests_the_nearest() -> None:
    with pytest.raises(BilexError, match="max_rank"):
        find_method(DEFAULT_METHOD).with_changes({"maxrank": 5})


def test_the_old_spelling_of_a_normalisation_step_is_accepted() -> None:
    assert Method("mine", normalise="unit, center").normalise == "unit,centre"


WRONG: list[dict[str, Any]] = [
    {"candidates": 0},
    {"candidates": 3.5},
    {"candidates": "3"},
    {"candidates": True},
    {"max_rank": -1},
    {"max_iterations": math.inf},
    {"tolerance": -1e-9},
    {"tolerance": math.nan},
    {"tolerance": "small"},
    {"temperature": 1e-300},
    {"temperature": 10**400},
    {"log_odds": -math.inf},
    {"orthography": math.inf},
    {"self_learning": 0},
    {"prior": "3:1"},
    {"prior": ["1:1"]},
    {"e_step": "soft"},
    {"map": "linear"},
    {"supervision": "hard"},
    {"normalise": "unit,length"},
    {"normalise": ["unit"]},
]


@pytest.mark.parametrize("change", WRONG, ids=str)
def test_wrong_values_are_refused_with_what_they_may_be(change: dict[str, Any]) -> None:
    with pytest.raises(BilexError, match=r"; (give|choose|use)"):
        find_method(DEFAULT_METHOD).with_changes(change)


@pytest.mark.parametrize(
    "options",
    [
        {"e_step": "sinkhorn", "map": "cca"},
        {"e_step": "sinkhorn", "prior": "2:2"},
        {"e_step": "posterior", "prior": "one-to-many", "map": "cca"},
        {"e_step": "posterior", "prior": "1:1"},
        {"e_step": "mutual", "supervision": "soft"},
        {"prior": "many-to-one", "map": "least-squares"},
    ],
    ids=str,
)
def test_parts_that_cannot_be_combined(options: dict[str, Any]) -> None:
    with pytest.raises(BilexError):
        METHODS["ruder2018"].with_changes(options)
    METHODS["ruder2018"].with_changes({**options, "self_learning": False})  # the map of a seed needs no E-step


def test_numbers_of_numpy_become_pythons() -> None:
    method = METHODS["ruder2018"].with_changes({"candidates": np.int64(4), "tolerance": np.float32(0.5), "log_odds": 1})
    assert json.loads(json.dumps(asdict(method)))["e_step"]["candidates"] == 4
    numbers = (method.e_step.candidates, method.stopping.tolerance, method.prior.log_odds)
    assert [type(number) for number in numbers] == [int, float, float]


def test_a_method_of_another_version_is_an_error() -> None:
    for wrong in ({"name": "x", "e_step": "viterbi"}, {"name": "x", "prior": {"kind": "3:3"}}, {}):
        with pytest.raises(BilexError):
            Method.from_manifest(wrong)


# One edit adds an option everywhere


def test_a_new_option_is_one_edit(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(frozen=True)
    class More(Method):
        colour: str = methods.option("red", "The colour of the lexicon.", metavar="NAME", flag=True)

    options = declared_options(More)
    for module in ("bilex.methods", "bilex.cli.options", "bilex.report.reproduce"):
        monkeypatch.setattr(f"{module}.OPTIONS", options)
    for module in ("bilex.cli.options", "bilex.report.reproduce"):
        monkeypatch.setattr(f"{module}.METHODS", {name: More(name) for name in ("mine", methods.DEFAULT_METHOD)})
    method = More("mine").with_changes({"colour": "blue"})  # a keyword of induce, and a key of a TOML file
    assert method.options()["colour"] == "blue"
    command = method_options(click.Command("induce"))
    assert "--colour NAME" in command.get_help(click.Context(command))
    manifest = asdict(method)  # run.json
    assert manifest["colour"] == "blue"
    assert changed_options(manifest, ()) == ["--colour", "blue"]


def test_every_flag_is_on_the_command_line_and_says_what_it_does() -> None:
    flags = {param.name: param for param in cli.bilex.commands["induce"].params if isinstance(param, click.Option)}
    for name, each in OPTIONS.items():
        assert each.help
        assert (name in flags) == each.flag
        if each.choices and each.flag:
            assert tuple(flags[name].type.choices) == each.choices  # type: ignore[attr-defined]


# A user's own method in a TOML file


def write(folder: Path, text: str | bytes, name: str = "mine.toml") -> str:
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return str(folder / name)


def test_only_what_is_written_differs_from_the_base(tmp_path: Path) -> None:
    path = write(tmp_path, '\ufeffbase = "sinkhorn"   # the method to start from\nmax_rank = 20000\ntolerance = 0\n')
    changes = {"name": "mine", "max_rank": 20_000, "tolerance": 0.0}
    assert find_method(path) == METHODS["sinkhorn"].with_changes(changes)
    assert find_method(write(tmp_path, "", "empty.toml")) == METHODS["ruder2018"].with_changes({"name": "empty"})


def test_every_option_can_be_written(tmp_path: Path) -> None:
    own = METHODS["bilex"].with_changes({"dimensions": 5, "lemmas": "fi", "name": "own"})
    lines = [f"{name} = {json.dumps(value)}" for name, value in own.options().items()]
    assert find_method(write(tmp_path, "\n".join(lines), "own.toml")) == own


@pytest.mark.parametrize(
    "text",
    [
        "maxrank = 5",
        "[settings]\nprior = '1:1'",
        "candidates = '3'",
        "name = 5",
        "tolerance = 2020-01-01",
        "prior = 'a; b'",
        "base = 'ruder'",
        "base = 5",
        "base = 'mine.toml'",
        "prior = \n",
        "prior = '1:1'\nprior = '2:2'",
        "candidates = " + "[" * 100_000,
        b"name = '\xff'",
        "max_rank = 0x" + "f" * 5000,
    ],
    ids=lambda text: repr(text)[:30],
)
def test_a_wrong_file_is_one_line_that_names_it(text: str | bytes, tmp_path: Path) -> None:
    path = write(tmp_path, text)
    with pytest.raises(InputError) as error:
        find_method(path)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)
    assert str(error.value).count(path) == 1


def test_a_file_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        find_method(str(tmp_path / "none.toml"))
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(InputError):
        find_method(str(tmp_path / "folder.toml"))


# On the command line


@pytest.fixture
def vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    data = make_languages(words=80, dimension=8)
    write_vec(tmp_path / "a.vec", data.source)
    write_vec(tmp_path / "b.vec", data.target)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_induce_with_a_method_from_a_file(vectors: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(vectors, 'base = "ruder2018"\nprior = "2:2"\ncandidates = 5\n')
    arguments = ["induce", "a.vec", "b.vec", "--method", "mine.toml", "--candidates", "4", "-o", "run", "--json"]
    assert cli.run(arguments) == 0
    method = json.loads(capsys.readouterr().out)["configuration"]["method"]
    assert (method["name"], method["prior"]["kind"], method["e_step"]["candidates"]) == ("mine", "2:2", 4)
    assert json.loads((vectors / "run" / "run.json").read_text())["configuration"]["method"] == method


@pytest.mark.parametrize("text", ["candidates = 0", "prior = \n", None], ids=str)
def test_induce_with_a_wrong_file_writes_nothing(
    text: str | None, vectors: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if text is not None:
        write(vectors, text)
    before = sorted(vectors.iterdir())
    assert cli.run(["induce", "a.vec", "b.vec", "--method", "mine.toml", "-o", "run"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("bilex: error: mine.toml: ")
    assert err.count("\n") == 1
    assert sorted(vectors.iterdir()) == before

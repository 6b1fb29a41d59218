"""A user's own method, in a TOML file: what it changes, and what is said when something is wrong in it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bilex import cli
from bilex.errors import BilexError, InputError
from bilex.methods import METHODS, Method, find_method, read_method
from tests.languages import make_languages, write_vec


def write(folder: Path, text: str | bytes, name: str = "mine.toml") -> str:
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return str(folder / name)


def test_only_what_is_written_differs_from_the_base(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
        base = "sinkhorn"   # a method to start from
        temperature = 0.1
        max_rank = 20000
        tolerance = 0
        """,
    )
    assert find_method(path) == replace(
        METHODS["sinkhorn"], name="mine", temperature=0.1, max_rank=20_000, tolerance=0.0
    )


def test_by_default_it_is_the_papers_model_under_the_name_of_the_file(tmp_path: Path) -> None:
    assert find_method(write(tmp_path, "", "empty.toml")) == replace(METHODS["ruder2018"], name="empty")
    assert find_method(write(tmp_path, 'name = "other"')).name == "other"


def test_all_parts_can_be_written(tmp_path: Path) -> None:
    own = Method(
        "own",
        normalise="unit",
        prior="2:2",
        log_odds=-0.25,
        candidates=7,
        max_rank=99,
        tolerance=1e-4,
        max_iterations=5,
        e_step="mutual",
        maps="cca",
        temperature=0.5,
        self_learning=False,
        orthography=0.25,
    )
    lines = [
        f"{name} = {json.dumps(getattr(own, name))}"
        for name in own.__dataclass_fields__
        if getattr(own, name) is not None
    ]
    assert read_method(write(tmp_path, "\n".join(lines))) == own


def test_a_byte_order_mark_is_no_matter(tmp_path: Path) -> None:
    assert find_method(write(tmp_path, b'\xef\xbb\xbfprior = "2:2"')).prior == "2:2"


WRONG: list[tuple[str | bytes, str]] = [
    ("maxrank = 5", "a method has no 'maxrank'; it has name, normalise, prior, .*max_rank"),
    ("[settings]\nprior = '1:1'", "a method has no 'settings'; it has name"),
    ("candidates = '3'", "candidates is '3'; give a whole number"),
    ("candidates = 3.0", "candidates is 3.0; give a whole number"),
    ("candidates = true", "candidates is True; give a whole number"),
    ("candidates = 0", "candidates is 0; give at least 1"),
    ("max_rank = 1.5", "max_rank is 1.5; give a whole number"),
    ("max_rank = []", r"max_rank is \[\]; give a whole number"),
    ("max_iterations = inf", "max_iterations is inf; give a whole number"),
    ("tolerance = 'small'", "tolerance is 'small'; give a number"),
    ("tolerance = false", "tolerance is False; give a number"),
    ("tolerance = 2020-01-01", "tolerance is .*; give a number"),
    ("tolerance = -1.0", "tolerance is -1.0; give a number from 0 up"),
    ("temperature = 0", "temperature is 0.0; give a number from 1e-06 up"),
    ("temperature = 1e-300", "temperature is 1e-300; give a number from 1e-06 up"),
    ("temperature = " + "9" * 400, "temperature is 9+; give a number"),
    ("log_odds = '0'", "log_odds is '0'; give a number"),
    ("log_odds = nan", "log_odds must be a finite number, not nan; correct it"),
    ("orthography = inf", "orthography is inf; give a number from 0 up"),
    ("self_learning = 'false'", "self_learning is 'false'; give true or false"),
    ("self_learning = 0", "self_learning is 0; give true or false"),
    ("name = 5", "name is 5; give a text in quotes"),
    ("prior = ['1:1']", r"prior is \['1:1'\]; give a text in quotes"),
    ("prior = '3:1'", "no prior is called '3:1'; choose one of 1:1, "),
    ("prior = 'a; b'", "no prior is called 'a; b'; choose one of 1:1, "),
    ("[prior]\nname = '1:1'", "prior is .*; give a text in quotes"),
    ("normalise = ['unit']", r"normalise is \['unit'\]; give a text in quotes"),
    ("normalise = 'unit,length'", "no normalisation step 'length'; use unit, centre, iterative or none"),
    ("e_step = 'soft'", "no e_step is called 'soft'; choose one of viterbi, "),
    ("e_step = 1", "e_step is 1; give a text in quotes"),
    ("maps = 'linear'", "no maps is called 'linear'; choose one of orthogonal, "),
    ("base = 'ruder'", r"no method is called 'ruder'; did you mean 'ruder2018'\?"),
    ("base = 'vecmap'", "no method is called 'vecmap'; choose one of mikolov2013, "),
    ("base = 5", "no method is called '5'; choose one of"),
    ("base = 'mine.toml'", "the base 'mine.toml' is a file; choose one of mikolov2013, "),
    ("prior = \n", "this is not TOML .*line 1, column 9.*; write lines such as prior = '1:1'"),
    ("prior: '1:1'", "this is not TOML"),
    ("prior = '1:1'\nprior = '2:2'", "this is not TOML .*Cannot overwrite a value"),
    ("candidates = " + "[" * 100_000, "this is not TOML"),
    (b"name = '\xff'", "this is not UTF-8; convert it"),
]


@pytest.mark.parametrize(("text", "message"), WRONG, ids=[str(text)[:30] for text, _ in WRONG])
def test_what_is_wrong_is_said_in_one_line(text: str | bytes, message: str, tmp_path: Path) -> None:
    path = write(tmp_path, text)
    with pytest.raises(InputError, match=message) as error:
        find_method(path)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)
    assert str(error.value).count(path) == 1


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.toml: no such file; check the name"):
        find_method(str(tmp_path / "none.toml"))
    with pytest.raises(InputError, match="this is a folder"):
        (tmp_path / "folder.toml").mkdir()
        find_method(str(tmp_path / "folder.toml"))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"e_step": "sinkhorn", "maps": "cca"}, "the sinkhorn E-step needs orthogonal maps; set maps = 'orthogonal'"),
        ({"e_step": "sinkhorn", "maps": "least-squares"}, "the sinkhorn E-step needs orthogonal maps"),
        ({"e_step": "posterior", "prior": "one-to-many", "maps": "cca"}, "the posterior E-step needs orthogonal maps"),
        (
            {"prior": "many-to-one", "maps": "least-squares"},
            "a least-squares map cannot be turned round as many-to-one needs it; set maps",
        ),
    ],
)
def test_parts_that_do_not_fit_together(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(BilexError, match=message):
        Method("mine", **parts)
    assert not Method("mine", **parts, self_learning=False).self_learning  # the map of a seed needs no E-step


def test_numbers_of_numpy_become_pythons(tmp_path: Path) -> None:
    method = Method("mine", candidates=np.int64(4), tolerance=np.float32(0.5), log_odds=1)  # type: ignore[arg-type]
    assert json.loads(json.dumps(method.__dict__))["candidates"] == 4
    assert (type(method.candidates), type(method.tolerance), type(method.log_odds)) == (int, float, float)


# The same on the command line


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
    assert (method["name"], method["prior"], method["candidates"]) == ("mine", "2:2", 4)
    assert json.loads((vectors / "run" / "run.json").read_text())["configuration"]["method"] == method


@pytest.mark.parametrize(("text", "message"), WRONG[::4], ids=[str(text)[:30] for text, _ in WRONG[::4]])
def test_induce_with_a_wrong_file_writes_nothing(
    text: str | bytes, message: str, vectors: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(vectors, text)
    before = sorted(vectors.iterdir())
    assert cli.run(["induce", "a.vec", "b.vec", "--method", "mine.toml", "-o", "run"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("bilex: error: mine.toml: ")
    assert err.count("\n") == 1
    assert "bug" not in err
    assert sorted(vectors.iterdir()) == before


def test_induce_with_a_file_that_is_not_there(vectors: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["induce", "a.vec", "b.vec", "--method", "none.toml", "-o", "run"]) == 2
    assert capsys.readouterr().err.startswith("bilex: error: none.toml: no such file")
    assert not (vectors / "run").exists()

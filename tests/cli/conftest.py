"""A command line in this process, and a small run to use it on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bilex import cli
from tests.cli.helpers import Bilex, Outcome
from tests.languages import Languages, make_languages, write_vec


@pytest.fixture
def bilex(capsys: pytest.CaptureFixture[str]) -> Bilex:
    """Run a command and return its exit code, stdout and stderr."""

    def run(*arguments: object) -> Outcome:
        capsys.readouterr()
        code = cli.run([str(argument) for argument in arguments])
        return Outcome(code, *capsys.readouterr())

    return run


@pytest.fixture(scope="session")
def languages() -> Languages:
    """Two languages of 300 words."""
    return make_languages()


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory, languages: Languages) -> Path:
    """A folder with src.vec, trg.vec, gold.txt and a run, made once. Do not change it."""
    folder = tmp_path_factory.mktemp("made")
    source, target = write_vec(folder / "src.vec", languages.source), write_vec(folder / "trg.vec", languages.target)
    (folder / "gold.txt").write_text("".join(f"{s}\t{t}\n" for s, t in languages.gold))
    arguments = ["--method", "ruder2018", "--max-rank", "200", "--complete", "--quiet", "-o", str(folder / "run")]
    assert cli.run(["induce", str(source), str(target), *arguments]) == 0
    return folder


@pytest.fixture
def work(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh copy of that folder as the current one."""
    shutil.copytree(made, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"

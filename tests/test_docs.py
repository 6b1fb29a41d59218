"""The documentation cannot go stale: commands, methods, files and printed output."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from bilex import METHODS
from bilex.cli import bilex
from bilex.model.prior import PRIOR_NAMES

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("command", sorted(bilex.commands))
def test_every_command_is_in_the_readme(command: str) -> None:
    assert f"bilex {command}" in README
    assert bilex.commands[command].help


@pytest.mark.parametrize("command", sorted(bilex.commands))
def test_every_option_says_what_it_does(command: str) -> None:
    for parameter in bilex.commands[command].params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_is_in_the_readme(method: str) -> None:
    assert f"`{method}`" in README


def test_priors_of_the_contract() -> None:
    assert {"1:1", "1:2", "2:1", "2:2", "one-to-many"} <= set(PRIOR_NAMES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_are_named_exist(page: Path) -> None:
    text = page.read_text("utf-8")
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (page.parent / link).exists(), link
    for name in re.findall(r"`((?:src|docs|tools|tests|benchmarks)/[\w./-]+)`", text):
        assert (ROOT / name).exists(), name


def test_every_dependency_has_its_reason() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    reasons = (ROOT / "docs" / "dependencies.md").read_text("utf-8")
    extras = project["optional-dependencies"].values()
    for requirement in {*project["dependencies"], *(one for extra in extras for one in extra)}:
        name = re.match(r"[\w-]+", requirement)
        assert name and re.search(rf"\b{re.escape(name[0])}\b", reasons), requirement


def test_no_path_of_a_machine_and_no_registry() -> None:
    for page in PAGES:
        text = page.read_text("utf-8")
        assert not re.search(r"(?<![\w.])/(?:work|root|home|tmp)/", text), page

"""The documentation cannot go stale: commands, methods, files and printed output."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import click

from bilex import METHODS
from bilex.cli import bilex
from bilex.model.prior import PRIOR_NAMES

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_every_command_and_method_has_its_page() -> None:
    text = "\n".join(page.read_text("utf-8") for page in PAGES)
    names = [f"bilex {command}" for command in bilex.commands] + [f"`{method}`" for method in METHODS]
    assert [name for name in names if name not in text] == []


def test_every_command_and_option_has_help() -> None:
    for command in bilex.commands.values():
        options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
        assert command.help and all(option.help for option in options), command.name


def test_priors_of_the_contract() -> None:
    assert {"1:1", "1:2", "2:1", "2:2", "one-to-many"} <= set(PRIOR_NAMES)


def test_files_that_pages_name_exist() -> None:
    missing = []
    for page in PAGES:
        text = page.read_text("utf-8")
        links = [page.parent / link for link in re.findall(r"\]\(([^)#:]+)\)", text)]
        names = re.findall(r"`((?:src|docs|tools|tests|benchmarks|trust)/[\w./-]+)`", text)
        missing += [(page.name, str(path)) for path in (*links, *(ROOT / name for name in names)) if not path.exists()]
    assert missing == []


def test_the_architecture_page_lists_every_module() -> None:
    """In a table with a row for each room, "| `room/` | `module`, ... |"; top-level modules anywhere on the page."""
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `(\w+)/?` \|(.*)$", page, re.MULTILINE))
    missing = []
    for path in sorted((ROOT / "src" / "bilex").rglob("*.py")):
        room, name = path.parent.relative_to(ROOT / "src" / "bilex"), path.stem
        listed = rows.get(room.parts[0], "") if room.parts else page
        if not name.startswith("__") and not re.search(rf"`{name}(?:\.py)?`", listed):
            missing.append(str(room / name))
    assert missing == []


def test_the_import_contract_is_short() -> None:
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"][0]
    assert len(contract["layers"]) <= 12
    assert contract["exhaustive"] is True  # a new room has to be in it


def test_every_dependency_has_its_reason() -> None:
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

"""The documentation site, as far as it can be checked without building it; ``make docs`` does that."""

from __future__ import annotations

import re
from pathlib import Path

import click

import bilex as package
from bilex.cli import bilex
from tools.pages import command_line_page, fence, listing_page, tutorial_page

DOCS = Path(__file__).parent.parent / "docs"


def test_every_page_is_in_the_table_of_contents() -> None:
    index = listing_page(DOCS)
    blocks = re.findall(r"```{toctree}\n(.*?)```", index, re.DOTALL)
    listed = [line for block in blocks for line in block.split("\n") if line and not line.startswith(":")]
    assert sorted([*listed, "index"]) == sorted(path.stem for path in DOCS.glob("*.md"))  # each once


def test_the_command_line_page_has_every_option() -> None:
    page = command_line_page()
    for name, command in bilex.commands.items():
        section = page.partition(f"## bilex {name}\n")[2].partition("\n## ")[0]
        assert f"Usage: bilex {name} " in section
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert all(option in section for option in parameter.opts), parameter.name


def test_the_api_page_has_every_public_name() -> None:
    page = (DOCS / "api.md").read_text("utf-8")
    for name in package.__all__:
        assert re.search(rf"\.{re.escape(name)}\b", page), name
    for name in re.findall(r"auto(?:class|function|exception):: ([\w.]+)", page):
        module, _, attribute = name.rpartition(".")
        assert getattr(__import__(module, fromlist=[attribute]), attribute) is getattr(package, attribute)


def test_the_tutorial_page_is_the_notebook() -> None:
    page = tutorial_page(DOCS / "tutorial.ipynb")
    assert page.startswith("# Tutorial\n")
    assert '``````python\nrun = bilex.induce(en, fr, seed="identical")\nrun\n``````' in page


def test_no_text_ends_its_own_block() -> None:
    assert fence("text", "```\n```").startswith("``````text\n```\n")


def test_functions_named_on_the_model_page_exist() -> None:
    sources = "\n".join(path.read_text("utf-8") for path in (DOCS.parent / "src" / "bilex").rglob("*.py"))
    page = (DOCS / "model.md").read_text("utf-8")
    names = {name.rpartition(".")[2] for name in re.findall(r"`([A-Za-z_.]+)`", page) if "/" not in name}
    for name in names - {"json", "safetensors"}:  # files of a run
        assert re.search(rf"(?:def|class) {name}\b", sources), name


def test_commands_in_examples_exist() -> None:
    for page in DOCS.glob("*.md"):
        for block in re.findall(r"^```\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE):
            for name in re.findall(r"^bilex ([a-z]+)", block, re.MULTILINE):
                assert name in bilex.commands, (page.name, name)

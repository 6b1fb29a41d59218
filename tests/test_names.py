"""No two things on the top level of a module share a name, so that a name can be searched for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import bilex

PACKAGE = Path(bilex.__file__).parent
COMMANDS = {"align", "induce", "induce_many", "reproduce"}  # the command is named after the function it calls
CONTRACTS = {"__all__", "main", "write"}  # what a program, or a module of `lexicon/formats`, has to have


def names_of(path: Path) -> Iterator[str]:
    """Yield the names that a module defines on its top level."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name))


def test_no_two_things_share_a_name() -> None:
    places: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        for name in names_of(path):
            places.setdefault(name, set()).add(path.relative_to(PACKAGE).as_posix())
    shared = {name: sorted(found) for name, found in places.items() if len(found) > 1}
    assert {name: found for name, found in shared.items() if name not in COMMANDS | CONTRACTS} == {}
    assert set(shared) == COMMANDS | CONTRACTS

"""Every message and every help text of bilex is in tests/messages.txt, and nowhere else in the tests.

After a change of wording, ``BILEX_UPDATE_MESSAGES=1 python -m pytest tests/test_messages.py`` writes the file again;
its diff is the review of the new sentences. Other tests assert types, fields and effects.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path

import click

from bilex.cli import bilex

ROOT = Path(__file__).parent.parent
SNAPSHOT = ROOT / "tests" / "messages.txt"
SENTENCE = re.compile(r"[^\W\d_]{2,}(?:'s)?,? (?:\{\} |[^\W\d_]+,? )+[^\W\d_]{2,}")  # at least three words
MARKUP = re.compile(r"^\s*(?:<|SELECT|INSERT|CREATE|UPDATE|DELETE|PRAGMA|WITH)\b|^\s*<")


def template(node: ast.expr) -> str:
    """Return a string or f-string as one line, with {} for what is put into it."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        text = node.value
    elif isinstance(node, ast.JoinedStr):
        text = "".join(template(value) for value in node.values)
    elif isinstance(node, ast.FormattedValue):
        text = "{}"
    else:
        text = ""
    return re.sub(r"\s+", " ", text)


def messages_of(tree: ast.AST) -> Iterator[str]:
    """Return the sentences of a module in the order of its lines, without docstrings and the help of options."""
    for child in ast.iter_child_nodes(tree):
        docstring = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
        if docstring or (isinstance(child, ast.keyword) and child.arg == "help"):
            continue
        if isinstance(child, ast.Constant | ast.JoinedStr):
            text = template(child).strip()
            if SENTENCE.search(text) and not MARKUP.search(text) and re.search(r"[^\W\d_]{3}", text):
                yield text
        for each in child.values if isinstance(child, ast.JoinedStr) else (child,):
            yield from messages_of(each)


def help_of(name: str, command: click.Command) -> Iterator[str]:
    """Return the help of a command, and of each of its options."""
    yield f"== bilex {name} --help\n"
    yield re.sub(r"[ \t]*\n[ \t]*", "\n", command.help or "")
    for option in command.params:
        if isinstance(option, click.Option):
            yield f"{' '.join([*option.opts, *option.secondary_opts])}  {option.help}"
    yield ""


def snapshot() -> str:
    """Return what the file has to hold."""
    lines = []
    for path in sorted((ROOT / "src" / "bilex").rglob("*.py")):
        messages = list(dict.fromkeys(messages_of(ast.parse(path.read_text("utf-8")))))
        if messages:
            lines += [f"== {path.relative_to(ROOT / 'src' / 'bilex').as_posix()}\n", *messages, ""]
    lines += [line for name, command in sorted(bilex.commands.items()) for line in help_of(name, command)]
    return "\n".join(lines)


def test_all_messages_are_in_the_snapshot() -> None:
    now = snapshot()
    if os.environ.get("BILEX_UPDATE_MESSAGES"):
        SNAPSHOT.write_text(now, "utf-8")
    assert now == SNAPSHOT.read_text("utf-8"), "wording changed: run this test again with BILEX_UPDATE_MESSAGES=1"


def test_errors_and_warnings_are_found() -> None:
    code = 'def f(x):\n    """Not this docstring of f."""\n    raise Bad(x, f"the file {x} is empty; get it again")'
    assert list(messages_of(ast.parse(code))) == ["the file {} is empty; get it again"]

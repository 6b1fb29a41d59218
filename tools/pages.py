"""Generated pages of the documentation: the commands' help, the notebook, the list of pages."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import tempfile
from pathlib import Path
from typing import Any

import click

from bilex.cli import bilex


def command_line_page() -> str:
    """Return the page with the help of every command."""
    parts = [
        "# Command line",
        "Data goes to stdout, progress and warnings to stderr. `--json` prints one object and nothing else. Exit code "
        "0 is done, 1 failed, 2 wrong usage, 3 done but the lexicon's verdict is *failed* (with `--strict`: or "
        "*doubtful*), 130 interrupted; an error is one line that says what to do.",
        'The Tab key completes commands, options, methods and files after `eval "$(_BILEX_COMPLETE=bash_source bilex)"`'
        " in bash (`zsh_source` in zsh); in fish after `_BILEX_COMPLETE=fish_source bilex | source`. Put the line into "
        "the file that your shell reads at its start.",
        fence("text", help_of("bilex", bilex)),
    ]
    for name, command in bilex.commands.items():
        parts += [f"## bilex {name}", fence("text", help_of(f"bilex {name}", command))]
    return "\n\n".join(parts) + "\n"


def help_of(name: str, command: click.Command) -> str:
    """Return the help of a command, in the width of the page."""
    settings = {**bilex.context_settings, **command.context_settings, "terminal_width": 86, "max_content_width": 86}
    with click.Context(command, info_name=name, **settings) as context:
        return command.get_help(context)


def tutorial_page(path: Path, *, run: bool = False) -> str:
    """Return a notebook as a page: its text, its code in blocks, and if it is to `run` what each cell shows."""
    parts, names = [], dict[str, Any](__name__="tutorial")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for cell in json.loads(path.read_text("utf-8"))["cells"]:
            text = "".join(cell["source"])
            parts.append(text if cell["cell_type"] == "markdown" else fence("python", text))
            if run and cell["cell_type"] == "code":
                parts += shown_by(text, names)
    title, rest = parts[0], parts[1:]
    download = f"{{download}}`Download the notebook <{path.name}>`, and run it in Jupyter."
    return "\n\n".join([title, download, *rest]) + "\n"


def shown_by(code: str, names: dict[str, Any]) -> list[str]:
    """Run a cell and return what a notebook would show below it."""
    *lines, last = ast.parse(code).body
    result: Any = None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(lines, []), "cell", "exec"), names)
        if isinstance(last, ast.Expr):
            result = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
        else:
            exec(compile(ast.Module([last], []), "cell", "exec"), names)
    parts = [fence("text", printed.getvalue().rstrip())] if printed.getvalue() else []
    if result is not None and hasattr(result, "_repr_html_"):
        return [*parts, fence("{raw} html", result._repr_html_())]
    return parts if result is None else [*parts, fence("text", repr(result))]


def listing_page(folder: Path) -> str:
    """Return the first page, with the pages that it does not name in place of its ``*``."""
    text = (folder / "index.md").read_text("utf-8")
    named = {"index", *text.split("\n")}
    rest = sorted(path.stem for path in folder.glob("*.md") if path.stem not in named)
    return text.replace("\n*\n", "".join(f"\n{name}" for name in rest) + "\n")


def fence(language: str, text: str) -> str:
    """Return a text as a fenced block; the fence is longer than any in the text."""
    return f"``````{language}\n{text}\n``````"

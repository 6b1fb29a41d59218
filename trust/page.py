"""Write docs/trust.md from docs/trust.json alone: two screens, so that it is read."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import fill
from typing import Any

__all__ = ["page"]

HEAD = """# Trust

How we tried to break bilex. `make trust` runs all parts and writes this page, in hours; `python -m trust NAME` runs
one; `--short` takes minutes and writes nothing (as in `.ci/run`). A part that was not run on this version says so.
`docs/trust.json` has the tables behind the figures; the docstrings in `trust` say how it is done."""


def page(results: dict[str, Any], version: str) -> str:
    """Return the whole page, as seen from this version."""
    return "\n\n".join([HEAD, *(text for name in results for text in section(name, results[name], version))]) + "\n"


def section(name: str, part: dict[str, Any], version: str) -> Iterator[str]:
    """Return a part: what is tried, on which version, and its figures, each a paragraph."""
    yield f"## {part['title']} (`{name}`)"
    yield part["about"].partition("\n\n")[0]
    where = f"bilex {part['version']}" + f", commit {part['commit']}" * bool(part["commit"])
    older = "" if part["version"] == version else f" **Not run on {version}.**"
    result = "Passed" if part["ok"] else "**Failed**"
    figures = "; ".join(f"{label}: {figure(value)}" for label, value in part["figures"].items())
    yield lines(f"{result} on {where} ({part['when']}, {part['machine']}, {part['seconds']:,} s).{older} {figures}.")
    for table in part.get("tables", ()):
        if (column := table.get("shown")) is not None:
            shown = ", ".join(f"{row[0]} {figure(row[column])}" for row in table["rows"])
            yield lines(f"{table['title']}: {shown}.")


def lines(text: str) -> str:
    """Break a paragraph into lines."""
    return fill(text, 120, break_long_words=False, break_on_hyphens=False)


def figure(value: Any) -> str:
    """Return a figure as text."""
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.3g}" if abs(value) < 100 else f"{value:,.0f}"
    return str(value)

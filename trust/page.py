"""Write docs/trust.md from docs/trust.json alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["page"]

HEAD = """# Trust

How we tried to break bilex, and the results. `make trust` runs all of it and writes this page from
`docs/trust.json`; `python -m trust NAME` runs one part; `make test` runs short versions of the same code."""


def page(results: dict[str, Any]) -> str:
    """Return the whole page."""
    return "\n\n".join([HEAD, *(text for part in results.values() for text in section(part))]) + "\n"


def section(part: dict[str, Any]) -> Iterator[str]:
    """Return a part: what is tried, where and when, and its figures."""
    yield f"## {part['title']}"
    yield part["about"]
    yield f"{'Passed' if part['ok'] else '**Failed**'}: {part['when']}, {part['machine']}, {part['seconds']:,} s."
    yield table(("", ""), part["figures"].items())
    for extra in part.get("tables", ()):
        yield f"**{extra['title']}**"
        yield table(extra["columns"], extra["rows"])


def table(columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return a table."""
    columns = list(columns)
    lines = [columns, ["---"] * len(columns), *([cell(value) for value in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cell(value: Any) -> str:
    """Return a figure as the text of a table's cell."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.3g}" if abs(value) < 100 else f"{value:,.0f}"
    return str(value).replace("|", "\\|").replace("\n", " ")

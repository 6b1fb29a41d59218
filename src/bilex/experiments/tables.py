"""Tables as text: aligned columns to read, tab-separated ones to compute with."""

from __future__ import annotations

import statistics
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence

__all__ = ["aligned", "beside", "notes", "number", "spread", "tsv"]

NOTHING = "-"
WIDTH = 100


def aligned(rows: Sequence[Sequence[str]], left: int = 1, indent: str = "") -> str:
    """Align columns with two spaces between them: the first `left` ones to the left, the others to the right."""
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell + " " * (wide - width(cell)) if place < left else " " * (wide - width(cell)) + cell
            for place, (cell, wide) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append((indent + "  ".join(cells)).rstrip())
    return "\n".join(lines)


def width(text: str) -> int:
    """Give the places a text takes on a terminal: accents that follow their letter none, wide letters two."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(unicodedata.combining(letter) > 0 for letter in text)


def number(value: float | None, digits: int = 2) -> str:
    """Write a figure, or a dash where there is none."""
    return NOTHING if value is None else f"{value:.{digits}f}"


def spread(values: Sequence[float], digits: int = 2) -> str:
    """Write the mean, and the range where there are several; a dash where there is none."""
    if len(values) < 2:
        return number(values[0] if values else None, digits)
    low, high = (number(value, digits) for value in (min(values), max(values)))
    return f"{number(statistics.mean(values), digits)} ({low} to {high})"


def beside(published: float | None, ours: str, digits: int = 2) -> str:
    """Write the published figure and ours."""
    return f"{number(published, digits)} / {ours}"


def tsv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write a tab-separated table; None is an empty field."""
    lines = ["\t".join(header)]
    for row in rows:
        fields = ["" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value) for value in row]
        lines.append("\t".join(" ".join(field.split()) for field in fields))
    return "\n".join(lines) + "\n"


def notes(lines: Iterable[str]) -> str:
    """Write notes below a table, each once and wrapped."""
    return "\n".join(
        textwrap.fill(line, WIDTH, subsequent_indent="  ", break_on_hyphens=False) for line in dict.fromkeys(lines)
    )

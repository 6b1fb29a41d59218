"""Measured cells as tables of text or tab-separated values, and the notes below them."""

from __future__ import annotations

import statistics
import textwrap
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from bilex.experiments.cells import Cell

NO_FIGURE = "-"
NOTE_WIDTH = 100
TRANSLATION_HEADER = (
    "pair", "seed", "draw", "method", "prior", "max_rank", "size", "published", "p@1", "p@1_csls", "p@1_all",
    "p@1_all_csls", "covered", "queries", "source_words", "target_words", "seed_pairs", "pairs", "iterations",
    "stopped", "reason",
)  # fmt: skip
Value = TypeVar("Value")


@dataclass(frozen=True)
class Measured:
    """A cell and its result."""

    cell: Cell
    result: dict[str, Any]


def select(cells: Iterable[Measured], **wanted: object) -> list[Measured]:
    """Return the cells whose attributes have these values."""
    return [each for each in cells if all(getattr(each.cell, name) == value for name, value in wanted.items())]


def unique(values: Iterable[Value]) -> list[Value]:
    """Return the distinct values in the order of their first occurrence."""
    return list(dict.fromkeys(values))


def precision(cells: Iterable[Measured], retrieval: str = "nn") -> list[float]:
    """Return P@1 in percent of each cell that has a result."""
    return [100 * each.result[retrieval]["p@1"] for each in cells if retrieval in each.result]


def translation_rows(
    cells: Iterable[Measured], published: Callable[[Cell], float | None] = lambda cell: None
) -> list[dict[str, Any]]:
    """Return one row for each cell, with the columns of `TRANSLATION_HEADER`."""
    rows = []
    for each in cells:
        row = {name: getattr(each.cell, name) for name in TRANSLATION_HEADER[:7]}
        row |= {"published": published(each.cell), **{name: each.result.get(name) for name in TRANSLATION_HEADER[14:]}}
        for retrieval, ending in (("nn", ""), ("csls", "_csls")):
            figures = each.result.get(retrieval, {})
            for name in ("p@1", "p@1_all"):
                row[name + ending] = 100 * figures[name] if name in figures else None
        row |= {name: each.result.get("nn", {}).get(name) for name in ("covered", "queries")}
        rows.append(row)
    return rows


def seed_title(seed: str) -> str:
    """Return the name of a seed as the paper writes it."""
    return f"{int(seed):,}" if seed.isdigit() else seed


def constraint_note(cells: Iterable[Measured]) -> str:
    """Return a note on the frequency constraint of each pair; empty without one."""
    ranks = {each.cell.pair: each.cell.max_rank for each in cells if each.cell.max_rank}
    if not ranks:
        return ""
    listed = ", ".join(f"{rank:,} for {pair}" for pair, rank in ranks.items())
    return f"Frequency constraint, most frequent words of both languages (the paper's are 40,000): {listed}."


def reason_notes(cells: Iterable[Measured]) -> list[str]:
    """Return notes on why figures are missing."""
    places: dict[tuple[str, str], list[str]] = {}
    for cell, reason in ((each.cell, each.result["reason"]) for each in cells if "reason" in each.result):
        place = f"seed {seed_title(cell.seed)}" + (f" at {cell.size:,} words" if cell.size else "")
        places.setdefault((cell.pair, reason), []).append(place)
    return [f"- {pair}, {', '.join(unique(found))}: {reason}." for (pair, reason), found in places.items()]


def aligned(rows: Sequence[Sequence[str]], left: int = 1, indent: str = "") -> str:
    """Align columns with two spaces between them: the first `left` ones to the left, the others to the right."""
    widths = [max(map(screen_width, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell + " " * (wide - screen_width(cell)) if place < left else " " * (wide - screen_width(cell)) + cell
            for place, (cell, wide) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append((indent + "  ".join(cells)).rstrip())
    return "\n".join(lines)


def screen_width(text: str) -> int:
    """Return the columns that a text takes on a terminal: combining accents none, wide letters two."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(unicodedata.combining(letter) > 0 for letter in text)


def number(value: float | None, digits: int = 2) -> str:
    """Format a figure; None is a dash."""
    return NO_FIGURE if value is None else f"{value:.{digits}f}"


def spread(values: Sequence[float], digits: int = 2) -> str:
    """Format the mean, with the range of several values; no value is a dash."""
    if len(values) < 2:
        return number(values[0] if values else None, digits)
    low, high = (number(value, digits) for value in (min(values), max(values)))
    return f"{number(statistics.mean(values), digits)} ({low} to {high})"


def beside(published: float | None, ours: str, digits: int = 2) -> str:
    """Format the published figure and ours."""
    return f"{number(published, digits)} / {ours}"


def tsv(header: Sequence[str], rows: Iterable[Mapping[str, object]]) -> str:
    """Return a tab-separated table; None is an empty field."""
    lines = ["\t".join(header)]
    for row in rows:
        values = (row[name] for name in header)
        fields = ("" if each is None else f"{each:.6g}" if isinstance(each, float) else str(each) for each in values)
        lines.append("\t".join(" ".join(field.split()) for field in fields))
    return "\n".join(lines) + "\n"


def wrapped(notes: Iterable[str]) -> str:
    """Return the notes below a table, each once and wrapped; empty ones are left out."""
    return "\n".join(
        textwrap.fill(note, NOTE_WIDTH, subsequent_indent="  ", break_on_hyphens=False)
        for note in unique(filter(None, notes))
    )

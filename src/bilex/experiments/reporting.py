"""Measured cells as tables of text or tab-separated values, and the notes below them.

A measured cell is a row: what tells it from other cells (`Cell.key`), its result, and the cell itself under ``cell``.
Beside ours are the figures that the paper reports, from ``published/*.tsv``, under bilex's names for the systems:
``ruder2018`` is "Ours (1:1)" and ``ruder2018-freq`` is "Ours (1:1, freq. constr.)". The paper has no
numbers of Figures 2 and 3.
"""

import csv
import statistics
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

from rich.cells import cell_len

from bilex.experiments.plots import Plot
from bilex.lexicon.text import tsv_table

NOTE_WIDTH = 100
ANALYSED_PAIR = ("en-de", "5000")  # the pair and the seed of Tables 3 and 5
ERROR_ANALYSIS = {
    "artetxe2017": 36.38,
    "ruder2018-freq": 39.18,
}  # P@1 from German to English on the test set of Table 5
TRANSLATION_HEADER = (
    "pair", "seed", "draw", "method", "prior", "max_rank", "size", "published", "p@1", "p@1_csls", "p@1_all",
    "p@1_all_csls", "covered", "queries", "source_words", "target_words", "seed_pairs", "pairs", "iterations",
    "stopped", "reason",
)  # fmt: skip
Row = dict[str, Any]
Key = TypeVar("Key")


@cache
def published_rows(name: str) -> tuple[dict[str, str], ...]:
    """Return the rows of a published table, by the names of its columns."""
    text = (files("bilex") / "experiments" / "published" / f"{name}.tsv").read_text("utf-8")
    return tuple(csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))


def published_figure(table: str, column: str, **wanted: str) -> float | None:
    """Return the figure in a column of the row with these values, such as ``pair="en-it"``; None without such a row."""
    found = (row[column] for row in published_rows(table) if all(row[name] == value for name, value in wanted.items()))
    return next(map(float, found), None)


@dataclass(frozen=True)
class Report:
    """The findings of an experiment: a table to read with its notes, the same as rows to compute with, and a plot.

    The rows get the columns of the header, and the empty notes are left out.
    """

    title: str
    table: str
    rows: Sequence[Row]
    notes: Iterable[str] = ()
    header: tuple[str, ...] = TRANSLATION_HEADER
    plot: Plot | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", [{name: row.get(name) for name in self.header} for row in self.rows])
        object.__setattr__(self, "notes", list(dict.fromkeys(filter(None, self.notes))))

    @property
    def text(self) -> str:
        """The report as it is printed, its notes wrapped."""
        fill = textwrap.TextWrapper(NOTE_WIDTH, subsequent_indent="  ", break_on_hyphens=False).fill
        notes = "\n".join(map(fill, self.notes))
        return f"{self.title}\n\n{self.table}\n\n{notes}".rstrip() + "\n"

    @property
    def tsv(self) -> str:
        """The rows as a tab-separated table; None is an empty field."""
        rows = ([row[name] for name in self.header] for row in self.rows)
        texts = (
            ["" if each is None else f"{each:.6g}" if isinstance(each, float) else str(each) for each in row]
            for row in rows
        )
        return tsv_table(self.header, texts)


def translation_rows(rows: Iterable[Row], table: str | None = None) -> list[Row]:
    """Add the figures in percent, and those that the paper has in a table."""
    found = []
    for row in rows:
        key = {name: row[name] for name in ("pair", "seed", "method")}
        figures = {
            f"{name}{ending}": 100 * row[retrieval][name] if retrieval in row else None
            for retrieval, ending in (("nn", ""), ("csls", "_csls"))
            for name in ("p@1", "p@1_all")
        }
        counts = {name: row.get("nn", {}).get(name) for name in ("covered", "queries")}
        known = published_figure(table, "p@1", **key) if table else None
        found.append({**row, **figures, **counts, "published": known})
    return found


def grouped(rows: Iterable[Row], key: Callable[[Row], Key]) -> dict[Key, list[Row]]:
    """Return the rows of each key, in the order of their first occurrence."""
    groups: dict[Key, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def pivot(
    rows: Sequence[Row],
    down: Callable[[Row], tuple[str, ...]],
    across: Callable[[Row], str],
    figure: Callable[[list[Row]], str],
    corner: tuple[str, ...] = ("",),
    left: int = 1,
) -> str:
    """Return a table: `down` and `across` name the line and the column of a row, `figure` formats those that meet."""
    columns = list(grouped(rows, across))
    lines = [[*corner, *columns]]
    for head, line in grouped(rows, down).items():
        cells = grouped(line, across)
        lines.append([*head, *(figure(cells.get(column, [])) for column in columns)])
    return align_columns(lines, left)


def align_columns(rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """Align columns with two spaces before each: the first `left` ones to the left, the others to the right."""
    rows = list(rows)
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        gaps = [" " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)]
        cells = [f"  {cell}{gap}" for cell, gap in zip(row[:left], gaps, strict=False)]
        cells += [f"  {gap}{cell}" for cell, gap in zip(row[left:], gaps[left:], strict=True)]
        lines.append("".join(cells).rstrip())
    return "\n".join(lines)


def format_figure(value: float | None, digits: int = 2) -> str:
    """Format a figure; None is a dash."""
    return "-" if value is None else f"{value:.{digits}f}"


def values_of(rows: Iterable[Row], name: str) -> list[float]:
    """Return the figures in a column, without the missing ones."""
    return [row[name] for row in rows if row.get(name) is not None]


def spread(values: Sequence[float], digits: int = 2) -> str:
    """Format the mean, with the range of several values; no value is a dash."""
    if len(values) < 2:
        return format_figure(values[0] if values else None, digits)
    low, high = (format_figure(value, digits) for value in (min(values), max(values)))
    return f"{format_figure(statistics.mean(values), digits)} ({low} to {high})"


def both_figures(draws: list[Row], name: str = "p@1", digits: int = 2) -> str:
    """Format the published figure and ours, the mean of the draws of a cell."""
    return f"{format_figure(draws[0]['published'], digits)} / {spread(values_of(draws, name), digits)}"


def seed_title(seed: str) -> str:
    """Return the name of a seed as the paper writes it."""
    return f"{int(seed):,}" if seed.isdigit() else seed


def pair_title(rows: list[Row]) -> str:
    """Return the title of a pair: its name, the sizes of the vocabularies and the number of test words."""
    row = next((row for row in rows if "nn" in row), None)
    if row is None:
        return str(rows[0]["pair"])
    words = f"{row['source_words']:,} and {row['target_words']:,} words"
    return f"{row['pair']}: {words}, {row['covered']:,} of {row['queries']:,} test words covered"


def reason_notes(rows: Iterable[Row]) -> list[str]:
    """Return notes on why figures are missing."""
    places: dict[tuple[str, str], dict[str, None]] = {}
    for row in rows:
        if "reason" in row:
            place = f"seed {seed_title(row['seed'])}" + (f" at {row['size']:,} words" if row["size"] else "")
            places.setdefault((row["pair"], row["reason"]), {})[place] = None
    return [f"- {pair}, {', '.join(found)}: {reason}." for (pair, reason), found in places.items()]


def held_out_notes(rows: Iterable[Row]) -> list[str]:
    """Return a note on the words that were held out of the seed."""
    return [
        f"One in {every} source words of the train dictionary is left out of the seed and is a test word instead, "
        "because the test dictionary has hardly any frequent words."
        for every in dict.fromkeys(row["cell"].held_out for row in rows)
        if every
    ]

"""Figures 2 and 3: P@1 against the size of the vocabulary, for the systems and for the priors.

A vocabulary of size n holds the n most frequent words of both languages, and no other word exists: not for the
normalisation, not in the seed, not among the answers. The queries are the test words in it.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from operator import itemgetter

from bilex.experiments.experiment import Setting
from bilex.experiments.plots import Plot
from bilex.experiments.reporting import (
    Report,
    Row,
    grouped,
    held_out_notes,
    make_report,
    pivot,
    seed_title,
    spread,
    translation_rows,
    values_of,
)
from bilex.experiments.tables import translation_notes

RETRIEVAL_NAMES = {"nn": "nearest neighbour", "csls": "CSLS"}


def report_fig2(setting: Setting, rows: list[Row]) -> Report:
    """Report one panel for each pair, one line for each system."""
    title = "Figure 2. P@1 (%) by nearest neighbour against vocabulary size"
    return report_curves(title, rows, itemgetter("method"), figure_notes(setting, rows))


def report_fig3(setting: Setting, rows: list[Row]) -> Report:
    """Report one panel for each pair, one line for each prior."""
    several = len(grouped(rows, itemgetter("method"))) > 1
    title = "Figure 3. P@1 (%) by nearest neighbour against vocabulary size, for several priors"
    notes = figure_notes(setting, rows)
    return report_curves(title, rows, lambda row: f"{row['method']}, " * several + f"{row['prior']} prior", notes)


def figure_notes(setting: Setting, rows: list[Row]) -> list[str]:
    """Return the notes below a figure."""
    about = "The vocabulary is the n most frequent words of both languages; the queries are the test words in it, "
    return [f"{about}the seed the pairs in it.", *held_out_notes(rows), *translation_notes(setting, rows)]


def report_curves(
    title: str, rows: list[Row], label: Callable[[Row], str], notes: Iterable[str], retrieval: str = "nn"
) -> Report:
    """Report curves as tables and as a plot: a panel for each pair (and seed, if there are several)."""
    rows = translation_rows(rows)
    figure = "p@1" if retrieval == "nn" else f"p@1_{retrieval}"
    several = len(grouped(rows, itemgetter("seed"))) > 1
    panels = grouped(rows, lambda row: row["pair"] + (f", seed {seed_title(row['seed'])}" if several else ""))
    tables = [f"{name}\n{panel_table(panel, label, figure)}" for name, panel in panels.items()]
    lines = {
        name: {which: mean_by_size(line, figure) for which, line in grouped(panel, label).items()}
        for name, panel in panels.items()
    }
    plot = Plot(lines, f"P@1 (%), {RETRIEVAL_NAMES[retrieval]}")
    return make_report(title, "\n\n".join(tables), rows, notes, plot=plot)


def panel_table(rows: list[Row], label: Callable[[Row], str], figure: str) -> str:
    """Return the table of one panel: sizes down, with their numbers of seed pairs and queries, lines across."""
    heads = {}
    for size, here in grouped(rows, itemgetter("size")).items():
        counts = next(((f"{row['seed_pairs']:,}", f"{row['covered']:,}") for row in here if "nn" in row), ("-", "-"))
        heads[size] = (f"{size:,}" if size else "all", *counts)
    corner = ("n", "seed pairs", "queries")
    return pivot(
        rows, lambda row: heads[row["size"]], label, lambda draws: spread(values_of(draws, figure)), corner, left=0
    )


def mean_by_size(line: list[Row], figure: str) -> dict[int, float]:
    """Return the mean over the draws at each size that has a result."""
    values = {size: values_of(draws, figure) for size, draws in grouped(line, itemgetter("size")).items()}
    return {size or 0: statistics.mean(found) for size, found in values.items() if found}

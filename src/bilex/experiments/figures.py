"""Figures 2 and 3: P@1 against the size of the vocabulary, for the systems and for the priors.

A vocabulary of size n holds the n most frequent words of both languages, and no other word exists: not for the
normalisation, not in the seed, not among the answers. The queries are the test words in it.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bilex.experiments.cells import Cell
from bilex.experiments.experiment import Experiment, Report, Setting
from bilex.experiments.layouts import PairFiles
from bilex.experiments.plots import Plot
from bilex.experiments.reporting import (
    TRANSLATION_HEADER,
    Measured,
    aligned,
    precision,
    seed_title,
    select,
    spread,
    translation_rows,
    unique,
)
from bilex.experiments.translation import BASELINES, translation_notes

DEFAULT_SIZES = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000)
PRIORS = ("1:1", "1:2", "2:1", "2:2")
RETRIEVAL_NAMES = {"nn": "nearest neighbour", "csls": "CSLS"}


@dataclass(frozen=True)
class Curves:
    """Cells as curves: a panel for each pair (and seed, if there are several), a line for each label."""

    cells: list[Measured]
    label: Callable[[Cell], str]
    retrieval: str = "nn"

    def panels(self) -> dict[str, dict[str, list[Measured]]]:
        """Return the cells of each line, by the title of the panel and the label of the line."""
        several = len({each.cell.seed for each in self.cells}) > 1
        panels: dict[str, dict[str, list[Measured]]] = {}
        for each in self.cells:
            title = each.cell.pair + (f", seed {seed_title(each.cell.seed)}" if several else "")
            panels.setdefault(title, {}).setdefault(self.label(each.cell), []).append(each)
        return panels

    def table(self) -> str:
        """Return a table for each panel: sizes down, lines across."""
        return "\n\n".join(f"{title}\n{self.panel_table(lines)}" for title, lines in self.panels().items())

    def panel_table(self, lines: dict[str, list[Measured]]) -> str:
        """Return the table of one panel, with the numbers of seed pairs and queries of each row."""
        rows = [["n", "seed pairs", "queries", *lines]]
        cells = [each for line in lines.values() for each in line]
        for size in unique(each.cell.size for each in cells):
            measured = [each.result for each in select(cells, size=size) if "nn" in each.result]
            counts = [f"{measured[0]['seed_pairs']:,}", f"{measured[0]['nn']['covered']:,}"] if measured else ["-", "-"]
            values = (spread(precision(select(line, size=size), self.retrieval)) for line in lines.values())
            rows.append([f"{size:,}" if size else "all", *counts, *values])
        return aligned(rows, left=0, indent="  ")

    def plot(self) -> Plot:
        """Return the plot: the mean over draws at each size."""
        panels = {
            title: {label: self.points(line) for label, line in lines.items()} for title, lines in self.panels().items()
        }
        return Plot(panels, f"P@1 (%), {RETRIEVAL_NAMES[self.retrieval]}")

    def points(self, line: list[Measured]) -> dict[int, float]:
        """Return the mean P@1 at each size of a line that has a result."""
        values = {size: precision(select(line, size=size), self.retrieval) for size in (e.cell.size for e in line)}
        return {size or 0: statistics.mean(found) for size, found in values.items() if found}


def plan_fig2(setting: Setting) -> list[Cell]:
    """Plan all systems at all sizes, from the train dictionary."""
    return plan_sizes(setting, [(name, None) for name in setting.methods((*BASELINES, "ruder2018"))])


def plan_fig3(setting: Setting) -> list[Cell]:
    """Plan all priors at all sizes, from the train dictionary."""
    return plan_sizes(setting, [(name, prior) for name in setting.methods(("ruder2018",)) for prior in PRIORS])


def plan_sizes(setting: Setting, systems: Sequence[tuple[str, str | None]]) -> list[Cell]:
    """Plan all systems at the sizes that the user chose, the layout's, or steps up to the smaller vocabulary."""

    def sizes_of(files: PairFiles) -> tuple[int, ...]:
        if chosen := setting.options.sizes or setting.layout.table.sizes:
            return tuple(sorted(set(chosen)))
        smaller = min(len(setting.cache.vectors(path)) for path in (files.source, files.target))
        return (*(size for size in DEFAULT_SIZES if size < smaller), smaller)

    seeds = setting.seeds(("5000",))
    each_system = [(name, prior, seeds) for name, prior in systems]
    return setting.plan("translation", each_system, sizes_of=sizes_of, held_out=True)


def report_fig2(setting: Setting, cells: list[Measured]) -> Report:
    """Report one panel for each pair, one line for each system."""
    title = "Figure 2. P@1 (%) by nearest neighbour against vocabulary size"
    return report_curves(setting, cells, title, lambda cell: cell.method)


def report_fig3(setting: Setting, cells: list[Measured]) -> Report:
    """Report one panel for each pair, one line for each prior."""
    several = len({each.cell.method for each in cells}) > 1
    title = "Figure 3. P@1 (%) by nearest neighbour against vocabulary size, for several priors"
    return report_curves(setting, cells, title, lambda cell: f"{cell.method}, " * several + f"{cell.prior} prior")


def report_curves(setting: Setting, cells: list[Measured], title: str, label: Callable[[Cell], str]) -> Report:
    """Report the curves as tables and as a plot."""
    curves = Curves(cells, label)
    return Report(
        title=title,
        table=curves.table(),
        header=TRANSLATION_HEADER,
        rows=translation_rows(cells),
        notes=(
            "The vocabulary is the n most frequent words of both languages; the queries are the test words in it, "
            "the seed the pairs in it.",
            *held_out_notes(cells),
            *translation_notes(setting, cells),
        ),
        plot=curves.plot(),
    )


def held_out_notes(cells: list[Measured]) -> list[str]:
    """Return a note on the words that were held out of the seed."""
    return [
        f"One in {every} source words of the train dictionary is left out of the seed and is a test word instead, "
        "because the test dictionary has hardly any frequent words."
        for every in unique(each.cell.held_out for each in cells if each.cell.held_out)
    ]


FIG2 = Experiment("fig2", plan_fig2, report_fig2)
FIG3 = Experiment("fig3", plan_fig3, report_fig3)

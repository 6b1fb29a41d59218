"""P@1 over vocabulary sizes: as a table for each panel, and as a plot."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from bilex.experiments.cells import Cell
from bilex.experiments.grid import Finished
from bilex.experiments.plots import Panel, Plot, Series
from bilex.experiments.setting import Cells
from bilex.experiments.tables import aligned, spread
from bilex.experiments.translation import ordered, precision, seed_title

__all__ = ["Curves", "held_out_notes"]

RETRIEVAL_NAMES = {"nn": "nearest neighbour", "csls": "CSLS"}


@dataclass(frozen=True)
class Curves:
    """Cells as curves: a panel for each pair (and seed, if there are several), a line for each label."""

    cells: Cells
    label: Callable[[Cell], str]
    retrieval: str = "nn"

    @cached_property
    def panels(self) -> dict[str, list[Finished[Cell]]]:
        """The cells of each panel, by its title."""
        several = len({cell.task.seed for cell in self.cells}) > 1
        panels: dict[str, list[Finished[Cell]]] = {}
        for cell in self.cells:
            title = cell.task.files.name + (f", seed {seed_title(cell.task.seed)}" if several else "")
            panels.setdefault(title, []).append(cell)
        return panels

    def table(self) -> str:
        """Write a table for each panel: sizes down, lines across."""
        return "\n\n".join(f"{title}\n{self.panel_table(cells)}" for title, cells in self.panels.items())

    def panel_table(self, cells: list[Finished[Cell]]) -> str:
        """Write the table of one panel, with the numbers of seed pairs and queries behind each row."""
        lines = self.lines(cells)
        rows = [["n", "seed pairs", "queries", *lines]]
        for size in ordered(cell.task.size for cell in cells):
            here = [cell for cell in cells if cell.task.size == size]
            measured = [cell.result for cell in here if "nn" in cell.result]
            counts = [f"{measured[0]['seed_pairs']:,}", f"{measured[0]['nn']['covered']:,}"] if measured else ["-", "-"]
            rows.append(
                [
                    f"{size:,}" if size else "all",
                    *counts,
                    *(spread(precision([cell for cell in here if self.label(cell.task) == line], self.retrieval))
                      for line in lines),
                ]
            )  # fmt: skip
        return aligned(rows, left=0, indent="  ")

    def lines(self, cells: Cells) -> list[str]:
        """Give the labels of the lines in order."""
        return ordered(self.label(cell.task) for cell in cells)

    def plot(self) -> Plot:
        """Give the plot: the mean over draws at each size."""
        panels = []
        for title, cells in self.panels.items():
            series = []
            for line in self.lines(cells):
                here = [cell for cell in cells if self.label(cell.task) == line]
                values = {size: precision(here, self.retrieval, size=size) for size in (c.task.size for c in here)}
                points = ((size or 0, statistics.mean(found)) for size, found in values.items() if found)
                series.append(Series(line, tuple(points)))
            panels.append(Panel(title, tuple(series)))
        return Plot(tuple(panels), f"P@1 (%), {RETRIEVAL_NAMES[self.retrieval]}")


def held_out_notes(cells: Cells) -> list[str]:
    """Say which words were held out of the seed."""
    every = ordered(cell.task.held_out for cell in cells if cell.task.held_out)
    return [
        f"One in {number} source words of the train dictionary is left out of the seed and is a test word instead, "
        "because the test dictionary has hardly any frequent words."
        for number in every
    ]

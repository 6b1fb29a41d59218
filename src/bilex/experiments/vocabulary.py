"""Figures 2 and 3: P@1 against the size of the vocabulary, for the systems and for the priors.

A vocabulary of size n holds the n most frequent words of both languages, and nothing else exists: not for the
normalisation, not in the seed, not among the answers. The queries are the test words in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bilex.experiments.cells import Cell
from bilex.experiments.curves import Curves, held_out_notes
from bilex.experiments.layouts import PairFiles
from bilex.experiments.setting import Cells, Experiment, Report, Setting
from bilex.experiments.translation import BASELINES, HEADER, common_notes, tsv_rows

__all__ = ["FIG2", "FIG3"]

SIZES = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000)
PRIORS = ("1:1", "1:2", "2:1", "2:2")


def sizes_of(setting: Setting, files: PairFiles) -> tuple[int, ...]:
    """Choose the sizes: those asked for, the layout's, or steps up to the smaller vocabulary."""
    if chosen := setting.options.sizes or setting.layout.sizes:
        return tuple(sorted(set(chosen)))
    smaller = min(len(setting.sources.vectors(path)) for path in (files.source, files.target))
    return (*(size for size in SIZES if size < smaller), smaller)


def plan_fig2(setting: Setting) -> list[Cell]:
    """All systems at all sizes, from the train dictionary."""
    return plan(setting, [(name, None) for name in setting.methods((*BASELINES, "ruder2018"))])


def plan_fig3(setting: Setting) -> list[Cell]:
    """All priors at all sizes, from the train dictionary."""
    return plan(setting, [(name, prior) for name in setting.methods(("ruder2018",)) for prior in PRIORS])


def plan(setting: Setting, systems: Sequence[tuple[str, str | None]]) -> list[Cell]:
    """Lay the grid out."""
    seeds = setting.seeds(("5000",))
    return [
        Cell(
            "translation",
            files,
            setting.method(name, files, prior),
            seed,
            setting.sources,
            draw,
            size,
            files.held_out,
        )
        for files in setting.files(("train",))
        for seed in seeds
        for name, prior in systems
        for size in sizes_of(setting, files)
        for draw in setting.draws(seed)
    ]


def report_fig2(setting: Setting, cells: Cells) -> Report:
    """One panel for each pair, one line for each system."""
    title = "Figure 2. P@1 (%) by nearest neighbour against vocabulary size"
    return report(setting, cells, title, lambda cell: cell.method.name)


def report_fig3(setting: Setting, cells: Cells) -> Report:
    """One panel for each pair, one line for each prior."""
    several = len({cell.task.method.name for cell in cells}) > 1
    title = "Figure 3. P@1 (%) by nearest neighbour against vocabulary size, for several priors"
    return report(setting, cells, title, lambda cell: f"{cell.method.name}, " * several + f"{cell.method.prior} prior")


def report(setting: Setting, cells: Cells, title: str, label: Callable[[Cell], str]) -> Report:
    """Write the curves as tables and as a plot."""
    curves = Curves(cells, label)
    return Report(
        title=title,
        table=curves.table(),
        header=HEADER,
        rows=tuple(tsv_rows(cells)),
        notes=(
            "The vocabulary is the n most frequent words of both languages; the queries are the test words in it, "
            "the seed the pairs in it.",
            *held_out_notes(cells),
            *common_notes(setting, cells),
        ),
        plot=curves.plot(),
    )


FIG2 = Experiment("fig2", plan_fig2, report_fig2)
FIG3 = Experiment("fig3", plan_fig3, report_fig3)

"""Bilingual lexicon induction: Table 1 (systems and seeds) and Table 4 (low-resource pairs)."""

from __future__ import annotations

from collections.abc import Callable

from bilex.experiments import published
from bilex.experiments.cells import Cell
from bilex.experiments.experiment import Experiment, Report, Setting
from bilex.experiments.inputs import PAPER_SEEDS, is_drawn
from bilex.experiments.reporting import (
    TRANSLATION_HEADER,
    Measured,
    aligned,
    beside,
    precision,
    seed_title,
    select,
    spread,
    translation_rows,
    unique,
)
from bilex.seeds.seed import IDENTICAL

BASELINES = ("mikolov2013", "xing2015", "zhang2016", "artetxe2016", "artetxe2017")
SYSTEMS = (*BASELINES, "ruder2018", "ruder2018-freq")
LOW_RESOURCE = ("artetxe2017", "ruder2018", "ruder2018-freq")


def plan_table1(setting: Setting) -> list[Cell]:
    """Plan every system from every seed on every pair."""
    seeds = setting.seeds(PAPER_SEEDS)
    return setting.plan("translation", [(name, None, seeds) for name in setting.methods(SYSTEMS)])


def plan_table4(setting: Setting) -> list[Cell]:
    """Plan the self-learning systems from identical strings on the layout's low-resource pairs."""
    seeds = setting.seeds((IDENTICAL,))
    return setting.plan("translation", [(name, None, seeds) for name in setting.methods(LOW_RESOURCE)])


def report_table1(setting: Setting, cells: list[Measured]) -> Report:
    """Report one block for each pair: systems down, seeds across, the published figure beside ours."""
    blocks = []
    for pair in unique(each.cell.pair for each in cells):
        here = select(cells, pair=pair)
        seeds = unique(each.cell.seed for each in here)
        rows = [["", *map(seed_title, seeds)]]
        for name in unique(each.cell.method for each in here):
            rows.append([name, *(both_figures(select(here, method=name, seed=seed), table1_figure) for seed in seeds)])
        blocks.append(f"{pair_title(here)}\n{aligned(rows, indent='  ')}")
    return Report(
        title="Table 1. P@1 (%) by nearest neighbour: published / measured here",
        table="\n\n".join(blocks),
        header=TRANSLATION_HEADER,
        rows=translation_rows(cells, table1_figure),
        notes=translation_notes(setting, cells),
    )


def report_table4(setting: Setting, cells: list[Measured]) -> Report:
    """Report systems down, pairs across."""
    pairs = unique(each.cell.pair for each in cells)
    rows = [["", *pairs]]
    for name, seed in unique((each.cell.method, each.cell.seed) for each in cells):
        title = name if seed == IDENTICAL else f"{name}, {seed_title(seed)}"
        here = [select(cells, pair=pair, method=name, seed=seed) for pair in pairs]
        rows.append([title, *(both_figures(each, table4_figure) for each in here)])
    return Report(
        title="Table 4. P@1 (%) by nearest neighbour from identical strings: published / measured here",
        table=aligned(rows, indent="  "),
        header=TRANSLATION_HEADER,
        rows=translation_rows(cells, table4_figure),
        notes=(*(pair_title(select(cells, pair=pair)) for pair in pairs), *translation_notes(setting, cells)),
    )


def table1_figure(cell: Cell) -> float | None:
    """Return the published P@1."""
    return published.figure("table1", "p@1", pair=cell.pair, seed=cell.seed, method=cell.method)


def table4_figure(cell: Cell) -> float | None:
    """Return the published P@1, which is from identical strings."""
    return published.figure("table4", "p@1", pair=cell.pair, method=cell.method) if cell.seed == IDENTICAL else None


def both_figures(draws: list[Measured], published_figure: Callable[[Cell], float | None]) -> str:
    """Format the published P@1 and ours, the mean of the draws of a cell."""
    return beside(published_figure(draws[0].cell), spread(precision(draws))) if draws else beside(None, spread([]))


def pair_title(cells: list[Measured]) -> str:
    """Return the title of a pair: its name, the sizes of the vocabularies and the number of test words."""
    pair = cells[0].cell.pair
    first = next((each.result for each in cells if "nn" in each.result), None)
    if first is None:
        return pair
    return (
        f"{pair}: {first['source_words']:,} and {first['target_words']:,} words, "
        f"{first['nn']['covered']:,} of {first['nn']['queries']:,} test words covered"
    )


def translation_notes(setting: Setting, cells: list[Measured]) -> tuple[str, ...]:
    """Return the notes below P@1 figures."""
    draws = setting.options.draws
    drawn = f"{draws} draws from the train dictionary, mean (lowest to highest)."
    if draws == 1:
        drawn = "1 draw from the train dictionary (random seed 0)."
    return setting.notes(
        cells,
        "P@1 is over the covered test words: those in the vocabulary with a translation in the other vocabulary. "
        "Over all test words, and by CSLS: see the TSV file.",
        after=[f"Seed {seed}: {drawn}" for seed in unique(each.cell.seed for each in cells) if is_drawn(seed)],
    )


TABLE1 = Experiment("table1", plan_table1, report_table1)
TABLE4 = Experiment("table4", plan_table4, report_table4)

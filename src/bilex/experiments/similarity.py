"""Table 2: whether cosines across languages rank pairs of words as people do."""

from __future__ import annotations

from typing import Any

from bilex.experiments import published
from bilex.experiments.cells import Cell
from bilex.experiments.experiment import Experiment, Report, Setting
from bilex.experiments.reporting import Measured, aligned, beside, seed_title, select, spread, unique
from bilex.experiments.translation import SYSTEMS
from bilex.seeds.seed import NUMERALS

SUPERVISED = SYSTEMS[:4]  # without self-learning they need the large seed
SELF_LEARNING_SEEDS = ("5000", "25", NUMERALS)
TABLE2_HEADER = (
    "pair", "set", "seed", "draw", "method", "max_rank", "published", "spearman", "pearson", "spearman_zero",
    "pearson_zero", "covered", "pairs", "composed", "folded", "seed_pairs", "iterations", "stopped", "reason",
)  # fmt: skip


def plan_table2(setting: Setting) -> list[Cell]:
    """Plan the rows of the paper: the supervised systems from 5,000 pairs, the others from weaker seeds too."""
    defaults = dict.fromkeys(SUPERVISED, ("5000",))
    seeds_of = {name: setting.seeds(defaults.get(name, SELF_LEARNING_SEEDS)) for name in setting.methods(SYSTEMS)}
    return setting.plan("similarity", [(name, None, seeds) for name, seeds in seeds_of.items()])


def report_table2(setting: Setting, cells: list[Measured]) -> Report:
    """Report systems and seeds down, similarity sets across."""
    columns = unique((each.cell.pair, name) for each in cells for name in each.cell.files.similarity)
    lines = [["", "seed", *(f"{pair} {name}" for pair, name in columns)]]
    for method, seed in unique((each.cell.method, each.cell.seed) for each in cells):
        line = [method, seed_title(seed)]
        for pair, name in columns:
            found = [figures_of(each, name) for each in select(cells, pair=pair, method=method, seed=seed)]
            values = [figures["spearman"] for figures in found if "spearman" in figures]
            known = published.figure("table2", "spearman", pair=pair, set=name, seed=seed, method=method)
            line.append(beside(known, spread(values, 3), 3))
        lines.append(line)
    return Report(
        title="Table 2. Spearman's correlation on cross-lingual similarity sets: published / measured here",
        table=aligned(lines, left=2, indent="  "),
        header=TABLE2_HEADER,
        rows=[table2_row(each, name) for each in cells for name in each.cell.files.similarity],
        notes=setting.notes(cells, after=coverage_notes(cells)),
    )


def figures_of(measured: Measured, name: str) -> dict[str, Any]:
    """Return the figures of one similarity set; empty if there are none."""
    return dict(measured.result.get("sets", {}).get(name, {}))


def coverage_notes(cells: list[Measured]) -> list[str]:
    """Return a note for each set: how many of its pairs have vectors, and how words were looked up."""
    found = {}
    for each in cells:
        pair = each.cell.pair
        for name, figures in each.result.get("sets", {}).items():
            if "covered" in figures:
                folding = "capitals folded" if each.cell.files.fold else "capitals kept"
                found[pair, name] = (
                    f"{pair} {name}: over the {figures['covered']:,} of {figures['pairs']:,} pairs that "
                    f"have vectors ({folding}, terms of several words averaged); with 0 for the others: see the TSV."
                )
            else:
                found[pair, name] = f"- {figures['reason']}"
    return list(found.values())


def table2_row(measured: Measured, name: str) -> dict[str, Any]:
    """Return the row of a cell and a similarity set."""
    cell, figures = measured.cell, figures_of(measured, name)
    return {
        **{key: getattr(cell, key) for key in ("pair", "seed", "draw", "method", "max_rank")},
        **{key: measured.result.get(key) for key in ("seed_pairs", "iterations", "stopped", "reason")},
        **{key: figures.get(key) for key in ("spearman", "pearson", "covered", "pairs", "composed", "folded")},
        **{f"{key}_zero": figures.get("zero", {}).get(key) for key in ("spearman", "pearson")},
        **({"reason": figures["reason"]} if "reason" in figures else {}),
        "set": name,
        "published": published.figure(
            "table2", "spearman", pair=cell.pair, set=name, seed=cell.seed, method=cell.method
        ),
    }


TABLE2 = Experiment("table2", plan_table2, report_table2)

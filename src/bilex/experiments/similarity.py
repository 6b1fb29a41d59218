"""Table 2: whether cosines across languages rank pairs of words as people do."""

from __future__ import annotations

from bilex.experiments import published
from bilex.experiments.cells import Cell
from bilex.experiments.setting import Cells, Experiment, Report, Setting
from bilex.experiments.tables import aligned, beside, spread
from bilex.experiments.translation import SYSTEMS, constraints, foreign, ordered, reasons, seed_title
from bilex.seeds.seed import NUMERALS

__all__ = ["TABLE2"]

SEEDS = dict.fromkeys(SYSTEMS[:4], ("5000",))  # without self-learning, weak seeds are hopeless
SELF_LEARNING = ("5000", "25", NUMERALS)
HEADER = (
    "pair", "set", "seed", "draw", "method", "max_rank", "published", "spearman", "pearson", "spearman_zero",
    "pearson_zero", "covered", "pairs", "composed", "folded", "seed_pairs", "iterations", "stopped", "reason",
)  # fmt: skip


def plan(setting: Setting) -> list[Cell]:
    """Plan the rows of the paper: the supervised systems from 5,000 pairs, the others from weaker seeds too."""
    seeds_of = {name: setting.seeds(SEEDS.get(name, SELF_LEARNING)) for name in setting.methods(SYSTEMS)}
    needed = ordered(seed for seeds in seeds_of.values() for seed in seeds)
    return [
        Cell("similarity", files, setting.method(name, files), seed, setting.sources, draw)
        for files in setting.files(needed, test=False, similarity=True)
        for name, seeds in seeds_of.items()
        for seed in seeds
        for draw in setting.draws(seed)
    ]


def report(setting: Setting, cells: Cells) -> Report:
    """Systems and seeds down, similarity sets across."""
    columns = ordered((cell.task.files.name, name) for cell in cells for name in cell.task.files.similarity)
    rows = [["", "seed", *(f"{pair} {name}" for pair, name in columns)]]
    for method, seed in ordered((cell.task.method.name, cell.task.seed) for cell in cells):
        row = [method, seed_title(seed)]
        for pair, name in columns:
            here = [c for c in cells if (c.task.files.name, c.task.method.name, c.task.seed) == (pair, method, seed)]
            sets = [cell.result.get("sets", {}).get(name, {}) for cell in here]
            values = [figures["spearman"] for figures in sets if "spearman" in figures]
            row.append(beside(published.similarity().get((pair, name, seed, method)), spread(values, 3), 3))
        rows.append(row)
    return Report(
        title="Table 2. Spearman's correlation on cross-lingual similarity sets: published / measured here",
        table=aligned(rows, left=2, indent="  "),
        header=HEADER,
        rows=tuple(tsv_rows(cells)),
        notes=tuple(filter(None, (
            f"The paper: {published.FINDINGS['table2']}",
            foreign(setting),
            constraints(cells),
            *coverage(cells),
            *reasons(cells),
        ))),
    )  # fmt: skip


def coverage(cells: Cells) -> list[str]:
    """Say how many pairs of each set have vectors, and how words were looked up."""
    found = {}
    for cell in cells:
        for name, figures in cell.result.get("sets", {}).items():
            if "covered" in figures:
                folding = "capitals folded" if cell.task.files.fold else "capitals kept"
                pair = cell.task.files.name
                found[pair, name] = (
                    f"{pair} {name}: over the {figures['covered']:,} of {figures['pairs']:,} pairs that "
                    f"have vectors ({folding}, terms of several words averaged); with 0 for the others: see the TSV."
                )
            else:
                found[cell.task.files.name, name] = f"- {figures['reason']}"
    return list(found.values())


def tsv_rows(cells: Cells) -> list[tuple[object, ...]]:
    """Give one row for each cell and set."""
    rows: list[tuple[object, ...]] = []
    for cell in cells:
        task, result = cell.task, cell.result
        for name in task.files.similarity:
            figures = result.get("sets", {}).get(name, {})
            rows.append(
                (
                    task.files.name,
                    name,
                    task.seed,
                    task.draw,
                    task.method.name,
                    task.method.max_rank,
                    published.similarity().get((task.files.name, name, task.seed, task.method.name)),
                    *(figures.get(key) for key in ("spearman", "pearson")),
                    *(figures.get("zero", {}).get(key) for key in ("spearman", "pearson")),
                    *(figures.get(key) for key in ("covered", "pairs", "composed", "folded")),
                    *(result.get(key) for key in ("seed_pairs", "iterations", "stopped")),
                    figures.get("reason", result.get("reason")),
                )
            )
    return rows


TABLE2 = Experiment("table2", plan, report)

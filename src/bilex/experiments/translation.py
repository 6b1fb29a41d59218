"""Bilingual lexicon induction: Table 1 (systems and seeds) and Table 4 (low-resource pairs)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from bilex.experiments import published
from bilex.experiments.cells import Cell
from bilex.experiments.grid import Finished
from bilex.experiments.seeds import SEEDS, is_drawn
from bilex.experiments.setting import Cells, Experiment, Report, Setting
from bilex.experiments.tables import aligned, beside, spread
from bilex.seeds.seed import IDENTICAL

__all__ = [
    "BASELINES",
    "HEADER",
    "SYSTEMS",
    "TABLE1",
    "TABLE4",
    "common_notes",
    "precision",
    "reasons",
    "seed_title",
    "tsv_rows",
]

BASELINES = ("mikolov2013", "xing2015", "zhang2016", "artetxe2016", "artetxe2017")
SYSTEMS = (*BASELINES, "ruder2018", "ruder2018-freq")
LOW_RESOURCE = ("artetxe2017", "ruder2018", "ruder2018-freq")
PAPERS_LAYOUT = "paper"
HEADER = (
    "pair", "seed", "draw", "method", "prior", "max_rank", "size", "published", "p@1", "p@1_csls", "p@1_all",
    "p@1_all_csls", "covered", "queries", "source_words", "target_words", "seed_pairs", "pairs", "iterations",
    "stopped", "reason",
)  # fmt: skip


def plan_table1(setting: Setting) -> list[Cell]:
    """Plan every system from every seed on every pair."""
    return plan(setting, SYSTEMS, setting.seeds(SEEDS))


def plan_table4(setting: Setting) -> list[Cell]:
    """Plan the self-learning systems from identical strings on the layout's low-resource pairs."""
    return plan(setting, LOW_RESOURCE, setting.seeds((IDENTICAL,)))


def plan(setting: Setting, systems: Sequence[str], seeds: Sequence[str]) -> list[Cell]:
    """Lay the grid out, pair by pair, so that results come in the order they are read in."""
    return [
        Cell("translation", files, setting.method(name, files), seed, setting.sources, draw)
        for files in setting.files(seeds)
        for name in setting.methods(systems)
        for seed in seeds
        for draw in setting.draws(seed)
    ]


def report_table1(setting: Setting, cells: Cells) -> Report:
    """One block for each pair: systems down, seeds across, the published figure beside ours."""
    blocks = []
    for pair in ordered(cell.task.files.name for cell in cells):
        here = [cell for cell in cells if cell.task.files.name == pair]
        seeds = ordered(cell.task.seed for cell in here)
        rows = [["", *map(seed_title, seeds)]]
        for name in ordered(cell.task.method.name for cell in here):
            values = {seed: precision(here, method=name, seed=seed) for seed in seeds}
            rows.append(
                [
                    name,
                    *(beside(published.translation().get((pair, seed, name)), spread(values[seed])) for seed in seeds),
                ]
            )
        blocks.append(f"{pair_title(here)}\n{aligned(rows, indent='  ')}")
    return Report(
        title="Table 1. P@1 (%) by nearest neighbour: published / measured here",
        table="\n\n".join(blocks),
        header=HEADER,
        rows=tuple(tsv_rows(cells, lambda c: published.translation().get((c.files.name, c.seed, c.method.name)))),
        notes=common_notes(setting, cells),
    )


def report_table4(setting: Setting, cells: Cells) -> Report:
    """Systems down, pairs across; then CSLS, which the paper does not have."""
    pairs = ordered(cell.task.files.name for cell in cells)
    seeds = ordered(cell.task.seed for cell in cells)
    rows = [["", *pairs]]
    for name in ordered(cell.task.method.name for cell in cells):
        for seed in seeds:
            row = [name if seed == IDENTICAL else f"{name}, {seed_title(seed)}"]
            for pair in pairs:
                here = [cell for cell in cells if cell.task.files.name == pair]
                known = published.low_resource().get((pair, name)) if seed == IDENTICAL else None
                row.append(beside(known, spread(precision(here, method=name, seed=seed))))
            rows.append(row)
    titles = [pair_title([cell for cell in cells if cell.task.files.name == pair]) for pair in pairs]
    return Report(
        title="Table 4. P@1 (%) by nearest neighbour from identical strings: published / measured here",
        table=aligned(rows, indent="  "),
        header=HEADER,
        rows=tuple(
            tsv_rows(
                cells,
                lambda c: published.low_resource().get((c.files.name, c.method.name)) if c.seed == IDENTICAL else None,
            )
        ),
        notes=(*titles, *common_notes(setting, cells)),
    )


def precision(cells: Cells, retrieval: str = "nn", **wanted: object) -> list[float]:
    """Give P@1 in percent of the cells that are wanted: one value for each draw, none where there was no result."""
    chosen = [cell for cell in cells if all(facts(cell.task)[name] == value for name, value in wanted.items())]
    return [100 * cell.result[retrieval]["p@1"] for cell in chosen if retrieval in cell.result]


def facts(cell: Cell) -> dict[str, Any]:
    """Give what cells are chosen by."""
    return {
        "pair": cell.files.name,
        "method": cell.method.name,
        "prior": cell.method.prior,
        "seed": cell.seed,
        "size": cell.size,
    }


def ordered(values: Iterable[Any]) -> list[Any]:
    """Give the values in the order of their first occurrence."""
    return list(dict.fromkeys(values))


def seed_title(seed: str) -> str:
    """Write the name of a seed as the paper's tables do."""
    return f"{int(seed):,}" if seed.isdigit() else seed


def pair_title(cells: Cells) -> str:
    """Say what a pair's figures are over."""
    pair = cells[0].task.files.name
    results = [cell.result for cell in cells if "nn" in cell.result]
    if not results:
        return pair
    first = results[0]
    return (
        f"{pair}: {first['source_words']:,} and {first['target_words']:,} words, "
        f"{first['nn']['covered']:,} of {first['nn']['queries']:,} test words covered"
    )


def tsv_rows(cells: Cells, published_of: Any = lambda cell: None) -> Iterable[tuple[object, ...]]:
    """Give one row for each cell, under `HEADER`. No times: the same results give the same file."""
    for cell in cells:
        task, result = cell.task, cell.result
        nn, csls = result.get("nn", {}), result.get("csls", {})
        yield (
            task.files.name,
            task.seed,
            task.draw,
            task.method.name,
            task.method.prior,
            task.method.max_rank,
            task.size,
            published_of(task),
            *(percent(figures.get(name)) for name in ("p@1", "p@1_all") for figures in (nn, csls)),
            *(nn.get(name) for name in ("covered", "queries")),
            *(
                result.get(name)
                for name in (
                    "source_words", "target_words", "seed_pairs", "pairs", "iterations", "stopped", "reason"
                )
            ),
        )  # fmt: skip


def percent(share: float | None) -> float | None:
    """Turn a share into percent."""
    return None if share is None else 100 * share


def common_notes(setting: Setting, cells: Cells) -> tuple[str, ...]:
    """Say how the figures are to be read, and why some are missing."""
    drawn = ordered(cell.task.seed for cell in cells if is_drawn(cell.task.seed))
    lines = [
        f"The paper: {published.FINDINGS[setting.name]}" if setting.name in published.FINDINGS else "",
        "P@1 is over the covered test words: those in the vocabulary with a translation in the other vocabulary. "
        "Over all test words, and by CSLS: see the TSV file.",
        foreign(setting),
        constraints(cells),
        *(
            f"Seed {seed}: {setting.options.draws} draw{'s' * (setting.options.draws > 1)} from the train dictionary"
            + (", mean (lowest to highest)." if setting.options.draws > 1 else " (random seed 0).")
            for seed in drawn
        ),
        *reasons(cells),
    ]
    return tuple(line for line in lines if line)


def foreign(setting: Setting) -> str:
    """Warn that published figures are of other data."""
    if setting.layout.name == PAPERS_LAYOUT:
        return ""
    about = f" but {setting.layout.description}" if setting.layout.description else ""
    return f"The data here are not the paper's{about}; do not compare the figures one to one."


def constraints(cells: Cells) -> str:
    """Say what the frequency constraint was."""
    ranks = {cell.task.files.name: cell.task.method.max_rank for cell in cells if cell.task.method.max_rank}
    if not ranks:
        return ""
    each = ", ".join(f"{rank:,} for {pair}" for pair, rank in ranks.items())
    return f"Frequency constraint, most frequent words of both languages (the paper's are 40,000): {each}."


def reasons(cells: Cells) -> list[str]:
    """Say why there is no figure where there is none."""
    why: dict[tuple[str, str], list[Finished[Cell]]] = {}
    for cell in cells:
        if "reason" in cell.result:
            why.setdefault((cell.task.files.name, cell.result["reason"]), []).append(cell)
    return [
        f"- {pair}, {', '.join(ordered(place(cell.task) for cell in missing))}: {reason}."
        for (pair, reason), missing in why.items()
    ]


def place(cell: Cell) -> str:
    """Name a column of a table or a point of a figure."""
    return f"seed {seed_title(cell.seed)}" + (f" at {cell.size:,} words" if cell.size else "")


TABLE1 = Experiment("table1", plan_table1, report_table1)
TABLE4 = Experiment("table4", plan_table4, report_table4)

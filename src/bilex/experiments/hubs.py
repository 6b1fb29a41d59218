"""Table 3: the target words that are among the 20 nearest neighbours of the most test words."""

from __future__ import annotations

from collections.abc import Mapping

from bilex.experiments import published
from bilex.experiments.cells import HUB_NEIGHBOURS, Cell
from bilex.experiments.experiment import Experiment, Report, Setting
from bilex.experiments.reporting import Measured, aligned, seed_title, select, unique

TABLE3_SYSTEMS = ("artetxe2017", "ruder2018")
HUBS_SHOWN = 5
TABLE3_HEADER = ("pair", "seed", "draw", "method", "retrieval", "place", "word", "gloss", "count")


def plan_table3(setting: Setting) -> list[Cell]:
    """Plan both systems from the train dictionary."""
    seeds = setting.seeds(("5000",))
    return setting.plan("hubs", [(name, None, seeds) for name in setting.methods(TABLE3_SYSTEMS)])


def report_table3(setting: Setting, cells: list[Measured]) -> Report:
    """Report one block for each pair and seed: the greatest hubs of each system side by side, and the skewness."""
    glosses = {each.cell.pair: glosses_of(each.cell) for each in cells}
    blocks = [
        hub_table(pair, seed, select(cells, pair=pair, seed=seed, draw=0), glosses[pair])
        for pair, seed in unique((each.cell.pair, each.cell.seed) for each in cells)
    ]
    rows = [
        {
            **{name: getattr(each.cell, name) for name in TABLE3_HEADER[:4]},
            "retrieval": retrieval,
            "place": place,
            "gloss": glosses[each.cell.pair].get(hub["word"]),
            **hub,
        }
        for each in cells
        for retrieval in ("nn", "csls")
        for place, hub in enumerate(each.result.get(retrieval, {}).get("hubs", []), start=1)
    ]
    return Report(
        title=f"Table 3. Hubs: target words among the {HUB_NEIGHBOURS} nearest neighbours of the most test words",
        table="\n\n".join(blocks),
        header=TABLE3_HEADER,
        rows=rows,
        notes=setting.notes(
            cells,
            "In brackets N_20, the number of test words that have the hub among their 20 nearest neighbours; in quotes "
            "a word that the dictionaries translate by the hub.",
            "Skewness is that of N_20 over all target words: 0 if all were as often neighbours, large with hubs.",
        ),
    )


def hub_table(pair: str, seed: str, cells: list[Measured], glosses: Mapping[str, str]) -> str:
    """Return the table of one pair and seed."""
    columns = [["place", *map(str, range(1, HUBS_SHOWN + 1)), "max N_20", "skewness"]]
    title = pair
    for each in cells:
        name, figures = each.cell.method, each.result.get("nn")
        if (pair, seed) == published.ANALYSED_PAIR and name in published.hubs():
            hubs = published.hubs()[name]
            columns.append([f"{name}, published", *(hub_text(*hub) for hub in hubs), str(hubs[0][2]), ""])
        column = [f"{name}, here", *["-"] * (HUBS_SHOWN + 2)]
        if figures is not None:
            shown = [hub_text(h["word"], glosses.get(h["word"], ""), h["count"]) for h in figures["hubs"][:HUBS_SHOWN]]
            column[1 : 1 + len(shown)] = shown
            column[-2:] = str(figures["max"]), f"{figures['skewness']:.2f}"
            title = f"{pair}, seed {seed_title(seed)}, {figures['queries']:,} test words looked up"
        columns.append(column)
    return f"{title}\n{aligned(list(zip(*columns, strict=True)), left=len(columns), indent='  ')}"


def hub_text(word: str, gloss: str, count: int) -> str:
    """Format a hub with its translation, if that is spelt differently, and its N_20."""
    return f"{word} '{gloss}' ({count})" if gloss and gloss != word else f"{word} ({count})"


def glosses_of(cell: Cell) -> dict[str, str]:
    """Return the first source word that the dictionaries have for each target word."""
    found: dict[str, str] = {}
    for path in (cell.files.train, cell.files.test):
        for source, target in cell.cache.pairs(path):
            found.setdefault(target, source)
    return found


TABLE3 = Experiment("table3", plan_table3, report_table3)

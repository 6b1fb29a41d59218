"""Table 3: the target words that are among the 20 nearest neighbours of the most test words."""

from __future__ import annotations

from collections.abc import Mapping

from bilex.experiments import published
from bilex.experiments.cells import HUB_NEIGHBOURS, Cell
from bilex.experiments.setting import Cells, Experiment, Report, Setting
from bilex.experiments.tables import aligned
from bilex.experiments.translation import constraints, foreign, ordered, reasons, seed_title

__all__ = ["TABLE3"]

SYSTEMS = ("artetxe2017", "ruder2018")
SHOWN = 5
PAPERS_PAIR = ("en-de", "5000")
HEADER = ("pair", "seed", "draw", "method", "retrieval", "place", "word", "gloss", "count")


def plan(setting: Setting) -> list[Cell]:
    """Both systems from the train dictionary."""
    seeds = setting.seeds(("5000",))
    return [
        Cell("hubs", files, setting.method(name, files), seed, setting.sources, draw)
        for files in setting.files(seeds)
        for seed in seeds
        for name in setting.methods(SYSTEMS)
        for draw in setting.draws(seed)
    ]


def report(setting: Setting, cells: Cells) -> Report:
    """One block for each pair and seed: the greatest hubs of each system side by side, and how uneven they are."""
    blocks = []
    rows: list[tuple[object, ...]] = []
    glosses = {cell.task.files.name: gloss(cell.task) for cell in cells}
    for pair, seed in ordered((cell.task.files.name, cell.task.seed) for cell in cells):
        here = [c for c in cells if (c.task.files.name, c.task.seed) == (pair, seed) and c.task.draw == 0]
        blocks.append(block(pair, seed, here, glosses[pair]))
    for cell in cells:
        task = cell.task
        for retrieval in ("nn", "csls"):
            hubs = cell.result.get(retrieval, {}).get("hubs", [])
            rows += [
                (task.files.name, task.seed, task.draw, task.method.name, retrieval, place, hub["word"],
                 glosses[task.files.name].get(hub["word"]), hub["count"])
                for place, hub in enumerate(hubs, start=1)
            ]  # fmt: skip
    return Report(
        title=f"Table 3. Hubs: target words among the {HUB_NEIGHBOURS} nearest neighbours of the most test words",
        table="\n\n".join(blocks),
        header=HEADER,
        rows=tuple(rows),
        notes=tuple(filter(None, (
            f"The paper: {published.FINDINGS['table3']}",
            "In brackets N_20, the number of test words that have the hub among their 20 nearest neighbours; in quotes "
            "a word that the dictionaries translate by the hub.",
            "Skewness is that of N_20 over all target words: 0 if all were as often neighbours, large with hubs.",
            foreign(setting),
            constraints(cells),
            *reasons(cells),
        ))),
    )  # fmt: skip


def block(pair: str, seed: str, cells: Cells, glosses: Mapping[str, str]) -> str:
    """Write the hubs of one pair from one seed."""
    columns: list[list[str]] = [["place", *map(str, range(1, SHOWN + 1)), "max N_20", "skewness"]]
    figures_here = ["", "", ""]
    for cell in cells:
        name, figures = cell.task.method.name, cell.result.get("nn")
        if (pair, seed) == PAPERS_PAIR and name in published.hubs():
            hubs = published.hubs()[name]
            shown = [hub(word, text, count) for word, text, count in hubs]
            columns.append([f"{name}, published", *shown, str(hubs[0][2]), ""])
        if figures is None:
            columns.append([f"{name}, here", *["-"] * (SHOWN + 2)])
            continue
        shown = [hub(h["word"], glosses.get(h["word"], ""), h["count"]) for h in figures["hubs"][:SHOWN]]
        shown += ["-"] * (SHOWN - len(shown))
        columns.append([f"{name}, here", *shown, str(figures["max"]), f"{figures['skewness']:.2f}"])
        figures_here = [pair, f"seed {seed_title(seed)}", f"{figures['queries']:,} test words looked up"]
    title = ", ".join(filter(None, figures_here)) or pair
    return f"{title}\n{aligned(list(zip(*columns, strict=True)), left=len(columns), indent='  ')}"


def hub(word: str, text: str, count: int) -> str:
    """Write a hub with a translation, if it has one of another spelling, and its N_20."""
    return f"{word} '{text}' ({count})" if text and text != word else f"{word} ({count})"


def gloss(cell: Cell) -> dict[str, str]:
    """Translate target words back by the dictionaries: the first source word that has each as its translation."""
    found: dict[str, str] = {}
    for path in (cell.files.train, cell.files.test):
        for source, target in cell.sources.pairs(path) if path else ():
            found.setdefault(target, source)
    return found


TABLE3 = Experiment("table3", plan, report)

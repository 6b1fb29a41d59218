"""Table 5: words on which two systems differ, asked from the target to the source language as in the paper."""

from __future__ import annotations

from bilex.errors import BilexError
from bilex.evaluation.compare import ComparedWord, Comparison
from bilex.experiments import published
from bilex.experiments.cells import Cell
from bilex.experiments.grid import Finished
from bilex.experiments.setting import Cells, Experiment, Report, Setting
from bilex.experiments.tables import aligned, beside, number
from bilex.experiments.translation import constraints, foreign, ordered, reasons, seed_title

__all__ = ["TABLE5"]

SYSTEMS = ("artetxe2017", "ruder2018-freq")
SHOWN = 20
PAPERS_PAIR = ("en-de", "5000")


def plan(setting: Setting) -> list[Cell]:
    """Both systems from the train dictionary."""
    seeds, names = setting.seeds(("5000",)), setting.methods(SYSTEMS)
    if len(names) != 2:
        raise BilexError(f"{setting.name} compares two methods, but {len(names)} are given; give two with --methods")
    return [
        Cell("answers", files, setting.method(name, files), seed, setting.sources)
        for files in setting.files(seeds)
        for seed in seeds
        for name in names
    ]


def report(setting: Setting, cells: Cells) -> Report:
    """One block for each pair and seed: how often each is right, and examples."""
    first, second = ordered(cell.task.method.name for cell in cells)
    blocks, rows = [], []
    for pair, seed in ordered((cell.task.files.name, cell.task.seed) for cell in cells):
        a, b = (c for c in cells if (c.task.files.name, c.task.seed) == (pair, seed))
        if "reason" in a.result or "reason" in b.result:
            blocks.append(f"{direction(pair)}: -")
            continue
        found = compare(a, b)
        blocks.append(block(pair, seed, first, second, found))
        rows += [(pair, seed, w.query, " ".join(w.gold), w.a, w.b, w.right) for w in found.differing(wrong=True)]
    if (*PAPERS_PAIR, first, second) in [(c.task.files.name, c.task.seed, *SYSTEMS) for c in cells]:
        blocks.append(paper_block())
    return Report(
        title=f"Table 5. Words on which {first} and {second} differ, from the target to the source language",
        table="\n\n".join(blocks),
        header=("pair", "seed", "query", "gold", first, second, "right"),
        rows=tuple(tuple(row) for row in rows),
        notes=tuple(filter(None, (
            f"The paper: {published.FINDINGS['table5']}",
            f"The queries are the target words of the test dictionary. {SHOWN} words at even distances, the frequent "
            "ones first; * marks a right answer; all words are in the TSV file.",
            foreign(setting),
            constraints(cells),
            *reasons(cells),
        ))),
    )  # fmt: skip


def compare(a: Finished[Cell], b: Finished[Cell]) -> Comparison:
    """Lay the answers of two cells side by side."""
    assert a.task.files.test is not None
    gold: dict[str, dict[str, None]] = {}
    for source, target in a.task.sources.pairs(a.task.files.test):
        gold.setdefault(target, {})[source] = None
    answers = dict(map(tuple, b.result["answers"]))
    words = tuple(
        ComparedWord(query, tuple(gold[query]), answer, answers[query]) for query, answer in a.result["answers"]
    )
    return Comparison("nn", len(gold), len(words), len(words), words)


def block(pair: str, seed: str, first: str, second: str, found: Comparison) -> str:
    """Write the figures of one pair and some examples."""
    figures = found.figures()
    known = published.ERROR_ANALYSIS if (pair, seed) == PAPERS_PAIR else {}
    title = f"{direction(pair)}, seed {seed_title(seed)}, {figures['compared']:,} words asked"
    precision = ", ".join(
        f"{name} {beside(known.get(name), number(100 * figures[key]))}"
        for name, key in ((first, "p@1_a"), (second, "p@1_b"))
    )
    counts = (
        f"right: both {figures['both_right']:,}, only {first} {figures['only_a']:,}, only {second} "
        f"{figures['only_b']:,}, neither {figures['both_wrong']:,} (p = {figures['p_value']:.2g}, McNemar); "
        f"{figures['differ']:,} answers differ"
    )
    differing = found.differing(wrong=True)
    step = max(1, len(differing) / SHOWN)
    shown = [differing[int(place * step)] for place in range(min(SHOWN, len(differing)))]
    rows = [["query", "gold", first, second]]
    rows += [[w.query, ", ".join(w.gold), mark(w.a, w), mark(w.b, w)] for w in shown]
    return f"{title}\n  P@1 (%), published / here: {precision}\n  {counts}\n\n{aligned(rows, left=4, indent='  ')}"


def paper_block() -> str:
    """Write the examples of the paper."""
    table = published.rows("table5")
    return "The paper's examples, de to en\n\n" + aligned(
        [list(table[0]), *(list(row.values()) for row in table)], left=4, indent="  "
    )


def mark(answer: str, word: ComparedWord) -> str:
    """Mark a right answer."""
    return f"{answer} *" if answer in word.gold else answer


def direction(pair: str) -> str:
    """Say which way is asked."""
    source, target = pair.split("-")
    return f"{target} to {source}"


TABLE5 = Experiment("table5", plan, report)

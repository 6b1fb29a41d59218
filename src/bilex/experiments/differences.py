"""Table 5: words on which two systems differ, translated from the target to the source language as in the paper."""

from __future__ import annotations

from bilex.errors import BilexError
from bilex.evaluation.compare import ComparedWord, Comparison
from bilex.experiments import published
from bilex.experiments.cells import Cell
from bilex.experiments.experiment import Experiment, Report, Setting
from bilex.experiments.reporting import Measured, aligned, beside, number, seed_title, select, unique

TABLE5_SYSTEMS = ("artetxe2017", "ruder2018-freq")
WORDS_SHOWN = 20


def plan_table5(setting: Setting) -> list[Cell]:
    """Plan both systems from the train dictionary, and one draw of other seeds."""
    seeds, names = setting.seeds(("5000",)), setting.methods(TABLE5_SYSTEMS)
    if len(names) != 2:
        raise BilexError(f"{setting.name} compares two methods, but {len(names)} are given; give two with --methods")
    return [cell for cell in setting.plan("answers", [(name, None, seeds) for name in names]) if cell.draw == 0]


def report_table5(setting: Setting, cells: list[Measured]) -> Report:
    """Report one block for each pair and seed: how often each system is right, and examples."""
    first, second = unique(each.cell.method for each in cells)
    blocks, rows = [], []
    pairs_and_seeds = unique((each.cell.pair, each.cell.seed) for each in cells)
    for pair, seed in pairs_and_seeds:
        a, b = select(cells, pair=pair, seed=seed)
        if "reason" in a.result or "reason" in b.result:
            blocks.append(f"{direction(pair)}: -")
            continue
        found = compare_answers(a, b)
        blocks.append(difference_block(pair, seed, first, second, found))
        rows += [
            {"pair": pair, "seed": seed, "query": word.query, "gold": " ".join(word.gold),
             first: word.a, second: word.b, "right": word.right}
            for word in found.differing(wrong=True)
        ]  # fmt: skip
    if (first, second) == TABLE5_SYSTEMS and published.ANALYSED_PAIR in pairs_and_seeds:
        table = published.rows("table5")
        examples = aligned([list(table[0]), *(list(row.values()) for row in table)], left=4, indent="  ")
        blocks.append(f"The paper's examples, de to en\n\n{examples}")
    return Report(
        title=f"Table 5. Words on which {first} and {second} differ, from the target to the source language",
        table="\n\n".join(blocks),
        header=("pair", "seed", "query", "gold", first, second, "right"),
        rows=rows,
        notes=setting.notes(
            cells,
            f"The queries are the target words of the test dictionary. {WORDS_SHOWN} words at even distances, the "
            "frequent ones first; * marks a right answer; all words are in the TSV file.",
        ),
    )


def compare_answers(a: Measured, b: Measured) -> Comparison:
    """Compare the answers of two cells."""
    gold: dict[str, dict[str, None]] = {}
    for source, target in a.cell.cache.pairs(a.cell.files.test):
        gold.setdefault(target, {})[source] = None
    answers = dict(map(tuple, b.result["answers"]))
    words = tuple(
        ComparedWord(query, tuple(gold[query]), answer, answers[query]) for query, answer in a.result["answers"]
    )
    return Comparison("nn", len(gold), len(words), len(words), words)


def difference_block(pair: str, seed: str, first: str, second: str, found: Comparison) -> str:
    """Return the figures of one pair and seed, and some examples."""
    figures = found.figures()
    known = published.ERROR_ANALYSIS if (pair, seed) == published.ANALYSED_PAIR else {}
    precision = ", ".join(
        f"{name} {beside(known.get(name), number(100 * figures[key]))}"
        for name, key in ((first, "p@1_a"), (second, "p@1_b"))
    )
    differing = found.differing(wrong=True)
    step = max(1, len(differing) / WORDS_SHOWN)
    shown = [differing[int(place * step)] for place in range(min(WORDS_SHOWN, len(differing)))]
    rows = [["query", "gold", first, second]]
    rows += [[word.query, ", ".join(word.gold), marked(word.a, word), marked(word.b, word)] for word in shown]
    return (
        f"{direction(pair)}, seed {seed_title(seed)}, {figures['compared']:,} words asked\n"
        f"  P@1 (%), published / here: {precision}\n"
        f"  right: both {figures['both_right']:,}, only {first} {figures['only_a']:,}, only {second} "
        f"{figures['only_b']:,}, neither {figures['both_wrong']:,} (p = {figures['p_value']:.2g}, McNemar); "
        f"{figures['differ']:,} answers differ\n\n{aligned(rows, left=4, indent='  ')}"
    )


def marked(answer: str, word: ComparedWord) -> str:
    """Return an answer, with a star if it is right."""
    return f"{answer} *" if answer in word.gold else answer


def direction(pair: str) -> str:
    """Return the direction of the queries, from the target to the source."""
    source, target = pair.split("-")
    return f"{target} to {source}"


TABLE5 = Experiment("table5", plan_table5, report_table5)

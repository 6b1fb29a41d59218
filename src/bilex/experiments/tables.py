"""The paper's tables, lexicon induction (1 and 4), similarity (2), hubs (3) and errors (5), and its Figures 2 and 3.

The figures show P@1 against the size of the vocabulary, for the systems and for the priors. A vocabulary of size n
holds the n most frequent words of both languages, and no other word exists: not for the normalisation, not in the seed,
not among the answers. The queries are the test words in it.
"""

import statistics
from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from typing import Any

from bilex.evaluation.compare import ComparedWord, Comparison
from bilex.experiments.cells import HUB_NEIGHBOURS, is_drawn
from bilex.experiments.experiment import Setting
from bilex.experiments.plots import Plot
from bilex.experiments.reporting import (
    ANALYSED_PAIR,
    ERROR_ANALYSIS,
    Report,
    Row,
    align_columns,
    both_figures,
    format_figure,
    grouped,
    held_out_notes,
    pair_title,
    pivot,
    published_figure,
    published_rows,
    seed_title,
    spread,
    translation_rows,
    values_of,
)
from bilex.seeds.seed import IDENTICAL

TABLE2_FIGURES = ("spearman", "pearson", "covered", "pairs", "composed", "folded")
TABLE2_HEADER = (
    "pair", "set", "seed", "draw", "method", "max_rank", "published", "spearman", "pearson", "spearman_zero",
    "pearson_zero", "covered", "pairs", "composed", "folded", "seed_pairs", "iterations", "stopped", "reason",
)  # fmt: skip
TABLE3_HEADER = ("pair", "seed", "draw", "method", "retrieval", "place", "word", "gloss", "count")
TABLE5_SYSTEMS = ("artetxe2017", "ruder2018-freq")
HUBS_SHOWN = 5
WORDS_SHOWN = 20


def report_table1(setting: Setting, rows: list[Row]) -> Report:
    """Report one block for each pair: systems down, seeds across, the published figure beside ours."""
    rows = translation_rows(rows, "table1")
    blocks = [
        f"{pair_title(here)}\n"
        + pivot(here, lambda row: (row["method"],), lambda row: seed_title(row["seed"]), both_figures)
        for here in grouped(rows, itemgetter("pair")).values()
    ]
    title = "Table 1. P@1 (%) by nearest neighbour: published / measured here"
    return Report(title, "\n\n".join(blocks), rows, translation_notes(setting, rows))


def report_table4(setting: Setting, rows: list[Row]) -> Report:
    """Report systems down, pairs across."""

    def system(row: Row) -> tuple[str]:
        return (row["method"] if row["seed"] == IDENTICAL else f"{row['method']}, {seed_title(row['seed'])}",)

    rows = translation_rows(rows, "table4")
    pairs = [pair_title(here) for here in grouped(rows, itemgetter("pair")).values()]
    title = "Table 4. P@1 (%) by nearest neighbour from identical strings: published / measured here"
    table = pivot(rows, system, itemgetter("pair"), both_figures)
    return Report(title, table, rows, [*pairs, *translation_notes(setting, rows)])


def translation_notes(setting: Setting, rows: list[Row]) -> tuple[str, ...]:
    """Return the notes below P@1 figures."""
    return setting.notes(
        rows,
        "P@1 is over the covered test words: those in the vocabulary with a translation in the other vocabulary. "
        "Over all test words, and by CSLS: see the TSV file.",
        after=draw_notes(setting, rows),
    )


def draw_notes(setting: Setting, rows: list[Row]) -> list[str]:
    """Return a note for each seed that is drawn: how often."""
    draws = setting.options.draws
    drawn = f"{draws} draws from the train dictionary, mean (lowest to highest)."
    if draws == 1:
        drawn = "1 draw from the train dictionary (random seed 0)."
    return [f"Seed {seed}: {drawn}" for seed in grouped(rows, itemgetter("seed")) if is_drawn(seed)]


def report_table2(setting: Setting, rows: list[Row]) -> Report:
    """Report systems and seeds down, similarity sets across: whether cosines rank pairs of words as people do."""
    by_set = [similarity_row(row, name) for row in rows for name in row["cell"].files.similarity]
    table = pivot(
        by_set,
        lambda row: (row["method"], seed_title(row["seed"])),
        lambda row: f"{row['pair']} {row['set']}",
        lambda draws: both_figures(draws, "spearman", 3),
        corner=("", "seed"),
        left=2,
    )
    notes = setting.notes(rows, after=[*draw_notes(setting, rows), *coverage_notes(rows)])
    title = "Table 2. Spearman's correlation on cross-lingual similarity sets: published / measured here"
    return Report(title, table, by_set, notes, TABLE2_HEADER)


def similarity_row(row: Row, name: str) -> Row:
    """Return the row of a cell and a similarity set."""
    figures = row.get("sets", {}).get(name, {})
    key = {column: row[column] for column in ("pair", "seed", "method")}
    return {
        **row,
        **dict.fromkeys(TABLE2_FIGURES),
        **figures,
        **{f"{column}_zero": figures.get("zero", {}).get(column) for column in ("spearman", "pearson")},
        "set": name,
        "published": published_figure("table2", "spearman", set=name, **key),
    }


def coverage_notes(rows: list[Row]) -> list[str]:
    """Return a note for each set: how many of its pairs have vectors, and how words were looked up."""
    found = {}
    for row in rows:
        for name, figures in row.get("sets", {}).items():
            place = f"{row['pair']} {name}"
            if "covered" in figures:
                folding = "capitals folded" if row["cell"].files.fold else "capitals kept"
                found[place] = (
                    f"{place}: over the {figures['covered']:,} of {figures['pairs']:,} pairs that "
                    f"have vectors ({folding}, terms of several words averaged); with 0 for the others: see the TSV."
                )
            else:
                found[place] = f"- {figures['reason']}"
    return list(found.values())


def report_table3(setting: Setting, rows: list[Row]) -> Report:
    """Report one block for each pair and seed: the greatest hubs of each system side by side, and the skewness."""
    glosses: dict[str, dict[str, str]] = {}  # the first source word that the dictionaries have for each target word
    for row in rows:
        own = glosses.setdefault(row["pair"], {})
        for path in (row["cell"].files.train, row["cell"].files.test):
            for source, target in row["cell"].cache.pairs(path):
                own.setdefault(target, source)
    first_draws = grouped((row for row in rows if row["draw"] == 0), itemgetter("pair", "seed"))
    blocks = [hub_table(pair, seed, here, glosses[pair]) for (pair, seed), here in first_draws.items()]
    hubs = [
        {**row, **hub, "retrieval": retrieval, "place": place, "gloss": glosses[row["pair"]].get(hub["word"])}
        for row in rows
        for retrieval in ("nn", "csls")
        for place, hub in enumerate(row.get(retrieval, {}).get("hubs", []), start=1)
    ]
    notes = setting.notes(
        rows,
        "In brackets N_20, the number of test words that have the hub among their 20 nearest neighbours; in quotes "
        "a word that the dictionaries translate by the hub.",
        "Skewness is that of N_20 over all target words: 0 if all were as often neighbours, large with hubs.",
    )
    title = f"Table 3. Hubs: target words among the {HUB_NEIGHBOURS} nearest neighbours of the most test words"
    return Report(title, "\n\n".join(blocks), hubs, notes, TABLE3_HEADER)


def hub_table(pair: str, seed: str, rows: list[Row], glosses: Mapping[str, str]) -> str:
    """Return the table of one pair and seed."""
    columns = [["place", *map(str, range(1, HUBS_SHOWN + 1)), "max N_20", "skewness"]]
    title = pair
    for row in rows:
        name, figures = row["method"], row.get("nn")
        known = [each for each in published_rows("table3") if each["method"] == name]
        if known and (pair, seed) == ANALYSED_PAIR:
            texts = [hub_text(each["word"], each["gloss"], each["count"]) for each in known]
            columns.append([f"{name}, published", *texts, known[0]["count"], ""])
        column = [f"{name}, here", *["-"] * (HUBS_SHOWN + 2)]
        if figures is not None:
            shown = [hub_text(h["word"], glosses.get(h["word"], ""), h["count"]) for h in figures["hubs"][:HUBS_SHOWN]]
            column[1 : 1 + len(shown)] = shown
            column[-2:] = str(figures["max"]), f"{figures['skewness']:.2f}"
            title = f"{pair}, seed {seed_title(seed)}, {figures['queries']:,} test words looked up"
        columns.append(column)
    return f"{title}\n{align_columns(zip(*columns, strict=True), left=len(columns))}"


def hub_text(word: str, gloss: str, count: int | str) -> str:
    """Format a hub with its translation, if that is spelt differently, and its N_20."""
    return f"{word} '{gloss}' ({count})" if gloss and gloss != word else f"{word} ({count})"


def report_table5(setting: Setting, rows: list[Row]) -> Report:
    """Report one block for each pair and seed: how often each system is right, and examples."""
    first, second = grouped(rows, itemgetter("method"))
    header = ("pair", "seed", "query", "gold", first, second, "right")
    by_pair_and_seed = grouped(rows, itemgetter("pair", "seed"))
    blocks, differing = [], []
    for (pair, seed), (a, b) in by_pair_and_seed.items():
        if "reason" in a or "reason" in b:
            blocks.append(f"{direction(pair)}: -")
            continue
        found = compare_answers(a, b)
        blocks.append(difference_block(pair, seed, first, second, found))
        for word in found.differing(wrong=True):
            values = (pair, seed, word.query, " ".join(word.gold), word.a, word.b, word.right)
            differing.append(dict(zip(header, values, strict=True)))
    if (first, second) == TABLE5_SYSTEMS and ANALYSED_PAIR in by_pair_and_seed:
        table = published_rows("table5")
        examples = align_columns([list(table[0]), *(list(row.values()) for row in table)], left=4)
        blocks.append(f"The paper's examples, de to en\n\n{examples}")
    notes = setting.notes(
        rows,
        f"The queries are the target words of the test dictionary. {WORDS_SHOWN} words at even distances, the "
        "frequent ones first; * marks a right answer; all words are in the TSV file.",
    )
    title = f"Table 5. Words on which {first} and {second} differ, from the target to the source language"
    return Report(title, "\n\n".join(blocks), differing, notes, header)


def compare_answers(a: Row, b: Row) -> Comparison:
    """Compare the answers of two cells."""
    gold: dict[str, dict[str, None]] = {}
    for source, target in a["cell"].cache.pairs(a["cell"].files.test):
        gold.setdefault(target, {})[source] = None
    answers = dict(map(tuple, b["answers"]))
    words = tuple(ComparedWord(query, tuple(gold[query]), answer, answers[query]) for query, answer in a["answers"])
    return Comparison("nn", len(gold), len(words), len(words), words)


def difference_block(pair: str, seed: str, first: str, second: str, found: Comparison) -> str:
    """Return the figures of one pair and seed, and some examples."""
    figures: dict[str, Any] = found.figures()
    known = ERROR_ANALYSIS if (pair, seed) == ANALYSED_PAIR else {}
    precision = ", ".join(
        f"{name} {format_figure(known.get(name))} / {format_figure(100 * figures[key])}"
        for name, key in ((first, "p@1_a"), (second, "p@1_b"))
    )
    differing = found.differing(wrong=True)
    step = max(1, len(differing) / WORDS_SHOWN)
    rows = [["query", "gold", first, second]]
    for place in range(min(WORDS_SHOWN, len(differing))):
        word = differing[int(place * step)]
        answers = (f"{answer} *" if answer in word.gold else answer for answer in (word.a, word.b))
        rows.append([word.query, ", ".join(word.gold), *answers])
    return (
        f"{direction(pair)}, seed {seed_title(seed)}, {figures['compared']:,} words asked\n"
        f"  P@1 (%), published / here: {precision}\n"
        f"  right: both {figures['both_right']:,}, only {first} {figures['only_a']:,}, only {second} "
        f"{figures['only_b']:,}, neither {figures['both_wrong']:,} (p = {figures['p_value']:.2g}, McNemar); "
        f"{figures['differ']:,} answers differ\n\n{align_columns(rows, left=4)}"
    )


def direction(pair: str) -> str:
    """Return the direction of the queries, from the target to the source."""
    source, target = pair.split("-")
    return f"{target} to {source}"


RETRIEVAL_NAMES = {"nn": "nearest neighbour", "csls": "CSLS"}


def report_fig2(setting: Setting, rows: list[Row]) -> Report:
    """Report one panel for each pair, one line for each system."""
    title = "Figure 2. P@1 (%) by nearest neighbour against vocabulary size"
    return report_curves(title, rows, itemgetter("method"), figure_notes(setting, rows))


def report_fig3(setting: Setting, rows: list[Row]) -> Report:
    """Report one panel for each pair, one line for each prior."""
    several = len(grouped(rows, itemgetter("method"))) > 1
    title = "Figure 3. P@1 (%) by nearest neighbour against vocabulary size, for several priors"
    notes = figure_notes(setting, rows)
    return report_curves(title, rows, lambda row: f"{row['method']}, " * several + f"{row['prior']} prior", notes)


def figure_notes(setting: Setting, rows: list[Row]) -> list[str]:
    """Return the notes below a figure."""
    about = "The vocabulary is the n most frequent words of both languages; the queries are the test words in it, "
    return [f"{about}the seed the pairs in it.", *held_out_notes(rows), *translation_notes(setting, rows)]


def report_curves(
    title: str, rows: list[Row], label: Callable[[Row], str], notes: Iterable[str], retrieval: str = "nn"
) -> Report:
    """Report curves as tables, and as a plot over the sizes: a panel for each pair (and seed, if there are several)."""
    rows = translation_rows(rows)
    figure = "p@1" if retrieval == "nn" else f"p@1_{retrieval}"
    several = len(grouped(rows, itemgetter("seed"))) > 1
    panels = grouped(rows, lambda row: row["pair"] + (f", seed {seed_title(row['seed'])}" if several else ""))
    tables = [f"{name}\n{panel_table(panel, label, figure)}" for name, panel in panels.items()]
    lines: dict[str, dict[str, dict[int, float]]] = {name: {} for name in panels}
    for name, panel in panels.items():
        for (which, size), draws in grouped(panel, lambda row: (label(row), row["size"])).items():
            if values := values_of(draws, figure):
                lines[name].setdefault(which, {})[size or 0] = statistics.mean(values)
    sized = any(row["size"] for row in rows)
    plot = Plot(lines, f"P@1 (%), {RETRIEVAL_NAMES[retrieval]}") if sized else None
    return Report(title, "\n\n".join(tables), rows, notes, plot=plot)


def panel_table(rows: list[Row], label: Callable[[Row], str], figure: str) -> str:
    """Return the table of one panel: sizes down, with their numbers of seed pairs and queries, lines across."""
    heads = {}
    for size, here in grouped(rows, itemgetter("size")).items():
        counts = next(((f"{row['seed_pairs']:,}", f"{row['covered']:,}") for row in here if "nn" in row), ("-", "-"))
        heads[size] = (f"{size:,}" if size else "all", *counts)
    corner = ("n", "seed pairs", "queries")
    return pivot(
        rows, lambda row: heads[row["size"]], label, lambda draws: spread(values_of(draws, figure)), corner, left=0
    )

"""What the paper reports, to be laid beside what is measured here.

The numbers are in ``published/*.tsv``, the systems under bilex's names for them: ``ruder2018`` is "Ours (1:1)" and
``ruder2018-freq`` is "Ours (1:1, freq. constr.)". The curves of Figures 2 and 3 are not in the text of the paper,
only what it says of them.
"""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files

__all__ = ["ERROR_ANALYSIS", "FINDINGS", "hubs", "low_resource", "rows", "similarity", "translation"]

FINDINGS = {
    "table1": (
        "1:1 outperforms all baselines on en-it and en-de. It fails on en-fi from 25 words and from numerals; "
        "identical strings or the frequency constraint mend that."
    ),
    "table2": "1:1 is best on en-de (RG-65 and WordSim-353); Artetxe et al. (2017) on en-it.",
    "table3": "Hubs are fewer and occur less often with 1:1 than with Artetxe et al. (2017).",
    "table4": "1:1 outperforms Artetxe et al. (2017), and the frequency constraint lifts it again, most on en-hi.",
    "table5": "The usual errors are morphologically related words, other names, and near synonyms.",
    "fig2": "The comparison approaches mostly perform similarly; 1:1 is particularly good for the most frequent words.",
    "fig3": "The 2:2 prior is best for small vocabularies; with larger ones the priors' results converge.",
}
ERROR_ANALYSIS = {"artetxe2017": 36.38, "ruder2018-freq": 39.18}
"""P@1 from German to English on the test set of Table 5."""


@cache
def rows(name: str) -> tuple[dict[str, str], ...]:
    """Give the rows of a published table, by the names of its columns."""
    text = (files("bilex") / "experiments" / "published" / f"{name}.tsv").read_text("utf-8")
    return tuple(csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))


@cache
def translation() -> dict[tuple[str, str, str], float]:
    """Table 1: P@1 in percent by pair, seed and method."""
    return {(row["pair"], row["seed"], row["method"]): float(row["p@1"]) for row in rows("table1")}


@cache
def similarity() -> dict[tuple[str, str, str, str], float]:
    """Table 2: Spearman's correlation by pair, similarity set, seed and method."""
    return {(row["pair"], row["set"], row["seed"], row["method"]): float(row["spearman"]) for row in rows("table2")}


@cache
def hubs() -> dict[str, list[tuple[str, str, int]]]:
    """Table 3: word, gloss and N_20 of the greatest hubs of en-de by method."""
    found: dict[str, list[tuple[str, str, int]]] = {}
    for row in rows("table3"):
        found.setdefault(row["method"], []).append((row["word"], row["gloss"], int(row["count"])))
    return found


@cache
def low_resource() -> dict[tuple[str, str], float]:
    """Table 4: P@1 in percent by pair and method, from identical strings."""
    return {(row["pair"], row["method"]): float(row["p@1"]) for row in rows("table4")}

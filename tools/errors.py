"""Which words are still translated wrongly, and how: ``python -m tools.errors``.

Writes the section between the marks "errors" of docs/accuracy.md. The default method learns from 25 pairs, and the
other words of MUSE's *train* file are the queries. The tables count the right answers by kind of word (rare, spelt the
same, names) and the errors by kind, with examples. Only our own answers are shown, not the dictionary's.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from bilex.induction import induce
from bilex.vectors.spelling import fold_spelling
from tools.accuracy import Bench, write_section

PAIRS = ("en-fr", "en-fi")
SEED = "25 pairs"
RANKS = (3000, 6000, 9000)
MIN_SHARED_LETTERS = 4  # of two forms of a word
EXAMPLES = 6
BEGIN, END = "<!-- begin: errors -->", "<!-- end: errors -->"
FORM, COPY, LATER, ABSENT = (
    "another form of a right word",
    "the English word itself",
    "a right word comes later among the first ten",
    "no right word among the first ten",
)


@dataclass(frozen=True)
class Answer:
    """A query, its first ten answers, its rank, and the translations that count as right."""

    word: str
    found: list[str]
    rank: int
    gold: frozenset[str]

    @property
    def right(self) -> bool:
        """Whether the first answer is right."""
        return self.found[0] in self.gold

    def error(self) -> str:
        """Return the kind of error of the first answer."""
        if any(same_stem(self.found[0], word) for word in self.gold):
            return FORM
        if self.found[0] == self.word:
            return COPY
        return LATER if self.gold & set(self.found) else ABSENT


def same_stem(one: str, other: str) -> bool:
    """Return whether two words begin with the same letters: at least four, and more than half of the longer one."""
    one, other = fold_spelling(one), fold_spelling(other)
    shared = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return shared >= MIN_SHARED_LETTERS and shared > max(len(one), len(other)) / 2


def answers(bench: Bench) -> list[Answer]:
    """Learn from the first draw, and translate all words of the train file that were not drawn."""
    seed = bench.seed(SEED, 0)
    run = induce(bench.source, bench.target, seed)
    gold = defaultdict[str, set[str]](set)
    for source, target in bench.gold(seed)[0]:
        gold[source].add(target)
    found = run.translate_many(gold, k=10)
    return [
        Answer(word, [each.word for each in best], run.source.index[word], frozenset(gold[word]))
        for word, best in zip(gold, found, strict=True)
    ]


def kinds(given: list[Answer], names: set[str]) -> Iterator[tuple[str, list[Answer]]]:
    """Yield the queries by kind of word."""
    bounds = (0, *RANKS, 1 << 60)
    for low, high in pairwise(bounds):
        title = f"rank {low + 1:,} to {high:,}" if high <= RANKS[-1] else f"beyond rank {low:,}"
        yield title, [each for each in given if low <= each.rank < high]
    yield "a translation is spelt the same", [each for each in given if each.word in each.gold]
    yield "spelt the same in all three languages: mostly names", [each for each in given if each.word in names]
    yield (
        "no translation is spelt alike",
        [each for each in given if not any(same_stem(each.word, word) for word in each.gold)],
    )
    yield "all", given


def page(found: dict[str, list[Answer]]) -> Iterator[str]:
    """Yield the lines of the tables."""
    copies = [{each.word for each in given if each.word in each.gold} for given in found.values()]
    names = set.intersection(*copies)
    yield f"| words of the train file | {' | '.join(f'{pair}: n | P@1' for pair in found)} |"
    yield "|---|" + "---|---|" * len(found)
    tables = [list(kinds(given, names)) for given in found.values()]
    for rows in zip(*tables, strict=True):
        cells = [f"{len(own):,} | {np.mean([each.right for each in own]):.3f}" if own else "0 | " for _, own in rows]
        yield f"| {rows[0][0]} | {' | '.join(cells)} |"
    wrong = {pair: [each for each in given if not each.right] for pair, given in found.items()}
    yield f"\n| errors | {' | '.join(found)} |"
    yield "|---|" + "---|" * len(found)
    for kind in (FORM, COPY, LATER, ABSENT):
        shares = [f"{sum(each.error() == kind for each in own) / len(own):.0%}" for own in wrong.values()]
        yield f"| {kind} | {' | '.join(shares)} |"
    yield f"| all | {' | '.join(f'{len(own):,}' for own in wrong.values())} |"
    yield "\nExamples, drawn at random:\n"
    for pair, own in wrong.items():
        for kind in (FORM, COPY, LATER, ABSENT):
            of_kind = [each for each in own if each.error() == kind]
            drawn = random.Random(0).sample(of_kind, min(EXAMPLES, len(of_kind)))
            yield f"- {pair}, {kind}: {', '.join(f'*{each.word}* gives *{each.found[0]}*' for each in drawn)}"


def main() -> None:
    """Translate, and write the section."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--output", type=Path, default=Path("docs/accuracy.md"))
    options = parser.parse_args()
    found = {pair: answers(Bench(options.data, pair, dev=True)) for pair in PAIRS}
    write_section(options.output, page(found), BEGIN, END)


if __name__ == "__main__":
    main()

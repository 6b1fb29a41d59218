"""Two runs side by side: on which words their first answers differ, and which is right (paper, section 7, Table 5).

Only queries that both runs cover are compared. The exact two-sided McNemar test tells whether the difference could be
chance: of the queries that only one of the two gets right, each is as likely to be A's as B's if the runs are equally
good.
"""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bilex.errors import BilexError
from bilex.evaluation.translation import Direction, Gold, read_gold
from bilex.lexicon.text import ShownFigures
from bilex.search.engine import Engine

BOTH, ONLY_A, ONLY_B, NEITHER = "both", "A", "B", "neither"


@dataclass(frozen=True)
class ComparedWord:
    """One query: its translations in the gold dictionary, and the first answer of each run."""

    query: str
    gold: tuple[str, ...]
    a: str
    b: str

    @property
    def right(self) -> str:
        """Which run is right: ``both``, ``A``, ``B`` or ``neither``."""
        if self.a in self.gold:
            return BOTH if self.b in self.gold else ONLY_A
        return ONLY_B if self.b in self.gold else NEITHER


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(ShownFigures):
    """The result: every query that both runs cover, in run A's order of frequency.

    `queries` counts all queries of the gold dictionary, `covered_a` and `covered_b` those that each run covers.
    """

    retrieval: str
    queries: int
    covered_a: int
    covered_b: int
    words: tuple[ComparedWord, ...]

    @cached_property
    def counts(self) -> Counter[str]:
        """The number of queries that ``both``, only ``A``, only ``B`` or ``neither`` get right."""
        return Counter(word.right for word in self.words)

    def differing(self, *, wrong: bool = False) -> list[ComparedWord]:
        """Return the words whose answers differ and at least one is right; with `wrong` also those with both wrong."""
        return [word for word in self.words if word.a != word.b and (wrong or word.right != NEITHER)]

    def figures(self) -> dict[str, Any]:
        """Return the figures under the names of the command line's JSON."""
        compared, counts = len(self.words), self.counts
        return {
            "p@1_a": (counts[BOTH] + counts[ONLY_A]) / compared,
            "p@1_b": (counts[BOTH] + counts[ONLY_B]) / compared,
            "p_value": mcnemar(counts[ONLY_A], counts[ONLY_B]),
            "both_right": counts[BOTH],
            "only_a": counts[ONLY_A],
            "only_b": counts[ONLY_B],
            "both_wrong": counts[NEITHER],
            "differ": sum(word.a != word.b for word in self.words),
            "queries": self.queries,
            "compared": compared,
            "left_out": self.queries - compared,
            "covered_a": self.covered_a,
            "covered_b": self.covered_b,
            "retrieval": self.retrieval,
        }


def compare_translations(a: Direction, b: Direction, gold: Gold, retrieval: str, engine: Engine) -> Comparison:
    """Translate the first words of the gold dictionary with both runs and compare the first answers."""
    pairs, name = read_gold(gold, *a[1:])
    translations: dict[str, dict[str, None]] = {}
    for query, translation in pairs:
        translations.setdefault(query, {})[translation] = None
    covered = [
        {query for query, known in translations.items() if query in source and any(word in target for word in known)}
        for _, source, target in (a, b)
    ]
    common = sorted(covered[0] & covered[1], key=a[1].index.__getitem__)
    if not common:
        raise BilexError(
            f"{name}: none of its {len(translations)} words is covered by both runs (A covers {len(covered[0])}, "
            f"B {len(covered[1])}); check the direction (--reverse) and that the runs are of the same languages"
        )
    answers = [first_answers(side, common, retrieval, engine) for side in (a, b)]
    words = tuple(
        ComparedWord(query, tuple(translations[query]), *both) for query, *both in zip(common, *answers, strict=True)
    )
    return Comparison(retrieval, len(translations), len(covered[0]), len(covered[1]), words)


def first_answers(direction: Direction, queries: list[str], retrieval: str, engine: Engine) -> list[str]:
    """Return the best target of each query."""
    space, source, target = direction
    rows = np.array([source.index[query] for query in queries], np.int64)
    return [target.words[i] for i in space.search(rows, 1, retrieval, engine).indices[:, 0].tolist()]


def mcnemar(only_a: int, only_b: int) -> float:
    """Return the exact two-sided p-value: how likely a fair coin is to fall at least this unevenly."""
    tosses, fewer = only_a + only_b, min(only_a, only_b)
    ways = tail = 1  # integers of any size: nothing is rounded before the end
    for heads in range(fewer):
        ways = ways * (tosses - heads) // (heads + 1)
        tail += ways
    return min(1.0, 2 * tail / (1 << tosses))

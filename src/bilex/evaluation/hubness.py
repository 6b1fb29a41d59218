"""Hubness: target words that are near too many source words (paper, section 7, Table 3).

The hubness N_k(y) of a target word y is the number of query words that have y among their k nearest neighbours. If
neighbours were spread evenly every word would be near k · queries / targets of them; hubs are the long right tail,
and the skewness of N_k over all targets measures how long it is (Radovanović et al. 2010).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bilex.errors import BilexError
from bilex.evaluation.translation import Direction, Gold, read_gold
from bilex.lexicon.text import ShownFigures
from bilex.numerics.types import Indices
from bilex.search.engine import Engine


@dataclass(frozen=True, eq=False, repr=False)
class Hubness(ShownFigures):
    """How often each target word is a neighbour."""

    retrieval: str
    k: int
    queries: int
    missing: int  # words of the gold dictionary without a vector
    words: tuple[str, ...]  # the target words
    counts: Indices  # N_k of each

    def hubs(self, top: int = 10) -> list[tuple[str, int]]:
        """Return the words with the largest N_k, of equal ones the more frequent first; never one with N_k = 0."""
        order = np.argsort(-self.counts, kind="stable")[:top]
        return [(self.words[i], int(self.counts[i])) for i in order.tolist() if self.counts[i] > 0]

    def figures(self, top: int = 10) -> dict[str, Any]:
        """Return the figures under the names of the command line's JSON."""
        return {
            "k": self.k,
            "queries": self.queries,
            "missing": self.missing,
            "targets": len(self.counts),
            "skewness": skewness(self.counts),
            "max": int(self.counts.max()),
            "mean": float(self.counts.mean()),
            "never": int(np.sum(self.counts == 0)),
            "retrieval": self.retrieval,
            "hubs": [{"word": word, "count": count} for word, count in self.hubs(top)],
        }


def evaluate_hubness(direction: Direction, gold: Gold | None, k: int, retrieval: str, engine: Engine) -> Hubness:
    """Count how often each target is among the k nearest of a query.

    The queries are the first words of `gold` that have a vector, or without `gold` all source words.
    """
    space, source, target = direction
    if not 1 <= k <= len(target):
        raise BilexError(f"k is {k}, but there are {len(target)} target words; give a -k from 1 to {len(target)}")
    rows, missing = np.arange(len(source)), 0
    if gold is not None:
        pairs, name = read_gold(gold, source, target)
        asked = {word for word, _ in pairs}
        rows = np.array(sorted(source.index[word] for word in asked if word in source), np.int64)
        missing = len(asked) - len(rows)
        if not len(rows):
            raise BilexError(
                f"{name}: none of its {missing} words has a vector; "
                "check the direction (--reverse) and the case of the words"
            )
    found = space.search(rows, k, retrieval, engine).indices
    counts = np.bincount(found.ravel(), minlength=len(target))
    return Hubness(retrieval, k, len(rows), missing, target.words, counts)


def skewness(counts: Indices) -> float:
    """Return the third standardised moment, E(N - EN)³ / (E(N - EN)²)^(3/2), over all targets; 0 if all are equal."""
    if counts.min() == counts.max():
        return 0.0
    deviation = counts - counts.mean()
    return float((deviation**3).mean() / (deviation**2).mean() ** 1.5)

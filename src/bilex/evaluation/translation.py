"""Bilingual dictionary induction: how often the right translation comes first (paper, section 6.2).

A query is a source word of the gold dictionary; it is covered if its vector and the vector of at least one of its
translations are there. It is answered at k if any of its translations is among the k best targets, out of the
whole target vocabulary. Tools differ in what they divide by, so both are reported: ``p@k`` is over the covered
queries, ``p@1_all`` over all queries of the dictionary, where one that is not covered counts as wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bilex.arrays import Indices
from bilex.embeddings import Embeddings
from bilex.engines.base import Engine
from bilex.errors import BilexError
from bilex.retrieval import SharedSpace

__all__ = ["NotCovered", "TranslationScore", "evaluate_translation"]


class NotCovered(BilexError):  # noqa: N818 (it reads as what it says)
    """No word of the gold dictionary has a vector, so there is nothing to score."""


@dataclass(frozen=True, eq=False)
class TranslationScore:
    """The result for one gold dictionary.

    `ranks` holds, for each covered query, the place of its best translation; the figures follow from it.
    """

    retrieval: str
    queries: int
    words: tuple[str, ...]
    ranks: Indices

    def precision_at(self, k: int) -> float:
        """Give the share of covered queries with a translation among the k best."""
        return float(np.mean(self.ranks <= k))

    def figures(self) -> dict[str, float | int | str]:
        """Give the figures under the names of the command line's JSON."""
        covered = len(self.ranks)
        return {
            "p@1": self.precision_at(1),
            "p@5": self.precision_at(5),
            "p@10": self.precision_at(10),
            "mrr": float(np.mean(1 / self.ranks)),
            "coverage": covered / self.queries,
            "queries": self.queries,
            "covered": covered,
            "p@1_all": float(np.sum(self.ranks == 1)) / self.queries,
            "retrieval": self.retrieval,
        }


def evaluate_translation(
    space: SharedSpace,
    source: Embeddings,
    target: Embeddings,
    gold: Sequence[tuple[str, str]],
    retrieval: str,
    engine: Engine,
) -> TranslationScore:
    """Score the map on a gold dictionary of (source word, target word) pairs."""
    queries = len({word for word, _ in gold})
    known = sorted({(source.index[s], target.index[t]) for s, t in gold if s in source and t in target})
    if not known:
        raise NotCovered(
            f"none of the {queries} words of the gold dictionary is covered by the vectors; "
            "check the direction (--reverse) and the case of the words"
        )
    rows, columns = np.array(known, np.int64).T
    # The best of a query's translations decides: it has the smallest rank.
    scores = space.scores(rows, columns, retrieval)
    order = np.lexsort((columns, -scores, rows))
    first = order[np.unique(rows[order], return_index=True)[1]]
    ranks = space.rank(rows[first], columns[first], retrieval, engine)
    return TranslationScore(retrieval, queries, tuple(source.words[row] for row in rows[first]), ranks)

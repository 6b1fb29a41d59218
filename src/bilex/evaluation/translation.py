"""Bilingual dictionary induction: how often the right translation comes first (paper, section 6.2).

A query is a source word of the gold dictionary; it is covered if it and at least one of its translations have
vectors. It is answered at k if any of its translations is among the k best targets, out of the whole target
vocabulary. Tools differ in what they divide by, so there are three conventions:

covered
    Over the covered queries. The default.
all
    Over all queries of the dictionary; one that is not covered counts as wrong.
pairs
    Over the covered pairs of the dictionary, those with a vector for both words. Each is a case of its own, answered
    at k if its own target is among the k best, so that a query with two translations is at most half right at 1.

A run that knows how probable its candidates are also gives every query a *set* of translations: those that are at least
as probable as a threshold. Precision and recall of the sets count the pairs of all covered queries together; recall is
over the translations that have a vector.

Where the lemmas of the answers are known, ``p@1_lexeme`` is the share of the covered queries whose first answer is a
form of a right word: it has the lemma of one of the translations.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from bilex.errors import BilexError
from bilex.lexicon.text import ShownFigures
from bilex.matching.graph import RowPairs
from bilex.methods import SET_THRESHOLD
from bilex.model.candidates import CandidateSpace
from bilex.numerics.types import Indices
from bilex.search.engine import Engine
from bilex.search.space import SharedSpace
from bilex.seeds.dictionaries import read_pairs
from bilex.seeds.seed import check_pairs
from bilex.vectors.embeddings import Embeddings
from bilex.vectors.hints import coverage_hint, warn_if_little_is_known

CONVENTIONS = ("covered", "all", "pairs")
TURN_RUN = "--reverse"
Gold = str | os.PathLike[str] | Sequence[tuple[str, str]]
"""A gold dictionary: a file, or (query, translation) pairs."""
Direction = tuple[SharedSpace, Embeddings, Embeddings]
"""The shared space of a run, and the words on the query's and on the answer's side."""


class NotCovered(BilexError):  # noqa: N818 (it reads as what it says)
    """No pair of the gold dictionary has vectors, so there is nothing to score."""


def read_gold(gold: Gold, source: Embeddings, target: Embeddings) -> tuple[Sequence[tuple[str, str]], str]:
    """Return the pairs of a gold dictionary of two languages, and its name for messages."""
    if isinstance(gold, str | os.PathLike):
        return read_pairs(gold, (source.name, target.name)), os.fspath(gold)
    return check_pairs(gold), "the gold dictionary"


@dataclass(frozen=True, eq=False, repr=False)
class TranslationScore(ShownFigures):
    """The result for one gold dictionary.

    `ranks` holds the rank of the best translation of each covered query. `pairs` counts the distinct pairs of the
    dictionary, `covered_pairs` the covered ones; `cases` holds the ranks that the convention is over. `sets` has the
    figures of the sets, none in a run without probabilities; `right_lexemes` (how many first answers are forms of a
    right word) is None without lemmas.
    """

    retrieval: str
    queries: int
    words: tuple[str, ...]
    ranks: Indices
    pairs: int
    covered_pairs: int
    convention: str
    cases: Indices
    sets: Mapping[str, float] = field(default_factory=dict)
    right_lexemes: int | None = None

    @property
    def total(self) -> int:
        """The number of cases that the convention divides by."""
        return self.queries if self.convention == "all" else len(self.cases)

    def precision_at(self, k: int) -> float:
        """Return the share of the cases that are answered by the k best targets."""
        return float(np.sum(self.cases <= k) / self.total)

    def figures(self) -> dict[str, float | int | str]:
        """Return the figures under the names of the command line's JSON."""
        covered = len(self.ranks)
        first = int(np.sum(self.ranks == 1))
        return {
            "p@1": self.precision_at(1),
            "p@5": self.precision_at(5),
            "p@10": self.precision_at(10),
            "mrr": float(np.sum(1 / self.cases) / self.total),
            "coverage": covered / self.queries,
            "queries": self.queries,
            "covered": covered,
            "p@1_all": first / self.queries,
            "retrieval": self.retrieval,
            "convention": self.convention,
            "p@1_covered": first / covered,
            # Only one target can be first, so a query that is right at 1 answers exactly one of its pairs there.
            "p@1_pairs": first / self.covered_pairs,
            "pairs": self.pairs,
            "covered_pairs": self.covered_pairs,
            **self.sets,
            **({} if self.right_lexemes is None else {"p@1_lexeme": self.right_lexemes / covered}),
        }


def evaluate_translation(
    direction: Direction,
    gold: Gold,
    retrieval: str,
    engine: Engine,
    convention: str = "covered",
    min_probability: float = SET_THRESHOLD,
) -> TranslationScore:
    """Score the map on a gold dictionary of (source word, target word) pairs."""
    if convention not in CONVENTIONS:
        raise BilexError(f"no convention is called {convention!r}; choose one of {', '.join(CONVENTIONS)}")
    space, source, target = direction
    pairs, name = read_gold(gold, source, target)
    queries = len({word for word, _ in pairs})
    known = sorted({(source.index[s], target.index[t]) for s, t in pairs if s in source and t in target})
    if not known:
        hint = coverage_hint(pairs, source.index, target.index, TURN_RUN)
        raise NotCovered(
            f"{name}: none of its {queries} words is covered by the vectors; "
            f"{hint or 'check the direction (--reverse) and the case of the words'}"
        )
    warn_if_little_is_known(name, pairs, len(known), source.index, target.index, TURN_RUN)
    rows, columns = np.array(known, np.int64).T
    # The best of a query's translations decides: it has the smallest rank.
    scores = space.scores(rows, columns, retrieval)
    order = np.lexsort((columns, -scores, rows))
    first = order[np.unique(rows[order], return_index=True)[1]]
    ranks = space.rank(rows[first], columns[first], retrieval, engine)
    cases = space.rank(rows, columns, retrieval, engine) if convention == "pairs" else ranks
    words = tuple(source.words[row] for row in rows[first])
    sets = evaluate_sets(space, RowPairs(rows, columns), min_probability)
    lexemes = None
    if target.lemmas:
        best = space.search(rows[first], 1, retrieval, engine).indices[:, 0].tolist()
        forms = {(row, target.lemmas[column]) for row, column in known}
        lexemes = sum(
            (row, target.lemmas[column]) in forms for row, column in zip(rows[first].tolist(), best, strict=True)
        )
    counts = len(set(pairs)), len(known)
    return TranslationScore(retrieval, queries, words, ranks, *counts, convention, cases, sets, lexemes)


def evaluate_sets(space: SharedSpace, gold: RowPairs, threshold: float) -> dict[str, float]:
    """Compare the sets of all words of some gold pairs with these; no figures if the space knows no probabilities."""
    if not isinstance(space, CandidateSpace):
        return {}
    listed, n_targets = space.candidates.above(threshold), len(space.target)
    listed = listed.where(np.isin(listed.source, gold.source))
    right = int(np.isin(listed.keys(n_targets), gold.keys(n_targets)).sum())
    return {
        "set_precision": right / len(listed) if len(listed) else 0.0,
        "set_recall": right / len(gold),
        "set_f1": 2 * right / (len(listed) + len(gold)),
        "set_threshold": threshold,
    }

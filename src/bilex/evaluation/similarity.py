"""Cross-lingual word similarity: whether cosines rank pairs as people do (paper, section 6, Table 2).

A term of several words without a vector of its own is *composed*: the mean of the unit vectors of its words, all of
which must be known. With `fold_case` a term that is not found is looked up again ignoring case, and the most frequent
such word is taken.

Tools differ in what they do with a pair that has a term without a vector, so both are reported: *skip* correlates
over the covered pairs, *zero* over all pairs, with a cosine of 0 for those that are not covered.
"""

import math
import os
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bilex.errors import BilexError, InputError
from bilex.evaluation.translation import Direction
from bilex.files.lines import WordList, decode_fields, is_number, quoted
from bilex.lexicon.text import ShownFigures
from bilex.numerics.types import Floats, Indices, Vectors
from bilex.vectors.embeddings import Embeddings

MISSING = ("skip", "zero")
SCORE_NAMES = frozenset({"score", "similarity", "sim", "rating", "relatedness", "human", "mean", "gold", "value"})
"""Names of the third column that make the first line a header."""

MAX_PAIRS = 200_000  # far more than people have judged; bounds the memory
SimilarityPair = tuple[str, str, float]
"""A source term, a target term (each one word or several), and how similar people found them."""


@dataclass(frozen=True, eq=False, repr=False)
class SimilarityScore(ShownFigures):
    """The result for one similarity set."""

    name: str  # of the set, in messages
    gold: Floats  # the human scores of all pairs
    cosines: Floats  # ours; 0 for a pair that is not covered
    covered: NDArray[np.bool_]  # which pairs have vectors for both terms
    composed: int  # terms of covered pairs that were composed
    folded: int  # those found only by ignoring case
    missing: tuple[str, ...]  # the terms without a vector, each once
    foldable: int  # pairs that would be covered in addition if case were ignored

    def correlations(self, missing: str = "skip") -> dict[str, float]:
        """Return Spearman's and Pearson's correlation with the pairs that are not covered skipped, or scored 0.

        Raise a BilexError if they are not defined: fewer than two pairs, or all values of one side equal.
        """
        if missing not in MISSING:
            raise BilexError(f"missing words cannot be treated as {missing!r}; choose one of {', '.join(MISSING)}")
        used = self.covered if missing == "skip" else np.ones(len(self.gold), np.bool_)
        ours, gold = self.cosines[used], self.gold[used]
        if not self.covered.any() or len(gold) < 2:
            folding = f", or fold capitals (--fold-case, {self.foldable} more pairs)" if self.foldable else ""
            raise BilexError(
                f"{self.name}: {self.covered.sum()} of {len(self.gold)} pairs covered by the vectors, too few to "
                f"correlate; check the direction (--reverse){folding}"
            )
        for values, what, remedy in (
            (gold, "score", "give pairs of different similarity"),
            (ours, "cosine", "check the run's vectors"),
        ):
            if values.min() == values.max():
                raise BilexError(
                    f"{self.name}: all {len(values)} pairs have the {what} {values[0]:g}, so no correlation is "
                    f"defined; {remedy}"
                )
        return {"spearman": spearman(ours, gold), "pearson": pearson(ours, gold)}

    def figures(self, missing: str = "skip") -> dict[str, Any]:
        """Return the figures under the names of the command line's JSON.

        `missing` chooses the convention of ``spearman`` and ``pearson``. If *zero* is chosen and *skip* is not
        defined (for one covered pair, for example), the figures of *skip* are None.
        """
        chosen = self.correlations(missing)
        try:
            skip: dict[str, float | None] = {**self.correlations("skip")}
        except BilexError:
            skip = {"spearman": None, "pearson": None}
        pairs, covered = len(self.gold), int(self.covered.sum())
        return {
            **chosen,
            "pairs": pairs,
            "covered": covered,
            "missing": missing,
            "skip": {**skip, "pairs": covered},
            "zero": {**self.correlations("zero"), "pairs": pairs},
            "composed": self.composed,
            "folded": self.folded,
            "missing_terms": len(self.missing),
        }


def check_scored_pair(triple: SimilarityPair) -> SimilarityPair:
    """Return two terms and their score; raise if they are something else."""
    match triple:
        case (str(), str(), int() | float() | np.integer() | np.floating() as score) if abs(score) < np.inf:  # not NaN
            return triple
    raise BilexError(f"{triple!r} is no pair with a finite score; give triples, as in [('house', 'maison', 3.5), ...]")


def evaluate_similarity(
    direction: Direction,
    pairs: str | os.PathLike[str] | Sequence[SimilarityPair],
    *,
    fold_case: bool = False,
) -> SimilarityScore:
    """Score the space on a similarity set: a file, or (source term, target term, score) triples."""
    triples: Iterable[SimilarityPair]
    if isinstance(pairs, str | os.PathLike):
        name, triples = os.fspath(pairs), read_similarity_set(pairs)
    else:
        name, triples = "the similarity set", pairs
    space, source, target = direction
    left, right = Terms(source, space.source), Terms(target, space.target)
    gold, cosines = array("d"), array("d")
    composed = folded = foldable = 0
    missing: dict[str, None] = {}
    for ours, theirs, score in map(check_scored_pair, triples):
        first, second = left.find(ours, fold_case), right.find(theirs, fold_case)
        gold.append(score)
        if first is not None and second is not None:
            cosines.append(float(first.vector @ second.vector))
            composed += first.composed + second.composed
            folded += first.folded + second.folded
            continue
        cosines.append(math.nan)
        missing |= {term: None for term, found in ((ours, first), (theirs, second)) if found is None}
        foldable += left.find(ours, True) is not None and right.find(theirs, True) is not None
    covered = ~np.isnan(cosines)
    ours_or_zero = np.where(covered, cosines, 0)
    return SimilarityScore(name, np.array(gold), ours_or_zero, covered, composed, folded, tuple(missing), foldable)


class Term(NamedTuple):
    """A term that was found: its unit vector (zero if its words cancel out), and how it was found."""

    vector: Floats
    composed: bool
    folded: bool


@dataclass(frozen=True, eq=False)
class Terms:
    """The terms of one language: its words, and what can be composed from them."""

    words: Embeddings
    vectors: Vectors

    @cached_property
    def lowered(self) -> dict[str, int]:
        """The row of the most frequent word with each lower-case form."""
        return {word.lower(): row for row, word in reversed(list(enumerate(self.words.words)))}

    def row(self, word: str, fold_case: bool) -> int | None:
        """Return the row of a word, or with `fold_case` of one that differs from it only in case."""
        row = self.words.index.get(word)
        return self.lowered.get(word.lower()) if row is None and fold_case else row

    def find(self, term: str, fold_case: bool) -> Term | None:
        """Return the vector of a term, as a whole or composed from its words; None if a word is unknown."""
        whole = self.row(term, fold_case)
        words = term.split() if whole is None else [term]
        rows = [self.row(word, fold_case) for word in words] if whole is None else [whole]
        known = [row for row in rows if row is not None]
        if not known or len(known) < len(rows):
            return None
        total = self.vectors[known].sum(axis=0, dtype=np.float64)
        length = float(np.sqrt(total @ total))
        folded = [self.words.words[row] for row in known] != words
        return Term(total / length if length > 0 else total, len(words) > 1, folded)


def pearson(x: Floats, y: Floats) -> float:
    """Return the linear correlation of two samples, neither of them constant.

    The largest value is scaled to 1, so that no square overflows or vanishes.
    """
    return float(np.corrcoef(x / np.abs(x).max(), y / np.abs(y).max())[0, 1])


def spearman(x: Floats, y: Floats) -> float:
    """Return the rank correlation of two samples, neither of them constant: Pearson's of their ranks."""
    return pearson(average_ranks(x), average_ranks(y))


def average_ranks(values: Floats | Indices) -> Floats:
    """Rank from 1 upwards; equal values share the mean of their ranks."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[inverse])


def read_similarity_set(path: str | os.PathLike[str]) -> Iterator[SimilarityPair]:
    """Yield the pairs of a similarity set, plain or gzipped: two terms and a score on each line, separated by tabs.

    Blank lines are skipped, and so is a header, recognised by the name of its third column. A pair that occurs again
    counts again.
    """
    lines = WordList(path)
    count, header_allowed = 0, True
    for number, line in lines:
        fields = [field.strip(b" ") for field in line.split(b"\t")]
        if not any(fields):
            continue
        is_header = len(fields) == 3 and fields[2].decode("utf-8", "replace").lower() in SCORE_NAMES
        if not (header_allowed and is_header):
            yield similarity_pair(lines.path, number, fields)
            count += 1
        header_allowed = False
        if count > MAX_PAIRS:
            raise InputError(lines.path, f"more than {MAX_PAIRS:,} pairs", "check that it is the right file")
    if not count:
        raise InputError(lines.path, "no pair in the file", "put two terms and a score on each line, separated by tabs")
    lines.warn()


def similarity_pair(path: str, number: int, fields: list[bytes]) -> SimilarityPair:
    """Return the pair on a line, or raise an error that names the line."""
    terms = decode_fields(path, number, fields)
    if len(terms) != 3 or not all(terms):
        found = "an empty field" if len(terms) == 3 else "one field" if len(terms) == 1 else f"{len(terms)} fields"
        raise InputError(
            path,
            f"expected two terms and a score but found {found}",
            "put a source term, a target term and a score on the line, separated by tabs",
            line=number,
        )
    score = float(fields[2]) if is_number(fields[2]) else math.nan
    if not math.isfinite(score):
        problem = f"the score {quoted(fields[2])} is not a finite number"
        raise InputError(path, problem, "write it like 2.5", line=number)
    return terms[0], terms[1], score

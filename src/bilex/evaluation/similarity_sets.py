"""Word similarity sets in: two terms and a human score on each line, as SemEval-2017 and RG-65 are given out."""

from __future__ import annotations

import math
import os
from array import array
from collections.abc import Sequence
from typing import NamedTuple, overload

from bilex.errors import InputError
from bilex.files.streams import display
from bilex.files.wordlists import WordList, decoded
from bilex.seeds.packed import PackedPairs
from bilex.vectors.examine import is_number

__all__ = ["SimilarityPair", "SimilaritySet", "read_similarity_set"]

SCORE_NAMES = frozenset({"score", "similarity", "sim", "rating", "relatedness", "human", "mean", "gold", "value"})
"""What a header calls its third column; anything else that is not a number is an error, on the first line too."""


class SimilarityPair(NamedTuple):
    """A source term, a target term (each a word or several), and how similar people found them."""

    source: str
    target: str
    score: float


class SimilaritySet(Sequence[SimilarityPair]):
    """Pairs with their scores, to be read like a list, and packed like a dictionary."""

    def __init__(self) -> None:
        self._pairs = PackedPairs()
        self._scores = array("d")

    def append(self, source: bytes, target: bytes, score: float) -> None:
        """Put a pair at the end."""
        self._pairs.append(source, target)
        self._scores.append(score)

    def __len__(self) -> int:
        return len(self._scores)

    @overload
    def __getitem__(self, place: int) -> SimilarityPair: ...

    @overload
    def __getitem__(self, place: slice) -> list[SimilarityPair]: ...

    def __getitem__(self, place: int | slice) -> SimilarityPair | list[SimilarityPair]:
        if isinstance(place, slice):
            return [self[each] for each in range(len(self))[place]]
        return SimilarityPair(*self._pairs[place], self._scores[place])


def read_similarity_set(path: str | os.PathLike[str]) -> SimilaritySet:
    """Read a similarity set: a source term, a target term and a score on each line, separated by tabs.

    Blank lines are skipped, and so is a header, known by the name of its third column. A pair that occurs again
    counts again.

    Parameters
    ----------
    path
        The file, in UTF-8, plain or gzipped.

    Returns
    -------
    SimilaritySet
        The pairs in the order of the file, to be read like a list of SimilarityPair.

    Raises
    ------
    InputError
        If a line does not hold two terms and a finite number, is not UTF-8, or there is no pair at all.
    """
    lines = WordList(path)
    pairs = SimilaritySet()
    header_allowed = True
    for number, line in lines:
        fields = [field.strip(b" ") for field in line.split(b"\t")]
        if not any(fields):
            continue
        if not (header_allowed and _is_header(fields)):
            score = _score(lines.path, number, fields)
            pairs.append(fields[0], fields[1], score)
        header_allowed = False
    if not pairs:
        raise InputError(lines.path, "no pair in the file", "put two terms and a score on each line, separated by tabs")
    lines.warn()
    return pairs


def _is_header(fields: list[bytes]) -> bool:
    return len(fields) == 3 and fields[2].decode("utf-8", "replace").lower() in SCORE_NAMES


def _score(path: str, number: int, fields: list[bytes]) -> float:
    terms = decoded(path, number, fields)
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
        raise InputError(
            path, f"the score {display(fields[2])} is not a finite number", "write it like 2.5", line=number
        )
    return score

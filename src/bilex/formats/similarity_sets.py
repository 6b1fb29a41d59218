"""Word similarity sets in: two terms and a human score on each line, as SemEval-2017 and RG-65 are given out."""

from __future__ import annotations

import math
import os
from typing import NamedTuple

from bilex.errors import InputError
from bilex.formats.examine import is_number
from bilex.formats.streams import display
from bilex.formats.wordlists import WordList, decoded

__all__ = ["SimilarityPair", "read_similarity_set"]

SCORE_NAMES = frozenset({"score", "similarity", "sim", "rating", "relatedness", "human", "mean", "gold", "value"})
"""What a header calls its third column; anything else that is not a number is an error, on the first line too."""


class SimilarityPair(NamedTuple):
    """A source term, a target term (each a word or several), and how similar people found them."""

    source: str
    target: str
    score: float


def read_similarity_set(path: str | os.PathLike[str]) -> list[SimilarityPair]:
    """Read a similarity set: a source term, a target term and a score on each line, separated by tabs.

    Blank lines are skipped, and so is a header, known by the name of its third column. A pair that occurs again
    counts again.

    Parameters
    ----------
    path
        The file, in UTF-8, plain or gzipped.

    Returns
    -------
    list of SimilarityPair
        The pairs in the order of the file.

    Raises
    ------
    InputError
        If a line does not hold two terms and a finite number, is not UTF-8, or there is no pair at all.
    """
    lines = WordList(path)
    pairs: list[SimilarityPair] = []
    header_allowed = True
    for number, line in lines:
        fields = [field.strip(b" ") for field in line.split(b"\t")]
        if not any(fields):
            continue
        if not (header_allowed and _is_header(fields)):
            pairs.append(_pair(lines.path, number, fields))
        header_allowed = False
    if not pairs:
        raise InputError(lines.path, "no pair in the file", "put two terms and a score on each line, separated by tabs")
    lines.warn()
    return pairs


def _is_header(fields: list[bytes]) -> bool:
    return len(fields) == 3 and fields[2].decode("utf-8", "replace").lower() in SCORE_NAMES


def _pair(path: str, number: int, fields: list[bytes]) -> SimilarityPair:
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
    return SimilarityPair(terms[0], terms[1], score)

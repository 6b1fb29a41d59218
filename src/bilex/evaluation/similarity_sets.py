"""Read word similarity sets: two terms and a human score on each line, the format of SemEval-2017 and RG-65."""

from __future__ import annotations

import math
import os
from typing import NamedTuple

from bilex.errors import InputError
from bilex.files.fields import decode_fields, is_number, quoted
from bilex.files.wordlists import WordList

SCORE_NAMES = frozenset({"score", "similarity", "sim", "rating", "relatedness", "human", "mean", "gold", "value"})
"""Names of the third column that make the first line a header."""

MAX_PAIRS = 200_000  # far more than people have judged; bounds the memory


class SimilarityPair(NamedTuple):
    """A source term, a target term (each one word or several), and how similar people found them."""

    source: str
    target: str
    score: float


def read_similarity_set(path: str | os.PathLike[str]) -> list[SimilarityPair]:
    """Read a similarity set: a source term, a target term and a score on each line, separated by tabs.

    Blank lines are skipped, and so is a header, recognised by the name of its third column. A pair that occurs again
    counts again.

    Parameters
    ----------
    path
        The file, in UTF-8, plain or gzipped.

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
        if len(pairs) > MAX_PAIRS:
            raise InputError(lines.path, f"more than {MAX_PAIRS:,} pairs", "check that it is the right file")
    if not pairs:
        raise InputError(lines.path, "no pair in the file", "put two terms and a score on each line, separated by tabs")
    lines.warn()
    return pairs


def _is_header(fields: list[bytes]) -> bool:
    return len(fields) == 3 and fields[2].decode("utf-8", "replace").lower() in SCORE_NAMES


def _pair(path: str, number: int, fields: list[bytes]) -> SimilarityPair:
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
    return SimilarityPair(terms[0], terms[1], score)

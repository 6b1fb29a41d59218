"""The gold dictionary that an evaluation is given: pairs, or the file they are in."""

from __future__ import annotations

import os
from collections.abc import Sequence

from bilex.seeds.dictionaries import read_pairs

__all__ = ["Gold", "gold_pairs"]

Gold = str | os.PathLike[str] | Sequence[tuple[str, str]]
"""A dictionary file, or (query, translation) pairs."""


def gold_pairs(gold: Gold) -> tuple[Sequence[tuple[str, str]], str]:
    """Give the pairs, and what to call them in a message."""
    if isinstance(gold, str | os.PathLike):
        return read_pairs(gold), os.fspath(gold)
    return gold, "the gold dictionary"

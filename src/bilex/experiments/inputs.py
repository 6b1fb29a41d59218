"""The inputs of an experiment: files, each read once for all cells, and the paper's seeds (section 6.1).

The seed ``5000`` (or ``train``) is the train dictionary, another number N a draw of N of its pairs; ``numerals`` and
``identical`` are found in the vocabularies. Only pairs that both vocabularies know are drawn, so that N are used. The
number of the draw is the seed of the random generator.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from pathlib import Path

from bilex.errors import BilexError
from bilex.files.ownership import file_sha256
from bilex.seeds.dictionaries import read_pairs
from bilex.seeds.seed import IDENTICAL, NUMERALS, find_seed
from bilex.vectors.embeddings import Embeddings, load

TRAIN_SEEDS = ("5000", "train")
PAPER_SEEDS = ("5000", "25", NUMERALS, IDENTICAL)
Dictionary = tuple[tuple[str, str], ...]


class FileCache:
    """Reads each file once; `limit` is the number of words read from each file of vectors."""

    def __init__(self, limit: int | None = 200_000) -> None:
        self.limit = limit
        self.vectors: Callable[[Path], Embeddings] = cache(lambda path: load(path, limit))
        self.pairs: Callable[[Path | None], Dictionary] = cache(lambda path: tuple(read_pairs(path)) if path else ())
        self.sha256: Callable[[Path], str] = cache(file_sha256)


class TooFewPairs(BilexError):  # noqa: N818 (it reads as what it says)
    """The seed has too few pairs that both vocabularies know: a result, not a failure."""


def check_seed_name(name: str) -> None:
    """Raise if there is no such seed."""
    if name not in (*TRAIN_SEEDS, NUMERALS, IDENTICAL) and not is_drawn(name):
        known = ", ".join(PAPER_SEEDS)
        raise BilexError(f"no seed is called {name!r}; choose among {known}, or give a number of pairs")


def is_drawn(name: str) -> bool:
    """Return whether the seed is a random draw from the train dictionary, of which there can be several."""
    return name not in TRAIN_SEEDS and name.isascii() and name.isdigit() and int(name) > 0


def needs_train(name: str) -> bool:
    """Return whether the seed comes from the train dictionary."""
    return name in TRAIN_SEEDS or is_drawn(name)


def seed_pairs(
    name: str, source: Embeddings, target: Embeddings, train: Dictionary, *, draw: int = 0, held_out: int | None = None
) -> Dictionary:
    """Return the pairs of a seed that both vocabularies know; raise `TooFewPairs` if there are not enough."""
    if not needs_train(name):
        try:
            found = find_seed(name, source, target)
        except BilexError:
            shared = "words spelt the same" if name == IDENTICAL else name
            raise TooFewPairs(f"the two vocabularies share no {shared}") from None
        rows = zip(found.source.tolist(), found.target.tolist(), strict=True)
        return tuple((source.words[row], target.words[column]) for row, column in rows)
    left_out = held_out_words(train, held_out)
    known = tuple((s, t) for s, t in train if s in source and t in target and s not in left_out)
    wanted = int(name) if is_drawn(name) else 1
    if len(known) < wanted:
        raise TooFewPairs(f"only {len(known)} pairs of the train dictionary are in both vocabularies")
    return tuple(random.Random(draw).sample(known, wanted)) if is_drawn(name) else known


def held_out_words(train: Dictionary, every: int | None) -> set[str]:
    """Return every Nth source word of the train dictionary; no word without N."""
    return set(list(dict.fromkeys(s for s, _ in train))[every - 1 :: every]) if every else set()

"""The seeds of the paper's experiments (section 6.1, "Seed Dictionaries"), by the names its tables have for them.

``5000`` (or ``train``) is the train dictionary, another number N a draw of N of its pairs, ``numerals`` and
``identical`` are found in the vocabularies. Only pairs that both vocabularies know are drawn, so that N are used;
draws differ in the seed of the random generator alone, which is the number of the draw.
"""

from __future__ import annotations

import random
from pathlib import Path

from bilex.errors import BilexError
from bilex.experiments.sources import Dictionary, Sources
from bilex.seeds.seed import IDENTICAL, NUMERALS, find_seed
from bilex.vectors.embeddings import Embeddings

__all__ = ["SEEDS", "TooFew", "check_seed", "held_out_words", "is_drawn", "needs_train", "seed_pairs", "test_pairs"]

TRAIN = ("5000", "train")
SEEDS = ("5000", "25", NUMERALS, IDENTICAL)


class TooFew(BilexError):  # noqa: N818 (it reads as what it says)
    """The seed has too few pairs that both vocabularies know: a result, not a failure."""


def check_seed(name: str) -> None:
    """Raise if a seed has no meaning."""
    if name not in (*TRAIN, NUMERALS, IDENTICAL) and not is_drawn(name):
        raise BilexError(f"no seed is called {name!r}; choose among {', '.join(SEEDS)}, or give a number of pairs")


def is_drawn(name: str) -> bool:
    """Say whether the seed is a draw from the train dictionary, so that there can be several."""
    return name not in TRAIN and name.isascii() and name.isdigit() and int(name) > 0


def needs_train(name: str) -> bool:
    """Say whether the seed comes from the train dictionary."""
    return name in TRAIN or is_drawn(name)


def seed_pairs(
    name: str, source: Embeddings, target: Embeddings, train: Dictionary, *, draw: int = 0, held_out: int | None = None
) -> Dictionary:
    """Give the pairs of a seed that both vocabularies know.

    Raises
    ------
    TooFew
        If there are not enough of them.
    """
    if not needs_train(name):
        try:
            found = find_seed(name, source, target)
        except BilexError:
            shared = "words spelt the same" if name == IDENTICAL else name
            raise TooFew(f"the two vocabularies share no {shared}") from None
        rows = zip(found.source.tolist(), found.target.tolist(), strict=True)
        return tuple((source.words[row], target.words[column]) for row, column in rows)
    left_out = held_out_words(train, held_out)
    known = tuple((s, t) for s, t in train if s in source and t in target and s not in left_out)
    wanted = int(name) if is_drawn(name) else 1
    if len(known) < wanted:
        raise TooFew(f"only {len(known)} pairs of the train dictionary are in both vocabularies")
    return tuple(random.Random(draw).sample(known, wanted)) if is_drawn(name) else known


def held_out_words(train: Dictionary, every: int | None) -> set[str]:
    """Choose every Nth source word of the train dictionary, to be asked for instead."""
    return set(list(dict.fromkeys(s for s, _ in train))[every - 1 :: every]) if every else set()


def test_pairs(sources: Sources, test: Path, train: Path | None, held_out: int | None) -> Dictionary:
    """Give the pairs that are asked for: the test dictionary, and what was held out of the train dictionary."""
    pairs = sources.pairs(test)
    if not held_out or not train:
        return pairs
    left_out = held_out_words(sources.pairs(train), held_out)
    return pairs + tuple((s, t) for s, t in sources.pairs(train) if s in left_out)

"""The seed: word pairs from which EM starts (paper, section 6.1, "Seed Dictionaries").

A seed is a dictionary, or needs none: words spelt the same in both languages, numerals, or the vectors alone
(``unsupervised``, see `bilex.seeds.coupling`). Or it is the reviewed lexicon of an earlier run, ``RUN/reviewed``, in
which the reviewer has settled some pairs for the whole run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from bilex.errors import BilexError, InputError
from bilex.lexicon.reviewed import is_reviewed, read_reviewed
from bilex.matching.graph import RowPairs
from bilex.numerics.types import Indices
from bilex.seeds.coupling import SIZES, couple
from bilex.seeds.dictionaries import read_pairs
from bilex.vectors.embeddings import Embeddings

IDENTICAL = "identical"
NUMERALS = "numerals"
UNSUPERVISED = "unsupervised"
SEED_NAMES = (IDENTICAL, NUMERALS, UNSUPERVISED)
NUMERAL = re.compile("[0-9]+")

SeedLike = str | os.PathLike[str] | Iterable[tuple[str, str]]
"""``"identical"``, ``"numerals"``, ``"unsupervised"``, a dictionary's file name, ``"RUN/reviewed"`` or pairs."""


class GuessedPairs(list[tuple[str, str]]):
    """Pairs that no person has checked, such as those found through a third language: used only to start."""


@dataclass(frozen=True, eq=False)
class Seed:
    """The pairs of a seed that both vocabularies know, as rows in ascending order.

    `name` is where they came from; `given` counts the pairs before words without a vector were left out. `kept` and
    `forbidden` are pairs that a reviewer has settled, in the vocabularies or not. `reviewed` means that the pairs are a
    lexicon, reviewed or guessed, of which a person has checked only the kept ones. `unanswered` are source words whose
    translations all lack a vector.
    """

    name: str
    source: Indices
    target: Indices
    given: int
    kept: tuple[tuple[str, str], ...] = ()
    forbidden: tuple[tuple[str, str], ...] = ()
    reviewed: bool = False
    unanswered: Indices = field(default_factory=lambda: np.zeros(0, np.int64))

    def __len__(self) -> int:
        return len(self.source)

    @property
    def pairs(self) -> RowPairs:
        """Its pairs of rows."""
        return RowPairs(self.source, self.target)

    @property
    def is_dictionary(self) -> bool:
        """Whether a person has made the pairs: not identical strings, numerals or an induced lexicon."""
        return self.name not in SEED_NAMES and not self.reviewed

    @property
    def settled(self) -> bool:
        """Whether a reviewer has settled any pair."""
        return bool(self.kept or self.forbidden)

    def settling(self, kept: Iterable[tuple[str, str]], forbidden: Iterable[tuple[str, str]]) -> Seed:
        """Return the seed with more settled pairs; these override the earlier ones."""
        kept, forbidden = dict.fromkeys(kept), dict.fromkeys(forbidden)
        return replace(
            self,
            kept=(*kept, *(pair for pair in self.kept if pair not in kept and pair not in forbidden)),
            forbidden=(*forbidden, *(pair for pair in self.forbidden if pair not in kept and pair not in forbidden)),
        )


def find_seed(seed: SeedLike, source: Embeddings, target: Embeddings) -> Seed:
    """Turn what the user gave as a seed into rows of the two vocabularies.

    Raises
    ------
    BilexError
        If not a single pair is in both vocabularies; the message says what to do.
    """
    if isinstance(seed, str) and seed in SEED_NAMES:
        return seed_without_pairs(seed, source, target)
    if isinstance(seed, str | os.PathLike):
        read = from_review if is_reviewed(seed) else from_file
        return read(os.fspath(seed), source, target)
    pairs = list(seed)
    found = look_up(pairs, source, target, "pairs")
    if not len(found):
        raise BilexError(f"none of the {len(pairs)} seed pairs is in both vocabularies; check their order and case")
    return replace(found, reviewed=isinstance(seed, GuessedPairs))


def seed_without_pairs(seed: str, source: Embeddings, target: Embeddings) -> Seed:
    """Find the pairs of a seed that needs no dictionary."""
    if seed == IDENTICAL:
        return identical_words(source, target)
    if seed == NUMERALS:
        return identical_words(source, target, NUMERAL, NUMERALS)
    rows, columns = couple(source.vectors, target.vectors, SIZES[0])
    return Seed(UNSUPERVISED, rows, columns, len(rows))


def check_seed(seed: str) -> None:
    """Raise if a seed is wrong in a way that shows without the vectors: its file or run is missing."""
    if is_reviewed(seed):
        read_reviewed(seed)
    elif seed not in SEED_NAMES and not Path(seed).exists():
        read_pairs(seed)


def identical_words(
    source: Embeddings, target: Embeddings, pattern: re.Pattern[str] | None = None, name: str = IDENTICAL
) -> Seed:
    """Pair the words that are spelt the same in both languages, all or those that match a pattern in full."""
    words = [word for word in source.words if pattern is None or pattern.fullmatch(word)]
    found = look_up([(word, word) for word in words if word in target], source, target, name)
    if not len(found):
        other = "give a dictionary with --seed FILE" if pattern is None else "try --seed identical or a dictionary"
        raise BilexError(f"the two vocabularies share no {'words' if pattern is None else name}; {other}")
    return found


def from_file(path: str, source: Embeddings, target: Embeddings) -> Seed:
    """Read a dictionary, one pair on each line."""
    pairs = read_pairs(path)
    found = look_up(pairs, source, target, path)
    if not len(found):
        raise InputError(
            path,
            f"none of its {len(pairs)} pairs is in both vocabularies (the first: {' '.join(pairs[0])!r})",
            "put the source word first, and check the case of the words",
        )
    return found


def from_review(path: str, source: Embeddings, target: Embeddings) -> Seed:
    """Read the reviewed lexicon of a run."""
    reviewed = read_reviewed(path)
    found = look_up(reviewed.pairs, source, target, path)
    if not len(found):
        raise InputError(
            path,
            f"none of the {len(reviewed.pairs)} pairs left by the review is in both vocabularies",
            "give the vectors that the run was learnt from",
        )
    return replace(found, kept=tuple(reviewed.kept), forbidden=tuple(reviewed.forbidden), reviewed=True)


def look_up(pairs: Sequence[tuple[str, str]], source: Embeddings, target: Embeddings, name: str) -> Seed:
    """Return the pairs that are in both vocabularies, each once, sorted by row."""
    known = {(source.index[s], target.index[t]) for s, t in pairs if s in source and t in target}
    rows = np.array(sorted(known), np.int64).reshape(-1, 2)
    asked = np.array(sorted({source.index[s] for s, _ in pairs if s in source}), np.int64)
    return Seed(name, rows[:, 0], rows[:, 1], len(pairs), unanswered=np.setdiff1d(asked, rows[:, 0]))

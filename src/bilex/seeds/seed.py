"""The seed: word pairs from which EM starts (paper, section 6.1, "Seed Dictionaries").

A seed is a dictionary, or needs none: words spelt the same in both languages, numerals, or the vectors alone
(``unsupervised``, see `bilex.seeds.coupling`). Or it is the reviewed lexicon of an earlier run, ``RUN/reviewed``, in
which the reviewer has settled some pairs for the whole run.
"""

import difflib
import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from bilex.errors import BilexError, InputError
from bilex.files.ownership import file_sha256
from bilex.files.run_directory import read_manifest
from bilex.lexicon.reviewed import is_reviewed, read_reviewed
from bilex.matching.graph import RowPairs
from bilex.numerics.types import Indices
from bilex.seeds.coupling import SIZES, couple
from bilex.seeds.dictionaries import read_pairs
from bilex.seeds.pairs import DictionaryName
from bilex.vectors.embeddings import Embeddings
from bilex.vectors.hints import coverage_hint, shared_words_hint, warn_if_little_is_known

IDENTICAL = "identical"
NUMERALS = "numerals"
UNSUPERVISED = "unsupervised"
SEED_NAMES = (IDENTICAL, NUMERALS, UNSUPERVISED)
TURN_SEED = "exchange its columns"
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

    def settling(self, kept: Iterable[tuple[str, str]], forbidden: Iterable[tuple[str, str]]) -> Self:
        """Return the seed with more settled pairs; these override the earlier ones."""
        kept, forbidden = (dict.fromkeys(check_pairs(pairs)) for pairs in (kept, forbidden))
        if both := next((pair for pair in kept if pair in forbidden), None):
            raise BilexError(f"the pair {' '.join(both)!r} is both kept and forbidden; decide for one of the two")
        return replace(
            self,
            kept=(*kept, *(pair for pair in self.kept if pair not in kept and pair not in forbidden)),
            forbidden=(*forbidden, *(pair for pair in self.forbidden if pair not in kept and pair not in forbidden)),
        )


def find_seed(seed: SeedLike, source: Embeddings, target: Embeddings) -> Seed:
    """Turn what the user gave as a seed into rows of the two vocabularies; there is at least one pair."""
    if isinstance(seed, str) and seed == UNSUPERVISED:
        rows, columns = couple(source.vectors, target.vectors, SIZES[0])
        return Seed(UNSUPERVISED, rows, columns, len(rows))
    if isinstance(seed, str) and seed in SEED_NAMES:
        return identical_words(seed, source, target)
    if isinstance(seed, str | os.PathLike):
        read = from_review if is_reviewed(seed) else from_file
        return read(os.fspath(seed), source, target)
    pairs = check_pairs(seed)

    def none_known() -> BilexError:
        hint = coverage_hint(pairs, source.index, target.index, TURN_SEED) or "check their order and case"
        return BilexError(f"none of the {len(pairs)} seed pairs is in both vocabularies; {hint}")

    found = look_up(pairs, source, target, "pairs", none_known)
    if not isinstance(seed, GuessedPairs):
        warn_if_little_is_known("the seed", pairs, len(found), source.index, target.index, TURN_SEED)
    return replace(found, reviewed=isinstance(seed, GuessedPairs))


def check_pairs(seed: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return pairs of words as a list; raise if they are something else."""
    pairs: list[Any] = list(seed) if isinstance(seed, Iterable) else [seed]
    for pair in pairs:
        if not (isinstance(pair, tuple | list) and len(pair) == 2 and all(isinstance(word, str) for word in pair)):
            raise BilexError(f"{pair!r} is not a pair of words; give pairs, as in [('house', 'maison'), ...]")
    return [(source, target) for source, target in pairs]


def check_seed(seed: str) -> None:
    """Raise if a seed is wrong in a way that shows without the vectors: its file or run is missing."""
    if is_reviewed(seed):
        read_reviewed(seed)
    elif seed not in SEED_NAMES and not Path(DictionaryName.of(seed).file).exists():
        for meant in difflib.get_close_matches(seed, SEED_NAMES, n=1):
            raise BilexError(f"{seed}: there is no such seed or file; did you mean --seed {meant}?")
        read_pairs(seed)


def identical_words(seed: str, source: Embeddings, target: Embeddings) -> Seed:
    """Pair the words that are spelt the same in both languages: all of them, or the numerals."""
    shared = [word for word in source.words if word in target]
    if seed == NUMERALS:
        shared = [word for word in shared if NUMERAL.fullmatch(word)]
        problem = "the two vocabularies share no numerals; try --seed identical or a dictionary"
    else:
        hint = "" if shared else shared_words_hint(source.words, target.words)
        problem = f"the two vocabularies share no words{hint}; give a dictionary with --seed FILE"
    return look_up([(word, word) for word in shared], source, target, seed, lambda: BilexError(problem))


def identical_rows(source: Embeddings, target: Embeddings) -> RowPairs:
    """Return the rows of all words that are spelt the same in both languages."""
    rows = np.array([row for row, word in enumerate(source.words) if word in target], np.int64)
    return RowPairs(rows, np.array([target.index[source.words[row]] for row in rows.tolist()], np.int64))


def from_file(path: str, source: Embeddings, target: Embeddings) -> Seed:
    """Read a dictionary."""
    check_seed(path)
    pairs = read_pairs(path, (source.name, target.name))

    def none_known() -> BilexError:
        problem = f"none of its {len(pairs)} pairs is in both vocabularies (the first: {' '.join(pairs[0])!r})"
        hint = coverage_hint(pairs, source.index, target.index, TURN_SEED)
        return InputError(path, problem, hint or "put the source word first, and check the case of the words")

    found = look_up(pairs, source, target, path, none_known)
    warn_if_little_is_known(path, pairs, len(found), source.index, target.index, TURN_SEED)
    return found


def from_review(path: str, source: Embeddings, target: Embeddings) -> Seed:
    """Read the reviewed lexicon of a run.

    EM starts from the run's own seed, if it can still be had, so that what changes is due to the decisions; otherwise
    from the reviewed lexicon.
    """
    reviewed = read_reviewed(path)
    settled: dict[str, Any] = {"kept": tuple(reviewed.kept), "forbidden": tuple(reviewed.forbidden)}
    if (seed := seed_of_run(Path(path).parent)) is not None:
        found = find_seed(seed, source, target)
        wrong = set(reviewed.forbidden) if found.is_dictionary else set()  # others only start, where they did before
        names = ((source.words[s], target.words[t]) for s, t in zip(found.source, found.target, strict=True))
        right = np.array([pair not in wrong for pair in names], bool)
        if right.any():
            return replace(found, source=found.source[right], target=found.target[right], **settled)
    problem = f"none of the {len(reviewed.pairs)} pairs left by the review is in both vocabularies"
    remedy = "give the vectors that the run was learnt from"
    found = look_up(reviewed.pairs, source, target, path, lambda: InputError(path, problem, remedy))
    return replace(found, **settled, reviewed=True)


def seed_of_run(folder: Path) -> str | None:
    """Return the seed that a run was learnt from; None if it was a file that is gone or has changed, or no file."""
    seed = read_manifest(folder).get("configuration", {}).get("seed", {})
    name, digest = str(seed.get("name", "")), seed.get("sha256")
    if name in SEED_NAMES:
        return name
    file = Path(DictionaryName.of(name).file)
    return name if digest is not None and file.is_file() and file_sha256(file) == digest else None


def look_up(
    pairs: Sequence[tuple[str, str]],
    source: Embeddings,
    target: Embeddings,
    name: str,
    none_known: Callable[[], BilexError],
) -> Seed:
    """Return the pairs that are in both vocabularies, each once, sorted by row; raise if none is."""
    known = {(source.index[s], target.index[t]) for s, t in pairs if s in source and t in target}
    if not known:
        raise none_known()
    rows = np.array(sorted(known), np.int64)
    asked = np.array(sorted({source.index[s] for s, _ in pairs if s in source}), np.int64)
    return Seed(name, rows[:, 0], rows[:, 1], len(pairs), unanswered=np.setdiff1d(asked, rows[:, 0]))

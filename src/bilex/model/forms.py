"""Forms of one word: which endings are looked at, and how a candidate compares with the rest of its family.

Vectors hardly tell the forms of a word apart, and a dictionary lists one or two of them.

- *Endings* (`bilex.model.endings`): the target's ending alone, and both words' endings together.
- *Families*: candidates of one word that begin with the same letters, or that have one lemma. What the family weighs
  beyond the candidate, and whether the candidate is its shortest or its most frequent form.
- *Lemmas*, if they are known: whether the source, the target, and both are lemmas themselves; and, counted like
  endings, how often a lemma or another form is right for a source with this ending (a lemma seldom for *-s*).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bilex.model.endings import LONGEST_ENDING, number_endings
from bilex.model.evidence import Flags
from bilex.numerics.types import Floats, Indices
from bilex.vectors.spelling import fold_spelling

BEGINNING = 4  # letters that forms of one word share
ENDING_LEVELS = (  # the last letters of the source and of the target that are looked at together, one column each
    ((0, 1), (0, 2), (0, 3)),
    ((1, 1), (2, 2), (3, 3)),
)
LEMMA_LEVELS = tuple((letters, LONGEST_ENDING + 1) for letters in range(LONGEST_ENDING + 1))  # and if it is a lemma
ENDING_COLUMNS = ("target ending", "both endings", "ending and lemma")
FAMILY_COLUMNS = ("family", "of several", "shortest", "most frequent")
WORDS_AT_ONCE = 16_384  # source words whose families are compared at a time, which bounds the memory
OWN_LEMMA_COLUMNS = ("source lemma", "target lemma", "both lemmas")


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """A vocabulary as its forms are looked at: numbers for its endings, its families and its lengths."""

    endings: tuple[Indices, ...]  # for each number of letters, from 0, the ending of each word; at last `is_lemma`
    families: Indices
    lengths: Floats
    is_lemma: Floats | None = None  # 1 for a word that is its own lemma, 0 for the others; None if that is not known

    @classmethod
    def of(cls, words: Sequence[str], lemmas: Sequence[str] = ()) -> Vocabulary:
        """Assign numbers to the endings and families of words; a family is a lemma, if lemmas are given."""
        folded = [fold_spelling(word) for word in words]
        endings = tuple(number_endings(folded, letters) for letters in range(LONGEST_ENDING + 1))
        families = number(lemmas or [word[:BEGINNING] for word in folded])
        own = np.array([word == lemma for word, lemma in zip(words, lemmas, strict=True)], float) if lemmas else None
        endings += () if own is None else (own.astype(np.int64),)
        return cls(endings, families, np.array([len(word) for word in folded], np.float64), own)


Vocabularies = tuple[Vocabulary, Vocabulary]
"""Those of the source and of the target."""


def number(names: Sequence[str]) -> Indices:
    """Assign numbers to names, equal ones to equal names."""
    seen: dict[str, int] = {}
    return np.fromiter((seen.setdefault(name, len(seen)) for name in names), np.int64, len(names))


def ending_levels(source: Vocabulary, target: Vocabulary, rows: Indices, columns: Indices) -> list[list[Indices]]:
    """Assign numbers to the endings of edges, at every level of every column of `ENDING_LEVELS`, and to lemmas."""
    with_lemmas = () if target.is_lemma is None else (LEMMA_LEVELS,)
    return [
        [
            source.endings[one][rows] * (target.endings[other].max(initial=0) + 1) + target.endings[other][columns]
            for one, other in levels
        ]
        for levels in (*ENDING_LEVELS, *with_lemmas)
    ]


def form_columns(vocabularies: Vocabularies) -> tuple[str, ...]:
    """Return the names of what `ending_levels` and then `compare_families` return."""
    return ENDING_COLUMNS[: len(ENDING_LEVELS) + (vocabularies[1].is_lemma is not None)] + family_columns(vocabularies)


def family_columns(vocabularies: Vocabularies) -> tuple[str, ...]:
    """Return the names of what `compare_families` returns."""
    known = [side.is_lemma is not None for side in vocabularies]
    named = zip(OWN_LEMMA_COLUMNS, (*known, all(known)), strict=True)
    return FAMILY_COLUMNS + tuple(name for name, seen in named if seen)


def compare_families(scores: Floats, rows: Indices, columns: Indices, vocabularies: Vocabularies) -> Floats:
    """Return `family_columns` of edges: the family's weight beyond the edge's, and what the target is in its family.

    The families of a source word are those of its own candidates. The target's rank is its column.
    """
    found = np.empty((len(rows), len(family_columns(vocabularies))))
    for part in parts_by_word(rows):
        found[part] = np.column_stack([*family_figures(scores[part], rows[part], columns[part], vocabularies)])
    return found


def parts_by_word(rows: Indices) -> Iterator[slice]:
    """Cut edges, in order of their source words, between two words."""
    limits = np.arange(0, rows.max(initial=-1) + 1 + WORDS_AT_ONCE, WORDS_AT_ONCE)
    places = np.searchsorted(rows, limits).tolist()
    return map(slice, places[:-1], places[1:])


def family_figures(
    scores: Floats, rows: Indices, columns: Indices, vocabularies: Vocabularies
) -> Iterator[Floats | Flags]:
    """Yield the columns of `compare_families`."""
    source, target = vocabularies
    family, size = families_of(rows, columns, target)
    heaviest = np.full(size, -np.inf)
    np.maximum.at(heaviest, family, scores)
    together = np.bincount(family, np.exp(scores - heaviest[family]), size)
    several = np.bincount(family, minlength=size)[family] > 1
    yield np.log(together)[family] + heaviest[family] - scores
    yield several
    for values in (target.lengths[columns], columns.astype(float)):
        yield several & least_of(values, family, size)
    own = [side.is_lemma[places] for side, places in ((source, rows), (target, columns)) if side.is_lemma is not None]
    yield from own
    if len(own) == len(vocabularies):
        yield own[0] * own[1]


def decide_within_families(scores: Floats, nats: Floats, rows: Indices, columns: Indices, target: Vocabulary) -> Floats:
    """Return what `nats` add to the scores of edges if they only decide between the forms of a family.

    What a family weighs in all stays as it is.
    """
    family, size = families_of(rows, columns, target)
    heaviest = np.full(size, -np.inf)
    np.maximum.at(heaviest, family, scores)
    odds = np.exp(scores - heaviest[family])
    growth = np.bincount(family, odds * np.exp(nats), size) / np.bincount(family, odds, size)
    return np.asarray(nats - np.log(growth)[family])


def families_of(rows: Indices, columns: Indices, target: Vocabulary) -> tuple[Indices, int]:
    """Assign numbers to the families of each source word's own candidates; return those of edges, and how many."""
    _, family = np.unique(rows * np.int64(len(target.lengths)) + target.families[columns], return_inverse=True)
    return family, int(family.max(initial=-1)) + 1


def least_of(values: Floats, groups: Indices, size: int) -> Flags:
    """Mark the least values of each group."""
    least = np.full(size, np.inf)
    np.minimum.at(least, groups, values)
    return np.asarray(values == least[groups])

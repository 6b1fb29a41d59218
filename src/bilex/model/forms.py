"""Forms of one word: what their endings say, and how a candidate compares with the rest of its family.

Vectors hardly tell the forms of a word apart, and a dictionary lists one or two of them.

- *Endings*: how often a candidate with this ending is right, beside how often the weights so far expect it: of the
  target's ending alone (a dictionary form looks like one), and of both words' endings together (*-s* goes with *-t*).
  Ratios are counted from short endings to long ones, each on top of the shorter one's:

      ratio(c) = ratio(shorter c) · (right(c) + κ) / (expected(c) + κ)

  the posterior mean of a Poisson rate under a Gamma prior of κ examples around the shorter ending's rate.
- *Families*: candidates of one word that begin with the same letters, or that have one lemma. What the family weighs
  beyond the candidate, and whether the candidate is its shortest or its most frequent form.
- *Lemmas*, if they are known: whether the source, the target, and both are lemmas themselves; and, counted like
  endings, how often a lemma or another form is right for a source with this ending (a lemma seldom for *-s*).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bilex.model.evidence import Flags
from bilex.numerics.types import Floats, Indices
from bilex.vectors.spelling import fold_spelling

LONGEST_ENDING = 3  # letters
BEGINNING = 4  # letters that forms of one word share
ENDING_EXAMPLES = 5.0  # κ: examples that a shorter ending's ratio counts for
ENDING_LEVELS = (  # the last letters of the source and of the target that are looked at together, one column each
    ((0, 1), (0, 2), (0, 3)),
    ((1, 1), (2, 2), (3, 3)),
)
LEMMA_LEVELS = tuple((letters, LONGEST_ENDING + 1) for letters in range(LONGEST_ENDING + 1))  # and if it is a lemma
ENDING_COLUMNS = ("target ending", "both endings", "ending and lemma")
FAMILY_COLUMNS = ("family", "of several", "shortest", "most frequent")
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
        endings = tuple(
            number([word[-letters:] if letters else "" for word in folded]) for letters in range(LONGEST_ENDING + 1)
        )
        families = number(lemmas or [word[:BEGINNING] for word in folded])
        own = np.array([word == lemma for word, lemma in zip(words, lemmas, strict=True)], float) if lemmas else None
        endings += () if own is None else (own.astype(np.int64),)
        return cls(endings, families, np.array([len(word) for word in folded], np.float64), own)


Vocabularies = tuple[Vocabulary, Vocabulary]
"""Those of the source and of the target."""


def number(names: Sequence[str]) -> Indices:
    """Assign numbers to names, equal ones to equal names."""
    seen: dict[str, int] = {}
    return np.array([seen.setdefault(name, len(seen)) for name in names], np.int64)


@dataclass(frozen=True, eq=False)
class EndingRatios:
    """For each level the classes of endings that were counted, in ascending order, and their log-ratios."""

    classes: tuple[Indices, ...]
    nats: tuple[Floats, ...]

    @classmethod
    def count(cls, levels: Sequence[Indices], matched: Floats, expected: Floats) -> EndingRatios:
        """Count how often each class is right (`matched`), beside how often that is expected."""
        ratio, classes, nats = np.ones(len(matched)), list[Indices](), list[Floats]()
        for codes in levels:
            seen, places = np.unique(codes, return_inverse=True)
            right = np.bincount(places, matched, len(seen))
            awaited = np.bincount(places, expected * ratio, len(seen))
            grown = (right + ENDING_EXAMPLES) / (awaited + ENDING_EXAMPLES)
            ratio = ratio * grown[places]
            classes.append(seen)
            nats.append(np.log(grown))
        return cls(tuple(classes), tuple(nats))

    def read(self, levels: Sequence[Indices]) -> Floats:
        """Add up the log-ratios of edges over the levels; an unseen ending says no more than its shorter one."""
        total = np.zeros(len(levels[0]))
        for seen, nats, codes in zip(self.classes, self.nats, levels, strict=True):
            if len(seen):
                places = np.minimum(np.searchsorted(seen, codes), len(seen) - 1)
                total += np.where(seen[places] == codes, nats[places], 0.0)
        return total


def ending_levels(source: Vocabulary, target: Vocabulary, rows: Indices, columns: Indices) -> list[list[Indices]]:
    """Assign numbers to the endings of edges, at every level of every column of `ENDING_LEVELS`, and to lemmas."""
    with_lemmas = () if target.is_lemma is None else (LEMMA_LEVELS,)
    return [
        [
            source.endings[one][rows] * np.int64(len(target.lengths)) + target.endings[other][columns]
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
    source, target = vocabularies
    _, family = np.unique(rows * np.int64(len(target.lengths)) + target.families[columns], return_inverse=True)
    size = int(family.max(initial=-1)) + 1
    heaviest = np.full(size, -np.inf)
    np.maximum.at(heaviest, family, scores)
    together = np.bincount(family, np.exp(scores - heaviest[family]), size)
    several = np.bincount(family, minlength=size)[family] > 1
    beyond = np.log(together)[family] + heaviest[family] - scores
    flags = [several & least_of(values, family, size) for values in (target.lengths[columns], columns.astype(float))]
    own = [side.is_lemma[places] for side, places in ((source, rows), (target, columns)) if side.is_lemma is not None]
    both = [own[0] * own[1]] if len(own) == len(vocabularies) else []
    return np.column_stack([beyond, several, *flags, *own, *both]).astype(np.float64)


def least_of(values: Floats, groups: Indices, size: int) -> Flags:
    """Mark the least values of each group."""
    least = np.full(size, np.inf)
    np.minimum.at(least, groups, values)
    return np.asarray(values == least[groups])

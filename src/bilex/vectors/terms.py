"""Vectors for words outside the vocabulary: terms of several words, and words that only a fastText model knows.

A term that has no vector of its own is *composed*: the mean of the unit vectors of its words, scaled to unit length.
All of its words must have a vector: half of "World War II" is another term. A word that is not in the vocabulary gets
its vector from its *subwords*, if the fastText model of the vocabulary is given: the mean of the vectors of its
character n-grams, normalised and mapped like the words of the run.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from bilex.errors import InputError
from bilex.numerics.rows import unit
from bilex.numerics.types import Floats, Vectors
from bilex.vectors.embeddings import Embeddings
from bilex.vectors.fasttext import FastText, open_fasttext
from bilex.vectors.normalisation import basic_steps, normalise_rows
from bilex.vectors.spelling import with_spelling

MIN_MEAN_COSINE = 0.99  # between the vectors of a run and those of its model
MAX_WORD_CHARACTERS = 1000


def compose(term: str, find: Callable[[str], Vectors | None]) -> Vectors | None:
    """Compute the vector of a term from those of its words; None if one has none, or they cancel out."""
    parts = [find(word) for word in term.split()]
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None
    total = unit(np.stack(known)).sum(axis=0, dtype=np.float64)[None].astype(np.float32)
    return unit(total)[0] if total.any() else None


class OtherModelError(InputError):
    """The vectors of the run are not from this model."""

    def __init__(self, model: FastText, words: Embeddings, why: str) -> None:
        self.model = model
        problem = f"the run's vectors of {words.name or 'this language'} are not from this model ({why})"
        super().__init__(model.path, problem, "give the model that they were taken from")


@dataclass(frozen=True, eq=False)
class Subwords:
    """Makes vectors of words outside a run's vocabulary, normalised like the words of the run."""

    model: FastText
    steps: list[str]
    means: list[Floats]
    orthography: float

    @classmethod
    def of(cls, model: FastText | str | os.PathLike[str], words: Embeddings, method: Mapping[str, Any]) -> Self:
        """Check that a model, or its file, belongs to one language of a run; `OtherModelError` if not.

        `words` are the normalised vectors of the language, and `method` is the method in the run's configuration.
        """
        model = model if isinstance(model, FastText) else open_fasttext(model)
        missing = next((word for word in words.words if word not in model.rows), None)
        if missing is not None:
            raise OtherModelError(model, words, f"it does not know {missing!r}")
        known = model.vectors(np.array([model.rows[word] for word in words.words], np.int64))
        steps = basic_steps(str(method.get("normalise", "unit,centre,unit")))
        orthography = float(method.get("orthography", 0))
        normalised, means = normalise_rows(known, steps, in_place=True)
        ours = with_spelling(normalised, words.words, orthography)
        if ours.shape != words.vectors.shape:
            raise OtherModelError(model, words, f"its vectors have {model.dimension} dimensions")
        cosine = float(np.einsum("ij,ij->i", unit(ours), unit(words.vectors)).mean())
        if cosine < MIN_MEAN_COSINE:
            raise OtherModelError(model, words, f"its vectors differ (mean cosine {cosine:.3f})")
        return cls(model, steps, means, orthography)

    def __call__(self, word: str) -> Vectors | None:
        """Return the normalised vector of a word; None if the model has none of its n-grams."""
        raw = self.model.vector(word) if 0 < len(word) <= MAX_WORD_CHARACTERS else None
        if raw is None:
            return None
        vector = with_spelling(normalise_rows(raw[None], self.steps, self.means)[0], (word,), self.orthography)[0]
        return vector if vector.any() else None

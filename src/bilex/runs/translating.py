"""Translate words by a run: those of the vocabulary, terms of several words, and words that only a model can spell."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bilex.errors import BilexError, BilexWarning, check_probability
from bilex.model.candidates import MODEL_RETRIEVAL, Target
from bilex.numerics.types import Vectors
from bilex.search.engine import Engine
from bilex.search.space import SharedSpace
from bilex.vectors.hints import describe_missing
from bilex.vectors.terms import Subwords

if TYPE_CHECKING:
    from bilex.runs.run import Run


@dataclass(frozen=True)
class Translation:
    """One answer: a word of the other language, its score, and the probability that it is right.

    The score is the weight in nats (``model``), the cosine (``nn``), or that of CSLS or the inverted softmax. The
    probability is that of the lexicon's entries; it is 0 for a word that is no candidate.
    """

    word: str
    score: float
    probability: float

    def __repr__(self) -> str:
        return f"Translation({self.word!r}, score={self.score:.4f}, probability={self.probability:.4f})"


def translate_words(
    run: Run,
    words: Iterable[str],
    k: int,
    min_probability: float | None,
    retrieval: str,
    reverse: bool,
    subwords: Subwords | None,
    engine: Engine,
) -> list[list[Translation]]:
    """Implement `Run.translate_many`."""
    listed = [words] if isinstance(words, str) else list(words)
    if isinstance(words, str) or not all(isinstance(word, str) for word in listed):
        raise BilexError(f"{words!r} is not a list of words; give strings, or one word to translate")
    if not isinstance(k, int | np.integer) or k < 1:
        raise BilexError(f"k is {k!r}; give a whole number from 1 up")
    source, target = (run.target, run.source) if reverse else (run.source, run.target)
    if min_probability is not None and retrieval != MODEL_RETRIEVAL:
        raise BilexError(f"only the model tells how probable a translation is; choose it instead of {retrieval}")
    if min_probability is not None:
        check_probability("min_probability", min_probability)
    known = {word: source.index[word] for word in listed if word in source}
    others = {word: run.vector(word, reverse=reverse, subwords=subwords) for word in listed if word not in source}
    made = {word: vector for word, vector in others.items() if vector is not None}
    rows, vectors, k = [*known.values()], [*made.values()], min(k, len(target))
    candidates = run.candidates.mirrored() if reverse else run.candidates
    found = [candidates.listed(row) for row in rows]
    if vectors:
        near, likely = run.direction(reverse)[0].vector_candidates(np.array(vectors), engine)
        columns = (near.indices.tolist(), near.scores.tolist(), likely.tolist())
        found += [list(zip(*each, strict=True)) for each in zip(*columns, strict=True)]
    if min_probability is not None:
        found = [[target for target in each if target[2] >= min_probability] for each in found]
    elif retrieval == MODEL_RETRIEVAL and not vectors and all(len(each) >= k for each in found):
        found = [each[:k] for each in found]  # no search: the vectors of a stored run are not even read
    else:
        found = best_targets(run.direction(reverse)[0], rows, vectors, found, k, retrieval, engine)
    answers = {
        word: [Translation(target.words[column], score, probability) for column, score, probability in each]
        for word, each in zip((*known, *made), found, strict=True)
    }
    if missing := [word for word in listed if word not in answers]:
        warnings.warn(describe_missing(missing, source.index), BilexWarning, stacklevel=3)
    return [answers.get(word, []) for word in listed]


def best_targets(
    space: SharedSpace,
    rows: Sequence[int],
    vectors: Sequence[Vectors],
    likely: list[list[Target]],
    k: int,
    retrieval: str,
    engine: Engine,
) -> list[list[Target]]:
    """Return the k best targets of source words and of other unit vectors; unlikely ones have the probability 0."""
    others = np.array(vectors, np.float32).reshape(len(vectors), space.source.shape[1])
    searches = (
        space.search(np.array(rows, np.int64), k, retrieval, engine),
        space.search_vectors(others, k, retrieval, engine),
    )
    ranked = [pair for each in searches for pair in zip(each.indices.tolist(), each.scores.tolist(), strict=True)]
    found = []
    for (columns, scores), candidates in zip(ranked, likely, strict=True):
        probability = {column: each for column, _, each in candidates}
        found.append([(c, score, probability.get(c, 0.0)) for c, score in zip(columns, scores, strict=True)])
    return found

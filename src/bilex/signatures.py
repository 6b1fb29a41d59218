"""A seed from nothing: words whose similarities to the words of their own language are distributed alike.

If the two spaces were the same but for a rotation, the similarities of a word to all words of its language, sorted,
would be the same for its translation (Artetxe et al. 2018). On real vectors about one pair in a hundred is right; EM
with a permissive start can do with that, or not. Only the most frequent words are used, so what is made here has a
bounded size whatever the vocabularies are.
"""

from __future__ import annotations

import numpy as np

from bilex.arrays import Indices, Vectors
from bilex.threads import single_threaded_blas

__all__ = ["SIZES", "alike", "signatures"]

SIZES = (4000, 2000, 1000)  # of the most frequent words: several starts, since none is always good
CROWD = 10


def signatures(vectors: Vectors, size: int) -> Vectors:
    """Describe each of the `size` first words by its sorted similarities to all of them, scaled like vectors.

    The similarities are those of the square root of the Gram matrix, which smooths them.
    """
    frequent = vectors[:size].astype(np.float64)
    with single_threaded_blas():
        left, values, _ = np.linalg.svd(frequent, full_matrices=False)
        similar = ((left * values) @ left.T).astype(np.float32)
    similar.sort(axis=1)
    return unit(unit(similar) - unit(similar).mean(axis=0))


def alike(source: Vectors, target: Vectors, size: int) -> tuple[Indices, Indices]:
    """Pair each of the most frequent words of both sides with the most similar signature of the other, by CSLS."""
    size = min(size, len(source), len(target))
    with single_threaded_blas():
        scores = signatures(source, size) @ signatures(target, size).T
    crowd = min(CROWD, size)
    of_source = np.partition(scores, -crowd, axis=1)[:, -crowd:].mean(axis=1)
    of_target = np.partition(scores, -crowd, axis=0)[-crowd:].mean(axis=0)
    scores *= 2
    scores -= of_source[:, None]
    scores -= of_target
    words = np.arange(size)
    rows = np.concatenate([words, scores.argmax(axis=0)])
    columns = np.concatenate([scores.argmax(axis=1), words])
    keys = np.unique(rows * size + columns)
    return keys // size, keys % size


def unit(vectors: Vectors) -> Vectors:
    """Scale rows to norm 1; zero rows stay."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(norms > 0, norms, 1), np.float32)

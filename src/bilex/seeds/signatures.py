"""Signatures: how the similarities of a word to the other words of its own language are distributed.

If the two spaces differed only by a rotation, the sorted similarities of a word to all words of its language
would be the same for its translation (Artetxe et al. 2018). On real vectors about one word in a hundred is then nearest
to its translation; the signatures of a word's neighbours, and of their neighbours, add a little.
"""

from __future__ import annotations

import numpy as np

from bilex.numerics.threads import single_threaded_blas
from bilex.numerics.types import Vectors

NEIGHBOUR_COUNT = 10
SIGNATURE_ORDERS = 3  # a word's own signature, its neighbours', and their neighbours'


def signatures(vectors: Vectors) -> list[Vectors]:
    """Compute the signatures of each word: of itself, of its neighbours, and of their neighbours.

    The similarities are those of the square root of the Gram matrix, which smooths them. Signatures are centred and
    scaled like vectors.
    """
    with single_threaded_blas():
        left, values, _ = np.linalg.svd(vectors.astype(np.float64), full_matrices=False)
        similar = ((left * values) @ left.T).astype(np.float32)
    near = min(NEIGHBOUR_COUNT, len(vectors))
    neighbours = np.argpartition(-similar, near - 1, axis=1)[:, :near]
    similar.sort(axis=1)
    found = [centred(similar)]
    for _ in range(1, SIGNATURE_ORDERS):
        found.append(centred(np.stack([found[-1][own].mean(axis=0) for own in neighbours])))
    return found


def signature_similarity(source: Vectors, target: Vectors) -> Vectors:
    """Compute how similar the signatures of all pairs of words are, standardised to mean 0 and deviation 1.

    Both sides have the same number of words.
    """
    total = np.zeros((len(source), len(target)), np.float32)
    for ours, theirs in zip(signatures(source), signatures(target), strict=True):
        with single_threaded_blas():
            total += standardised(ours @ theirs.T)
    return standardised(total)


def centred(vectors: Vectors) -> Vectors:
    """Scale rows to norm 1, subtract their mean, and scale them again."""
    return unit_rows(unit_rows(vectors) - unit_rows(vectors).mean(axis=0))


def standardised(scores: Vectors) -> Vectors:
    """Shift and scale scores to mean 0 and deviation 1; scores that are all the same become 0."""
    deviation = float(scores.std())
    return np.asarray((scores - scores.mean()) / (deviation or 1.0), np.float32)


def unit_rows(vectors: Vectors) -> Vectors:
    """Scale rows to norm 1; zero rows stay."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(norms > 0, norms, 1), np.float32)

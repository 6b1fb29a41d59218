"""What a word looks like from inside its own language: how its similarities to the other words are distributed.

If the two spaces were the same but for a rotation, the similarities of a word to all words of its language, sorted,
would be the same for its translation (Artetxe et al. 2018). On real vectors about one word in a hundred is then nearest
to its translation. A little more is known if the same is asked of a word's neighbours, and of theirs.
"""

from __future__ import annotations

import numpy as np

from bilex.numerics.threads import single_threaded_blas
from bilex.numerics.types import Vectors

__all__ = ["likeness", "signatures"]

NEIGHBOURS = 10
ORDERS = 3  # a word's own signature, its neighbours', and their neighbours'


def signatures(vectors: Vectors) -> list[Vectors]:
    """Describe each word by its sorted similarities to all, by its neighbours' description, and by their neighbours'.

    The similarities are those of the square root of the Gram matrix, which smooths them. Descriptions are centred and
    scaled like vectors.
    """
    with single_threaded_blas():
        left, values, _ = np.linalg.svd(vectors.astype(np.float64), full_matrices=False)
        similar = ((left * values) @ left.T).astype(np.float32)
    near = min(NEIGHBOURS, len(vectors))
    neighbours = np.argpartition(-similar, near - 1, axis=1)[:, :near]
    similar.sort(axis=1)
    found = [centred(similar)]
    for _ in range(1, ORDERS):
        found.append(centred(np.stack([found[-1][own].mean(axis=0) for own in neighbours])))
    return found


def likeness(source: Vectors, target: Vectors) -> Vectors:
    """Say of all pairs of words how alike their signatures are, over all orders together: mean 0 and deviation 1.

    Both sides have the same number of words.
    """
    total = np.zeros((len(source), len(target)), np.float32)
    for ours, theirs in zip(signatures(source), signatures(target), strict=True):
        with single_threaded_blas():
            total += standard(ours @ theirs.T)
    return standard(total)


def centred(vectors: Vectors) -> Vectors:
    """Take the mean of the unit vectors away from each of them, and scale them to norm 1 again."""
    return unit(unit(vectors) - unit(vectors).mean(axis=0))


def standard(scores: Vectors) -> Vectors:
    """Shift and scale scores to mean 0 and deviation 1; scores that are all the same become 0."""
    deviation = float(scores.std())
    return np.asarray((scores - scores.mean()) / (deviation or 1.0), np.float32)


def unit(vectors: Vectors) -> Vectors:
    """Scale rows to norm 1; zero rows stay."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(norms > 0, norms, 1), np.float32)

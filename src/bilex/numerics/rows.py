"""Dense algebra on the rows of word vectors, in float64 over blocks of a fixed size.

The order of every sum is fixed, so results do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bilex.errors import BilexError
from bilex.numerics.threads import single_threaded_blas
from bilex.numerics.types import Floats, Indices, Vectors

__all__ = ["apply", "blocks", "squared_norms", "unit", "weighted_mean"]

BLOCK = 8192
SMALL = 1e-30


def apply(omega: Floats, vectors: Vectors, shift: Floats | float = 0.0) -> Vectors:
    """Map each row, ``vectors @ omega.T + shift``, rounding to float32 once."""
    mapped = np.empty((len(vectors), len(omega)), np.float32)
    try:
        with single_threaded_blas():
            for rows in blocks(len(vectors)):
                product = vectors[rows].astype(np.float64) @ omega.T + shift
                with np.errstate(over="raise"):
                    mapped[rows] = product
    except FloatingPointError:
        raise BilexError("the numbers in the vectors are too large to be mapped; normalise or scale them") from None
    return mapped


def unit(vectors: Vectors) -> Vectors:
    """Scale every row to norm 1; a zero row stays zero."""
    norms = np.sqrt(squared_norms(vectors))
    norms[norms == 0] = 1
    extreme = np.flatnonzero((norms < SMALL) | (norms > 1 / SMALL))  # float32 has few digits or none for their norms
    norms[extreme], rescued = 1, vectors[extreme] / norms[extreme, None]
    scaled = np.divide(vectors, norms[:, None], dtype=np.float32, casting="same_kind")
    scaled[extreme] = rescued
    return scaled


def squared_norms(vectors: Vectors, omega: Floats | None = None, shift: Floats | float = 0.0) -> Floats:
    """Compute ``‖Ωx + shift‖²`` for each row x; without `omega`, ``‖x + shift‖²``."""
    norms = np.empty(len(vectors))
    with single_threaded_blas():
        for rows in blocks(len(vectors)):
            block = vectors[rows].astype(np.float64)
            moved = block if omega is None else block @ omega.T
            norms[rows] = ((moved + shift) ** 2).sum(axis=1)
    return norms


def weighted_mean(vectors: Vectors, weights: Floats | Indices) -> Floats:
    """Average the rows with the given weights, which are not all zero."""
    total = np.zeros(vectors.shape[1])
    with single_threaded_blas():
        for rows in blocks(len(vectors)):
            total += weights[rows] @ vectors[rows].astype(np.float64)
    return np.asarray(total / weights.sum())


def blocks(n: int) -> Iterator[slice]:
    """Cut n rows into slices of a fixed size."""
    return (slice(start, start + BLOCK) for start in range(0, n, BLOCK))

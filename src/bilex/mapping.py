"""Maps from the source space to the target space: the M-step for Ω (paper, section 4.2).

All of it runs in float64 over blocks of rows, in an order that does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bilex.arrays import Floats, Indices, Vectors
from bilex.threads import single_threaded_blas

__all__ = ["apply", "procrustes", "squared_norms", "weighted_mean"]

BLOCK = 8192


def procrustes(source: Vectors, target: Vectors) -> Floats:
    """Find the orthogonal Ω that minimises the sum of ``‖t - Ω s‖²`` over the given pairs of rows.

    With UΣVᵀ the singular value decomposition of TSᵀ (columns are words in the paper, rows here), Ω = UVᵀ. Where
    the pairs span fewer than d dimensions the rest of Ω is still orthogonal, but arbitrary.
    """
    product = np.zeros((target.shape[1], source.shape[1]))
    with single_threaded_blas():
        for rows in blocks(len(source)):
            product += target[rows].astype(np.float64).T @ source[rows].astype(np.float64)
        left, _, right = np.linalg.svd(product)
        return np.asarray(left @ right)


def apply(omega: Floats, vectors: Vectors, shift: Floats | float = 0.0) -> Vectors:
    """Map each row, ``vectors @ omega.T + shift``, rounding to float32 once."""
    mapped = np.empty((len(vectors), len(omega)), np.float32)
    with single_threaded_blas():
        for rows in blocks(len(vectors)):
            mapped[rows] = vectors[rows].astype(np.float64) @ omega.T + shift
    return mapped


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

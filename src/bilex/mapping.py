"""Maps from the source space to the target space: the M-step for Ω (paper, section 4.2).

All of it runs in float64 over blocks of rows, in an order that does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bilex.arrays import Floats, Indices, Vectors
from bilex.errors import BilexError
from bilex.threads import single_threaded_blas

__all__ = ["MAPS", "apply", "cca", "fit_maps", "least_squares", "procrustes", "squared_norms", "unit", "weighted_mean"]

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


def least_squares(source: Vectors, target: Vectors) -> Floats:
    """Find the unconstrained W that minimises the sum of ``‖t - W s‖²`` over the given pairs of rows.

    Mikolov et al. (2013). Where the pairs leave W open (fewer pairs than dimensions), the one of least norm.
    """
    with single_threaded_blas():
        solution = np.linalg.lstsq(source.astype(np.float64), target.astype(np.float64), rcond=None)[0]
    return np.asarray(solution.T)


def cca(source: Vectors, target: Vectors, ridge: float = 0.3) -> tuple[Floats, Floats]:
    """Find maps of both sides into the space of their canonical correlations (Haghighi et al. 2008).

    With second moments C, to which `ridge` times their mean variance is added, and ``U P Vᵀ`` the singular value
    decomposition of ``Cxx^-1/2 Cxy Cyy^-1/2``, the maps are ``P^1/2 Uᵀ Cxx^-1/2`` and ``P^1/2 Vᵀ Cyy^-1/2``: the
    posterior means of the latent variable in probabilistic CCA (Bach and Jordan 2005). They do not centre the
    vectors; normalisation does that.
    """
    x, y = source.astype(np.float64), target.astype(np.float64)
    with single_threaded_blas():
        whiten_x, whiten_y = (inverse_root(z.T @ z / len(z), ridge) for z in (x, y))
        left, correlations, right = np.linalg.svd(whiten_x @ (x.T @ y / len(x)) @ whiten_y, full_matrices=False)
        roots = np.sqrt(correlations)[:, None]
        return np.asarray(roots * (left.T @ whiten_x)), np.asarray(roots * (right @ whiten_y))


MAPS = ("orthogonal", "least-squares", "cca")


def fit_maps(name: str, source: Vectors, target: Vectors) -> tuple[Floats, Floats | None]:
    """Fit the maps of that name to pairs of rows: the source's, and the target's if that is mapped too."""
    if name == "orthogonal":
        return procrustes(source, target), None
    if name == "least-squares":
        return least_squares(source, target), None
    if name == "cca":
        return cca(source, target)
    raise BilexError(f"no map is called {name!r}; choose one of {', '.join(MAPS)}")


def inverse_root(moments: Floats, ridge: float) -> Floats:
    """Compute ``(C + ridge · mean variance · I)^-1/2`` of a symmetric matrix."""
    values, vectors = np.linalg.eigh(moments)
    values = np.maximum(values, 0) + ridge * max(values.mean(), np.finfo(float).tiny)
    return np.asarray((vectors / np.sqrt(values)) @ vectors.T)


def apply(omega: Floats, vectors: Vectors, shift: Floats | float = 0.0) -> Vectors:
    """Map each row, ``vectors @ omega.T + shift``, rounding to float32 once."""
    mapped = np.empty((len(vectors), len(omega)), np.float32)
    with single_threaded_blas():
        for rows in blocks(len(vectors)):
            mapped[rows] = vectors[rows].astype(np.float64) @ omega.T + shift
    return mapped


def unit(vectors: Vectors) -> Vectors:
    """Scale every row to norm 1; a zero row stays zero."""
    norms = np.sqrt(squared_norms(vectors))
    return np.divide(vectors, np.where(norms > 0, norms, 1)[:, None], dtype=np.float32, casting="same_kind")


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

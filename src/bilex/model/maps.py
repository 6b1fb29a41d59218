"""Maps from the source space to the target space: the M-step for Ω (paper, section 4.2).

All of it runs in float64 over blocks of rows, in an order that does not depend on the number of threads.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bilex.errors import BilexError
from bilex.numerics.rows import blocks
from bilex.numerics.threads import single_threaded_blas
from bilex.numerics.types import Floats, Vectors

__all__ = [
    "MAPS",
    "Steps",
    "cca",
    "fit_maps",
    "least_squares",
    "procrustes",
]


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


@dataclass(frozen=True)
class Steps:
    """The steps of a map of both sides (Artetxe et al. 2018), of which canonical correlations are one choice.

    Parameters
    ----------
    ridge
        Whitening: second moments are inverted after this part of their mean variance is added to them. The larger
        it is, the less is whitened; infinite, nothing is.
    annealing
        A floor under the ridge, ``annealing · dimension / pairs``: moments of few pairs are mostly noise.
    reweight
        Every direction counts as much as this power of the correlation of the two sides in it. 0 leaves them
        equal, 1/2 on both sides is symmetric.
    dewhiten
        Whether each side gets back the variances that whitening took from it.
    dimensions
        How many directions are kept, those of the largest correlations; None for all.
    """

    ridge: float = 0.3
    annealing: float = 0.0
    reweight: float = 0.5
    dewhiten: bool = False
    dimensions: int | None = None

    def __post_init__(self) -> None:
        for name in ("ridge", "annealing", "reweight"):
            if not getattr(self, name) >= 0 or (name != "ridge" and math.isinf(getattr(self, name))):
                raise BilexError(f"{name} is {getattr(self, name)}; give a number from 0 up")
        if self.dimensions is not None and self.dimensions < 1:
            raise BilexError(f"dimensions is {self.dimensions}; give at least 1")

    def ridge_for(self, pairs: int, dimension: int) -> float:
        """Give the ridge for so many pairs of rows."""
        return max(self.ridge, self.annealing * dimension / max(pairs, 1))

    def fit(self, source: Vectors, target: Vectors) -> tuple[Floats, Floats]:
        """Fit the maps of both sides to pairs of rows.

        Whitening, the orthogonal maps ``Uᵀ`` and ``Vᵀ`` that lay the whitened sides on each other, re-weighting by
        the singular values P, de-whitening: ``(Uᵀ W⁻¹ U) P^reweight Uᵀ W`` with ``W = (C + ridge)^-1/2``. With no
        whitening and no re-weighting, the inner products between the sides are those of `procrustes`.
        """
        x, y = source.astype(np.float64), target.astype(np.float64)
        ridge = self.ridge_for(len(x), x.shape[1])
        with single_threaded_blas():
            whiten_x, whiten_y = (inverse_root(z.T @ z / len(z), ridge) for z in (x, y))
            left, correlations, right = np.linalg.svd(whiten_x @ (x.T @ y / len(x)) @ whiten_y, full_matrices=False)
            weights = np.power(correlations, self.reweight)[:, None]
            maps = [weights * (left.T @ whiten_x), weights * (right @ whiten_y)]
            if self.dewhiten:
                backs = (left.T @ root(whiten_x) @ left, right @ root(whiten_y) @ right.T)
                maps = [back @ side for back, side in zip(backs, maps, strict=True)]
        return np.asarray(maps[0][: self.dimensions]), np.asarray(maps[1][: self.dimensions])


def cca(source: Vectors, target: Vectors, ridge: float = 0.3) -> tuple[Floats, Floats]:
    """Find maps of both sides into the space of their canonical correlations (Haghighi et al. 2008).

    With second moments C, to which `ridge` times their mean variance is added, and ``U P Vᵀ`` the singular value
    decomposition of ``Cxx^-1/2 Cxy Cyy^-1/2``, the maps are ``P^1/2 Uᵀ Cxx^-1/2`` and ``P^1/2 Vᵀ Cyy^-1/2``: the
    posterior means of the latent variable in probabilistic CCA (Bach and Jordan 2005). They do not centre the
    vectors; normalisation does that.
    """
    return Steps(ridge).fit(source, target)


MAPS = ("orthogonal", "least-squares", "cca")


def fit_maps(name: str, source: Vectors, target: Vectors, steps: Steps | None = None) -> tuple[Floats, Floats | None]:
    """Fit the maps of that name to pairs of rows: the source's, and the target's if that is mapped too.

    ``cca`` takes the given `steps`, by default those of `cca`.
    """
    if name == "orthogonal":
        return procrustes(source, target), None
    if name == "least-squares":
        return least_squares(source, target), None
    if name == "cca":
        return (steps or Steps()).fit(source, target)
    raise BilexError(f"no map is called {name!r}; choose one of {', '.join(MAPS)}")


def inverse_root(moments: Floats, ridge: float) -> Floats:
    """Compute ``(C + ridge · mean variance · I)^-1/2`` of a symmetric matrix; of an infinite ridge, only its direction.

    Directions without variance stay without if the ridge is zero.
    """
    if math.isinf(ridge):
        return np.eye(len(moments))
    values, vectors = np.linalg.eigh(moments)
    values = np.maximum(values, 0) + ridge * max(values.mean(), np.finfo(float).tiny)
    positive = values > len(values) * np.finfo(float).eps * values.max()
    roots = np.divide(1, np.sqrt(values, where=positive, out=np.ones_like(values)), where=positive, out=0 * values)
    return np.asarray((vectors * roots) @ vectors.T)


def root(inverse: Floats) -> Floats:
    """Invert the symmetric matrix of `inverse_root` again."""
    return np.asarray(np.linalg.pinv(inverse, hermitian=True))

"""Maps from the source space to the target space: the M-step for Ω (paper, section 4.2).

All of it runs in float64 over blocks of rows, in an order that does not depend on the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from bilex.methods import MapConfig
from bilex.numerics.rows import blocks
from bilex.numerics.threads import for_each, single_threaded_blas
from bilex.numerics.types import Floats, Vectors

LARGE_DIMENSION = 1024  # decompositions of larger square matrices are avoided where the pairs span few dimensions


def span_little(*sides: Vectors) -> bool:
    """Check whether the pairs span so few of so many dimensions that the maps are better found within their span."""
    return all(side.shape[1] > LARGE_DIMENSION and 0 < 2 * len(side) <= side.shape[1] for side in sides)


def procrustes(source: Vectors, target: Vectors) -> Floats:
    """Find the orthogonal Ω that minimises the sum of ``‖t - Ω s‖²`` over the given pairs of rows.

    With UΣVᵀ the singular value decomposition of TSᵀ (columns are words in the paper, rows here), Ω = UVᵀ. Where
    the pairs span fewer than d dimensions the rest of Ω is still orthogonal, but arbitrary.
    """
    if span_little(source, target):
        return procrustes_in_span(source, target)
    with single_threaded_blas():
        left, _, right = np.linalg.svd(sum_of_products(target, source))
        return np.asarray(left @ right)


def procrustes_in_span(source: Vectors, target: Vectors) -> Floats:
    """Find Ω within the dimensions that the pairs span, and complete it outside of them.

    With the QR decompositions ``Sᵀ = X R`` and ``Tᵀ = Y Q`` and the map M between the two bases of the spans, Ω is
    ``Y diag(M, I) Xᵀ``. X and Y are kept as their reflections, so that no two matrices of size d × d are multiplied.
    """
    count = len(source)
    with single_threaded_blas():
        (x, across_x), (y, across_y) = (reflections(z.astype(np.float64).T) for z in (source, target))
        left, _, right = np.linalg.svd(across_y @ across_x.T)
        omega = np.eye(source.shape[1]) - x[0] @ x[1].T @ x[0].T
        omega[:count] = left @ right @ omega[:count]
        omega -= y[0] @ (y[1] @ (y[0].T @ omega))
    return omega


def reflections(columns: Floats) -> tuple[tuple[Floats, Floats], Floats]:
    """Decompose tall columns into ``(I - V T Vᵀ) R``; return V and T, and the square part of R that is not zero.

    ``I - V T Vᵀ`` is the product of LAPACK's reflections ``I - τ v vᵀ``; T is the inverse of the upper triangle of
    ``VᵀV`` with 1/τ on its diagonal (Joffrain et al. 2006). Reflections with τ = 0 change nothing.
    """
    raw, factors = np.linalg.qr(columns, "raw")
    vectors = np.tril(raw.T, -1)
    np.fill_diagonal(vectors, 1.0)
    some = factors != 0
    vectors, factors = vectors[:, some], factors[some]
    triangle = np.triu(vectors.T @ vectors, 1) + np.diag(1 / factors)
    return (vectors, np.linalg.inv(triangle)), np.triu(raw.T[: len(raw)])


def least_squares(source: Vectors, target: Vectors) -> Floats:
    """Find the unconstrained W that minimises the sum of ``‖t - W s‖²`` over the given pairs of rows.

    Mikolov et al. (2013). Where the pairs leave W open (fewer pairs than dimensions), the one of least norm.
    """
    with single_threaded_blas():
        solution = np.linalg.lstsq(source.astype(np.float64), target.astype(np.float64), rcond=None)[0]
    return np.asarray(solution.T)


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums of products over pairs of rows: of the source's dimensions, of the target's, and across both sides."""

    count: int
    source: Floats
    target: Floats
    across: Floats

    @classmethod
    def of(cls, source: Vectors, target: Vectors) -> Moments:
        """Add up the products of some pairs."""
        products = [(source, target), (source, source), (target, target)]  # the one that takes longest first
        found = [np.zeros(0)] * len(products)

        def work(place: int) -> None:
            found[place] = sum_of_products(*products[place])

        for_each(work, range(len(products)))
        return cls(len(source), found[1], found[2], found[0])

    @classmethod
    def total(cls, parts: Sequence[Moments]) -> Moments:
        """Return the moments of all pairs of several parts."""
        names = (field.name for field in fields(cls))
        return cls(*(sum(getattr(part, name) for part in parts) for name in names))


def moments_suffice(config: MapConfig, source: Vectors, target: Vectors) -> bool:
    """Check whether the maps of any pairs of these rows follow from their moments."""
    return config.kind == "cca" and min(source.shape[1], target.shape[1]) <= LARGE_DIMENSION


def sum_of_products(x: Vectors, y: Vectors) -> Floats:
    """Compute ``xᵀ y``."""
    total = np.zeros((x.shape[1], y.shape[1]))
    for rows in blocks(len(x)):
        left = x[rows].astype(np.float64)
        total += left.T @ (left if x is y else y[rows].astype(np.float64))
    return total


def two_sided(config: MapConfig, source: Vectors, target: Vectors) -> tuple[Floats, Floats]:
    """Fit maps of both sides into a space where they meet (Artetxe et al. 2018; canonical correlations are one choice).

    Whitening, the orthogonal maps ``Uᵀ`` and ``Vᵀ`` that align the whitened sides, re-weighting by the singular values
    P, de-whitening: ``(Uᵀ W⁻¹ U) P^reweight Uᵀ W`` with ``W = (C + ridge)^-1/2`` and C the second moments. The `ridge`
    is a part of their mean variance; moments of few pairs are mostly noise, so it is at least
    ``annealing · dimension / pairs``, and an infinite one whitens nothing. With no whitening and no re-weighting, the
    inner products between the sides are those of `procrustes`. With a `reweight` of 1/2 and without de-whitening the
    maps are the posterior means of the latent variable in probabilistic CCA (Bach and Jordan 2005; Haghighi et al.
    2008). They do not centre the vectors; normalisation does that.
    """
    if span_little(source, target) and config.reweight > 0 and not config.dewhiten:
        return two_sided_in_span(config, source, target)
    return maps_of_moments(config, Moments.of(source, target))


def maps_of_moments(config: MapConfig, moments: Moments) -> tuple[Floats, Floats]:
    """Fit the maps of `two_sided` to pairs of which only the moments are left."""
    with single_threaded_blas():
        whiten_x, whiten_y = whitening_maps(config, moments)
        left, correlations, right = decompose(whiten_x @ (moments.across / moments.count) @ whiten_y)
        weights = np.power(correlations, config.reweight)[:, None]
        maps = [weights * (left.T @ whiten_x), weights * (right @ whiten_y)]
        if config.dewhiten:
            backs = (left.T @ root(whiten_x) @ left, right @ root(whiten_y) @ right.T)
            maps = [back @ side for back, side in zip(backs, maps, strict=True)]
    return np.asarray(maps[0][: config.dimensions]), np.asarray(maps[1][: config.dimensions])


def ridge_of(config: MapConfig, dimension: int, pairs: int) -> float:
    """Return the ridge of a side."""
    return max(config.ridge, config.annealing * dimension / max(pairs, 1))


def whitening_maps(config: MapConfig, moments: Moments) -> list[Floats]:
    """Return the map that whitens each side, which take one thread each."""
    sides = moments.source, moments.target
    found = [np.zeros(0)] * len(sides)

    def work(place: int) -> None:
        side = sides[place]
        found[place] = inverse_root(side / moments.count, ridge_of(config, len(side), moments.count))

    for_each(work, range(len(sides)))
    return found


def decompose(matrix: Floats) -> tuple[Floats, Floats, Floats]:
    """Find the singular values and vectors; where LAPACK does not converge (low ranks), it does on the transpose."""
    try:
        left, values, right = np.linalg.svd(matrix, full_matrices=False)
    except np.linalg.LinAlgError:
        right, values, left = (part.T for part in np.linalg.svd(matrix.T, full_matrices=False))
    return left, values, right


def two_sided_in_span(config: MapConfig, source: Vectors, target: Vectors) -> tuple[Floats, Floats]:
    """Fit the maps within the dimensions that the pairs span; the others have no correlation, and so no weight."""
    sides = source.astype(np.float64), target.astype(np.float64)
    size = min(z.shape[1] for z in sides)
    with single_threaded_blas():
        (x, whiten_x), (y, whiten_y) = (whiten_in_span(z, ridge_of(config, z.shape[1], len(z))) for z in sides)
        left, correlations, right = decompose(x.T @ y)
        weights = np.power(correlations, config.reweight)[:, None]
        maps = [np.zeros((size, z.shape[1])) for z in sides]
        for whole, part in zip(maps, (left.T @ whiten_x, right @ whiten_y), strict=True):
            whole[: len(weights)] = weights * part
    return maps[0][: config.dimensions], maps[1][: config.dimensions]


def whiten_in_span(rows: Floats, ridge: float) -> tuple[Floats, Floats]:
    """Return the whitened rows, over the root of their number, in a basis of their span, and the map that does it."""
    left, deviations, basis = np.linalg.svd(rows / math.sqrt(len(rows)), full_matrices=False)
    roots = inverse_roots(deviations**2, ridge, rows.shape[1])
    return np.asarray(left * (deviations * roots)), roots[:, None] * basis


def fit_maps(config: MapConfig, source: Vectors, target: Vectors) -> tuple[Floats, Floats | None]:
    """Fit the maps of a configuration to pairs of rows: that of the source, and that of the target if it has one."""
    if config.kind == "cca":
        return two_sided(config, source, target)
    return (procrustes if config.kind == "orthogonal" else least_squares)(source, target), None


def inverse_root(moments: Floats, ridge: float) -> Floats:
    """Compute ``(C + ridge · mean variance · I)^-1/2`` of a symmetric matrix; of an infinite ridge, only its direction.

    Directions without variance stay without if the ridge is zero.
    """
    if math.isinf(ridge):
        return np.eye(len(moments))
    values, vectors = np.linalg.eigh(moments)
    return np.asarray((vectors * inverse_roots(values, ridge, len(values))) @ vectors.T)


def inverse_roots(values: Floats, ridge: float, dimension: int) -> Floats:
    """Compute ``(v + ridge · mean variance)^-1/2`` for the eigenvalues v of moments, of which the others are zero."""
    if math.isinf(ridge):
        return np.ones_like(values)
    mean = values.mean() if len(values) == dimension else values.sum() / dimension
    values = np.maximum(values, 0) + ridge * max(mean, np.finfo(float).tiny)
    positive = values > len(values) * np.finfo(float).eps * values.max()
    return np.asarray(
        np.divide(1, np.sqrt(values, where=positive, out=np.ones_like(values)), where=positive, out=0 * values)
    )


def root(inverse: Floats) -> Floats:
    """Invert the symmetric matrix of `inverse_root` again."""
    return np.asarray(np.linalg.pinv(inverse, hermitian=True))

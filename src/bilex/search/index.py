"""A prepared index: the best targets of a few queries at the cost of a matrix-vector product each, without numba.

As in the engines, float32 products only filter: whatever could be among the k best within the bound on their error is
scored again in float64, in the order of `products_kernel.dot`. So the answers are the engines', to the bit. The length
of the longest target, which the bound needs, is measured once.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bilex.numerics.types import Floats, Indices, Vectors
from bilex.search.engine import Neighbours

ROWS_AT_ONCE = 4096
NORM_MARGIN = 1.001  # far more than float32 norms are ever off


def slack_factor(dimension: int) -> float:
    """Return gamma_d, doubled to leave room for the rounding of the float64 arithmetic around it."""
    eps = 2.0**-24
    return 2 * dimension * eps / (1 - dimension * eps)


@dataclass(frozen=True, eq=False)
class Index:
    """Targets that are searched again and again, for a few queries at a time."""

    targets: Vectors

    @cached_property
    def longest(self) -> float:
        """A bound on the norm of every target."""
        with np.errstate(over="ignore"):
            squares = np.einsum("ij,ij->i", self.targets, self.targets)
        return NORM_MARGIN * float(np.sqrt(squares.max(initial=0.0), dtype=np.float64)) + 1e-18

    def products(self, query: Vectors) -> Vectors:
        """Compute the float32 inner products of one query with all targets."""
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(self.targets @ query)

    def best(self, query: Vectors, products: Vectors, k: int, terms: Vectors | None = None) -> tuple[Indices, Floats]:
        """Find the k targets of largest product plus term, as an engine does with the terms as a last dimension."""
        count = len(self.targets)
        norm, largest = float(np.linalg.norm(query.astype(np.float64))), 0.0
        if terms is not None:
            products, largest = products + terms, float(np.abs(terms).max(initial=0.0))
        slack = slack_factor(len(query) + 2) * (self.longest * norm + largest) + len(query) * 2.0**-148
        if norm * self.longest > 1e38:  # sums that may overflow prove nothing
            slack = np.inf
        least = np.partition(products, count - k)[count - k].astype(np.float64) - 2 * slack
        rows = np.flatnonzero(~(products < least))
        scores = np.empty(len(rows))
        for start in range(0, len(rows), ROWS_AT_ONCE):
            some = rows[start : start + ROWS_AT_ONCE]
            near, end = self.targets[some].astype(np.float64) * query.astype(np.float64), start + len(some)
            scores[start:end] = sum_in_order(near if terms is None else np.column_stack([near, terms[some]]))
        order = np.lexsort((rows, -scores))[:k]
        return rows[order], scores[order]

    def top_k(self, queries: Vectors, k: int, terms: Vectors | None = None) -> Neighbours:
        """Find the k targets of largest product plus term for each query."""
        found = [self.best(query, self.products(query), k, terms) for query in queries]
        indices = np.array([rows for rows, _ in found], np.int64).reshape(len(queries), k)
        return Neighbours(indices, np.array([scores for _, scores in found]).reshape(len(queries), k))


def sum_in_order(products: Floats) -> Floats:
    """Sum each row as `products_kernel.dot` does: eight sums side by side."""
    dimension = products.shape[1]
    whole, sums = dimension - dimension % 8, np.zeros((len(products), 8))
    for start in range(0, whole, 8):
        sums += products[:, start : start + 8]
    for column in range(whole, dimension):
        sums[:, 0] += products[:, column]
    pairs = sums[:, ::2] + sums[:, 1::2]
    return np.asarray((pairs[:, 0] + pairs[:, 1]) + (pairs[:, 2] + pairs[:, 3]))

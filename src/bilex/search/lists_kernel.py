"""Exact scores of the pairs in the lists of neighbours; see `search/lists.py`."""

from __future__ import annotations

import numpy as np

from bilex.numerics.compilation import njit
from bilex.numerics.types import Floats, Indices, Vectors
from bilex.search.topk_kernel import comes_before, dot, insert


@njit(cache=True, nogil=True)
def best_listed(
    queries: Vectors, targets: Vectors, pointers: Indices, columns: Indices, k: int
) -> tuple[Indices, Floats]:
    """Find the k best of each query's listed targets; where there are fewer, the rest have a score of -inf."""
    n = queries.shape[0]
    indices, scores = np.full((n, k), targets.shape[0], np.int64), np.full((n, k), -np.inf)
    for row in range(n):
        for target in columns[pointers[row] : pointers[row + 1]]:
            insert(dot(queries[row], targets[target]), target, scores[row], indices[row])
    return indices, scores


@njit(cache=True, nogil=True)
def rank_listed(
    queries: Vectors, targets: Vectors, pointers: Indices, columns: Indices, rows: Indices, chosen: Indices
) -> tuple[Indices, Floats]:
    """Compute the rank of each chosen target among the listed targets of its row, and its score."""
    ranks, scores = np.ones(rows.size, np.int64), np.empty(rows.size)
    for entry in range(rows.size):
        row, score = rows[entry], dot(queries[entry], targets[chosen[entry]])
        for target in columns[pointers[row] : pointers[row + 1]]:
            ranks[entry] += comes_before(dot(queries[entry], targets[target]), target, score, chosen[entry])
        scores[entry] = score
    return ranks, scores

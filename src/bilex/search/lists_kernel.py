"""Exact scores of the pairs in the lists of neighbours; see `search/lists.py`."""

from __future__ import annotations

import numpy as np

from bilex.numerics.compilation import njit
from bilex.numerics.types import Floats, Indices, Vectors
from bilex.search.topk_kernel import comes_before, dot, insert


@njit(cache=True, nogil=True)
def listed_pairs(of_source: Indices, of_target: Indices) -> tuple[Indices, Indices]:
    """Return for each source the targets that are in its list or have it in theirs, as pointers and columns."""
    n, width = of_source.shape
    counts = np.full(n + 1, width, np.int64)
    counts[0] = 0
    for target in range(of_target.shape[0]):
        for source in of_target[target]:
            counts[source + 1] += 1
    places = np.cumsum(counts)
    columns, ends = np.empty(places[n], np.int64), places[:n].copy()
    for source in range(n):
        for target in of_source[source]:
            columns[ends[source]] = target
            ends[source] += 1
    for target in range(of_target.shape[0]):
        for source in of_target[target]:
            columns[ends[source]] = target
            ends[source] += 1
    pairs: tuple[Indices, Indices] = without_repeats(places, columns)
    return pairs


@njit(cache=True, nogil=True)
def without_repeats(places: Indices, columns: Indices) -> tuple[Indices, Indices]:
    """Sort the columns of each row, and drop those that come twice."""
    kept = np.empty_like(places)
    kept[0], end = 0, 0
    for row in range(places.size - 1):
        own = np.sort(columns[places[row] : places[row + 1]])
        for i in range(own.size):
            if i == 0 or own[i] != own[i - 1]:
                columns[end] = own[i]
                end += 1
        kept[row + 1] = end
    return kept, columns[:end].copy()


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

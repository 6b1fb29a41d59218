"""Scans of a block of float32 scores, and of listed pairs, with answers that are exact in float64.

BLAS computes a block of inner products in float32, whose rounding depends on the block's shape and the number of
threads. So the block is used only as a filter. For any order of summation,

    |fl(q·t) - q·t|  <=  gamma_d |q| |t|,     gamma_d = d eps / (1 - d eps),  eps = 2^-24

(Higham 2002, section 3.1). Whatever could matter within that bound, the *slack* of a row, is computed again in
float64 with one fixed order of summation. The results are therefore those of a full search in float64, ties by
lower index, whatever the blocks and threads were.
"""

import numpy as np

from bilex.numerics.compilation import njit
from bilex.numerics.products_kernel import dot
from bilex.numerics.types import Floats, Indices, Vectors

CHUNK = 64

Lists = tuple[Floats, Indices]
"""The best scores so far of each row, best first, and where they were found."""


@njit(cache=True, nogil=True)
def comes_before(score: float, target: int, other_score: float, other: int) -> bool:
    """Check whether a target comes before another: by larger score, then by lower index."""
    return score > other_score or (score == other_score and target < other)


@njit(cache=True, nogil=True)
def insert(score: float, target: int, best: Floats, where: Indices) -> bool:
    """Insert a target among the best so far, in order; return whether it got in."""
    place = best.size
    while place > 0 and comes_before(score, target, best[place - 1], where[place - 1]):
        place -= 1
    if place == best.size:
        return False
    for i in range(best.size - 1, place, -1):
        best[i], where[i] = best[i - 1], where[i - 1]
    best[place], where[place] = score, target
    return True


@njit(cache=True, nogil=True)
def insert_edges(scores: Floats, rows: Indices, columns: Indices, best: Floats, where: Indices) -> None:
    """Insert each edge's query among the best so far of its target."""
    for edge in range(scores.size):
        insert(scores[edge], rows[edge], best[columns[edge]], where[columns[edge]])


@njit(cache=True, nogil=True)
def scan_block(
    scores: Vectors,
    queries: Vectors,
    targets: Vectors,
    first: tuple[int, int],
    slack: Floats,
    of_queries: Lists,
    of_targets: Lists,
) -> None:
    """Merge one block of float32 scores into the best of its queries and of its targets, unless these have no lists.

    `first` are the numbers of the block's first query and target. `of_queries` are the block's own, `of_targets` all.
    """
    best, where = of_queries
    column_best, column_where = of_targets
    width, widest = scores.shape[1], 0.0
    for each in slack:  # `slack.max()` would make numba import SciPy, in every process
        widest = max(widest, each)
    levels, two_sided = np.full(width, np.inf, np.float32), column_best.shape[1] > 0
    if two_sided:
        for column in range(width):
            levels[column] = column_best[first[1] + column, -1] - widest
    for row in range(scores.shape[0]):
        low = np.float32(best[row, -1] - slack[row])
        for start in range(0, width, CHUNK):
            stop = min(start + CHUNK, width)
            hits = 0
            for column in range(start, stop):  # branch-free, so that it is vectorised
                hits += not (scores[row, column] < low)
            if two_sided:
                for column in range(start, stop):
                    hits += not (scores[row, column] < levels[column])
            if hits == 0:
                continue
            for column in range(start, stop):
                of_row, of_column = not (scores[row, column] < low), not (scores[row, column] < levels[column])
                if not (of_row or of_column):
                    continue
                target = first[1] + column
                score = dot(queries[row], targets[target])
                if of_row and insert(score, target, best[row], where[row]):
                    low = np.float32(best[row, -1] - slack[row])
                if of_column and insert(score, first[0] + row, column_best[target], column_where[target]):
                    levels[column] = column_best[target, -1] - widest


@njit(cache=True, nogil=True)
def count_block(
    scores: Vectors,
    queries: Vectors,
    targets: Vectors,
    first_target: int,
    slack: Floats,
    exact: Floats,
    chosen: Indices,
    above: Indices,
) -> None:
    """Count the targets of one block of float32 scores that come before each query's chosen one.

    `exact` are the float64 scores of the chosen ones.
    """
    for row in range(scores.shape[0]):
        low, high = np.float32(exact[row] - slack[row]), exact[row] + slack[row]
        certain, possible = 0, 0
        for column in range(scores.shape[1]):  # branch-free, so that it is vectorised
            certain += scores[row, column] > high
            possible += not (scores[row, column] < low)
        above[row] += certain
        if possible == certain:
            continue
        for column in range(scores.shape[1]):
            if not (scores[row, column] < low or scores[row, column] > high):
                target = first_target + column
                above[row] += comes_before(dot(queries[row], targets[target]), target, exact[row], chosen[row])


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

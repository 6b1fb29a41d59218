"""Scans of a block of float32 scores, and of listed pairs, with answers that are exact in float64.

BLAS computes a block of inner products in float32, whose rounding depends on the block's shape and the number of
threads. So the block is used only as a filter. For any order of summation,

    |fl(q·t) - q·t|  <=  gamma_d |q| |t|,     gamma_d = d eps / (1 - d eps),  eps = 2^-24

(Higham 2002, section 3.1). Whatever could matter within that bound, the *slack* of a row, is computed again in
float64 with one fixed order of summation. The results are therefore those of a full search in float64, ties by
lower index, whatever the blocks and threads were.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir

from bilex.numerics.compilation import cgutils, config, intrinsic, njit, types
from bilex.numerics.types import Floats, Indices, Vectors

CHUNK = 64

Lists = tuple[Floats, Indices]
"""The best scores so far of each row, best first, and where they were found."""


def write_sums(context: Any, builder: Any, addresses: list[tuple[Any, Any]], count: Any) -> list[Any]:
    """Write the code that sums the products of pairs of float32 rows in float64, every eighth product in one sum.

    Numba's compiler does not find the vector instructions by itself. The pairs take turns, because an addition has to
    wait for the last one of its own pair only.
    """
    wide, single = ir.VectorType(ir.DoubleType(), 8), ir.VectorType(ir.FloatType(), 8)
    sums = [cgutils.alloca_once_value(builder, ir.Constant(wide, [0.0] * 8)) for _ in addresses]
    with cgutils.for_range(builder, builder.lshr(count, ir.Constant(count.type, 3))) as loop:
        start = builder.shl(loop.index, ir.Constant(count.type, 3))
        for total, pair in zip(sums, addresses, strict=True):
            numbers = []
            for row in pair:
                loaded = builder.load(builder.bitcast(builder.gep(row, [start]), single.as_pointer()))
                loaded.align = 4
                numbers.append(builder.fpext(loaded, wide))
            builder.store(builder.fadd(builder.load(total), builder.fmul(*numbers)), total)
    return [builder.load(total) for total in sums]


def write_eight_sums(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Write the code of `eight_sums`."""
    kinds = zip(signature.args, arguments, strict=True)
    x, y = (context.make_array(kind)(context, builder, row) for kind, row in kinds)
    (found,) = write_sums(context, builder, [(x.data, y.data)], builder.extract_value(x.shape, 0))
    return as_tuple(context, builder, signature, [found])


def write_four_times_eight_sums(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Write the code of `four_times_eight_sums`."""
    kinds = zip(signature.args[:2], arguments[:2], strict=True)
    queries, targets = (context.make_array(kind)(context, builder, rows) for kind, rows in kinds)
    count = builder.extract_value(queries.shape, 1)
    rows, columns = (cgutils.unpack_tuple(builder, numbers, 4) for numbers in arguments[2:])
    addresses = [
        tuple(
            builder.gep(side.data, [builder.mul(number, count)]) for side, number in ((queries, row), (targets, column))
        )
        for row, column in zip(rows, columns, strict=True)
    ]
    return as_tuple(context, builder, signature, write_sums(context, builder, addresses, count))


def as_tuple(context: Any, builder: Any, signature: Any, vectors: list[Any]) -> Any:
    """Return the numbers of vectors of eight."""
    places = [ir.Constant(ir.IntType(32), lane) for lane in range(8)]
    numbers = [builder.extract_element(vector, place) for vector in vectors for place in places]
    return context.make_tuple(builder, signature.return_type, numbers)


def are_whole(x: Any, y: Any) -> bool:
    """Check that two arrays are float32 and contiguous."""
    return bool(x.layout == y.layout == "C" and x.dtype == y.dtype == types.float32)


def type_eight_sums(typing_context: Any, x: Any, y: Any) -> Any:
    """Return the type of `eight_sums` and what writes it; None, an error for numba, unless both rows are contiguous."""
    return (types.UniTuple(types.float64, 8)(x, y), write_eight_sums) if are_whole(x, y) else None


def type_four_times_eight_sums(typing_context: Any, queries: Any, targets: Any, rows: Any, columns: Any) -> Any:
    """Return the type of `four_times_eight_sums` and what writes it."""
    four = types.UniTuple(types.int64, 4)
    signature = types.UniTuple(types.float64, 32)(queries, targets, four, four)
    return (signature, write_four_times_eight_sums) if are_whole(queries, targets) else None


def eight_sums_in_python(x: Vectors, y: Vectors) -> Floats:
    """Compute the same where numba is switched off."""
    whole = x.size - x.size % 8
    return np.asarray((x[:whole].astype(np.float64) * y[:whole]).reshape(-1, 8).sum(axis=0))


def four_in_python(queries: Vectors, targets: Vectors, rows: Sequence[int], columns: Sequence[int]) -> Floats:
    """Compute the same where numba is switched off."""
    pairs = zip(rows, columns, strict=True)
    return np.concatenate([eight_sums_in_python(queries[row], targets[column]) for row, column in pairs])


# The products of two float32 rows in float64, every eighth in one sum; what is left beyond a multiple of eight is not.
eight_sums: Any = eight_sums_in_python if config.DISABLE_JIT else intrinsic(type_eight_sums)
# The same of four rows of `queries` and four of `targets`, one after the other.
four_times_eight_sums: Any = four_in_python if config.DISABLE_JIT else intrinsic(type_four_times_eight_sums)


@njit(cache=True, nogil=True)
def dot(x: Vectors, y: Vectors) -> float:
    """Compute the inner product of two float32 rows in float64, always in the same order: eight sums side by side."""
    sum0, sum1, sum2, sum3, sum4, sum5, sum6, sum7 = eight_sums(x, y)
    for i in range(x.size - x.size % 8, x.size):
        sum0 += np.float64(x[i]) * np.float64(y[i])
    return float(((sum0 + sum1) + (sum2 + sum3)) + ((sum4 + sum5) + (sum6 + sum7)))


@njit(cache=True, nogil=True)
def four_dots(
    queries: Vectors, targets: Vectors, rows: Indices, columns: Indices, scores: Floats, start: int = 0
) -> None:
    """Compute `dot` of ``queries[rows[e]]`` and ``targets[columns[e]]`` for the four edges e from `start` on."""
    some, others = (start, start + 1, start + 2, start + 3), queries.shape[1] % 8
    of_queries = (rows[some[0]], rows[some[1]], rows[some[2]], rows[some[3]])
    of_targets = (columns[some[0]], columns[some[1]], columns[some[2]], columns[some[3]])
    sums = four_times_eight_sums(queries, targets, of_queries, of_targets)
    for pair in range(4):
        first, place = sums[8 * pair], 8 * pair
        for i in range(queries.shape[1] - others, queries.shape[1]):
            first += np.float64(queries[of_queries[pair], i]) * np.float64(targets[of_targets[pair], i])
        low = (first + sums[place + 1]) + (sums[place + 2] + sums[place + 3])
        scores[start + pair] = low + ((sums[place + 4] + sums[place + 5]) + (sums[place + 6] + sums[place + 7]))


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
def edge_scores(queries: Vectors, targets: Vectors, rows: Indices, columns: Indices) -> Floats:
    """Compute the float64 inner products of ``queries[rows[e]]`` and ``targets[columns[e]]`` for each edge e."""
    scores = np.empty(rows.size, np.float64)
    for edge in range(0, rows.size - 3, 4):
        four_dots(queries, targets, rows, columns, scores, edge)
    for edge in range(rows.size - rows.size % 4, rows.size):
        scores[edge] = dot(queries[rows[edge]], targets[columns[edge]])
    return scores


@njit(cache=True, nogil=True)
def row_norms(vectors: Vectors) -> Floats:
    """Compute the Euclidean norm of each float32 row, in float64."""
    norms = np.empty(vectors.shape[0], np.float64)
    for row in range(vectors.shape[0]):
        norms[row] = np.sqrt(dot(vectors[row], vectors[row]))
    return norms


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

"""Inner products of float32 rows, summed in float64 in one fixed order: the exact scores of all searches."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir

from bilex.numerics.compilation import cgutils, config, intrinsic, njit, types
from bilex.numerics.types import Floats, Indices, Vectors


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

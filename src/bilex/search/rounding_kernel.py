"""Vectors rounded to 8-bit integers, with a measure of the error, in the layout of the filter in `int8_kernel`."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bilex.numerics.compilation import njit, target_features
from bilex.numerics.types import Floats, Vectors

ROWS = 6  # queries in a tile: 6 × 4 accumulators, 4 targets' registers and 1 query's fit into 32 registers
GROUPS = 4
WIDTH = 16 * GROUPS  # targets in a tile
ROUND_UP = np.float32(1 + 2.0**-20)

Bytes = NDArray[np.uint8]


def has_instruction() -> bool:
    """Check that the CPU that numba compiles for multiplies and adds bytes four at a time."""
    return {"avx512vnni", "avx512f"} <= target_features()


def largest_query_code() -> int:
    """Return the largest integer that a query is rounded to; without the instruction, two products share 16 bits."""
    return 127 if has_instruction() else 63


class Tiles(NamedTuple):
    """The targets in tiles.

    `packed` has their integers in the layout of `pack_targets`, `starts` the start of each sum, which undoes the shift
    of the queries (the instruction wants one side unsigned), `facts` those of `quantise`, and `bounds` the
    largest rounding error and norm of each tile.
    """

    packed: NDArray[np.int8]
    starts: NDArray[np.int32]
    facts: Vectors
    bounds: Vectors


class RoundedQueries(NamedTuple):
    """The queries' integers, shifted to be positive, their facts, and a bound on the rounding of their levels."""

    shifted: Bytes
    facts: Vectors
    slack: Floats


# Sums may be taken in any order, so that they are vectorised: norms are rounded up by far more than their rounding.
@njit(cache=True, nogil=True, fastmath={"reassoc", "nnan", "nsz"})
def quantise(vectors: Vectors, most: int, codes: NDArray[np.int8], facts: Vectors, totals: NDArray[np.int32]) -> None:
    """Round every row to integers from ``-most`` to `most` and measure the error.

    `facts` gets the scale, ‖rounded‖, ‖rounding error‖ and ‖vector‖, the norms rounded up; `totals` the sum of the
    integers.
    """
    limit = float(most)
    for row in range(vectors.shape[0]):
        largest = np.float32(0)
        for column in range(vectors.shape[1]):
            largest = max(largest, abs(vectors[row, column]))
        scale = np.float64(np.float32(largest / limit))
        inverse = 1.0 / scale if scale > 0 else 0.0
        rounded, error, norm, total = 0.0, 0.0, 0.0, 0.0
        for column in range(vectors.shape[1]):
            value = np.float64(vectors[row, column])
            code = min(limit, max(-limit, np.rint(value * inverse)))
            codes[row, column] = np.int8(code)
            total += code
            near = code * scale
            rounded += near * near
            error += (value - near) * (value - near)
            norm += value * value
        facts[0, row] = scale
        facts[1, row] = np.float32(np.sqrt(rounded)) * ROUND_UP
        facts[2, row] = np.float32(np.sqrt(error)) * ROUND_UP
        facts[3, row] = np.float32(np.sqrt(norm)) * ROUND_UP
        totals[row] = int(total)


def prepare_targets(targets: Vectors) -> Tiles:
    """Round the targets and lay them out in tiles."""
    count, dimension = targets.shape
    chunks = -(-count // WIDTH)
    codes, totals = np.empty((count, dimension), np.int8), np.empty(count, np.int32)
    facts = np.zeros((4, chunks * WIDTH), np.float32)
    quantise(targets, 127, codes, facts, totals)
    starts = np.zeros(chunks * WIDTH, np.int32)
    starts[:count] = -(largest_query_code() + 1) * totals
    bounds = facts[2:].reshape(2, chunks, WIDTH).max(axis=2)
    return Tiles(pack_targets(codes), starts, facts, bounds)


def prepare_queries(queries: Vectors, tiles: Tiles) -> RoundedQueries:
    """Round the queries to integers.

    Their slack covers a few float32 roundings of terms no larger than these, and underflow below the constant.
    """
    facts, codes = np.empty((4, len(queries)), np.float32), np.empty(queries.shape, np.int8)
    quantise(queries, largest_query_code(), codes, facts, np.empty(len(queries), np.int32))
    shifted = aligned((-(-len(queries) // ROWS) * ROWS, tiles.packed.shape[1] * 4), np.uint8)
    shifted[: len(queries), : queries.shape[1]] = codes.view(np.uint8) + np.uint8(largest_query_code() + 1)
    rounded, error, whole = tiles.facts[1:4].astype(np.float64).max(axis=1, initial=0.0)
    terms = facts[1] * (rounded + error) + facts[2] * whole
    return RoundedQueries(shifted, facts, np.asarray(terms * 2.0**-20 + 2.0**-100))


def pack_targets(codes: NDArray[np.int8]) -> NDArray[np.int8]:
    """Arrange targets as the instruction wants them: 16 of them side by side, four dimensions at a time."""
    n, dimension = codes.shape
    quads = -(-dimension // 4)
    groups = -(-n // WIDTH) * GROUPS
    padded = np.zeros((groups * 16, quads * 4), np.int8)
    padded[:n, :dimension] = codes
    packed = aligned((groups, quads, 64), np.int8)
    packed[:] = padded.reshape(groups, 16, quads, 4).transpose(0, 2, 1, 3).reshape(groups, quads, 64)
    return packed


def aligned(shape: tuple[int, ...], kind: type[np.generic]) -> NDArray[Any]:
    """Return an array of zeros that starts at a multiple of 64 bytes, as the vector loads need."""
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    room = np.zeros(size + 64, np.uint8)
    start = -room.ctypes.data % 64
    return room[start : start + size].view(kind).reshape(shape)

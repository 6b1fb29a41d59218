"""Inner products in 8-bit integers, with a bound on their error: a faster filter than float32.

Where the CPU multiplies bytes four at a time (AVX-512 VNNI), a block of scores takes a fraction of float32's time.
Each row is rounded to integers times a scale of its own. With q̂ and t̂ the rounded vectors,

    |q·t - q̂·t̂|  =  |q̂·(t - t̂) + (q - q̂)·t|  <=  ‖q̂‖ ‖t - t̂‖ + ‖q - q̂‖ ‖t‖

The integer products are exact. Scores that could matter within the bound are computed again in float64, as with the
float32 filter (`search/topk_kernel.py`), so the answers are the same to the bit.

A tile of products never leaves the registers: it is compared there with each query's level, lowered by the largest
bound among the tile's targets, and only the result, one bit for each target, is written to memory.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from llvmlite import binding, ir
from numba import config, njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from bilex.numerics.types import Floats, Indices, Vectors
from bilex.search.topk_kernel import comes_before, dot, insert

ROWS = 6  # queries in a tile: 6 × 4 accumulators, 4 targets' registers and 1 query's fit into 32 registers
GROUPS = 4
WIDTH = 16 * GROUPS  # targets in a tile
ROUND_UP = np.float32(1 + 2.0**-20)

Bytes = NDArray[np.uint8]


class Tiles(NamedTuple):
    """The targets in tiles.

    `packed` has their integers in the layout of `pack_targets`, `starts` the start of each sum, which undoes the shift
    of the queries by 128 (the instruction wants one side unsigned), `facts` those of `quantise`, and `bounds` the
    largest rounding error and norm of each tile.
    """

    packed: NDArray[np.int8]
    starts: NDArray[np.int32]
    facts: Vectors
    bounds: Vectors


class RoundedQueries(NamedTuple):
    """The queries' integers plus 128, their facts, and a bound on the float32 rounding of their levels."""

    shifted: Bytes
    facts: Vectors
    slack: Floats


@cache
def available() -> bool:
    """Check that this CPU has the instruction, and that numba may compile."""
    features = binding.get_host_cpu_features()
    return bool(features.get("avx512vnni")) and bool(features.get("avx512f")) and not config.DISABLE_JIT


@intrinsic
def tile(
    typing_context: Any, q: Any, q_stride: Any, t: Any, starts: Any, scales: Any, quads: Any, levels: Any, masks: Any
) -> Any:
    """Compare the products of ROWS queries and WIDTH targets, times the targets' `scales`, with the queries' levels.

    The sums begin at `starts`. `levels` points to the float32 (ROWS, 2) levels, `masks` to the uint64 (ROWS, 2)
    results: bit i is set where target i reaches the level. Addresses and strides are in bytes; `quads` is a quarter of
    the dimensions.
    """
    word, byte, long, real = ir.IntType(32), ir.IntType(8), ir.IntType(64), ir.FloatType()
    words, many, reals = ir.VectorType(word, 16), ir.VectorType(byte, 64), ir.VectorType(real, 16)
    half = ir.IntType(16)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        q, q_stride, t, starts, scales, quads, levels, masks = arguments
        name = "llvm.x86.avx512.vpdpbusd.512"
        dot = builder.module.globals.get(name) or ir.Function(
            builder.module, ir.FunctionType(words, [words, many, many]), name
        )

        def number(value: int) -> Any:
            return ir.Constant(long, value)

        def load(base: Any, offset: Any, kind: Any, align: int = 4) -> Any:
            loaded = builder.load(builder.inttoptr(builder.add(base, offset), kind.as_pointer()))
            loaded.align = align
            return loaded

        def spread(value: Any, kind: Any) -> Any:
            nothing = ir.Constant(kind, ir.Undefined)
            first = builder.insert_element(nothing, value, ir.Constant(word, 0))
            return builder.shuffle_vector(first, nothing, ir.Constant(words, [0] * 16))

        before, loop, after = builder.block, builder.append_basic_block("quads"), builder.append_basic_block("done")
        begin = [load(starts, number(64 * group), words) for group in range(GROUPS)]
        builder.branch(loop)
        builder.position_at_end(loop)
        quad = builder.phi(long)
        quad.add_incoming(number(0), before)
        sums = [builder.phi(words) for _ in range(ROWS * GROUPS)]
        targets = [
            load(t, builder.mul(builder.add(builder.mul(number(group), quads), quad), number(64)), many, 64)
            for group in range(GROUPS)
        ]
        results = []
        for row in range(ROWS):
            offset = builder.add(builder.mul(q_stride, number(row)), builder.mul(quad, number(4)))
            four = builder.bitcast(spread(load(q, offset, word), words), many)
            results += [
                builder.call(dot, [total, four, values])
                for total, values in zip(sums[row * GROUPS :], targets, strict=False)
            ]
        following = builder.add(quad, number(1))
        quad.add_incoming(following, loop)
        for place, (total, result) in enumerate(zip(sums, results, strict=True)):
            total.add_incoming(begin[place % GROUPS], before)
            total.add_incoming(result, loop)
        builder.cbranch(builder.icmp_signed("<", following, quads), loop, after)
        builder.position_at_end(after)
        scale = [load(scales, number(64 * group), reals) for group in range(GROUPS)]
        for row in range(ROWS):
            scores = [
                builder.fmul(builder.sitofp(results[row * GROUPS + group], reals), scale[group])
                for group in range(GROUPS)
            ]
            for which in range(2):
                level = spread(load(levels, number(8 * row + 4 * which), real), reals)
                mask = number(0)
                for group, score in enumerate(scores):
                    reached = builder.zext(builder.bitcast(builder.fcmp_ordered(">=", score, level), half), long)
                    mask = builder.or_(mask, builder.shl(reached, number(16 * group)))
                place = builder.add(masks, number(16 * row + 8 * which))
                builder.store(mask, builder.inttoptr(place, long.as_pointer())).align = 8
        return context.get_dummy_value()

    return types.void(*[types.intp] * 8), generate


@njit(cache=True, nogil=True)
def compare_tile(
    shifted: Bytes, start: int, tiles: Tiles, chunk: int, levels: Vectors, masks: NDArray[np.uint64]
) -> None:
    """Compare a tile's products with the levels of the queries from `start` on."""
    quads, first = tiles.packed.shape[1], chunk * WIDTH
    tile(
        shifted.ctypes.data + start * quads * 4,
        quads * 4,
        tiles.packed.ctypes.data + chunk * GROUPS * quads * 64,
        tiles.starts.ctypes.data + first * 4,
        tiles.facts.ctypes.data + first * 4,
        quads,
        levels.ctypes.data,
        masks.ctypes.data,
    )


@njit(cache=True, nogil=True)
def error_margin(facts: Vectors, row: int, bounds: Vectors, chunk: int, slack: Floats) -> float:
    """Bound the error of a query's products with all the targets of a tile."""
    return float(facts[1, row] * bounds[0, chunk] + facts[2, row] * bounds[1, chunk] + slack[row])


@njit(cache=True, nogil=True)
def bit_is_set(mask: int, place: int) -> bool:
    """Check whether a bit is set."""
    return bool((mask >> np.uint64(place)) & np.uint64(1))


@njit(cache=True, nogil=True)
def scan_tiles(
    queries: Vectors,
    targets: Vectors,
    rounded: RoundedQueries,
    tiles: Tiles,
    best: Floats,
    where: Indices,
    above: Indices,
) -> None:
    """Merge all targets into the best k of each query or count them, as `topk_kernel.scan_block` does with a block."""
    shifted, facts, slack = rounded
    last, counting, bounds = best.shape[1] - 1, above.size > 0, tiles.bounds
    levels, masks = np.full((ROWS, 2), np.inf, np.float32), np.zeros((ROWS, 2), np.uint64)
    for chunk in range(bounds.shape[1]):
        first = chunk * WIDTH
        for start in range(0, queries.shape[0], ROWS):
            rows = min(ROWS, queries.shape[0] - start)
            for i in range(rows):
                row, scale = start + i, facts[0, start + i]
                margin = error_margin(facts, row, bounds, chunk, slack)
                levels[i, 0] = (best[row, last] - margin) / scale if scale > 0 else -np.inf
                if counting:
                    levels[i, 1] = (best[row, last] + margin) / scale if scale > 0 else np.inf
            compare_tile(shifted, start, tiles, chunk, levels, masks)
            for i in range(rows):
                if masks[i, 0] == 0:
                    continue
                row = start + i
                for j in range(min(WIDTH, targets.shape[0] - first)):
                    if counting and bit_is_set(masks[i, 1], j):
                        above[row] += 1
                    elif bit_is_set(masks[i, 0], j):
                        score = dot(queries[row], targets[first + j])
                        if counting:
                            above[row] += comes_before(score, first + j, best[row, last], where[row, last])
                        else:
                            insert(score, first + j, best[row], where[row])


@njit(cache=True, nogil=True)
def quantise(vectors: Vectors, codes: NDArray[np.int8], facts: Vectors, totals: NDArray[np.int32]) -> None:
    """Round every row to integers from -127 to 127 and measure the error.

    `facts` gets the scale, ‖rounded‖, ‖rounding error‖ and ‖vector‖, the norms rounded up; `totals` the sum of the
    integers.
    """
    for row in range(vectors.shape[0]):
        largest = 0.0
        for column in range(vectors.shape[1]):
            largest = max(largest, abs(np.float64(vectors[row, column])))
        scale = np.float64(np.float32(largest / 127.0))
        rounded, error, norm, total = 0.0, 0.0, 0.0, 0
        for column in range(vectors.shape[1]):
            value = np.float64(vectors[row, column])
            code = 0
            if scale > 0:
                code = min(127, max(-127, int(np.rint(value / scale))))
            codes[row, column] = code
            total += code
            near = code * scale
            rounded += near * near
            error += (value - near) * (value - near)
            norm += value * value
        facts[0, row] = scale
        facts[1, row] = np.float32(np.sqrt(rounded)) * ROUND_UP
        facts[2, row] = np.float32(np.sqrt(error)) * ROUND_UP
        facts[3, row] = np.float32(np.sqrt(norm)) * ROUND_UP
        totals[row] = total


def prepare_targets(targets: Vectors) -> Tiles:
    """Round the targets and lay them out in tiles."""
    count, dimension = targets.shape
    chunks = -(-count // WIDTH)
    codes, totals = np.empty((count, dimension), np.int8), np.empty(count, np.int32)
    facts = np.zeros((4, chunks * WIDTH), np.float32)
    quantise(targets, codes, facts, totals)
    starts = np.zeros(chunks * WIDTH, np.int32)
    starts[:count] = -128 * totals
    bounds = facts[2:].reshape(2, chunks, WIDTH).max(axis=2)
    return Tiles(pack_targets(codes), starts, facts, bounds)


def prepare_queries(queries: Vectors, tiles: Tiles) -> RoundedQueries:
    """Round the queries to integers.

    Their slack covers a few float32 roundings of terms no larger than these, and underflow below the constant.
    """
    facts, codes = np.empty((4, len(queries)), np.float32), np.empty(queries.shape, np.int8)
    quantise(queries, codes, facts, np.empty(len(queries), np.int32))
    shifted = aligned((-(-len(queries) // ROWS) * ROWS, tiles.packed.shape[1] * 4), np.uint8)
    shifted[: len(queries), : queries.shape[1]] = codes.astype(np.int16) + 128
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

"""Inner products in 8-bit integers, with a bound on their error: a faster filter than float32.

Where the CPU multiplies bytes four at a time (AVX-512 VNNI), a block of scores takes a fraction of float32's time.
Vectors are rounded to integers, row by row: ``q = a (q8 + e)`` with a scale a for each row. With q̂ = a q8 and t̂
the rounded vectors, and ‖q - q̂‖, ‖t - t̂‖ the lengths that rounding took off (computed exactly, row by row),

    q·t  =  q̂·t̂ + q̂·(t - t̂) + (q - q̂)·t  <=  q̂·t̂ + ‖q̂‖ ‖t - t̂‖ + ‖q - q̂‖ ‖t‖

The right side is an upper bound of the true score. What it puts above the k-th best so far is computed again in
float64, exactly as with the float32 filter (`kernels/topk.py`). So the answers are the same, to the bit; only the
time differs. The integer products themselves are exact.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from bilex.arrays import Floats, Indices, Vectors
from bilex.kernels.topk import CHUNK, dot, insert

__all__ = ["ROWS", "WIDTH", "aligned", "available", "multiply", "pack_targets", "quantise", "rounding", "scan_products"]

ROWS = 6  # queries in a tile: 6 × 4 accumulators, 4 targets' registers and 1 query's fit into 32 registers
GROUPS = 4
WIDTH = 16 * GROUPS  # targets in a tile
ROUND_UP = np.float32(1 + 2.0**-20)

Bytes = NDArray[np.uint8]


@cache
def available() -> bool:
    """Say whether this CPU has the instruction."""
    features = binding.get_host_cpu_features()
    return bool(features.get("avx512vnni")) and bool(features.get("avx512f"))


@intrinsic
def tile(typing_context: Any, q: Any, q_stride: Any, t: Any, starts: Any, quads: Any, out: Any, out_stride: Any) -> Any:
    """Multiply ROWS queries with WIDTH targets, whose sums begin at `starts`.

    Addresses and strides are in bytes; `quads` is a quarter of the dimensions.
    """
    word, byte, long = ir.IntType(32), ir.IntType(8), ir.IntType(64)
    words, many = ir.VectorType(word, 16), ir.VectorType(byte, 64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        q, q_stride, t, starts, quads, out, out_stride = arguments
        name = "llvm.x86.avx512.vpdpbusd.512"
        dot = builder.module.globals.get(name) or ir.Function(
            builder.module, ir.FunctionType(words, [words, many, many]), name
        )

        def number(value: int) -> Any:
            return ir.Constant(long, value)

        def pointer(base: Any, offset: Any, kind: Any) -> Any:
            return builder.inttoptr(builder.add(base, offset), kind.as_pointer())

        before, loop, after = builder.block, builder.append_basic_block("quads"), builder.append_basic_block("done")
        begin = []
        for group in range(GROUPS):
            begin.append(builder.load(pointer(starts, number(64 * group), words)))
            begin[-1].align = 4
        builder.branch(loop)
        builder.position_at_end(loop)
        quad = builder.phi(long)
        quad.add_incoming(number(0), before)
        sums = [builder.phi(words) for _ in range(ROWS * GROUPS)]
        targets = []
        for group in range(GROUPS):
            offset = builder.mul(builder.add(builder.mul(number(group), quads), quad), number(64))
            targets.append(builder.load(pointer(t, offset, many)))
            targets[-1].align = 64
        nothing, results = ir.Constant(words, ir.Undefined), []
        for row in range(ROWS):
            offset = builder.add(builder.mul(q_stride, number(row)), builder.mul(quad, number(4)))
            four = builder.load(pointer(q, offset, word))
            four.align = 4
            spread = builder.insert_element(nothing, four, ir.Constant(word, 0))
            spread = builder.bitcast(builder.shuffle_vector(spread, nothing, ir.Constant(words, [0] * 16)), many)
            results += [
                builder.call(dot, [total, spread, values])
                for total, values in zip(sums[row * GROUPS :], targets, strict=False)
            ]
        following = builder.add(quad, number(1))
        quad.add_incoming(following, loop)
        for place, (total, result) in enumerate(zip(sums, results, strict=True)):
            total.add_incoming(begin[place % GROUPS], before)
            total.add_incoming(result, loop)
        builder.cbranch(builder.icmp_signed("<", following, quads), loop, after)
        builder.position_at_end(after)
        for row in range(ROWS):
            for group in range(GROUPS):
                offset = builder.add(builder.mul(out_stride, number(row)), number(64 * group))
                stored = builder.store(results[row * GROUPS + group], pointer(out, offset, words))
                stored.align = 4
        return context.get_dummy_value()

    return types.void(*[types.intp] * 7), generate


@njit(cache=True, nogil=True)
def multiply(queries: Bytes, targets: NDArray[np.int8], starts: NDArray[np.int32], sums: NDArray[np.int32]) -> None:
    """Compute the integer products of a block, exactly.

    `queries` are shifted by 128, since the instruction wants one side unsigned, and `starts` takes off what that
    adds to each target's products. `targets` are laid out by `pack_targets`.
    """
    height, width, quads = sums.shape[0], sums.shape[1], targets.shape[1]
    for column in range(0, width, WIDTH):
        for row in range(0, height, ROWS):
            tile(
                queries.ctypes.data + row * quads * 4,
                quads * 4,
                targets.ctypes.data + (column // 16) * quads * 64,
                starts.ctypes.data + column * 4,
                quads,
                sums.ctypes.data + (row * width + column) * 4,
                width * 4,
            )


@njit(cache=True, nogil=True, inline="always")
def upper_bound(product: int, scale: float, length: float, error: float, facts: Vectors, column: int) -> Any:
    """Bound one score from above."""
    return np.float32(product) * (scale * facts[0, column]) + length * facts[2, column] + error * facts[3, column]


@njit(cache=True, nogil=True)
def scan_products(
    sums: NDArray[np.int32],
    queries: Vectors,
    targets: Vectors,
    first_target: int,
    query_facts: Vectors,
    target_facts: Vectors,
    slack: Floats,
    best: Floats,
    where: Indices,
) -> None:
    """Merge a block of integer products into the running best k of each query, as `topk.scan_block` does.

    The facts are rows of scale, ‖rounded‖, ‖rounding error‖ and ‖vector‖; `target_facts` are those
    of the block's targets. `slack` is only the rounding of the bounds themselves.
    """
    k, width = best.shape[1], target_facts.shape[1]
    for row in range(best.shape[0]):
        scale, length, error = query_facts[0, row], query_facts[1, row], query_facts[2, row]
        low = np.float32(best[row, k - 1] - slack[row])
        for start in range(0, width, CHUNK):
            stop = min(start + CHUNK, width)
            hits = 0
            for column in range(start, stop):  # branch-free, so that it is vectorised
                bound = upper_bound(sums[row, column], scale, length, error, target_facts, column)
                hits += bound >= low
            if hits == 0:
                continue
            for column in range(start, stop):
                bound = upper_bound(sums[row, column], scale, length, error, target_facts, column)
                if bound >= low:
                    target = first_target + column
                    if insert(dot(queries[row], targets[target]), target, best[row], where[row]):
                        low = np.float32(best[row, k - 1] - slack[row])


@njit(cache=True, nogil=True)
def quantise(vectors: Vectors, codes: NDArray[np.int8], facts: Vectors, totals: NDArray[np.int32]) -> None:
    """Round every row to integers from -127 to 127 and measure what that took off.

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


def rounding(query_facts: Vectors, target_facts: Vectors) -> NDArray[np.float64]:
    """Bound what float32 arithmetic in `upper_bound` may take off a bound: a few roundings of its three terms."""
    rounded, error, whole = target_facts[1:4].astype(np.float64).max(axis=1, initial=0.0)
    terms = query_facts[1] * (rounded + error) + query_facts[2] * whole
    return np.asarray(terms * 2.0**-20)


def pack_targets(codes: NDArray[np.int8]) -> NDArray[np.int8]:
    """Lay targets out as the instruction wants them: 16 of them side by side, four dimensions at a time."""
    n, dimension = codes.shape
    quads = -(-dimension // 4)
    groups = -(-n // WIDTH) * GROUPS
    padded = np.zeros((groups * 16, quads * 4), np.int8)
    padded[:n, :dimension] = codes
    packed = aligned((groups, quads, 64), np.int8)
    packed[:] = padded.reshape(groups, 16, quads, 4).transpose(0, 2, 1, 3).reshape(groups, quads, 64)
    return packed


def aligned(shape: tuple[int, ...], kind: type[np.generic]) -> NDArray[Any]:
    """Make an array of zeros that starts at a multiple of 64 bytes, as the registers' loads need."""
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    room = np.zeros(size + 64, np.uint8)
    start = -room.ctypes.data % 64
    return room[start : start + size].view(kind).reshape(shape)

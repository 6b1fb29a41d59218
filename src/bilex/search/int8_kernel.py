"""Inner products in 8-bit integers, with a bound on their error: a faster filter than float32.

Where the CPU multiplies bytes four at a time (AVX-512 VNNI), a block of scores takes a fraction of float32's time.
Each row is rounded to integers times a scale of its own. With q̂ and t̂ the rounded vectors,

    |q·t - q̂·t̂|  =  |q̂·(t - t̂) + (q - q̂)·t|  <=  ‖q̂‖ ‖t - t̂‖ + ‖q - q̂‖ ‖t‖

The integer products are exact. Scores that could matter within the bound are computed again in float64, as with the
float32 filter (`search/topk_kernel.py`), so the answers are the same to the bit.

A tile of products never leaves the registers: it is compared there with each query's level, lowered by the largest
bound among the tile's targets, and only the result, one bit for each target, is written to memory.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from bilex.numerics.compilation import config, intrinsic, njit, target_features, types
from bilex.numerics.types import Floats, Indices, Vectors
from bilex.search.rounding_kernel import GROUPS, ROUND_UP, ROWS, WIDTH, Bytes, RoundedQueries, Tiles
from bilex.search.topk_kernel import Lists, four_dots, insert

ALL_BITS = np.uint64(2**WIDTH - 1)
INT32, INT64, FLOAT32 = ir.IntType(32), ir.IntType(64), ir.FloatType()
INT32_LANES, BYTE_LANES, FLOAT_LANES = (
    ir.VectorType(INT32, 16),
    ir.VectorType(ir.IntType(8), 64),
    ir.VectorType(FLOAT32, 16),
)


def has_instruction() -> bool:
    """Check that the CPU that numba compiles for multiplies and adds bytes four at a time."""
    return {"avx512vnni", "avx512f"} <= target_features()


def available() -> bool:
    """Check that there is the instruction, and that numba may compile."""
    return has_instruction() and not config.DISABLE_JIT


def add_products(builder: Any) -> Any:
    """Return the function that adds the products of four unsigned and four signed bytes to each of 16 sums.

    That is one instruction, or the same in plain operations on a CPU that lacks it: slow, but the tests run anywhere.
    """
    module = builder.module
    name = "llvm.x86.avx512.vpdpbusd.512" if has_instruction() else "bilex_add_products"
    if name in module.globals:
        return module.globals[name]
    function = ir.Function(module, ir.FunctionType(INT32_LANES, [INT32_LANES, BYTE_LANES, BYTE_LANES]), name)
    if has_instruction():
        return function
    function.linkage = "internal"
    function.attributes.add("noinline")
    inner, wide = ir.IRBuilder(function.append_basic_block()), ir.VectorType(ir.IntType(32), 64)
    total, unsigned, signed = function.args
    products = inner.mul(inner.zext(unsigned, wide), inner.sext(signed, wide))
    for place in range(4):
        every_fourth = ir.Constant(INT32_LANES, [4 * lane + place for lane in range(16)])
        total = inner.add(total, inner.shuffle_vector(products, ir.Constant(wide, ir.Undefined), every_fourth))
    inner.ret(total)
    return function


def constant(value: int) -> Any:
    """Return a constant."""
    return ir.Constant(INT64, value)


def load_from(builder: Any, base: Any, offset: Any, kind: Any, align: int = 4) -> Any:
    """Load a value from an address plus an offset in bytes."""
    loaded = builder.load(builder.inttoptr(builder.add(base, offset), kind.as_pointer()))
    loaded.align = align
    return loaded


def sixteen_times(builder: Any, value: Any, kind: Any) -> Any:
    """Return a vector of 16 times the value."""
    nothing = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(nothing, value, ir.Constant(INT32, 0))
    return builder.shuffle_vector(first, nothing, ir.Constant(INT32_LANES, [0] * 16))


def store_mask(builder: Any, scores: list[Any], levels: list[Any], address: Any) -> None:
    """Store 64 bits: whether each score reaches its level."""
    mask = constant(0)
    for group in range(GROUPS):
        reached = builder.fcmp_ordered(">=", scores[group], levels[group])
        bits = builder.zext(builder.bitcast(reached, ir.IntType(16)), INT64)
        mask = builder.or_(mask, builder.shl(bits, constant(16 * group)))
    builder.store(mask, builder.inttoptr(address, INT64.as_pointer())).align = 8


def multiply_tile(builder: Any, q: Any, q_stride: Any, t: Any, starts: Any, quads: Any) -> list[Any]:
    """Write the loop over the dimensions; return the registers with the products, GROUPS for each query."""
    dot = add_products(builder)
    before, loop, after = builder.block, builder.append_basic_block("quads"), builder.append_basic_block("done")
    begin = [load_from(builder, starts, constant(64 * group), INT32_LANES) for group in range(GROUPS)]
    builder.branch(loop)
    builder.position_at_end(loop)
    quad = builder.phi(INT64)
    quad.add_incoming(constant(0), before)
    sums = [builder.phi(INT32_LANES) for _ in range(ROWS * GROUPS)]
    places = [builder.add(builder.mul(constant(group), quads), quad) for group in range(GROUPS)]
    targets = [load_from(builder, t, builder.mul(place, constant(64)), BYTE_LANES, 64) for place in places]
    results = []
    for row in range(ROWS):
        offset = builder.add(builder.mul(q_stride, constant(row)), builder.mul(quad, constant(4)))
        four = builder.bitcast(sixteen_times(builder, load_from(builder, q, offset, INT32), INT32_LANES), BYTE_LANES)
        own = sums[row * GROUPS : (row + 1) * GROUPS]
        results += [builder.call(dot, [total, four, values]) for total, values in zip(own, targets, strict=True)]
    following = builder.add(quad, constant(1))
    quad.add_incoming(following, loop)
    for place, (total, result) in enumerate(zip(sums, results, strict=True)):
        total.add_incoming(begin[place % GROUPS], before)
        total.add_incoming(result, loop)
    builder.cbranch(builder.icmp_signed("<", following, quads), loop, after)
    builder.position_at_end(after)
    return results


def write_tile(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Write the code of `tile`."""
    q, q_stride, t, starts, scales, quads, levels, masks = arguments
    products = multiply_tile(builder, q, q_stride, t, starts, quads)
    scale = [load_from(builder, scales, constant(64 * group), FLOAT_LANES) for group in range(GROUPS)]
    of_targets = [load_from(builder, levels, constant(8 * ROWS + 64 * group), FLOAT_LANES) for group in range(GROUPS)]
    for row in range(ROWS):
        own = products[row * GROUPS : (row + 1) * GROUPS]
        scores = [builder.fmul(builder.sitofp(each, FLOAT_LANES), scale[group]) for group, each in enumerate(own)]
        level, factor = (
            sixteen_times(builder, load_from(builder, levels, constant(8 * row + place), FLOAT32), FLOAT_LANES)
            for place in (0, 4)
        )
        store_mask(builder, scores, [level] * GROUPS, builder.add(masks, constant(16 * row)))
        whole = [builder.fmul(score, factor) for score in scores]
        store_mask(builder, whole, of_targets, builder.add(masks, constant(16 * row + 8)))
    return context.get_dummy_value()


@intrinsic
def tile(
    typing_context: Any, q: Any, q_stride: Any, t: Any, starts: Any, scales: Any, quads: Any, levels: Any, masks: Any
) -> Any:
    """Compare the products of ROWS queries and WIDTH targets with the levels of the queries and of the targets.

    A score is the product times the target's scale. `levels` points to float32 numbers: a level and the scale of each
    query, and then a level for each target, which is compared with the score times the query's scale. `masks` points to
    the uint64 (ROWS, 2) results: bit i is set where target i reaches the level. The sums begin at `starts`. Addresses
    and strides are in bytes; `quads` is a quarter of the dimensions.
    """
    return types.void(*[types.intp] * 8), write_tile


def type_lowest_bit(typing_context: Any, mask: Any) -> Any:
    """Return the type of `lowest_bit` and what writes it: one instruction."""

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), write


def lowest_bit_in_python(mask: int) -> int:
    """Compute the same where numba is switched off."""
    return (int(mask) & -int(mask)).bit_length() - 1


# The place of the lowest bit that is set in a mask of 64 bits.
lowest_bit: Any = lowest_bit_in_python if config.DISABLE_JIT else intrinsic(type_lowest_bit)


@njit(cache=True, nogil=True)
def compare_tile(
    shifted: Bytes, start: int, tiles: Tiles, chunk: int, levels: Vectors, masks: NDArray[np.uint64]
) -> None:
    """Compare a tile's products with the levels of the queries from `start` on and of the tile's targets."""
    tile(*addresses(shifted, start, tiles, chunk), levels.ctypes.data, masks.ctypes.data)


@njit(cache=True, nogil=True)
def addresses(shifted: Bytes, start: int, tiles: Tiles, chunk: int) -> tuple[int, int, int, int, int, int]:
    """Return where a tile's numbers are: its queries and their stride, targets, starts, scales, and the quads."""
    quads, first = tiles.packed.shape[1], chunk * WIDTH
    return (
        shifted.ctypes.data + start * quads * 4,
        quads * 4,
        tiles.packed.ctypes.data + chunk * GROUPS * quads * 64,
        tiles.starts.ctypes.data + first * 4,
        tiles.facts.ctypes.data + first * 4,
        quads,
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
    chunks: tuple[int, int],
    first_query: int,
    of_queries: Lists,
    of_targets: Lists,
) -> None:
    """Merge the tiles from one chunk to another into the best of the queries and, if they have lists, of the targets.

    A target's level is lowered by the largest bound among the queries of a tile, and by the rounding of the level.
    """
    shifted, facts, slack = rounded
    best, where = of_queries
    column_best, column_where = of_targets
    levels, masks = np.full(2 * ROWS + WIDTH, np.inf, np.float32), np.zeros((ROWS, 2), np.uint64)
    column_levels, errors = np.full(WIDTH, np.inf, np.float32), tiles.facts[2:]
    four_rows, four_targets, scores = np.zeros(4, np.int64), np.zeros(4, np.int64), np.zeros(4)
    for chunk in range(chunks[0], chunks[1]):
        first = chunk * WIDTH
        count = min(WIDTH, targets.shape[0] - first)
        used = ALL_BITS >> np.uint64(WIDTH - count)
        if column_best.shape[1] > 0:
            for j in range(count):
                column_levels[j] = rounded_down(column_best[first + j, -1])
        for start in range(0, queries.shape[0], ROWS):
            rows = min(ROWS, queries.shape[0] - start)
            largest, error, rest = np.float32(0), np.float32(0), 0.0
            for i in range(rows):
                row, scale = start + i, facts[0, start + i]
                margin = error_margin(facts, row, tiles.bounds, chunk, slack)
                levels[2 * i] = (best[row, -1] - margin) / scale if scale > 0 else -np.inf
                levels[2 * i + 1] = scale
                largest, error, rest = max(largest, facts[1, row]), max(error, facts[2, row]), max(rest, slack[row])
            room = np.float32(rest) * ROUND_UP
            for j in range(WIDTH):
                margin = largest * errors[0, first + j] + error * errors[1, first + j] + room
                levels[2 * ROWS + j] = column_levels[j] - margin
            compare_tile(shifted, start, tiles, chunk, levels, masks)
            for i in range(rows):
                row, bits = start + i, (masks[i, 0] | masks[i, 1]) & used
                four_rows[:] = row
                while bits != 0:
                    found, bits = take_bits(bits, first, four_targets)
                    four_dots(queries, targets, four_rows, four_targets, scores)
                    for number in range(found):
                        j, score = four_targets[number] - first, scores[number]
                        if bit_is_set(masks[i, 0], j) and score >= best[row, -1]:
                            insert(score, first + j, best[row], where[row])
                        if bit_is_set(masks[i, 1], j) and score >= column_best[first + j, -1]:
                            insert(score, first_query + row, column_best[first + j], column_where[first + j])
                            column_levels[j] = rounded_down(column_best[first + j, -1])


@njit(cache=True, nogil=True)
def take_bits(bits: np.uint64, first: int, places: Indices) -> tuple[int, np.uint64]:
    """Write down where the lowest bits are that are set, four or fewer; return how many there are, and the other bits.

    The place of the lowest bit of a mask is `first`. If there are fewer than four, the last one is repeated.
    """
    found = 0
    for place in range(places.size):
        if bits != 0:
            places[place] = first + lowest_bit(bits)
            bits &= bits - np.uint64(1)
            found += 1
        else:
            places[place] = places[place - 1]
    return found, bits


@njit(cache=True, nogil=True)
def rounded_down(level: float) -> float:
    """Return a number that is below the level also in float32."""
    return level - abs(level) * 2.0**-20

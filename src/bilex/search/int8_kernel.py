"""Inner products in 8-bit integers, with a bound on their error: a faster filter than float32.

Where the CPU multiplies bytes four at a time (AVX-512 VNNI), a block of scores takes a fraction of float32's time. With
AVX2, which takes three instructions for the same and 7 bits of a query, it takes little more than half of it. Each row
is rounded to integers times a scale of its own. With q̂ and t̂ the rounded vectors,

    |q·t - q̂·t̂|  =  |q̂·(t - t̂) + (q - q̂)·t|  <=  ‖q̂‖ ‖t - t̂‖ + ‖q - q̂‖ ‖t‖

The integer products are exact. Scores that could matter within the bound are computed again in float64, as with the
float32 filter (`search/topk_kernel.py`), so the answers are the same to the bit.

A tile of products is not stored: it is compared at once with each query's level, lowered by the largest
bound among the tile's targets, and only the result, one bit for each target, is written to memory.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from bilex.numerics.compilation import config, intrinsic, njit, target_features, types
from bilex.numerics.products_kernel import four_dots
from bilex.numerics.types import Floats, Indices, Vectors
from bilex.search.rounding_kernel import GROUPS, ROUND_UP, ROWS, WIDTH, Bytes, RoundedQueries, Tiles, has_instruction
from bilex.search.topk_kernel import Lists, insert

AVX2_PART = 2, 2  # queries and groups of targets whose sums fit into 16 registers
ALL_BITS = np.uint64(2**WIDTH - 1)
INT32, INT64, FLOAT32 = ir.IntType(32), ir.IntType(64), ir.FloatType()
INT32_LANES, BYTE_LANES, FLOAT_LANES = (
    ir.VectorType(INT32, 16),
    ir.VectorType(ir.IntType(8), 64),
    ir.VectorType(FLOAT32, 16),
)


def available() -> bool:
    """Check that the CPU that numba compiles for multiplies bytes quickly, and that numba may compile."""
    return (has_instruction() or "avx2" in target_features()) and not config.DISABLE_JIT


def add_products(builder: Any, total: Any, unsigned: Any, signed: Any) -> Any:
    """Add the products of four unsigned and four signed bytes to each of 16 sums.

    That is one instruction, or three for each half of the sums, or the same in plain operations on a CPU that lacks
    these too: slow, but the tests run anywhere.
    """
    if has_instruction():
        fours = (builder.bitcast(each, INT32_LANES) for each in (unsigned, signed))  # as LLVM had it before 22
        return call_instruction(builder, "avx512.vpdpbusd.512", INT32_LANES, total, *fours)
    if "avx2" in target_features():
        low, high = (
            add_half(builder, *(half_of(builder, each, half) for each in (total, unsigned, signed))) for half in (0, 1)
        )
        return builder.shuffle_vector(low, high, ir.Constant(INT32_LANES, list(range(16))))
    wide = ir.VectorType(INT32, 64)
    products = builder.mul(builder.zext(unsigned, wide), builder.sext(signed, wide))
    for place in range(4):
        every_fourth = ir.Constant(INT32_LANES, [4 * lane + place for lane in range(16)])
        total = builder.add(total, builder.shuffle_vector(products, ir.Constant(wide, ir.Undefined), every_fourth))
    return total


def add_half(builder: Any, total: Any, unsigned: Any, signed: Any) -> Any:
    """Add the products of bytes to eight sums by AVX2, by way of sums of two products in 16 bits."""
    pairs, ones = ir.VectorType(ir.IntType(16), 16), ir.Constant(ir.VectorType(ir.IntType(16), 16), [1] * 16)
    twos = call_instruction(builder, "avx2.pmadd.ub.sw", pairs, unsigned, signed)
    return builder.add(total, call_instruction(builder, "avx2.pmadd.wd", total.type, twos, ones))


def half_of(builder: Any, vector: Any, half: int) -> Any:
    """Return the first or the second half of a vector."""
    size = vector.type.count // 2
    places = ir.Constant(ir.VectorType(INT32, size), list(range(half * size, (half + 1) * size)))
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), places)


def call_instruction(builder: Any, name: str, result: Any, *arguments: Any) -> Any:
    """Call what stands for an instruction of the CPU."""
    kind, name = ir.FunctionType(result, [each.type for each in arguments]), f"llvm.x86.{name}"
    module = builder.module
    return builder.call(module.globals.get(name) or ir.Function(module, kind, name), arguments)


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


def multiply_part(builder: Any, addresses: tuple[Any, ...], rows: range, groups: range) -> list[Any]:
    """Write the loop over the dimensions for a part of a tile; return the products, one vector for each group of a row.

    The part is as large as the CPU's registers allow.
    """
    q, q_stride, t, starts, quads = addresses
    before, loop, after = builder.block, builder.append_basic_block("quads"), builder.append_basic_block("done")
    begin = [load_from(builder, starts, constant(64 * group), INT32_LANES) for group in groups]
    builder.branch(loop)
    builder.position_at_end(loop)
    quad = builder.phi(INT64)
    quad.add_incoming(constant(0), before)
    sums = [builder.phi(INT32_LANES) for _ in range(len(rows) * len(groups))]
    places = [builder.add(builder.mul(constant(group), quads), quad) for group in groups]
    targets = [load_from(builder, t, builder.mul(place, constant(64)), BYTE_LANES, 64) for place in places]
    results = []
    for number, row in enumerate(rows):
        offset = builder.add(builder.mul(q_stride, constant(row)), builder.mul(quad, constant(4)))
        four = builder.bitcast(sixteen_times(builder, load_from(builder, q, offset, INT32), INT32_LANES), BYTE_LANES)
        own = sums[number * len(groups) : (number + 1) * len(groups)]
        results += [add_products(builder, total, four, values) for total, values in zip(own, targets, strict=True)]
    following = builder.add(quad, constant(1))
    quad.add_incoming(following, loop)
    for place, (total, result) in enumerate(zip(sums, results, strict=True)):
        total.add_incoming(begin[place % len(groups)], before)
        total.add_incoming(result, loop)
    builder.cbranch(builder.icmp_signed("<", following, quads), loop, after)
    builder.position_at_end(after)
    return results


def multiply_tile(builder: Any, *addresses: Any) -> dict[int, list[Any]]:
    """Write the code that multiplies a tile; return the products of each query, GROUPS vectors."""
    height, width = (ROWS, GROUPS) if has_instruction() else AVX2_PART
    products: dict[int, list[Any]] = {row: [] for row in range(ROWS)}
    for first in range(0, GROUPS, width):
        for start in range(0, ROWS, height):
            rows = range(start, start + height)
            found = multiply_part(builder, addresses, rows, range(first, first + width))
            for number, row in enumerate(rows):
                products[row] += found[number * width : (number + 1) * width]
    return products


def write_tile(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Write the code of `tile`."""
    q, q_stride, t, starts, scales, quads, levels, masks = arguments
    products = multiply_tile(builder, q, q_stride, t, starts, quads)
    scale = [load_from(builder, scales, constant(64 * group), FLOAT_LANES) for group in range(GROUPS)]
    of_targets = [load_from(builder, levels, constant(8 * ROWS + 64 * group), FLOAT_LANES) for group in range(GROUPS)]
    for row in range(ROWS):
        own = enumerate(products[row])
        scores = [builder.fmul(builder.sitofp(each, FLOAT_LANES), scale[group]) for group, each in own]
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
    column_levels, two_sided = np.full(WIDTH, np.inf, np.float32), column_best.shape[1] > 0
    four_rows, four_targets, scores = np.zeros(4, np.int64), np.zeros(4, np.int64), np.zeros(4)
    for chunk in range(chunks[0], chunks[1]):
        first = chunk * WIDTH
        count = min(WIDTH, targets.shape[0] - first)
        used = ALL_BITS >> np.uint64(WIDTH - count)
        if two_sided:
            for j in range(count):
                column_levels[j] = rounded_down(column_best[first + j, -1])
        for start in range(0, queries.shape[0], ROWS):
            rows = min(ROWS, queries.shape[0] - start)
            for row in range(start, start + rows):
                place, scale = 2 * (row - start), facts[0, row]
                margin = error_margin(facts, row, tiles.bounds, chunk, slack)
                levels[place] = (best[row, -1] - margin) / scale if scale > 0 else -np.inf
                levels[place + 1] = scale
            if two_sided:
                lower_levels(column_levels, tiles, first, rounded, start, rows, levels[2 * ROWS :])
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
def lower_levels(
    of_targets: Vectors, tiles: Tiles, first: int, rounded: RoundedQueries, start: int, rows: int, levels: Vectors
) -> None:
    """Lower the levels of a tile's targets by the largest bound among the tile's queries."""
    largest, error, rest = np.float32(0), np.float32(0), 0.0
    for row in range(start, start + rows):
        largest, error = max(largest, rounded.facts[1, row]), max(error, rounded.facts[2, row])
        rest = max(rest, rounded.slack[row])
    room = np.float32(rest) * ROUND_UP
    errors, norms = tiles.facts[2, first : first + WIDTH], tiles.facts[3, first : first + WIDTH]
    for j in range(WIDTH):
        levels[j] = of_targets[j] - (largest * errors[j] + error * norms[j] + room)


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

"""An auction that finds nearly right prices and a nearly optimal matching, for `solver_kernel` to start from.

And the slots of a vertex, which hold its chosen edges: as many as its capacity, -1 where one is free.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from bilex.numerics.compilation import config, intrinsic, njit, types

Ints = NDArray[np.int64]
Booleans = NDArray[np.bool_]
Small = NDArray[np.int32]
Unsigned = NDArray[np.uint32]

AUCTION_BITS = 30  # of a weight in the auction
OWNER, EDGE, BID = range(3)  # of a slot that is sold
AHEAD = 8  # how many bids ahead of its use a vertex's edges are fetched from memory


def type_prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Return the type of `prefetch` and what writes it: one instruction."""

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
        instruction = builder.module.declare_intrinsic(
            "llvm.prefetch", (pointer,), ir.FunctionType(ir.VoidType(), [pointer, flag, flag, flag])
        )
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(data, [arguments[1]]), pointer)
        builder.call(instruction, [address, flag(0), flag(3), flag(1)])  # to read, into all caches, data
        return context.get_dummy_value()

    return types.void(array, types.int64), write


def prefetch_in_python(array: Ints | Small | Unsigned, index: int) -> None:
    """Do nothing, where numba is switched off."""


# prefetch(array, index): begin to read that place of a one-dimensional array, which need not exist.
prefetch: Any = prefetch_in_python if config.DISABLE_JIT else intrinsic(type_prefetch)


@njit(cache=True, nogil=True)
def fill_slot(slots: Ints, vertex: int, edge: int) -> None:
    """Write `edge` into a free slot of `vertex`."""
    for slot in range(slots.shape[1]):
        if slots[vertex, slot] < 0:
            slots[vertex, slot] = edge
            return


@njit(cache=True, nogil=True)
def clear_slot(slots: Ints, vertex: int, edge: int) -> None:
    """Clear the slot of `vertex` that holds `edge`."""
    for slot in range(slots.shape[1]):
        if slots[vertex, slot] == edge:
            slots[vertex, slot] = -1
            return


@njit(cache=True, nogil=True)
def is_full(slots: Ints, vertex: int) -> bool:
    """Check whether every slot of `vertex` holds an edge."""
    for slot in range(slots.shape[1]):  # noqa: SIM110 (numba has no all() over a generator)
        if slots[vertex, slot] < 0:
            return False
    return True


@njit(cache=True, nogil=True)
def in_32_bits(numbers: Ints, shift: int) -> Small:
    """Drop the lowest `shift` bits of numbers >= 0; what is still too large becomes the largest that fits."""
    small = np.empty(numbers.size, np.int32)
    for i in range(numbers.size):
        small[i] = min(numbers[i] >> shift, 1 << AUCTION_BITS)
    return small


@njit(cache=True, nogil=True)
def auction(
    indptr: Ints,
    indices: Ints,
    weights: Ints,
    slots_a: Ints,
    slots_b: Ints,
    v: Ints,
    epsilon: int,
    max_bids: int,
) -> Booleans:
    """Let the vertices of A bid for those of B until none has a profitable bid, or after `max_bids`.

    A vertex of A bids for the edge of best profit ``w - v``, as high as the second best profit (or the null
    option's 0) allows, plus `epsilon`. With several slots on side B a free one, whose bid is 0, or else the cheapest is
    sold. The result need not be optimal, since `repair` does the rest; so it is found in 32 bits, because most of the
    time goes into reading edges. Those who lost bid again after all who wait, whose edges are fetched ahead.
    """
    largest, shift = np.int64(0), 0
    for weight in weights:
        largest = max(largest, weight)
    while largest >> shift >= 1 << AUCTION_BITS:
        shift += 1
    worth, prices = in_32_bits(weights, shift), in_32_bits(v, shift)
    targets = indices.astype(np.uint32)  # unsigned: an index that may be negative is checked each time
    step = min(max(1, epsilon >> shift), (1 << AUCTION_BITS) - 1)  # so that no bid is larger than 31 bits
    several, slots = slots_a.shape[1] > 1, slots_b.shape[1]
    sold = np.full((*slots_b.shape, 3), -1, np.int32)  # owner, edge and bid side by side: one read from memory
    sold[:, :, BID] = 0
    waiting, first = np.arange(slots_a.size) // slots_a.shape[1], 0  # a ring of the units of A
    n_waiting, n_bids = waiting.size, 0
    while n_waiting > 0 and n_bids < max_bids:
        a = waiting[first]
        first, n_waiting = 0 if first + 1 == waiting.size else first + 1, n_waiting - 1
        if n_waiting > AHEAD:
            later = first + AHEAD
            next_a = waiting[later if later < waiting.size else later - waiting.size]
            for place in (indptr[next_a], indptr[next_a + 1] - 1):  # the ends of a few edges side by side
                prefetch(worth, place)
                prefetch(targets, place)
        best, second, best_edge = best_profits(a, indptr, worth, targets, prices)
        if best_edge < 0:
            continue
        n_bids += 1
        b, slot = targets[best_edge], 0
        for other in range(1, slots):
            if sold[b, other, BID] < sold[b, slot, BID]:
                slot = other
        if sold[b, slot, OWNER] >= 0:
            last = first + n_waiting
            waiting[last if last < waiting.size else last - waiting.size] = sold[b, slot, OWNER]
            n_waiting += 1
            if several:
                worth[sold[b, slot, EDGE]] = min(weights[sold[b, slot, EDGE]] >> shift, 1 << AUCTION_BITS)
        if several:
            worth[best_edge] = 0  # no vertex bids for what it has
        sold[b, slot, OWNER], sold[b, slot, EDGE], sold[b, slot, BID] = a, best_edge, prices[b] + best - second + step
        lowest = sold[b, 0, BID]
        for other in range(1, slots):
            lowest = min(lowest, sold[b, other, BID])
        prices[b] = max(prices[b], lowest)
    chosen = np.zeros(indices.size, np.bool_)
    for b in range(slots_b.shape[0]):
        v[b] = np.int64(prices[b]) << shift
        for slot in range(slots):
            owner, edge = sold[b, slot, OWNER], sold[b, slot, EDGE]
            if edge >= 0:
                chosen[edge], slots_b[b, slot] = True, edge
                fill_slot(slots_a, owner, edge)
    return chosen


@njit(cache=True, nogil=True, inline="always")
def best_profits(a: int, indptr: Ints, worth: Small, targets: Unsigned, prices: Small) -> tuple[int, int, int]:
    """Return the best profit of a vertex of A, the second best, and the edge of the best: 0, 0, -1 if there is none."""
    best, second, best_edge = 0, 0, -1
    for edge in range(indptr[a], indptr[a + 1]):
        profit = worth[edge] - prices[targets[edge]]
        second = max(second, min(best, profit))  # without a branch: which edge is best cannot be predicted
        best_edge = edge if profit > best else best_edge
        best = max(best, profit)
    return best, second, best_edge

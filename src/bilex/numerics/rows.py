"""Dense algebra on the rows of word vectors, in float64 over blocks of a fixed size.

The order of every sum is fixed, so results do not depend on the number of threads.
"""

from collections.abc import Callable, Iterator

import numpy as np

from bilex.errors import BilexError
from bilex.numerics.threads import for_each, single_threaded_blas
from bilex.numerics.types import Floats, Indices, Vectors

BLOCK = 8192  # rows of a sum; another number would round differently
ROWS_OF_A_THREAD = 2048  # rows that a thread takes at a time
ROWS_IN_CACHE = 256  # so few that what is computed of them stays there
SMALL = 1e-30
MANY_ROWS = 64


def apply(omega: Floats, vectors: Vectors) -> Vectors:
    """Map each row, ``vectors @ omega.T``, rounding to float32 once."""
    mapped = np.empty((len(vectors), len(omega)), np.float32)
    for_each_product(omega, vectors, lambda rows, product: round_into(mapped[rows], product))
    return mapped


def apply_with_norms(omega: Floats, vectors: Vectors, shift: Floats) -> tuple[Vectors, Floats]:
    """Map each row and shift it, rounding to float32 once; and compute ``‖Ωx‖²``, without the shift."""
    mapped, norms = np.empty((len(vectors), len(omega)), np.float32), np.empty(len(vectors))

    def use(rows: slice, product: Floats) -> None:
        round_into(mapped[rows], product + shift)
        norms[rows] = (product**2).sum(axis=1)

    for_each_product(omega, vectors, use)
    return mapped, norms


def for_each_product(omega: Floats, vectors: Vectors, use: Callable[[slice, Floats], None]) -> None:
    """Compute Ωx in float64 for each block of rows, on all threads, and call `use` with the rows and their products."""
    for_each_block(len(vectors), lambda rows: use(rows, vectors[rows].astype(np.float64) @ omega.T))


def for_each_block(count: int, work: Callable[[slice], None]) -> None:
    """Call `work` for each part of `count` rows, on all threads."""
    for_each(work, list(blocks(count, ROWS_OF_A_THREAD)))


def round_into(block: Vectors, numbers: Floats) -> None:
    """Round to float32; numbers that are too large for it are an error."""
    try:
        with np.errstate(over="raise"):
            block[:] = numbers
    except FloatingPointError:
        raise BilexError("the numbers in the vectors are too large to be mapped; normalise or scale them") from None


def unit(vectors: Vectors) -> Vectors:
    """Scale every row to norm 1; a zero row stays zero."""
    return scale_rows(vectors, np.empty(vectors.shape, np.float32))


def make_unit(vectors: Vectors) -> Vectors:
    """Scale every row to norm 1 in place, and return the same array; no other code may use it."""
    return scale_rows(vectors, vectors)


def scale_rows(vectors: Vectors, scaled: Vectors) -> Vectors:
    """Write the rows scaled to norm 1 into `scaled`, which may be the same array."""

    def work(rows: slice) -> None:
        block = vectors[rows]
        norms = np.sqrt(squared_norms(block))
        norms[norms == 0] = 1
        if are_many(block):
            from bilex.numerics.rows_kernel import divide_rows

            divide_rows(as_rows(block), norms, SMALL, scaled[rows])
            return
        extreme = np.flatnonzero((norms < SMALL) | (norms > 1 / SMALL))  # float32 has few digits or none for these
        rare = block[extreme] / norms[extreme, None]
        with np.errstate(all="ignore"):
            np.divide(block, norms[:, None], out=scaled[rows], dtype=np.float32, casting="same_kind")
        scaled[rows][extreme] = rare

    for_each_block(len(vectors), work)
    return scaled


def squared_norms(vectors: Vectors, shift: Floats | None = None) -> Floats:
    """Compute ``‖x + shift‖²`` for each row x."""
    norms = np.empty(len(vectors))
    if shift is None and are_many(vectors):
        from bilex.numerics.rows_kernel import add_squares, pairwise_plan

        add_squares(as_rows(vectors), pairwise_plan(vectors.shape[1]), norms)
        return norms
    for rows in blocks(len(vectors), ROWS_IN_CACHE):
        norms[rows] = ((vectors[rows].astype(np.float64) + (0.0 if shift is None else shift)) ** 2).sum(axis=1)
    return norms


def are_many(vectors: Vectors) -> bool:
    """Check whether rows are worth a kernel, which has the same result but needs numba."""
    return len(vectors) >= MANY_ROWS and vectors.dtype == np.float32


def as_rows(vectors: Vectors) -> Vectors:
    """Return the same rows in memory one after the other, read-only: the one type that the kernels are compiled for."""
    rows = np.ascontiguousarray(vectors).view()
    rows.setflags(write=False)
    return rows


def weighted_mean(vectors: Vectors, weights: Floats | Indices) -> Floats:
    """Average the rows with the given weights, which are not all zero."""
    total = np.zeros(vectors.shape[1])
    with single_threaded_blas():
        for rows in blocks(len(vectors)):
            total += weights[rows] @ vectors[rows].astype(np.float64)
    return np.asarray(total / weights.sum())


def distinct(numbers: Indices) -> Indices:
    """Sort whole numbers and leave out repeated ones, in a tenth of the time that `np.unique` takes."""
    ordered = np.sort(numbers)
    is_new = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    return np.asarray(ordered[is_new])


def blocks(n: int, size: int | None = None) -> Iterator[slice]:
    """Cut n rows into slices of a fixed size, by default that of a sum."""
    size = size or BLOCK
    return (slice(start, start + size) for start in range(0, n, size))


def with_columns(vectors: Vectors, first: Floats | float, second: Floats | float) -> Vectors:
    """Append two dimensions to every row."""
    wider = np.empty((len(vectors), vectors.shape[1] + 2), np.float32)
    wider[:, :-2] = vectors
    wider[:, -2] = first
    wider[:, -1] = second
    return wider

"""Sums over rows, in numba: those of `numerics.rows`, bit for bit NumPy's without copies in float64, and of lists."""

import numpy as np

from bilex.numerics.compilation import njit
from bilex.numerics.products_kernel import eight_sums
from bilex.numerics.types import Floats, Indices, Vectors

PAIRWISE_BLOCK = 128  # NumPy halves longer sums


def pairwise_plan(dimension: int) -> Indices:
    """Return how NumPy sums so many numbers: the end of each block, and how many sums are joined after it.

    Not recursion in the kernel, because numba cannot load such a one from the disk: the process crashes.
    """

    def split(start: int, stop: int) -> list[list[int]]:
        half = (stop - start) // 2
        if stop - start <= PAIRWISE_BLOCK:
            return [[stop, 0]]
        blocks = split(start, start + half - half % 8) + split(start + half - half % 8, stop)
        blocks[-1][1] += 1
        return blocks

    return np.array(split(0, dimension), np.int64)


@njit(cache=True, nogil=True)
def squares(numbers: Vectors) -> float:
    """Sum the squares of a block in NumPy's order: eight sums, then the rest."""
    whole, total = numbers.size - numbers.size % 8, 0.0
    if whole > 0:
        sum0, sum1, sum2, sum3, sum4, sum5, sum6, sum7 = eight_sums(numbers, numbers)
        total = ((sum0 + sum1) + (sum2 + sum3)) + ((sum4 + sum5) + (sum6 + sum7))
    for i in range(whole, numbers.size):
        total += np.float64(numbers[i]) * np.float64(numbers[i])
    return total


@njit(cache=True, nogil=True)
def add_squares(vectors: Vectors, plan: Indices, norms: Floats) -> None:
    """Write ``‖x‖²`` of each row x into `norms`."""
    sums = np.zeros(plan.shape[0] + 1)
    for row in range(vectors.shape[0]):
        start, count = 0, 0
        for block in range(plan.shape[0]):
            sums[count] = squares(vectors[row, start : plan[block, 0]])
            for _ in range(plan[block, 1]):
                count -= 1
                sums[count] += sums[count + 1]
            start, count = plan[block, 0], count + 1
        norms[row] = sums[0]


@njit(cache=True, nogil=True, error_model="numpy")
def divide_rows(vectors: Vectors, norms: Floats, small: float, scaled: Vectors) -> None:
    """Divide each row by its norm; where the norm is beyond `small` or its inverse, in float64."""
    for row in range(vectors.shape[0]):
        norm, rounded = norms[row], np.float32(norms[row])
        if norm < small or norm > 1 / small:
            for i in range(vectors.shape[1]):
                scaled[row, i] = vectors[row, i] / norm
        else:
            for i in range(vectors.shape[1]):
                scaled[row, i] = vectors[row, i] / rounded


@njit(cache=True, nogil=True)
def weighted_sums(vectors: Floats, rows: Indices, weights: Floats, starts: Indices) -> Floats:
    """Sum the vectors of the rows from each start to the next, each times its weight."""
    sums = np.zeros((starts.size - 1, vectors.shape[1]))
    for number in range(starts.size - 1):
        total = sums[number]
        for place in range(starts[number], starts[number + 1]):
            vector, weight = vectors[rows[place]], weights[place]
            for i in range(vector.size):
                total[i] += vector[i] * weight
    return sums

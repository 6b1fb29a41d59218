"""Upper bounds of one query's scores with all rows, from vectors rounded to bytes, on any CPU.

A single query is limited by memory, and bytes are a quarter of float32. `search/int8_kernel.py` explains the bound and
rounds the vectors (`quantise`).
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from bilex.numerics.types import Vectors

__all__ = ["bound_rows"]


@njit(cache=True, nogil=True)
def bound_rows(
    codes: NDArray[np.int8], facts: Vectors, query: NDArray[np.int8], query_facts: Vectors, bounds: Vectors
) -> None:
    """Bound the score of one query with every row from above, up to float32 rounding; facts are those of `quantise`."""
    scale, length, error = query_facts[0, 0], query_facts[1, 0], query_facts[2, 0]
    for row in range(codes.shape[0]):
        product = np.int32(0)
        for column in range(codes.shape[1]):
            product += np.int32(codes[row, column]) * np.int32(query[0, column])
        bounds[row] = np.float32(product) * (scale * facts[0, row]) + length * facts[2, row] + error * facts[3, row]

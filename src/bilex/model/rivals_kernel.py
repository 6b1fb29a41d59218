"""The heaviest edge of each word and the weight of its second, in one pass over the edges, in numba."""

import numpy as np

from bilex.numerics.compilation import njit
from bilex.numerics.types import Floats, Indices


@njit(cache=True, nogil=True)
def top_two(words: Indices, weights: Floats, n_words: int) -> tuple[Indices, Floats]:
    """Return each word's heaviest edge (the first of equals, -1 if none) and the second largest weight (or -inf)."""
    best, second = np.full(n_words, -1, np.int64), np.full(n_words, -np.inf)
    for edge in range(words.size):
        word = words[edge]
        if best[word] < 0:
            best[word] = edge
        elif weights[edge] > weights[best[word]]:
            second[word] = weights[best[word]]
            best[word] = edge
        elif weights[edge] > second[word]:
            second[word] = weights[edge]
    return best, second

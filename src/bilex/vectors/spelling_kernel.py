"""How alike two words are spelt, for many pairs at once."""

from __future__ import annotations

import numpy as np
from numba import njit

from bilex.numerics.types import Floats, Indices

__all__ = ["similarities"]


@njit(cache=True, nogil=True)
def similarities(
    codes_one: Indices,
    starts_one: Indices,
    codes_other: Indices,
    starts_other: Indices,
    rows: Indices,
    columns: Indices,
) -> Floats:
    """Give ``1 - edits / length of the longer word`` for each pair of words; 1 for two empty ones.

    Word w of a side has the characters ``codes[starts[w] : starts[w + 1]]``. Edits insert, delete or replace one.
    """
    found = np.empty(len(rows))
    longest = np.int64(0)
    for word in range(len(starts_other) - 1):
        longest = max(longest, starts_other[word + 1] - starts_other[word])
    edits = np.empty(longest + 1, np.int64)
    for pair in range(len(rows)):
        one = codes_one[starts_one[rows[pair]] : starts_one[rows[pair] + 1]]
        other = codes_other[starts_other[columns[pair]] : starts_other[columns[pair] + 1]]
        for place in range(len(other) + 1):
            edits[place] = place
        for row in range(len(one)):
            diagonal = edits[0]
            edits[0] = row + 1
            for place in range(len(other)):
                replaced = diagonal + (one[row] != other[place])
                diagonal = edits[place + 1]
                edits[place + 1] = min(replaced, diagonal + 1, edits[place] + 1)
        longer = max(len(one), len(other))
        found[pair] = 1.0 - edits[len(other)] / longer if longer else 1.0
    return found

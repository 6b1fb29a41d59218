"""The two heaviest edges of each word, against a sort."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bilex.model.rivals_kernel import top_two


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-3, 3)), max_size=30))
def test_the_two_heaviest_edges_agree_with_a_sort(edges: list[tuple[int, int]]) -> None:
    words, weights = np.array([word for word, _ in edges], np.int64), np.array([w for _, w in edges], float)
    best, second = top_two(words, weights, 6)
    for word in range(6):
        own = sorted((-weights[edge], edge) for edge in range(len(edges)) if words[edge] == word)
        assert best[word] == (own[0][1] if own else -1)
        assert second[word] == (-own[1][0] if len(own) > 1 else -np.inf)

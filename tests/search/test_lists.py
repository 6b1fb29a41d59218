"""Lists of neighbours: what they prove equals a full search, ties included, and they prove most."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bilex.numerics.rows import unit
from bilex.numerics.types import Floats, Indices, Vectors
from bilex.search.engine import Neighbours
from bilex.search.lists import NeighbourLists
from bilex.search.local import LocalEngine
from tests import oracles

ENGINE = LocalEngine(threads=1)


class CountingEngine(LocalEngine):
    """Records how many queries are searched again."""

    asked = 0

    def top_k(self, queries: Vectors, targets: Vectors, k: int) -> Neighbours:
        type(self).asked += len(queries)
        return super().top_k(queries, targets, k)

    def rank(self, queries: Vectors, targets: Vectors, chosen: Indices) -> Indices:
        type(self).asked += len(queries)
        return super().rank(queries, targets, chosen)


def check(source: Vectors, target: Vectors, terms: Vectors, length: int, k: int, scale: float) -> int:
    """Compare with a full sort of ``scale cos + term``; return how many rows had to be searched again."""
    lists = NeighbourLists.find(source, target, length, ENGINE)
    queries = np.column_stack([np.float32(scale) * source, np.ones(len(source), np.float32)])
    targets = np.column_stack([target, terms])
    limits: Floats = lists.limits(scale, terms.astype(np.float64))
    engine = CountingEngine(threads=1)
    CountingEngine.asked = 0
    found = lists.top_k(queries, targets, k, limits, engine)
    searched = CountingEngine.asked
    full = ENGINE.top_k(queries, targets, k)
    assert found.indices.tobytes() == full.indices.tobytes() and found.scores.tobytes() == full.scores.tobytes()
    np.testing.assert_array_equal(found.indices, oracles.full_sort_top_k(queries, targets, k)[0])
    rows = np.arange(len(source))[::-1]
    for chosen in (full.indices[rows, -1], np.arange(len(source)) % len(target)):
        ranks = lists.rank(queries[rows], targets, rows, chosen, limits, engine)
        assert ranks.tolist() == oracles.full_sort_rank(queries[rows], targets, chosen)
    return searched


@given(st.data(), st.integers(1, 12), st.integers(1, 12), st.integers(1, 5), st.sampled_from([0.5, 1.0, 2.0]))
@settings(max_examples=80)
def test_any_terms_and_ties(data: st.DataObject, n: int, m: int, length: int, scale: float) -> None:
    # Small whole numbers and halves: every sum is exact, and ties are everywhere.
    def draw(rows: int) -> Vectors:
        values = data.draw(st.lists(st.integers(-2, 2), min_size=2 * rows, max_size=2 * rows))
        return np.array(values, np.float32).reshape(rows, 2)

    terms = data.draw(st.lists(st.integers(-6, 6), min_size=m, max_size=m))
    check(draw(n), draw(m), np.array(terms, np.float32) / np.float32(2), length, data.draw(st.integers(1, m)), scale)


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_most_rows_are_proved(scale: float) -> None:
    rng = np.random.default_rng(0)
    target = unit((rng.normal(size=(400, 20)) + 0.5).astype(np.float32))
    source = unit((target[:300] + 0.15 * rng.normal(size=(300, 20))).astype(np.float32))
    crowding = ENGINE.top_k(target, source, 10).scores.mean(axis=1)
    assert check(source, target, (-scale / 2 * crowding).astype(np.float32), 10, 1, scale) < 60

"""Lists of neighbours: what they prove equals a full search, ties included, and they prove most."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bilex.numerics.rows import unit
from bilex.numerics.types import Floats, Indices, Vectors
from bilex.search.lists import NeighbourLists
from bilex.search.local import LocalEngine
from tests import oracles

ENGINE = LocalEngine(threads=1)


class CountingEngine(LocalEngine):
    """Records how many queries are counted by a search."""

    asked = 0

    def rank(self, queries: Vectors, targets: Vectors, chosen: Indices) -> Indices:
        type(self).asked += len(queries)
        return super().rank(queries, targets, chosen)


def check(source: Vectors, target: Vectors, terms: Vectors, length: int) -> int:
    """Compare with a full sort by ``cos + term``; return how many best targets had to be counted by a search."""
    lists = NeighbourLists.find(source, target, length, ENGINE)
    queries = np.column_stack([source, np.ones(len(source), np.float32)])
    targets = np.column_stack([target, terms])
    limits: Floats = lists.limits(terms.astype(np.float64))
    engine, rows = CountingEngine(threads=1), np.arange(len(source))[::-1]
    best = oracles.full_sort_top_k(queries, targets, 1)[0][rows, 0]
    counted = []
    for chosen in (best, np.arange(len(source)) % len(target)):
        CountingEngine.asked = 0
        ranks = lists.rank(queries[rows], targets, rows, chosen, limits, engine)
        assert ranks.tolist() == oracles.full_sort_rank(queries[rows], targets, chosen)
        counted.append(CountingEngine.asked)
    return counted[0]


@given(st.data(), st.integers(1, 12), st.integers(1, 12), st.integers(1, 5))
@settings(max_examples=80)
def test_any_terms_and_ties(data: st.DataObject, n: int, m: int, length: int) -> None:
    # Small whole numbers and halves: every sum is exact, and ties are everywhere.
    def draw(rows: int) -> Vectors:
        values = data.draw(st.lists(st.integers(-2, 2), min_size=2 * rows, max_size=2 * rows))
        return np.array(values, np.float32).reshape(rows, 2)

    terms = data.draw(st.lists(st.integers(-6, 6), min_size=m, max_size=m))
    check(draw(n), draw(m), np.array(terms, np.float32) / np.float32(2), length)


def test_most_rows_are_proved() -> None:
    rng = np.random.default_rng(0)
    target = unit((rng.normal(size=(400, 20)) + 0.5).astype(np.float32))
    source = unit((target[:300] + 0.15 * rng.normal(size=(300, 20))).astype(np.float32))
    crowding = ENGINE.top_k(target, source, 10).scores.mean(axis=1)
    assert check(source, target, (-crowding / 2).astype(np.float32), 10) < 60


@pytest.mark.parametrize("length", [1, 2])
def test_a_target_that_is_not_listed_may_be_as_near_as_one_that_is(length: int) -> None:
    """The second source lists the first target, and the third target lists it; the second target is as near."""
    source, target = length * np.array([[1, 0], [1, 1]], np.float32), np.array([[1, 0], [1, 0], [0, 1]], np.float32)
    lists = NeighbourLists.find(source, target, 1, ENGINE)
    assert lists.pairs[1].tolist() == [0, 1, 0, 2]
    rows, chosen, terms = np.array([1]), np.array([2]), np.zeros(3)
    assert lists.rank(source[rows], target, rows, chosen, lists.limits(terms), ENGINE).tolist() == [3]


def test_a_target_near_to_others_may_win_by_its_term() -> None:
    """The first target is in neither list of the first source, and before the last one only by its term."""
    source, target = np.array([[1, 0], [0, 2], [0, 2]], np.float32), np.array([[0.7, 1], [0.8, 0], [1, 0]], np.float32)
    check(source, target, np.array([0.5, 0, 0], np.float32), 2)


def test_a_source_that_is_far_from_everything_needs_no_search_either() -> None:
    """Its last neighbour is farther from it than that of any target."""
    source, target = np.array([[1.0], [1.0], [0.1]], np.float32), np.array([[1.0], [0.9], [0.8]], np.float32)
    lists, engine = NeighbourLists.find(source, target, 2, ENGINE), CountingEngine(threads=1)
    CountingEngine.asked = 0
    rows, chosen = np.array([2]), np.array([0])
    assert lists.rank(source[rows], target, rows, chosen, lists.limits(np.zeros(3)), engine).tolist() == [1]
    assert CountingEngine.asked == 0

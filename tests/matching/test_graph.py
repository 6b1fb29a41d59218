"""Capacities, pairs of rows, graphs and matchings as data."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bilex.errors import BilexError
from bilex.matching.graph import Capacities, Graph, Matching, RowPairs
from tests.oracles import Edges


def row_pairs(*pairs: tuple[int, int]) -> RowPairs:
    source, target = np.array(pairs, np.int64).reshape(-1, 2).T
    return RowPairs(source, target)


def listed(pairs: RowPairs | Matching) -> list[tuple[int, int]]:
    return list(zip(pairs.source.tolist(), pairs.target.tolist(), strict=True))


@pytest.mark.parametrize(
    ("source", "target", "null"), [(0, 1, True), (None, None, True), (None, 2, True), (3, None, True), (1, 1, False)]
)
def test_capacities_that_no_solver_handles_are_errors(source: int | None, target: int | None, null: bool) -> None:
    with pytest.raises(BilexError):
        Capacities(source, target, null)


def test_capacities_know_which_side_chooses() -> None:
    limited, targets, sources = Capacities(2, 1), Capacities(None, 1), Capacities(1, None, null=False)
    assert [each.targets_choose for each in (limited, targets, sources)] == [False, True, False]
    assert [each.sources_choose for each in (limited, targets, sources)] == [False, False, True]
    assert limited.mirrored() == Capacities(1, 2)
    assert sources.mirrored() == Capacities(None, 1, null=False)


def test_operations_on_row_pairs() -> None:
    pairs = row_pairs((0, 2), (1, 0), (2, 1))
    assert pairs.keys(10).tolist() == [2, 10, 21]
    assert listed(pairs.where(np.array([True, False, True]))) == [(0, 2), (2, 1)]
    assert listed(pairs.among_frequent(2)) == [(1, 0)]
    assert pairs.among_frequent(None) is pairs
    assert listed(pairs.union(row_pairs((1, 0), (1, 5)))) == [(0, 2), (1, 0), (1, 5), (2, 1)]
    assert listed(row_pairs((1, 1)).union(RowPairs())) == [(1, 1)]
    assert listed(pairs.mirrored()) == [(0, 1), (1, 2), (2, 0)]
    assert len(RowPairs()) == len(RowPairs().union(RowPairs())) == 0


@given(
    st.integers(1, 6),
    st.integers(1, 6),
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.floats(-1, 1)), max_size=20),
)
def test_graph_from_edges(n_sources: int, n_targets: int, entries: list[tuple[int, int, float]]) -> None:
    entries = [(j % n_sources, i % n_targets, weight) for j, i, weight in entries]
    graph = Graph.from_edges(
        np.array([j for j, _, _ in entries], np.int64),
        np.array([i for _, i, _ in entries], np.int64),
        np.array([weight for _, _, weight in entries], float),
        (n_sources, n_targets),
    )
    expected: Edges = {}
    for j, i, weight in entries:
        expected.setdefault((j, i), weight)  # the first of several counts
    assert (graph.n_sources, graph.n_targets) == (n_sources, n_targets)
    assert list(zip(graph.rows, graph.indices, graph.weights, strict=True)) == [
        (j, i, expected[j, i]) for j, i in sorted(expected)
    ]
    for j in range(n_sources):
        assert list(graph.indices[graph.indptr[j] : graph.indptr[j + 1]]) == sorted(i for k, i in expected if k == j)
    kept = graph.where(graph.weights > 0)
    assert list(zip(kept.rows, kept.indices, strict=True)) == [pair for pair in sorted(expected) if expected[pair] > 0]
    assert (kept.n_sources, kept.n_targets) == (n_sources, n_targets)


def test_mirrored_matching_is_sorted_by_its_new_source() -> None:
    matching = Matching(
        np.array([0, 0, 1]), np.array([1, 2, 0]), 3.0, 0.5, np.array([1.0, 2.0]), np.array([3.0, 4.0, 5.0])
    )
    mirrored = matching.mirrored()
    assert listed(mirrored) == [(0, 1), (1, 0), (2, 0)]
    assert (mirrored.objective, mirrored.gap) == (3.0, 0.5)
    assert list(mirrored.source_duals) == [3, 4, 5]
    assert list(mirrored.target_duals) == [1, 2]
    assert listed(mirrored.mirrored()) == listed(matching)
    assert len(mirrored) == 3

"""The matching kernel: the optimum from any start, in exact integer arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from bilex.matching import heap_kernel as heap
from bilex.matching import solver_kernel as kernel
from tests import oracles
from tests.oracles import Edges

Ints = NDArray[np.int64]


def csr(edges: Edges, n_a: int) -> tuple[Ints, Ints, Ints]:
    pairs = sorted(edges)
    counts = np.bincount(np.array([a for a, _ in pairs], np.int64), minlength=n_a)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return indptr, np.array([b for _, b in pairs], np.int64), np.array([edges[pair] for pair in pairs], np.int64)


def checked_weight(
    edges: Edges, n_a: int, n_b: int, capacities: tuple[int, int], prices: Ints | None = None, epsilon: int = 1
) -> int:
    """Solve, check complementary slackness exactly, and return the weight of the chosen edges."""
    start = np.zeros(n_b, np.int64) if prices is None else prices
    before = start.copy()
    indptr, indices, weights = csr(edges, n_a)
    chosen, u, v = kernel.solve_integers(indptr, indices, weights, n_b, *capacities, start, epsilon)
    assert (start == before).all(), "the given prices are not changed"
    rows = np.repeat(np.arange(n_a), np.diff(indptr))
    of_a, of_b = np.bincount(rows[chosen], minlength=n_a), np.bincount(indices[chosen], minlength=n_b)
    assert (of_a <= capacities[0]).all()
    assert (of_b <= capacities[1]).all()
    slack = u[rows] + v[indices] - weights
    assert (u >= 0).all()
    assert (v >= 0).all()
    assert (slack[~chosen] >= 0).all()
    assert (slack[chosen] <= 0).all()
    assert (of_a[u > 0] == capacities[0]).all()
    assert (of_b[v > 0] == capacities[1]).all()
    bound = capacities[0] * u.sum() + capacities[1] * v.sum() + np.maximum(-slack, 0).sum()
    assert bound == weights[chosen].sum()
    return int(weights[chosen].sum())


capacities = st.tuples(st.integers(1, 3), st.integers(1, 3))


@st.composite
def small_graphs(draw: st.DrawFn) -> tuple[Edges, int, int]:
    n_a, n_b = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    places = [(a, b) for a in range(n_a) for b in range(n_b)]
    pairs = draw(st.lists(st.sampled_from(places), unique=True, max_size=9))
    largest = draw(st.sampled_from([2, 9, 2**50]))
    return {pair: draw(st.integers(1, largest)) for pair in pairs}, n_a, n_b


@given(small_graphs(), capacities, st.data())
@settings(max_examples=200)
def test_equals_trying_every_subset_from_any_start(
    graph: tuple[Edges, int, int], capacities: tuple[int, int], data: st.DataObject
) -> None:
    edges, n_a, n_b = graph
    largest = int(max(edges.values(), default=1))
    price = st.one_of(st.just(0), st.integers(0, 2 * largest))
    prices = np.array(data.draw(st.lists(price, min_size=n_b, max_size=n_b)), np.int64)
    epsilon = data.draw(st.sampled_from([1, 3, max(1, largest // 1000), largest, 10 * largest]))
    best, _ = oracles.best_by_subsets(edges, *capacities)
    assert checked_weight(edges, n_a, n_b, capacities, prices, epsilon) == max(best, 0)


@pytest.mark.parametrize(
    ("capacities", "largest"), [((1, 1), 3), ((1, 1), 1000), ((2, 1), 1000), ((1, 2), 3), ((2, 2), 1000), ((3, 2), 3)]
)
def test_every_start_and_step_gives_the_optimum(capacities: tuple[int, int], largest: int) -> None:
    rng = np.random.default_rng(0)
    n_a, n_b = 120, 100
    popularity = rng.pareto(1.0, n_b) + 0.1
    edges: Edges = {
        (a, int(b)): int(rng.integers(1, largest + 1))
        for a in range(n_a)
        for b in rng.choice(n_b, 5, p=popularity / popularity.sum(), replace=False)
    }
    cold = checked_weight(edges, n_a, n_b, capacities)
    assert cold == round(oracles.best_by_linear_program(edges, n_a, n_b, *capacities))
    for epsilon in (1, largest):
        for height in (1, largest, 5 * largest):
            prices = rng.integers(0, height + 1, n_b)
            assert checked_weight(edges, n_a, n_b, capacities, prices, epsilon) == cold


def test_starting_from_the_answer_gives_the_answer() -> None:
    rng = np.random.default_rng(1)
    edges: Edges = {(a, int(b)): int(rng.integers(1, 99)) for a in range(60) for b in rng.choice(60, 4, replace=False)}
    indptr, indices, weights = csr(edges, 60)
    chosen, _, v = kernel.solve_integers(indptr, indices, weights, 60, 1, 1, np.zeros(60, np.int64), 1)
    assert checked_weight(edges, 60, 60, (1, 1), v) == weights[chosen].sum()


def test_the_number_of_bids_is_limited_and_the_optimum_still_found() -> None:
    # Three bidders for two equal goods outbid each other by 1 at a time: 2^50 rounds without a limit on bids.
    edges: Edges = {(a, b): 2**50 for a in range(3) for b in range(2)}
    assert checked_weight(edges, 3, 2, (1, 1), epsilon=1) == 2**51
    assert checked_weight(edges, 3, 2, (2, 1), epsilon=1) == 2**51
    wider: Edges = {(a, b): 2**50 - a for a in range(7) for b in range(3)}
    assert checked_weight(wider, 7, 3, (1, 2), epsilon=1) == 6 * 2**50 - 15


def test_no_edge_and_no_vertex() -> None:
    assert checked_weight({}, 0, 0, (1, 1)) == 0
    assert checked_weight({}, 0, 3, (2, 2)) == 0
    assert checked_weight({}, 3, 0, (1, 2)) == 0
    assert checked_weight({}, 3, 3, (1, 1), prices=np.array([5, 0, 1])) == 0


def test_transpose_lists_the_edges_of_each_vertex_in_order() -> None:
    pointers, edges = kernel.transpose(np.array([2, 0, 2, 2, 0]), 4)
    assert list(pointers) == [0, 2, 2, 5, 5]
    assert list(edges) == [1, 4, 0, 2, 3]


@given(st.lists(st.integers(0, 20), max_size=60))
def test_the_heap_sorts(keys: list[int]) -> None:
    heap_key, heap_node = np.zeros(len(keys), np.int64), np.zeros(len(keys), np.int64)
    size = 0
    for node, key in enumerate(keys):
        size = heap.push(heap_key, heap_node, size, key, node)
    popped = []
    while size:
        popped.append((int(heap_key[0]), int(heap_node[0])))
        size = heap.pop(heap_key, heap_node, size)
    assert [key for key, _ in popped] == sorted(keys)
    assert sorted(node for _, node in popped) == list(range(len(keys)))
    assert all(keys[node] == key for key, node in popped)

"""Entropic transport with null options: marginals, uniqueness, its limits, and generic solvers beside it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, minimize

from bilex.em.sinkhorn_kernel import balance, gather
from bilex.matching.graph import Capacities, Graph
from bilex.matching.solver import solve
from bilex.numerics.types import Floats
from tests import oracles
from tests.em import baselines


def random_graph(seed: int, n_sources: int, n_targets: int, density: float, spread: float = 1.0) -> Graph:
    rng = np.random.default_rng(seed)
    rows, columns = np.nonzero(rng.random((n_sources, n_targets)) < density)
    return Graph.from_edges(rows, columns, spread * rng.normal(size=len(rows)), (n_sources, n_targets))


def transport(graph: Graph, temperature: float = 1.0, rounds: int = 100_000) -> tuple[Floats, Floats, Floats, float]:
    plan, source_null, target_null, error = balance(
        graph.indptr, graph.indices, graph.weights / temperature, graph.n_targets, 1e-12, rounds
    )
    return plan, source_null, target_null, error


def dense(graph: Graph, values: Floats, empty: float = 0.0) -> Floats:
    matrix = np.full((graph.n_sources, graph.n_targets), empty)
    matrix[graph.rows, graph.indices] = values
    return matrix


@given(
    st.integers(0, 2**32), st.integers(1, 12), st.integers(1, 12), st.floats(0, 1), st.sampled_from([0.01, 1.0, 3.0])
)
@settings(max_examples=80)
def test_marginals_hold_and_the_plan_has_the_form_of_the_optimum(
    seed: int, n_sources: int, n_targets: int, density: float, spread: float
) -> None:
    graph = random_graph(seed, n_sources, n_targets, density, spread)
    plan, source_null, target_null, error = transport(graph)
    assert error < 1e-12
    matrix = dense(graph, plan)
    np.testing.assert_allclose(matrix.sum(axis=1) + source_null, 1, atol=1e-9)
    np.testing.assert_allclose(matrix.sum(axis=0) + target_null, 1, atol=1e-9)
    # P = exp(logit) null_j null_i: the condition for an optimum, which is unique.
    expected = np.exp(graph.weights + np.log(source_null[graph.rows]) + np.log(target_null[graph.indices]))
    np.testing.assert_allclose(plan, expected, rtol=1e-9)


@pytest.mark.parametrize("temperature", [0.2, 1.0, 10.0])
def test_it_is_the_dense_scaling(temperature: float) -> None:
    graph = random_graph(0, 15, 20, 0.4)
    plan, source_null, target_null, _ = transport(graph, temperature)
    expected = baselines.transport(dense(graph, graph.weights, -np.inf), temperature)
    np.testing.assert_allclose(dense(graph, plan), expected[0], atol=1e-9)
    np.testing.assert_allclose(source_null, expected[1], atol=1e-9)
    np.testing.assert_allclose(target_null, expected[2], atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_a_generic_convex_solver_finds_the_same(seed: int) -> None:
    graph = random_graph(seed, 3, 4, 0.8)
    edges, sides = len(graph.weights), graph.n_sources + graph.n_targets
    limits = np.zeros((sides, edges + sides))
    limits[graph.rows, np.arange(edges)] = 1
    limits[graph.n_sources + graph.indices, np.arange(edges)] = 1
    limits[:, edges:] = np.eye(sides)
    values = np.concatenate([graph.weights, np.zeros(sides)])

    def loss(p: Floats) -> float:
        return float((p * np.log(p) - p - p * values).sum())

    def gradient(p: Floats) -> Floats:
        return np.asarray(np.log(p) - values)

    answer = minimize(
        loss,
        np.full(edges + sides, 0.2),
        jac=gradient,
        method="SLSQP",
        bounds=[(1e-9, 1)] * (edges + sides),
        constraints=LinearConstraint(limits, 1, 1),
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    plan, source_null, target_null, _ = transport(graph)
    mine = np.concatenate([plan, source_null, target_null])
    np.testing.assert_allclose(mine, answer.x, atol=1e-5)
    assert loss(mine) <= answer.fun + 1e-9


@pytest.mark.parametrize("seed", range(2))
def test_as_the_temperature_falls_it_becomes_the_exact_matching(seed: int) -> None:
    # Five pairs with rivals among themselves, and words that are worth more alone.
    rng = np.random.default_rng(seed)
    weights, columns = rng.uniform(-1, -0.4, size=(7, 8)), rng.permutation(8)[:5]
    weights[:5, columns] = rng.uniform(-0.5, 0.3, size=(5, 5))
    weights[np.arange(5), columns] = rng.uniform(0.8, 1, size=5)
    rows, places = np.indices((7, 8)).reshape(2, -1)
    graph = Graph.from_edges(rows, places, weights.ravel(), (7, 8))
    matching = solve(graph, Capacities())
    assert len(matching) == 5
    expected = np.zeros((7, 8))
    expected[matching.source, matching.target] = 1
    misses = list[float]()
    for temperature in (1.0, 0.2, 0.06):
        plan, *_ = transport(graph, temperature)
        misses.append(float(np.abs(dense(graph, plan) - expected).max()))
    assert misses == sorted(misses, reverse=True)
    assert misses[-1] < 0.05
    assert plan @ graph.weights == pytest.approx(matching.objective, rel=0.02)


@pytest.mark.parametrize("seed", range(2))
def test_it_loses_no_more_than_its_entropy_to_the_exact_matching(seed: int) -> None:
    graph, temperature = random_graph(seed, 7, 8, 0.6), 0.15
    matching = solve(graph, Capacities())
    edges = {(int(j), int(i)): float(w) for j, i, w in zip(graph.rows, graph.indices, graph.weights, strict=True)}
    assert matching.objective == pytest.approx(oracles.assignment_with_dummies(edges, 7, 8)[0])
    plan, source_null, target_null, _ = transport(graph, temperature)
    everything = np.concatenate([plan, source_null, target_null])
    entropy = -(everything * np.log(everything) - everything).sum()
    # A matching is a plan of ones, one for every pair and every word left alone; each adds 1 here.
    of_matching = 7 + 8 - len(matching)
    assert plan @ graph.weights <= matching.objective + 1e-6
    assert plan @ graph.weights >= matching.objective - temperature * (entropy - of_matching) - 1e-6


def test_one_edge_by_hand() -> None:
    # P = e^w f g with f = g = 1 - P by symmetry, so P / (1 - P)² = e^w = 2.
    graph = Graph(np.array([0, 1]), np.array([0]), np.array([np.log(2.0)]), 1)
    plan, source_null, target_null, _ = transport(graph)
    assert plan[0] == pytest.approx(0.5)
    assert source_null[0] == pytest.approx(0.5)
    assert target_null[0] == pytest.approx(0.5)


def test_words_without_an_edge_stay_alone() -> None:
    graph = Graph(np.array([0, 0, 1, 1]), np.array([1]), np.array([3.0]), 3)
    plan, source_null, target_null, error = transport(graph)
    assert (source_null[[0, 2]] == 1).all()
    assert (target_null[[0, 2]] == 1).all()
    assert 0.5 < plan[0] < 1
    assert error < 1e-12
    empty = Graph(np.zeros(4, np.int64), np.zeros(0, np.int64), np.zeros(0), 2)
    plan, source_null, target_null, error = transport(empty)
    assert (len(plan), source_null.tolist(), target_null.tolist(), error) == (0, [1, 1, 1], [1, 1], 0)


@pytest.mark.parametrize("size", [1e3, 1e6, 1e9, -1e9])
def test_huge_logits_do_not_overflow(size: float) -> None:
    graph = random_graph(3, 6, 6, 0.7)
    plan, source_null, target_null, _ = transport(Graph(graph.indptr, graph.indices, graph.weights * size, 6), 1.0, 500)
    for part in (plan, source_null, target_null):
        assert np.isfinite(part).all()
    matrix = dense(graph, plan)
    np.testing.assert_allclose(matrix.sum(axis=0) + target_null, 1, atol=1e-6)  # the side that was scaled last


def test_the_limit_of_rounds_is_kept_and_the_error_reported() -> None:
    graph = random_graph(4, 20, 20, 0.5, spread=40)
    *_, error = transport(graph, 1.0, rounds=2)
    assert error > 1e-12


def test_gather() -> None:
    rng = np.random.default_rng(5)
    pointers, rows, weights = np.array([0, 2, 2, 5]), np.array([3, 0, 1, 1, 2]), rng.normal(size=5)
    vectors = rng.normal(size=(4, 3)).astype(np.float32)
    sums = gather(pointers, rows, weights, vectors)
    assert (sums.dtype, sums.shape) == (np.float32, (3, 3))
    for group in range(3):
        expected = sum(
            (weights[e] * vectors[rows[e]].astype(float) for e in range(pointers[group], pointers[group + 1])),
            start=np.zeros(3),
        )
        np.testing.assert_allclose(sums[group], expected, atol=1e-6)


def test_gather_sums_in_float64() -> None:
    vectors = np.array([[2.0**24], [1.0], [-(2.0**24)]], np.float32)
    assert gather(np.array([0, 4]), np.array([0, 1, 1, 2]), np.ones(4), vectors)[0, 0] == 2

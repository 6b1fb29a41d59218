"""The posterior of an edge: exact by enumeration, on trees, with one side unlimited; close to it elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bilex.em.sinkhorn_kernel import balance
from bilex.matching.graph import Capacities, Graph
from bilex.matching.solver import solve
from bilex.model.posterior import edge_posterior, worthwhile_posterior
from bilex.model.prior import CAPACITIES
from bilex.numerics.types import Floats
from tests import oracles

MAX_EDGES = 12


def random_graph(seed: int, n_sources: int, n_targets: int, density: float, spread: float = 2.0) -> Graph:
    rng = np.random.default_rng(seed)
    rows, columns = np.nonzero(rng.random((n_sources, n_targets)) < density)
    return Graph.from_edges(rows, columns, spread * rng.normal(size=len(rows)), (n_sources, n_targets))


def random_tree(seed: int, n: int, spread: float = 3.0) -> Graph:
    """Attach each vertex to an earlier one of the other side."""
    rng = np.random.default_rng(seed)
    sides, pairs = [(0, 0), (1, 0)], [(0, 0)]
    for _ in range(n):
        side, place = sides[rng.integers(len(sides))]
        new = (1 - side, sum(other == 1 - side for other, _ in sides))
        sides.append(new)
        pairs.append((place, new[1]) if side == 0 else (new[1], place))
    rows, columns = np.array(pairs).T
    return Graph.from_edges(rows, columns, spread * rng.normal(size=len(pairs)), (rows.max() + 1, columns.max() + 1))


def enumerated(graph: Graph, capacities: Capacities, temperature: float = 1.0) -> Floats:
    weights = (graph.weights / temperature).tolist()
    edges = dict(zip(zip(graph.rows.tolist(), graph.indices.tolist(), strict=True), weights, strict=True))
    found = oracles.marginals_by_subsets(edges, capacities.source, capacities.target, capacities.null)
    return np.array(list(found.values()))


@given(
    st.integers(0, 2**32),
    st.sampled_from(["one-to-many", "one-to-many-no-null", "1:1", "1:2", "2:1", "2:2"]),
    st.sampled_from([0.3, 1.0]),
)
@settings(max_examples=60)
def test_the_posterior_is_exact_on_trees_for_every_prior(seed: int, prior: str, temperature: float) -> None:
    graph = random_tree(seed, 8)
    capacities = CAPACITIES[prior]
    found, _ = edge_posterior(graph, capacities, temperature, tolerance=1e-12)
    np.testing.assert_allclose(found, enumerated(graph, capacities, temperature), atol=1e-9)


@given(st.integers(0, 2**32), st.booleans(), st.booleans())
@settings(max_examples=60)
def test_the_posterior_is_exact_if_one_side_is_unlimited(seed: int, null: bool, sources_choose: bool) -> None:
    graph = random_graph(seed, 4, 4, 0.6)
    assume(0 < len(graph.indices) <= MAX_EDGES and (null or not sources_choose))
    name = "many-to-one" if sources_choose else "one-to-many"
    capacities = CAPACITIES[name if null else f"{name}-no-null"]
    found, error = edge_posterior(graph, capacities)
    np.testing.assert_allclose(found, enumerated(graph, capacities), atol=1e-12)
    assert error == 0


@pytest.mark.parametrize(("prior", "most"), [("1:1", 0.005), ("1:2", 0.001), ("2:2", 0.001)])
def test_the_posterior_is_close_to_enumeration_on_graphs_with_cycles(prior: str, most: float) -> None:
    capacities, errors, transported = CAPACITIES[prior], list[float](), list[float]()
    for seed in range(60):
        graph = random_graph(seed, 4, 4, 0.6)
        if not 0 < len(graph.indices) <= MAX_EDGES:
            continue
        exact, (found, error) = enumerated(graph, capacities), edge_posterior(graph, capacities, tolerance=1e-10)
        assert error < 1e-10
        errors.extend(np.abs(found - exact))
        if prior == "1:1":
            plan, *_ = balance(graph.indptr, graph.indices, graph.weights, graph.n_targets, 1e-10, 10_000)
            transported.extend(np.abs(plan - exact))
    assert len(errors) > 300
    assert np.mean(errors) < most
    if transported:
        assert np.mean(errors) < np.mean(transported) / 10


def test_at_low_temperature_the_posterior_is_the_best_matching() -> None:
    graph = random_graph(3, 30, 30, 0.2)
    matching = solve(graph, Capacities())
    chosen = edge_posterior(graph, Capacities(), 0.01, max_rounds=5000)[0] > 0.5
    assert set(zip(graph.rows[chosen], graph.indices[chosen], strict=True)) == set(
        zip(matching.source, matching.target, strict=True)
    )


@given(st.integers(0, 2**32), st.sampled_from([0.5, 20.0]))
@settings(max_examples=40)
def test_no_word_is_used_more_often_than_the_prior_allows(seed: int, spread: float) -> None:
    graph = random_graph(seed, 20, 15, 0.3, spread)
    found, error = edge_posterior(graph, Capacities(), tolerance=1e-9, max_rounds=100_000)
    assume(error < 1e-9)
    assert (np.bincount(graph.rows, found) <= 1 + 1e-6).all()
    assert (np.bincount(graph.indices, found) <= 1 + 1e-6).all()


def test_extreme_weights_give_probabilities() -> None:
    graph = Graph.from_edges(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([1e5, -1e5, 1e5]), (2, 2))
    for prior in ("1:1", "2:2", "one-to-many-no-null"):
        found = edge_posterior(graph, CAPACITIES[prior])[0]
        np.testing.assert_allclose(found, [1, 0, 1], atol=1e-9)


def test_only_hopeless_edges_are_left_out_and_only_where_none_is_an_answer() -> None:
    graph = Graph.from_edges(np.array([0, 1, 2]), np.array([0, 1, 2]), np.array([-6.9, -7.0, 1.0]), (3, 3))
    alone = 1 / (1 + np.exp(-graph.weights))
    found = worthwhile_posterior(graph, CAPACITIES["1:1"], tolerance=1e-12)
    np.testing.assert_allclose(found, [alone[0], 0, alone[2]], atol=1e-9)
    np.testing.assert_allclose(worthwhile_posterior(graph, CAPACITIES["one-to-many-no-null"]), 1)


@pytest.mark.parametrize("prior", ["1:1", "1:2", "2:2"])
def test_words_that_hear_little_new_are_as_near_to_the_end_as_the_tolerance_asks(prior: str) -> None:
    """A long chain, along which what is heard at one end travels slowly, beside many words that are soon done."""
    rng, n = np.random.default_rng(5), 40
    rows, columns = np.concatenate([np.arange(n), np.arange(1, n)]), np.concatenate([np.arange(n), np.arange(n - 1)])
    weights = np.concatenate([np.full(2 * n - 1, 3.0), rng.normal(size=n)])
    others = n + np.arange(n)
    graph = Graph.from_edges(np.append(rows, others), np.append(columns, others), weights, (2 * n, 2 * n))
    whole = edge_posterior(graph, CAPACITIES[prior], tolerance=1e-14, max_rounds=10_000)[0]
    for tolerance in (1e-4, 1e-8):
        found, change = edge_posterior(graph, CAPACITIES[prior], tolerance=tolerance)
        assert change < tolerance
        np.testing.assert_allclose(found, whole, atol=100 * tolerance)

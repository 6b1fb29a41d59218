"""The sparse graph of the E-step: the best edges by weight, exactly, and always the previous ones."""

from __future__ import annotations

import numpy as np
import pytest

from bilex.matching.candidates import candidate_graph
from bilex.matching.graph import Graph, Matching
from bilex.matching.solver import solve
from bilex.model.prior import Prior
from bilex.model.theta import Theta
from bilex.model.weights import likelihood
from bilex.numerics.types import Vectors
from bilex.search.local import LocalEngine
from tests import oracles

ENGINE = LocalEngine(threads=2, query_block=16, target_block=32)
CAPACITY_PRIORS = ["1:1", "1:2", "2:1", "2:2"]


def random_vectors(seed: int, n: int, dimension: int, kind: str) -> Vectors:
    """Unit vectors, or vectors with lengths around 1, or around 30."""
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(n, dimension))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    lengths = {"unit": np.ones(n), "any": rng.uniform(0.2, 2, n), "long": rng.uniform(29.99, 30.01, n)}[kind]
    return (vectors * lengths[:, None]).astype(np.float32)


def random_theta(seed: int, dimension: int) -> Theta:
    rng = np.random.default_rng(seed)
    return Theta(oracles.random_orthogonal(rng, dimension), rng.normal(size=dimension) / 3)


def pairs_of(graph: Graph) -> list[tuple[int, int]]:
    return [(int(j), int(i)) for j, i in zip(graph.rows, graph.indices, strict=True)]


def matching_of(pairs: list[tuple[int, int]], n_sources: int, n_targets: int) -> Matching:
    source, target = np.array(pairs, np.int64).reshape(-1, 2).T
    return Matching(source, target, 0.0, 0.0, np.zeros(n_sources), np.zeros(n_targets))


def exact_weights(theta: Theta, source: Vectors, target: Vectors) -> np.ndarray:
    """The weights in float64, from the same queries Ωs - μ in float32 that the search is about."""
    norms = np.array([np.sum((theta.omega @ s) ** 2) for s in source.astype(np.float64)])
    return np.asarray(oracles.score_matrix(theta.queries(source), target) + (theta.mu @ theta.mu - norms[:, None]) / 2)


@pytest.mark.parametrize("kind", ["unit", "any"])
@pytest.mark.parametrize("prior", CAPACITY_PRIORS)
@pytest.mark.parametrize("k", [1, 3, 60])
def test_the_k_best_targets_of_every_source(prior: str, k: int, kind: str) -> None:
    theta, source, target = random_theta(0, 9), random_vectors(1, 50, 9, kind), random_vectors(2, 60, 9, kind)
    graph = candidate_graph(likelihood(theta, source, target), Prior.named(prior), k=k, previous=None, engine=ENGINE)
    weights = oracles.weight_matrix(theta.omega, theta.mu, source, target)
    expected = sorted((j, int(i)) for j in range(50) for i in np.argsort(-weights[j], kind="stable")[:k])
    assert pairs_of(graph) == expected
    # The queries are rounded to float32 once; everything after that is float64.
    np.testing.assert_allclose(graph.weights, weights[graph.rows, graph.indices], rtol=0, atol=1e-6)
    exact = exact_weights(theta, source, target)
    np.testing.assert_allclose(graph.weights, exact[graph.rows, graph.indices], rtol=0, atol=1e-13)


@pytest.mark.parametrize("kind", ["unit", "any"])
@pytest.mark.parametrize("prior", ["one-to-many", "one-to-many-no-null"])
def test_the_best_source_of_every_target_over_all_sources(prior: str, kind: str) -> None:
    theta, source, target = random_theta(3, 9), random_vectors(4, 80, 9, kind), random_vectors(5, 50, 9, kind)
    for k in (1, 3):
        graph = candidate_graph(
            likelihood(theta, source, target), Prior.named(prior), k=k, previous=None, engine=ENGINE
        )
        weights = oracles.weight_matrix(theta.omega, theta.mu, source, target)
        assert sorted((i, j) for j, i in pairs_of(graph)) == list(enumerate(weights.argmax(axis=0)))
        exact = exact_weights(theta, source, target)
        np.testing.assert_allclose(graph.weights, exact[graph.rows, graph.indices], rtol=0, atol=1e-13)


def test_the_best_source_is_not_the_nearest_direction_but_the_likeliest() -> None:
    # Both sources point at the target; the longer one has the larger inner product, but it is too far away.
    source, target = np.array([[5, 0], [1, 0]], np.float32), np.array([[1, 0]], np.float32)
    theta = Theta(np.eye(2), np.zeros(2))
    graph = candidate_graph(
        likelihood(theta, source, target), Prior.named("one-to-many"), k=1, previous=None, engine=ENGINE
    )
    assert pairs_of(graph) == [(1, 0)]
    assert list(graph.weights) == [0.5]


@pytest.mark.parametrize("kind", ["unit", "long"])
def test_the_best_source_is_exact_in_float64(kind: str) -> None:
    # Near-copies of one source: their weights differ by far less than a float32 can tell.
    rng = np.random.default_rng(6)
    theta, target = random_theta(7, 12), random_vectors(8, 100, 12, kind)
    base = random_vectors(9, 1, 12, kind).astype(np.float64)
    source = (base + 1e-6 * np.abs(base).max() * rng.normal(size=(60, 12))).astype(np.float32)
    graph = candidate_graph(
        likelihood(theta, source, target), Prior.named("one-to-many"), k=1, previous=None, engine=ENGINE
    )
    exact = exact_weights(theta, source, target)
    lost = exact.max(axis=0)[graph.indices] - exact[graph.rows, graph.indices]
    assert lost.max() <= 1e-12 * np.abs(exact).max()


@pytest.mark.parametrize("prior", [*CAPACITY_PRIORS, "one-to-many", "one-to-many-no-null"])
def test_the_previous_pairs_are_always_there(prior: str) -> None:
    theta, source, target = random_theta(10, 6), random_vectors(11, 30, 6, "any"), random_vectors(12, 20, 6, "any")
    weights = exact_weights(theta, source, target)
    worst = [(int(weights[:, i].argmin()), i) for i in range(20)]
    without = candidate_graph(likelihood(theta, source, target), Prior.named(prior), k=2, previous=None, engine=ENGINE)
    known = pairs_of(without)[::3]  # and some that are candidates anyway: they must not be there twice
    previous = matching_of(sorted(set(worst + known)), 30, 20)
    graph = candidate_graph(
        likelihood(theta, source, target), Prior.named(prior), k=2, previous=previous, engine=ENGINE
    )
    assert pairs_of(graph) == sorted(set(pairs_of(without)) | set(worst))
    np.testing.assert_allclose(graph.weights, weights[graph.rows, graph.indices], rtol=0, atol=1e-13)


@pytest.mark.parametrize("prior", CAPACITY_PRIORS)
def test_all_targets_as_candidates_solve_the_whole_problem(prior: str) -> None:
    # 1,000 candidates of 25 targets: asking for more than there are is no mistake.
    theta, source, target = random_theta(13, 5), random_vectors(14, 30, 5, "unit"), random_vectors(15, 25, 5, "unit")
    chosen = Prior.named(prior, log_odds=0.2)
    graph = candidate_graph(likelihood(theta, source, target), chosen, k=1000, previous=None, engine=ENGINE)
    assert len(graph.weights) == 30 * 25
    weights = exact_weights(theta, source, target) + 0.2
    edges = {(j, i): float(weights[j, i]) for j in range(30) for i in range(25)}
    assert chosen.source_capacity is not None
    assert chosen.target_capacity is not None
    best = oracles.best_by_linear_program(edges, 30, 25, chosen.source_capacity, chosen.target_capacity)
    assert solve(graph, chosen).objective == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("prior", ["1:1", "one-to-many"])
def test_one_word_on_each_side_and_one_dimension(prior: str) -> None:
    theta = Theta(np.array([[-1.0]]), np.array([0.25]))
    edges = likelihood(theta, np.array([[2.0]], np.float32), np.array([[-1.0]], np.float32))
    graph = candidate_graph(edges, Prior.named(prior), k=3, previous=None, engine=ENGINE)
    assert pairs_of(graph) == [(0, 0)]
    assert list(graph.weights) == [2.25 - 2 + 0.25**2 / 2]


@pytest.mark.parametrize("prior", ["1:1", "one-to-many"])
def test_the_graph_does_not_depend_on_blocks_and_threads(prior: str) -> None:
    theta = random_theta(16, 10)
    source, target = random_vectors(17, 300, 10, "unit"), random_vectors(18, 400, 10, "unit")
    graphs = [
        candidate_graph(likelihood(theta, source, target), Prior.named(prior), k=3, previous=None, engine=engine)
        for engine in (LocalEngine(1), LocalEngine(4, 97, 97), LocalEngine(2, 1024, 31))
    ]
    for graph in graphs[1:]:
        assert graph.indptr.tobytes() == graphs[0].indptr.tobytes()
        assert graph.indices.tobytes() == graphs[0].indices.tobytes()
        assert graph.weights.tobytes() == graphs[0].weights.tobytes()

"""The sparse graph of the E-step: the best edges by weight, exactly, and always the previous ones."""

from __future__ import annotations

import numpy as np
import pytest

from bilex.matching.candidates import candidate_graph
from bilex.matching.graph import Capacities, Graph, Matching
from bilex.matching.solver import solve
from bilex.model.theta import MappedWords, Theta
from bilex.numerics.types import Vectors
from bilex.search.local import LocalEngine
from tests import oracles

ENGINE = LocalEngine(threads=2, query_block=16, target_block=32)
ONE_TO_ONE, TARGETS_CHOOSE = Capacities(), Capacities(None, 1)


def random_vectors(seed: int, n: int, dimension: int, kind: str) -> Vectors:
    """Draw unit vectors, or vectors with lengths around 1, or around 30."""
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(n, dimension))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    lengths = {"unit": np.ones(n), "any": rng.uniform(0.2, 2, n), "long": rng.uniform(29.99, 30.01, n)}[kind]
    return (vectors * lengths[:, None]).astype(np.float32)


def random_words(seed: int, n_sources: int, n_targets: int, dimension: int = 9, kind: str = "unit") -> MappedWords:
    rng = np.random.default_rng(seed)
    theta = Theta(oracles.random_orthogonal(rng, dimension), rng.normal(size=dimension) / 3)
    source, target = (random_vectors(seed + 1 + i, n, dimension, kind) for i, n in enumerate((n_sources, n_targets)))
    return MappedWords(theta, source, target)


def find_graph(
    words: MappedWords,
    capacities: Capacities = ONE_TO_ONE,
    k: int = 3,
    previous: Matching | None = None,
    engine: LocalEngine = ENGINE,
) -> Graph:
    return candidate_graph(words, capacities, k=k, previous=previous, engine=engine)


def pairs_of(graph: Graph) -> list[tuple[int, int]]:
    return [(int(j), int(i)) for j, i in zip(graph.rows, graph.indices, strict=True)]


def exact_weights(words: MappedWords) -> np.ndarray:
    """Compute the weights in float64, from the same queries Ωs - μ in float32 that the search uses."""
    theta = words.theta
    norms = np.array([np.sum((theta.omega @ s) ** 2) for s in words.source.astype(np.float64)])
    products = oracles.score_matrix(words.queries, words.target)
    return np.asarray(products + (theta.mu @ theta.mu - norms[:, None]) / 2)


@pytest.mark.parametrize(
    ("capacities", "k", "kind"), [(ONE_TO_ONE, 1, "unit"), (Capacities(2, 2), 3, "any"), (ONE_TO_ONE, 60, "any")]
)
def test_the_k_best_targets_of_every_source(capacities: Capacities, k: int, kind: str) -> None:
    words = random_words(0, 50, 60, kind=kind)
    graph = find_graph(words, capacities, k)
    weights = oracles.weight_matrix(words.theta.omega, words.theta.mu, words.source, words.target)
    expected = sorted((j, int(i)) for j in range(50) for i in np.argsort(-weights[j], kind="stable")[:k])
    assert pairs_of(graph) == expected
    # The queries are rounded to float32 once; everything after that is float64.
    np.testing.assert_allclose(graph.weights, weights[graph.rows, graph.indices], rtol=0, atol=1e-6)
    exact = exact_weights(words)
    np.testing.assert_allclose(graph.weights, exact[graph.rows, graph.indices], rtol=0, atol=1e-13)


@pytest.mark.parametrize("kind", ["unit", "any"])
def test_the_best_source_of_every_target_over_all_sources(kind: str) -> None:
    words = random_words(3, 80, 50, kind=kind)
    graph = find_graph(words, TARGETS_CHOOSE)
    weights = oracles.weight_matrix(words.theta.omega, words.theta.mu, words.source, words.target)
    assert sorted((i, j) for j, i in pairs_of(graph)) == list(enumerate(weights.argmax(axis=0)))
    exact = exact_weights(words)
    np.testing.assert_allclose(graph.weights, exact[graph.rows, graph.indices], rtol=0, atol=1e-13)


def test_the_best_source_is_not_the_one_of_largest_inner_product() -> None:
    # Both sources point at the target; the longer one has the larger inner product, but it is too far away.
    source, target = np.array([[5, 0], [1, 0]], np.float32), np.array([[1, 0]], np.float32)
    graph = find_graph(MappedWords(Theta(np.eye(2), np.zeros(2)), source, target), TARGETS_CHOOSE)
    assert pairs_of(graph) == [(1, 0)]
    assert list(graph.weights) == [0.5]


@pytest.mark.parametrize("kind", ["unit", "long"])
def test_the_best_source_is_exact_in_float64(kind: str) -> None:
    # Near-copies of one source: their weights differ by far less than a float32 can tell.
    rng, words = np.random.default_rng(6), random_words(7, 1, 100, 12, kind)
    base = words.source.astype(np.float64)
    source = (base + 1e-6 * np.abs(base).max() * rng.normal(size=(60, 12))).astype(np.float32)
    words = MappedWords(words.theta, source, words.target)
    graph, exact = find_graph(words, TARGETS_CHOOSE), exact_weights(words)
    lost = exact.max(axis=0)[graph.indices] - exact[graph.rows, graph.indices]
    assert lost.max() <= 1e-12 * np.abs(exact).max()


@pytest.mark.parametrize("capacities", [ONE_TO_ONE, TARGETS_CHOOSE])
def test_the_previous_pairs_are_always_candidates(capacities: Capacities) -> None:
    words = random_words(10, 30, 20, 6, "any")
    weights = exact_weights(words)
    worst = [(int(weights[:, i].argmin()), i) for i in range(20)]
    without = find_graph(words, capacities, 2)
    known = pairs_of(without)[::3]  # some that are candidates anyway, and must not be listed twice
    source, target = np.array(sorted(set(worst + known)), np.int64).T
    previous = Matching(source, target, 0.0, 0.0, np.zeros(30), np.zeros(20))
    graph = find_graph(words, capacities, 2, previous)
    assert pairs_of(graph) == sorted(set(pairs_of(without)) | set(worst))
    np.testing.assert_allclose(graph.weights, weights[graph.rows, graph.indices], rtol=0, atol=1e-13)


@pytest.mark.parametrize("limits", [(1, 1), (2, 1)])
def test_all_targets_as_candidates_solve_the_whole_problem(limits: tuple[int, int]) -> None:
    words = random_words(13, 30, 25, 5)
    graph = find_graph(words, Capacities(*limits), k=1000)  # more than there are: all are taken
    assert len(graph.weights) == 30 * 25
    edges = dict(zip(pairs_of(graph), graph.weights.tolist(), strict=True))
    best = oracles.best_by_linear_program(edges, 30, 25, *limits)
    assert solve(graph, Capacities(*limits)).objective == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("capacities", [ONE_TO_ONE, TARGETS_CHOOSE])
def test_one_word_on_each_side_and_one_dimension(capacities: Capacities) -> None:
    theta = Theta(np.array([[-1.0]]), np.array([0.25]))
    graph = find_graph(MappedWords(theta, np.array([[2.0]], np.float32), np.array([[-1.0]], np.float32)), capacities)
    assert pairs_of(graph) == [(0, 0)]
    assert list(graph.weights) == [2.25 - 2 + 0.25**2 / 2]


@pytest.mark.parametrize("capacities", [ONE_TO_ONE, TARGETS_CHOOSE])
def test_the_graph_does_not_depend_on_blocks_and_threads(capacities: Capacities) -> None:
    words = random_words(16, 200, 300, 10)
    one, other = (find_graph(words, capacities, engine=each) for each in (LocalEngine(1), LocalEngine(4, 97, 31)))
    assert one.indptr.tobytes() == other.indptr.tobytes()
    assert one.indices.tobytes() == other.indices.tobytes()
    assert one.weights.tobytes() == other.weights.tobytes()

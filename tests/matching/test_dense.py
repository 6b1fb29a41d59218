"""The dense optimum: edges of the whole graph are added until none is worth more than its duals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from bilex.matching.candidates import candidate_graph
from bilex.matching.dense import dense_matching
from bilex.matching.graph import Matching, RowPairs
from bilex.matching.solver import solve
from bilex.model.prior import Prior
from bilex.model.theta import MappedWords, Theta
from bilex.numerics.types import Floats, Vectors
from bilex.search.local import LocalEngine
from tests import oracles

ENGINE = LocalEngine(threads=1)


def unit_rows(rng: np.random.Generator, n: int, dimension: int) -> Vectors:
    vectors = rng.normal(size=(n, dimension))
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def solve_both(seed: int, n: int, m: int, prior: Prior, dimension: int = 8) -> tuple[Matching, Matching, Floats]:
    """Return the matching on the 3 best candidates, the one on the whole graph, and all weights."""
    rng = np.random.default_rng(seed)
    source, target = unit_rows(rng, n, dimension), unit_rows(rng, m, dimension)
    theta = Theta(oracles.random_orthogonal(rng, dimension), 0.1 * rng.normal(size=dimension))
    words = MappedWords(theta, source, target)
    graph = prior.apply(candidate_graph(words, prior.capacities, k=3, previous=None, engine=ENGINE))
    dense = dense_matching(words, graph, prior, ENGINE, None)
    weights = words.queries.astype(float) @ target.T.astype(float) + words.offsets[:, None]
    return solve(graph, prior.capacities), dense, weights + prior.log_odds


@pytest.mark.parametrize(
    ("n", "m", "log_odds"), [(60, 90, 0.2), (90, 60, 0.0), (80, 80, 0.2), (1, 40, 0.0), (40, 1, 0.2)]
)
def test_equals_the_dense_assignment(n: int, m: int, log_odds: float) -> None:
    sparse, dense, weights = solve_both(n, n, m, Prior(log_odds=log_odds))
    gains = np.maximum(weights, 0)
    best = gains[linear_sum_assignment(gains, maximize=True)].sum()
    assert dense.objective == pytest.approx(best, rel=1e-9)
    assert dense.objective >= sparse.objective - 1e-12
    assert abs(dense.gap) < 1e-9


def test_the_candidates_alone_miss_some_weight() -> None:
    sparse, dense, _ = solve_both(1, 90, 60, Prior(log_odds=0.2))
    assert dense.objective > sparse.objective * 1.001


@pytest.mark.parametrize("name", ["1:2", "2:1", "2:2"])
def test_no_edge_is_worth_more_than_its_duals(name: str) -> None:
    sparse, dense, weights = solve_both(2, 40, 40, Prior.named(name, 0.1))
    assert dense.objective >= sparse.objective - 1e-12
    assert abs(dense.gap) < 1e-9
    excess = weights - dense.source_duals[:, None] - dense.target_duals
    excess[dense.source, dense.target] = 0
    assert excess.max() < 1e-9


def test_kept_and_forbidden_pairs_do_not_count() -> None:
    plain = solve_both(4, 50, 50, Prior(log_odds=0.2))[1]
    kept, forbidden = (RowPairs(plain.source[part], plain.target[part]) for part in (slice(0, 5), slice(5, 15)))
    _, dense, weights = solve_both(4, 50, 50, Prior(log_odds=0.2, kept=kept, forbidden=forbidden))
    gains = np.maximum(weights, 0)
    gains[kept.source] = gains[:, kept.target] = gains[forbidden.source, forbidden.target] = 0
    assert dense.objective == pytest.approx(gains[linear_sum_assignment(gains, maximize=True)].sum(), rel=1e-9)


def test_a_source_with_many_forbidden_targets_still_gets_the_best_of_the_others() -> None:
    weights = solve_both(5, 3, 40, Prior(log_odds=1.0))[2]
    best = np.sort(np.argsort(-weights[0])[:20])
    forbidden = RowPairs(np.zeros(20, np.int64), best)
    _, dense, weights = solve_both(5, 3, 40, Prior(log_odds=1.0, forbidden=forbidden))
    weights[0, best] = 0
    gains = np.maximum(weights, 0)
    assert dense.objective == pytest.approx(gains[linear_sum_assignment(gains, maximize=True)].sum(), rel=1e-9)


def test_one_to_many_is_dense_already() -> None:
    sparse, dense, weights = solve_both(2, 30, 50, Prior.named("one-to-many"))
    assert dense.objective == sparse.objective == pytest.approx(np.maximum(weights.max(axis=0), 0).sum())

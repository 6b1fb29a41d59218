"""The dense optimum: pricing the whole graph against the duals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from bilex.em.em import Settings, fit
from bilex.matching.candidates import candidate_graph
from bilex.matching.dense import dense_matching
from bilex.matching.graph import Matching
from bilex.matching.solver import solve
from bilex.model.prior import Prior
from bilex.model.theta import Theta
from bilex.model.weights import likelihood
from bilex.numerics.types import Floats, Vectors
from bilex.search.local import LocalEngine
from tests import oracles

ENGINE = LocalEngine(threads=1)


def unit_rows(rng: np.random.Generator, n: int, dimension: int) -> Vectors:
    vectors = rng.normal(size=(n, dimension))
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def dense_problem(seed: int, n: int, m: int, prior: Prior, dimension: int = 8) -> tuple[Matching, Matching, Floats]:
    """Solve on the 3 best candidates and on the whole graph; also give all the weights."""
    rng = np.random.default_rng(seed)
    source, target = unit_rows(rng, n, dimension), unit_rows(rng, m, dimension)
    theta = Theta(oracles.random_orthogonal(rng, dimension), 0.1 * rng.normal(size=dimension))
    graph = candidate_graph(likelihood(theta, source, target), prior, k=3, previous=None, engine=ENGINE)
    dense = dense_matching(likelihood(theta, source, target), graph, prior, ENGINE, None)
    weights = theta.queries(source).astype(float) @ target.T.astype(float) + theta.offsets(source)[:, None]
    return solve(graph, prior), dense, weights + prior.log_odds


@pytest.mark.parametrize(("n", "m"), [(60, 90), (90, 60), (80, 80), (1, 40), (40, 1)])
@pytest.mark.parametrize("log_odds", [0.0, 0.2])
def test_equals_the_dense_assignment(n: int, m: int, log_odds: float) -> None:
    for seed in range(4):
        sparse, dense, weights = dense_problem(seed, n, m, Prior(log_odds=log_odds))
        gains = np.maximum(weights, 0)
        best = gains[linear_sum_assignment(gains, maximize=True)].sum()
        assert dense.objective == pytest.approx(best, rel=1e-9)
        assert dense.objective >= sparse.objective - 1e-12
        assert abs(dense.gap) < 1e-9


def test_the_candidates_alone_lose_something() -> None:
    sparse, dense, _ = dense_problem(1, 90, 60, Prior(log_odds=0.2))
    assert dense.objective > sparse.objective * 1.001


@pytest.mark.parametrize("name", ["1:2", "2:1", "2:2"])
def test_other_capacities(name: str) -> None:
    prior = Prior.named(name, 0.1)
    for seed in range(3):
        sparse, dense, weights = dense_problem(seed, 40, 40, prior)
        assert dense.objective >= sparse.objective - 1e-12
        assert abs(dense.gap) < 1e-9
        u, v = dense.source_duals, dense.target_duals
        excess = weights - u[:, None] - v
        excess[dense.source, dense.target] = 0
        assert excess.max() < 1e-9


def test_one_to_many_is_dense_already() -> None:
    sparse, dense, weights = dense_problem(2, 30, 50, Prior.named("one-to-many"))
    assert dense.objective == sparse.objective == pytest.approx(np.maximum(weights.max(axis=0), 0).sum())


def test_em_with_exact_matchings_never_lowers_the_log_likelihood() -> None:
    rng = np.random.default_rng(3)
    source = unit_rows(rng, 120, 10)
    turned = source @ oracles.random_orthogonal(rng, 10).T + 0.15 * rng.normal(size=source.shape)
    target = (turned / np.linalg.norm(turned, axis=1, keepdims=True)).astype(np.float32)
    pairs = np.arange(8)
    result = fit(source, target, (pairs, pairs), Settings(exact=True), ENGINE)
    values = np.array([iteration.log_likelihood for iteration in result.iterations])
    assert len(values) > 2
    assert (np.diff(values) >= -1e-4).all()
    assert all(iteration.certificate_gap is not None for iteration in result.iterations)

"""The weights of edges: the model's, and margins, which the exact searches and the solver take alike."""

from __future__ import annotations

import numpy as np
import pytest

from bilex.matching.candidates import candidate_graph
from bilex.matching.dense import dense_matching
from bilex.matching.solver import solve
from bilex.model.prior import Prior
from bilex.model.theta import MappedWords, Theta
from bilex.model.weights import likelihood, margin
from bilex.numerics.rows import unit
from bilex.numerics.types import Vectors
from bilex.search.local import LocalEngine
from tests import oracles
from tests.oracles import random_orthogonal

ENGINE = LocalEngine()


def example(seed: int, n: int = 40, m: int = 33, dimension: int = 5) -> tuple[Theta, Vectors, Vectors]:
    rng = np.random.default_rng(seed)
    omega = random_orthogonal(rng, dimension)
    source, target = (rng.normal(size=(k, dimension)).astype(np.float32) for k in (n, m))
    return Theta(omega, 0.1 * rng.normal(size=dimension)), source, target


def textbook_margins(theta: Theta, source: Vectors, target: Vectors) -> np.ndarray:
    mapped = source.astype(float) @ theta.omega.T
    mapped /= np.linalg.norm(mapped, axis=1, keepdims=True)
    target = target / np.linalg.norm(target.astype(float), axis=1, keepdims=True)
    cosines = mapped @ target.T
    around_source = np.sort(cosines, axis=1)[:, -10:].mean(axis=1)
    around_target = np.sort(cosines, axis=0)[-10:].mean(axis=0)
    return np.asarray(2 * cosines - around_source[:, None] - around_target)


@pytest.mark.parametrize("seed", range(2))
def test_margins_are_the_textbook_ones(seed: int) -> None:
    theta, source, target = example(seed)
    rows, columns = (grid.ravel() for grid in np.indices((len(source), len(target))))
    found = margin(MappedWords(theta, source, target), ENGINE).weigh(rows, columns).reshape(len(source), len(target))
    np.testing.assert_allclose(found, textbook_margins(theta, source, target), atol=1e-6)


def test_margins_hold_the_crowding_of_a_target_to_more_digits_than_float32() -> None:
    theta, source, target = example(5)
    edges = margin(MappedWords(theta, source, target), ENGINE)
    crowding = ENGINE.top_k(unit(target), unit(theta.map_source(source)), 10).scores.mean(axis=1)
    held = (edges.queries[0, -2:].astype(float) * edges.targets[:, -2:]).sum(axis=1)
    np.testing.assert_allclose(held, -crowding, rtol=0, atol=1e-13)


def test_likelihoods_are_differences_of_log_densities() -> None:
    theta, source, target = example(7)
    rows, columns = np.arange(20), np.arange(20)[::-1].copy()
    mapped = source[rows].astype(float) @ theta.omega.T
    drawn = ((target[columns] - mapped) ** 2).sum(axis=1)
    alone = ((target[columns] - theta.mu) ** 2).sum(axis=1)
    np.testing.assert_allclose(
        likelihood(MappedWords(theta, source, target)).weigh(rows, columns), (alone - drawn) / 2, atol=1e-5
    )


@pytest.mark.parametrize("log_odds", [0.0, -0.6])
def test_with_margins_the_matching_of_the_whole_graph_is_still_the_best_there_is(log_odds: float) -> None:
    theta, source, target = example(11)
    prior = Prior.named("1:1", log_odds)
    edges = margin(MappedWords(theta, source, target), ENGINE)
    graph = prior.apply(candidate_graph(edges, prior.capacities, k=2, previous=None, engine=ENGINE))
    found = dense_matching(edges, graph, prior, ENGINE, None)
    weights = textbook_margins(theta, source, target) + log_odds
    every = {(j, i): float(weights[j, i]) for j in range(len(source)) for i in range(len(target))}
    best = oracles.best_by_linear_program(every, len(source), len(target), 1, 1)
    assert found.objective == pytest.approx(best, abs=1e-4)
    assert found.gap < 1e-7
    assert solve(graph, prior.capacities).objective <= found.objective + 1e-9


def test_a_hub_gains_nothing_from_being_near_everything() -> None:
    # One target in the middle of all: by likelihood it is the nearest of all sources, by margin it is not.
    rng = np.random.default_rng(3)
    middle = np.zeros(30)
    middle[0] = 1.0
    source = rng.normal(size=(60, 30))
    source /= np.linalg.norm(source, axis=1, keepdims=True)
    source = source + 2 * middle
    source /= np.linalg.norm(source, axis=1, keepdims=True)
    target = source + 0.12 * rng.normal(size=source.shape)
    targets = np.vstack([target / np.linalg.norm(target, axis=1, keepdims=True), middle]).astype(np.float32)
    theta = Theta(np.eye(30), np.zeros(30))
    right = {}
    for name, weights in (("likelihood", likelihood), ("margin", margin)):
        edges = weights(MappedWords(theta, source.astype(np.float32), targets), ENGINE)
        best = ENGINE.top_k(edges.queries, edges.targets, 1).indices[:, 0]
        right[name] = int((best == 60).sum())
    assert right["margin"] < right["likelihood"]

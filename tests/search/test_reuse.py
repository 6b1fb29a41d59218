"""Exact reuse: the same answers as a full search, from less work."""

from __future__ import annotations

import numpy as np
import pytest

from bilex.em.context import Context
from bilex.em.em import fit
from bilex.matching.graph import RowPairs
from bilex.methods import METHODS
from bilex.model.prior import Prior
from bilex.numerics.types import Indices, Vectors
from bilex.search.engine import Neighbours
from bilex.search.local import LocalEngine
from bilex.search.reuse import ReusingEngine

PLAIN = LocalEngine(threads=1)


def rows(seed: int, n: int, dimension: int = 12) -> Vectors:
    vectors = np.random.default_rng(seed).normal(size=(n, dimension))
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


class ComparingEngine:
    """Runs a reusing engine and a plain one side by side, and compares every answer to the bit."""

    def __init__(self, keep: int = 16) -> None:
        self.reusing, self.searched = ReusingEngine(PLAIN, keep=keep), list[int]()

    def top_k(self, queries: Vectors, targets: Vectors, k: int) -> Neighbours:
        ours, full = self.reusing.top_k(queries, targets, k), PLAIN.top_k(queries, targets, k)
        np.testing.assert_array_equal(ours.indices, full.indices)
        np.testing.assert_array_equal(ours.scores, full.scores)
        self.searched.append(self.reusing.searched)
        return ours

    def top_k_both(self, queries: Vectors, targets: Vectors, k: int) -> tuple[Neighbours, Neighbours]:
        return self.reusing.top_k_both(queries, targets, k)

    def rank(self, queries: Vectors, targets: Vectors, chosen: Indices) -> Indices:
        return self.reusing.rank(queries, targets, chosen)


def test_equals_a_full_search_at_every_iteration_of_em() -> None:
    rng = np.random.default_rng(1)
    source = rows(2, 200, 20)
    turn = np.linalg.qr(rng.normal(size=(20, 20)))[0]
    noisy = source @ turn.T + 0.16 * rng.normal(size=source.shape)
    target = (noisy / np.linalg.norm(noisy, axis=1, keepdims=True)).astype(np.float32)
    engine, pairs = ComparingEngine(), np.arange(12)
    method = METHODS["ruder2018"].with_changes({"tolerance": 0.0, "max_iterations": 10})
    result = fit(source, target, RowPairs(pairs, pairs), method, Prior(), Context(engine))
    assert len(engine.searched) == len(result.iterations) > 3
    assert engine.searched[0] == 200
    assert engine.searched[-1] < 100  # once the map has settled, most answers still hold


@pytest.mark.parametrize(("step", "keep"), [(0.0, 4), (1e-3, 4), (0.03, 6), (0.2, 16), (0.2, 60)])
def test_queries_that_move(step: float, keep: int) -> None:
    rng, engine = np.random.default_rng(5), ComparingEngine(keep)
    targets = (rows(3, 60, 3) * rng.uniform(0.5, 4, (60, 1))).astype(np.float32)
    queries = rows(4, 200, 3)
    for _ in range(6):
        engine.top_k(queries, targets, 3)
        queries = (queries + step * rng.normal(size=queries.shape)).astype(np.float32)
    assert engine.searched[:2] == [200, 200]
    if step == 0.0 or keep == len(targets):
        assert engine.searched[2:] == [0] * 4
    else:
        assert 0 < sum(engine.searched[2:]) < 4 * 200


def test_ties_across_the_bound() -> None:
    targets = np.repeat(rows(6, 30), 10, axis=0)  # each row ten times: the third best ties with the sixteenth
    engine, queries = ComparingEngine(), rows(7, 40)
    for step in (0.0, 1e-7, 1e-4):
        engine.top_k((queries + step).astype(np.float32), targets, 3)


def test_other_targets_or_another_number_of_queries_start_again() -> None:
    engine, targets = ComparingEngine(), rows(8, 200)
    engine.top_k(rows(9, 50), targets, 3)
    engine.top_k(rows(10, 60), targets, 3)
    assert engine.searched[-1] == 60
    engine.top_k(rows(10, 60), targets, 20)  # more than it keeps: the wrapped engine answers
    engine.top_k(rows(10, 60), rows(11, 200), 3)
    assert engine.searched[-1] == 60


def test_rank_is_that_of_the_wrapped_engine() -> None:
    targets, queries, chosen = rows(12, 100), rows(13, 20), np.arange(20)
    ranks = ReusingEngine(PLAIN).rank(queries, targets, chosen)
    np.testing.assert_array_equal(ranks, PLAIN.rank(queries, targets, chosen))

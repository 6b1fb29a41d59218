"""Exact reuse: the same answers as a full search, from less work."""

from __future__ import annotations

import numpy as np
import pytest

from bilex.em.em import Settings, fit
from bilex.numerics.types import Indices, Vectors
from bilex.search.engine import Neighbours
from bilex.search.local import LocalEngine
from bilex.search.reuse import ReusingEngine

PLAIN = LocalEngine(threads=1)


def rows(seed: int, n: int, dimension: int = 12) -> Vectors:
    vectors = np.random.default_rng(seed).normal(size=(n, dimension))
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


class Witness:
    """Runs a reusing engine and a plain one side by side, and compares every answer to the bit."""

    def __init__(self, keep: int = 16) -> None:
        self.reusing, self.searched = ReusingEngine(PLAIN, keep=keep), list[int]()

    def top_k(self, queries: Vectors, targets: Vectors, k: int) -> Neighbours:
        ours, full = self.reusing.top_k(queries, targets, k), PLAIN.top_k(queries, targets, k)
        np.testing.assert_array_equal(ours.indices, full.indices)
        np.testing.assert_array_equal(ours.scores, full.scores)
        self.searched.append(self.reusing.searched)
        return ours

    def rank(self, queries: Vectors, targets: Vectors, chosen: Indices) -> Indices:
        return self.reusing.rank(queries, targets, chosen)


def test_equals_a_full_search_at_every_iteration_of_em() -> None:
    rng = np.random.default_rng(1)
    source = rows(2, 400, 20)
    turn = np.linalg.qr(rng.normal(size=(20, 20)))[0]
    noisy = source @ turn.T + 0.16 * rng.normal(size=source.shape)
    target = (noisy / np.linalg.norm(noisy, axis=1, keepdims=True)).astype(np.float32)
    witness, pairs = Witness(), np.arange(12)
    result = fit(source, target, (pairs, pairs), Settings(tolerance=0, max_iterations=10), witness)
    assert len(witness.searched) == len(result.iterations) > 3
    assert witness.searched[0] == 400
    assert witness.searched[-1] < 200  # once the map has settled, most answers still hold


@pytest.mark.parametrize("step", [0.0, 1e-6, 1e-3, 0.03, 1.0])
@pytest.mark.parametrize("keep", [4, 16, 300])
def test_queries_that_move(step: float, keep: int) -> None:
    targets, witness = rows(3, 300), Witness(keep)
    queries, rng = rows(4, 80), np.random.default_rng(5)
    for _ in range(6):
        witness.top_k(queries, targets, 3)
        queries = (queries + step * rng.normal(size=queries.shape)).astype(np.float32)
    assert witness.searched[:2] == [80, 80]
    if step == 0.0:
        assert witness.searched[2:] == [0] * 4


def test_ties_across_the_bound() -> None:
    targets = np.repeat(rows(6, 30), 10, axis=0)  # each row ten times: the third best ties with the sixteenth
    witness, queries = Witness(), rows(7, 40)
    for step in (0.0, 1e-7, 1e-4):
        witness.top_k((queries + step).astype(np.float32), targets, 3)


def test_other_targets_or_other_queries_start_anew() -> None:
    witness, targets = Witness(), rows(8, 200)
    witness.top_k(rows(9, 50), targets, 3)
    witness.top_k(rows(10, 60), targets, 3)
    assert witness.searched[-1] == 60
    witness.top_k(rows(10, 60), rows(11, 200), 3)
    assert witness.searched[-1] == 60
    witness.top_k(rows(10, 60), targets, 20)  # more than it keeps: the engine inside answers


def test_rank_is_the_engines_inside() -> None:
    targets, queries, chosen = rows(12, 100), rows(13, 20), np.arange(20)
    ranks = ReusingEngine(PLAIN).rank(queries, targets, chosen)
    np.testing.assert_array_equal(ranks, PLAIN.rank(queries, targets, chosen))

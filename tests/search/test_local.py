"""The local engine and its kernels, beyond what every engine has to pass."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bilex.numerics.types import Vectors
from bilex.search import local
from bilex.search.local import LocalEngine
from tests import oracles

ENGINES = [LocalEngine(1, 10**6, 10**6), LocalEngine(2, 97, 97), LocalEngine(4, 13, 1024), LocalEngine(2, 1, 1)]


def random_vectors(seed: int, n: int, dimension: int, scale: float = 1.0) -> Vectors:
    return (scale * np.random.default_rng(seed).normal(size=(n, dimension))).astype(np.float32)


def check_engines(queries: Vectors, targets: Vectors, k: int, engines: list[LocalEngine] = ENGINES) -> None:
    """Compare with a full sort, and the engines with one another to the bit."""
    indices, scores = oracles.full_sort_top_k(queries, targets, k)
    chosen = indices[:, -1].copy()
    ranks = oracles.full_sort_rank(queries, targets, chosen)
    first, of_targets = engines[0].top_k(queries, targets, k), oracles.full_sort_top_k(targets, queries, k)[0]
    for engine in engines:
        found = engine.top_k(queries, targets, k)
        np.testing.assert_array_equal(found.indices, indices)
        np.testing.assert_allclose(found.scores, scores, rtol=1e-12, atol=1e-12 * np.abs(scores).max(initial=0))
        assert found.scores.tobytes() == first.scores.tobytes()
        assert engine.rank(queries, targets, chosen).tolist() == ranks
        both, columns = engine.top_k_both(queries, targets, k)
        assert both.indices.tobytes() == found.indices.tobytes() and both.scores.tobytes() == found.scores.tobytes()
        np.testing.assert_array_equal(columns.indices, of_targets)


def test_blocks_and_threads_do_not_change_the_answers() -> None:
    targets = random_vectors(2, 600, 8)
    targets[350:] = targets[:250]  # scores that tie across blocks
    check_engines(random_vectors(1, 40, 8), targets, 3)


@pytest.mark.parametrize("exponent", [-64, -74])
def test_products_that_underflow_in_float32(exponent: int) -> None:
    # Products of 2^(2 exponent) are subnormal or 0 in float32, where an error is absolute and not relative.
    queries = (random_vectors(6, 60, 16) * np.float32(2) ** exponent).astype(np.float32)
    targets = (random_vectors(7, 300, 16) * np.float32(2) ** exponent).astype(np.float32)
    check_engines(queries, targets, 4)


def test_the_case_of_nearly_tied_targets_is_hard_for_float32() -> None:
    """The shared suite tells such targets apart; here it is shown that BLAS alone would not."""
    rng = np.random.default_rng(11)
    targets = np.tile(rng.normal(size=64).astype(np.float32), (300, 1))
    for row in targets[1:]:
        column = rng.integers(64)
        row[column] = np.nextafter(row[column], np.float32(rng.choice([-9, 9])))
    queries = random_vectors(12, 60, 64)
    found = ENGINES[1].top_k(queries, targets, 5)
    assert (found.indices != np.argsort(-(queries @ targets.T), axis=1, kind="stable")[:, :5]).any()
    best = -np.sort(-oracles.score_matrix(queries, targets), axis=1)[:, :5]
    np.testing.assert_allclose(found.scores, best, rtol=0, atol=1e-12)


# Small whole numbers: every sum is exact in any order, and ties are everywhere.
whole = st.integers(-3, 3)


@st.composite
def whole_vectors(draw: st.DrawFn, dimension: int, most: int) -> Vectors:
    rows = draw(st.lists(st.tuples(*[whole] * dimension), min_size=1, max_size=most))
    return np.array(rows, np.float32).reshape(-1, dimension)


@given(st.data(), st.integers(1, 6), st.integers(1, 4), st.integers(1, 9), st.integers(1, 9))
@settings(max_examples=60)
def test_ties_with_any_blocks(
    data: st.DataObject, dimension: int, threads: int, query_block: int, target_block: int
) -> None:
    queries, targets = data.draw(whole_vectors(dimension, 8)), data.draw(whole_vectors(dimension, 25))
    k = data.draw(st.integers(1, len(targets)))
    check_engines(queries, targets, k, [LocalEngine(threads, query_block, target_block)])


@pytest.mark.parametrize("n", [20, 100])  # by float32 products, and by 8-bit ones where there are
def test_the_last_answers_change_nothing_but_the_time(n: int) -> None:
    queries, targets, engine = random_vectors(41, n, 24), random_vectors(42, 300, 24), LocalEngine(2)
    targets[150:] = targets[:150]  # ties
    for move in (0.0, 0.01, 10.0):
        moved = random_vectors(43, 300, 24, move)
        moved[150:] = moved[:150]
        found, expected = (each.top_k(queries, targets + moved, 5) for each in (engine, LocalEngine(1)))
        assert found.indices.tobytes() == expected.indices.tobytes()
        assert found.scores.tobytes() == expected.scores.tobytes()


def test_few_answers_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "MAX_REMEMBERED", 100)
    engine, targets = LocalEngine(1), random_vectors(44, 30, 6)
    for count in (10, 20, 12, 10, 200):  # with three targets each
        engine.top_k(random_vectors(45, count, 6), targets, 3)
        answers = list(engine._last.values())
        assert sum(each.size for each in answers) <= 100 and (count == 200 or len(answers[-1]) == count)
    engine.top_k(random_vectors(45, 10, 6), targets, 3)
    engine.top_k(random_vectors(45, 20, 6), targets, 3)
    assert [len(each) for each in engine._last.values()] == [10, 20]


def test_several_threads_may_search_with_one_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "MAX_REMEMBERED", 60)
    engine, targets = LocalEngine(1), random_vectors(46, 20, 4)

    def search(number: int) -> bool:
        queries = random_vectors(47, 1 + number % 7, 4)
        found, expected = (each.top_k(queries, targets, 3) for each in (engine, LocalEngine(1)))
        return found.indices.tobytes() == expected.indices.tobytes()

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(search, range(400)))

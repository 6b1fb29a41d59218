"""The engine: exact answers, to the bit, whatever the blocks and threads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from bilex.errors import BilexError
from bilex.numerics.types import Vectors
from bilex.search import topk_kernel as topk
from bilex.search.engine import Neighbours
from bilex.search.engines import find_engine
from bilex.search.local import LocalEngine
from tests import oracles

ENGINES = [
    LocalEngine(threads=threads, query_block=query_block, target_block=target_block)
    for threads, query_block, target_block in [
        (1, 10**6, 10**6),
        (1, 512, 1024),
        (2, 97, 97),
        (4, 97, 1024),
        (4, 13, 97),
        (2, 1024, 97),
    ]
]


def random_vectors(seed: int, n: int, dimension: int, scale: float = 1.0) -> Vectors:
    return (scale * np.random.default_rng(seed).normal(size=(n, dimension))).astype(np.float32)


def same(one: Neighbours, other: Neighbours) -> bool:
    return one.indices.tobytes() == other.indices.tobytes() and one.scores.tobytes() == other.scores.tobytes()


def check_top_k(queries: Vectors, targets: Vectors, k: int, engines: list[LocalEngine] = ENGINES) -> None:
    indices, scores = oracles.full_sort_top_k(queries, targets, k)
    answers = [engine.top_k(queries, targets, k) for engine in engines]
    for answer in answers:
        assert answer.indices.dtype == np.int64
        assert answer.scores.dtype == np.float64
        np.testing.assert_array_equal(answer.indices, indices)
        np.testing.assert_allclose(answer.scores, scores, rtol=1e-12, atol=1e-12 * np.abs(scores).max(initial=0))
        assert same(answer, answers[0])


def check_rank(
    queries: Vectors, targets: Vectors, chosen: NDArray[np.int64], engines: list[LocalEngine] = ENGINES
) -> None:
    expected = oracles.full_sort_rank(queries, targets, chosen)
    for engine in engines:
        ranks = engine.rank(queries, targets, chosen)
        assert ranks.dtype == np.int64
        assert list(ranks) == expected


@pytest.mark.parametrize(
    ("n_queries", "n_targets", "dimension", "k"),
    [(300, 2100, 30, 3), (250, 97, 8, 97), (1, 500, 50, 10), (200, 1, 5, 1), (130, 400, 1, 7), (40, 1025, 3, 1)],
)
def test_top_k_equals_a_full_sort(n_queries: int, n_targets: int, dimension: int, k: int) -> None:
    check_top_k(random_vectors(1, n_queries, dimension), random_vectors(2, n_targets, dimension), k)


@pytest.mark.parametrize("scale", [1e-37, 1e-25, 1e-18, 1e-6, 1e6, 1e18])
def test_top_k_at_any_scale(scale: float) -> None:
    queries, targets = random_vectors(3, 100, 20), random_vectors(4, 400, 20)
    norms = 10.0 ** np.random.default_rng(5).uniform(-3, 0, (400, 1))  # lengths far from one another as well
    targets = (targets * norms).astype(np.float32)
    plain = ENGINES[0].top_k(queries, targets, 5)
    large = (scale * targets.astype(np.float64)).astype(np.float32)
    check_top_k(queries, large, 5)
    chosen = plain.indices[:, 3]
    check_rank(queries, large, chosen)


@pytest.mark.parametrize("exponent", [-64, -68, -70, -72, -74, -80])
def test_top_k_where_products_underflow_in_float32(exponent: int) -> None:
    # Products of 2^(2 exponent) are subnormal or 0 in float32, where an error is absolute and not relative.
    queries = (random_vectors(6, 60, 16) * np.float32(2) ** exponent).astype(np.float32)
    targets = (random_vectors(7, 300, 16) * np.float32(2) ** exponent).astype(np.float32)
    check_top_k(queries, targets, 4)
    check_rank(queries, targets, np.arange(60))


@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_top_k_where_products_overflow_in_float32() -> None:
    queries, targets = random_vectors(6, 60, 16, 1e20), random_vectors(7, 300, 16, 1e20)
    check_top_k(queries, targets, 4)
    check_rank(queries, targets, np.arange(60))


def test_ties_go_to_the_lower_index() -> None:
    distinct = random_vectors(8, 60, 12)
    targets = distinct[np.random.default_rng(9).integers(0, 60, 1500)]  # each row about 25 times, far apart
    for k in (1, 3, 40, 1500):
        check_top_k(random_vectors(10, 50, 12), targets, k)
    check_rank(random_vectors(10, 50, 12), targets, np.arange(50) * 29)


def test_nearly_tied_targets_are_told_apart() -> None:
    # One vector and its neighbours one float32 step away in one coordinate: BLAS in float32 cannot rank them.
    rng = np.random.default_rng(11)
    base = rng.normal(size=64).astype(np.float32)
    targets = np.tile(base, (400, 1))
    for row in targets[1:]:
        column = rng.integers(64)
        row[column] = np.nextafter(row[column], np.float32(rng.choice([-9, 9])))
    queries = random_vectors(12, 100, 64)
    exact = oracles.full_sort_top_k(queries, targets, 5)[0]
    float32 = np.argsort(-(queries @ targets.T), axis=1, kind="stable")[:, :5]
    assert (exact != float32).any(), "the case is too easy to show anything"
    # The few last bits of float64 depend on the order of summation: compare with exact arithmetic instead.
    for engine in ENGINES:
        answer = engine.top_k(queries, targets, 5)
        assert same(answer, ENGINES[0].top_k(queries, targets, 5))
        scores = oracles.score_matrix(queries, targets)
        tolerance = 1e-14 * np.abs(queries).max() * np.abs(base).max() * 64
        kth_best = -np.sort(-scores, axis=1)[:, :5]
        np.testing.assert_allclose(np.take_along_axis(scores, answer.indices, axis=1), kth_best, rtol=0, atol=tolerance)


# Small whole numbers: every sum is exact, in any order, and ties are everywhere.
whole = st.integers(-3, 3)


@st.composite
def whole_vectors(draw: st.DrawFn, dimension: int, most: int) -> Vectors:
    rows = draw(st.lists(st.tuples(*[whole] * dimension), min_size=1, max_size=most))
    return np.array(rows, np.float32).reshape(-1, dimension)


@given(st.data(), st.integers(1, 6), st.integers(1, 4), st.integers(1, 9), st.integers(1, 9))
@settings(deadline=None, max_examples=100)
def test_search_with_ties_and_any_blocks(
    data: st.DataObject, dimension: int, threads: int, query_block: int, target_block: int
) -> None:
    queries, targets = data.draw(whole_vectors(dimension, 8)), data.draw(whole_vectors(dimension, 25))
    k = data.draw(st.integers(1, len(targets)))
    engines = [ENGINES[0], LocalEngine(threads, query_block, target_block)]
    check_top_k(queries, targets, k, engines)
    chosen = data.draw(st.lists(st.integers(0, len(targets) - 1), min_size=len(queries), max_size=len(queries)))
    check_rank(queries, targets, np.array(chosen), engines)


def test_blocks_of_one() -> None:
    queries, targets = random_vectors(13, 20, 5), random_vectors(14, 30, 5)
    engines = [LocalEngine(2, 1, 1), LocalEngine(1, 1, 30), LocalEngine(4, 20, 1)]
    check_top_k(queries, targets, 4, engines)
    check_rank(queries, targets, np.arange(20), engines)


@pytest.mark.parametrize("n_targets", [97, 1500])
def test_rank_equals_a_full_sort(n_targets: int) -> None:
    queries, targets = random_vectors(15, 220, 25), random_vectors(16, n_targets, 25)
    targets[n_targets // 2 :] = targets[: n_targets - n_targets // 2]  # and every score twice
    check_rank(queries, targets, np.random.default_rng(17).integers(0, n_targets, 220))


def test_rank_and_top_k_agree() -> None:
    queries, targets = random_vectors(18, 50, 10), random_vectors(19, 400, 10)
    neighbours = LocalEngine().top_k(queries, targets, 6)
    for place in range(6):
        assert (LocalEngine().rank(queries, targets, neighbours.indices[:, place]) == place + 1).all()


def test_zero_vectors_tie_everywhere() -> None:
    check_top_k(np.zeros((5, 3), np.float32), random_vectors(20, 40, 3), 4)
    check_top_k(random_vectors(20, 40, 3), np.zeros((50, 3), np.float32), 4)


def test_rows_that_are_not_contiguous() -> None:
    queries, targets = random_vectors(21, 60, 8), random_vectors(22, 200, 8)
    expected = LocalEngine().top_k(queries[::2].copy(), targets[::3, :5].copy() @ np.eye(5, 8, dtype=np.float32), 3)
    wide = np.zeros((67, 16), np.float32)
    wide[:, :5] = targets[::3, :5]
    answer = LocalEngine().top_k(queries[::2], wide[:, :8], 3)
    assert same(answer, expected)


def test_no_query() -> None:
    none = np.zeros((0, 4), np.float32)
    answer = LocalEngine().top_k(none, random_vectors(0, 9, 4), 2)
    assert answer.indices.shape == answer.scores.shape == (0, 2)
    assert LocalEngine().rank(none, random_vectors(0, 9, 4), np.zeros(0, np.int64)).shape == (0,)


@pytest.mark.parametrize("k", [-1, 0, 8])
def test_k_beyond_the_targets(k: int) -> None:
    with pytest.raises(ValueError, match=f"k is {k}, with 7 targets"):
        LocalEngine().top_k(random_vectors(0, 3, 2), random_vectors(1, 7, 2), k)


def test_progress_counts_the_queries() -> None:
    seen = list[tuple[int, int]]()
    engine = LocalEngine(threads=2, query_block=40, progress=lambda done, total: seen.append((done, total)))
    engine.top_k(random_vectors(0, 100, 4), random_vectors(1, 50, 4), 2)
    assert seen == [(40, 100), (80, 100), (100, 100)]


def test_an_interrupt_is_passed_on_at_once() -> None:
    seen = list[int]()

    def interrupt(done: int, total: int) -> None:
        seen.append(done)
        raise KeyboardInterrupt

    engine = LocalEngine(threads=1, query_block=1, progress=interrupt)
    with pytest.raises(KeyboardInterrupt):
        engine.top_k(random_vectors(0, 100, 4), random_vectors(1, 50, 4), 2)
    assert seen == [1]


@pytest.mark.parametrize("dimension", [1, 2, 3, 4, 5, 8, 301])
def test_kernel_inner_products(dimension: int) -> None:
    left, right = random_vectors(23, 30, dimension), random_vectors(24, 40, dimension)
    rows, columns = np.divmod(np.arange(30 * 40), 40)
    expected = oracles.score_matrix(left, right).ravel()
    np.testing.assert_allclose(topk.edge_scores(left, right, rows, columns), expected, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(topk.row_norms(left), np.linalg.norm(left.astype(np.float64), axis=1), rtol=1e-14)


@pytest.mark.parametrize("dimension", [1, 10, 300, 1000])
def test_slack_bounds_the_error_of_float32(dimension: int) -> None:
    left, right = random_vectors(25, 50, dimension), random_vectors(26, 50, dimension)
    errors = np.abs((left @ right.T).astype(np.float64) - oracles.score_matrix(left, right))
    assert (errors <= topk.slack_factor(dimension) * np.outer(topk.row_norms(left), topk.row_norms(right))).all()


def test_find_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BILEX_THREADS", "3")
    assert find_engine("local") == LocalEngine(threads=3)
    assert find_engine("local", threads=2) == LocalEngine(threads=2)
    with pytest.raises(BilexError, match=r"'abacus'.*local"):
        find_engine("abacus")

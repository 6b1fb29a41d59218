"""The 8-bit filter: bounds that hold, and answers that equal the float32 filter's to the bit."""

from __future__ import annotations

import numpy as np
import pytest

from bilex.arrays import Vectors
from bilex.engines.filters import Float32Filter, Int8Filter, choose_filter
from bilex.kernels import int8

needs_instruction = pytest.mark.skipif(not int8.available(), reason="this CPU has no 8-bit dot products (AVX-512 VNNI)")


def rows(seed: int, n: int, dimension: int, scale: float = 1.0) -> Vectors:
    return np.asarray(scale * np.random.default_rng(seed).normal(size=(n, dimension)), np.float32)


def quantised(vectors: Vectors) -> tuple[np.ndarray, Vectors, np.ndarray]:
    codes, facts = np.empty(vectors.shape, np.int8), np.empty((4, len(vectors)), np.float32)
    totals = np.empty(len(vectors), np.int32)
    int8.quantise(vectors, codes, facts, totals)
    return codes, facts, totals


def test_quantise_measures_what_rounding_took_off() -> None:
    vectors = rows(1, 50, 30)
    vectors[7] = 0
    codes, facts, totals = quantised(vectors)
    rounded = codes * facts[0].astype(float)[:, None]
    assert np.abs(codes).max() == 127
    assert (totals == codes.sum(axis=1, dtype=int)).all()
    for fact, expected in ((1, rounded), (2, vectors - rounded), (3, vectors)):
        norms = np.linalg.norm(expected.astype(float), axis=1)
        assert (facts[fact] >= norms).all()  # rounded up
        np.testing.assert_allclose(facts[fact], norms, rtol=1e-5, atol=1e-30)


@needs_instruction
@pytest.mark.parametrize(("n", "m", "dimension"), [(1, 64, 1), (6, 64, 4), (7, 65, 5), (40, 200, 300), (13, 1024, 77)])
def test_integer_products_are_exact(n: int, m: int, dimension: int) -> None:
    rng = np.random.default_rng(2)
    queries = rng.integers(-127, 128, (n, dimension)).astype(np.int8)
    targets = rng.integers(-127, 128, (m, dimension)).astype(np.int8)
    packed = int8.pack_targets(targets)
    height, width = -(-n // int8.ROWS) * int8.ROWS, len(packed) * 16
    shifted = int8.aligned((height, packed.shape[1] * 4), np.uint8)
    shifted[:n, :dimension] = queries.astype(np.int16) + 128
    starts = np.zeros(width, np.int32)
    starts[:m] = -128 * targets.sum(axis=1, dtype=int)
    sums = int8.aligned((height, width), np.int32)
    int8.multiply(shifted, packed, starts, sums)
    np.testing.assert_array_equal(sums[:n, :m], queries.astype(int) @ targets.T.astype(int))


def test_the_bound_is_above_every_score() -> None:
    for seed, scale in ((3, 1.0), (4, 1e-6), (5, 1e6)):
        queries, targets = rows(seed, 40, 60, scale), rows(seed + 10, 80, 60)
        (q, query_facts, _), (t, target_facts, _) = quantised(queries), quantised(targets)
        products = q.astype(int) @ t.T.astype(int)
        slack = int8.rounding(query_facts, target_facts)
        exact = queries.astype(float) @ targets.T.astype(float)
        for row in range(40):
            for column in range(80):
                facts = query_facts[0, row], query_facts[1, row], query_facts[2, row]
                bound = int8.upper_bound.py_func(products[row, column], *facts, target_facts, column)
                assert bound + slack[row] >= exact[row, column]
                assert bound < exact[row, column] + 0.2 * np.linalg.norm(queries[row]) * np.linalg.norm(targets[column])


@needs_instruction
@pytest.mark.parametrize("block", [1, 64, 97, 1024])
@pytest.mark.parametrize("k", [1, 3, 100])
def test_equals_the_float32_filter(block: int, k: int) -> None:
    targets = rows(20, 500, 48)
    targets[100:200] = targets[:100]  # ties
    queries = np.concatenate([rows(21, 50, 48), targets[:20]])
    answers = []
    for kind in (Int8Filter, Float32Filter):
        best, where = np.full((len(queries), k), -np.inf), np.full((len(queries), k), -1, np.int64)
        kind(targets, block).search(queries, best, where)
        answers.append((best, where))
    np.testing.assert_array_equal(answers[0][0], answers[1][0])
    np.testing.assert_array_equal(answers[0][1], answers[1][1])


def test_choice_of_the_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = rows(30, 100, 8)
    monkeypatch.setattr(int8, "available", lambda: True)
    assert isinstance(choose_filter(vectors, vectors, 64), Int8Filter)
    assert isinstance(choose_filter(vectors, vectors[:20], 64), Float32Filter)  # too few to fill a tile
    for size in (1e20, 1e-20, 0.0):
        assert isinstance(choose_filter(vectors, np.asarray(vectors * size, np.float32), 64), Float32Filter)
    monkeypatch.setenv("BILEX_INT8", "0")
    assert isinstance(choose_filter(vectors, vectors, 64), Float32Filter)
    monkeypatch.delenv("BILEX_INT8")
    monkeypatch.setattr(int8, "available", lambda: False)
    assert isinstance(choose_filter(vectors, vectors, 64), Float32Filter)

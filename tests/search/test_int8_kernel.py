"""The 8-bit filter: bounds that hold, and answers that equal the float32 filter's to the bit."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from numba import config

from bilex.numerics.types import Vectors
from bilex.search import int8_kernel as int8
from bilex.search import rounding_kernel as rounding
from bilex.search.filters import Float32Filter, Int8Filter, choose_filter, leading_dimensions
from bilex.search.local import empty_lists


def at(address: int, shape: tuple[int, ...], kind: type[np.generic]) -> np.ndarray[Any, Any]:
    """Return the array at an address."""
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    return np.frombuffer(memoryview((ctypes.c_char * size).from_address(address)), kind).reshape(shape)


def tile(q: int, stride: int, t: int, starts: int, scales: int, quads: int, levels: int, masks: int) -> None:
    """Do what the instruction does, in Python."""
    targets = at(t, (rounding.GROUPS, quads, 16, 4), np.int8).astype(int)
    factors = at(scales, (rounding.WIDTH,), np.float32)
    for row in range(rounding.ROWS):
        query = at(q + row * stride, (quads, 4), np.uint8).astype(int)
        sums = at(starts, (rounding.WIDTH,), np.int32) + np.einsum("gqlc,qc->gl", targets, query).ravel()
        level, scale = at(levels, (rounding.ROWS, 2), np.float32)[row]
        of_targets = at(levels + 8 * rounding.ROWS, (rounding.WIDTH,), np.float32)
        scores = sums.astype(np.float32) * factors
        for which, is_reached in enumerate((scores >= level, scores * scale >= of_targets)):
            reached = np.flatnonzero(is_reached)
            at(masks, (rounding.ROWS, 2), np.uint64)[row, which] = sum(1 << int(place) for place in reached)


@pytest.fixture(autouse=True)
def in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the instruction where numba compiles nothing."""
    if config.DISABLE_JIT:
        monkeypatch.setattr(int8, "tile", tile)


def rows(seed: int, n: int, dimension: int, scale: float = 1.0) -> Vectors:
    return np.asarray(scale * np.random.default_rng(seed).normal(size=(n, dimension)), np.float32)


def rounded_rows(vectors: Vectors, most: int = 127) -> tuple[np.ndarray, Vectors, np.ndarray]:
    codes, facts = np.empty(vectors.shape, np.int8), np.empty((4, len(vectors)), np.float32)
    totals = np.empty(len(vectors), np.int32)
    rounding.quantise(vectors, most, codes, facts, totals)
    return codes, facts, totals


@pytest.mark.parametrize("most", [127, 63])
def test_quantise_measures_its_error(most: int) -> None:
    vectors = rows(1, 50, 30)
    vectors[7] = 0
    codes, facts, totals = rounded_rows(vectors, most)
    rounded = codes * facts[0].astype(float)[:, None]
    assert np.abs(codes).max() == most
    assert (totals == codes.sum(axis=1, dtype=int)).all()
    for fact, expected in ((1, rounded), (2, vectors - rounded), (3, vectors)):
        norms = np.linalg.norm(expected.astype(float), axis=1)
        assert (facts[fact] >= norms).all()  # rounded up
        np.testing.assert_allclose(facts[fact], norms, rtol=1e-5, atol=1e-30)


@pytest.mark.parametrize(("n", "m", "dimension"), [(1, 64, 1), (7, 65, 5), (13, 200, 77)])
def test_products_are_exact_and_compared_with_both_levels(n: int, m: int, dimension: int) -> None:
    rng = np.random.default_rng(2)
    queries, targets = rows(3, n, dimension), rows(4, m, dimension)
    queries[0], targets[0], targets[1] = 1, 1, -1  # the largest sums
    tiles = rounding.prepare_targets(targets)
    shifted = rounding.prepare_queries(queries, tiles).shifted
    q, t, scales = (
        rounded_rows(queries, rounding.largest_query_code())[0],
        rounded_rows(targets)[0],
        rounded_rows(targets)[1][0],
    )
    scores = (q.astype(int) @ t.T.astype(int)).astype(np.float32) * scales
    for start in range(0, n, rounding.ROWS):
        for chunk in range(tiles.bounds.shape[1]):
            block = scores[start : start + rounding.ROWS, chunk * rounding.WIDTH : (chunk + 1) * rounding.WIDTH]
            own, of_targets = (np.full(shape, np.inf, np.float32) for shape in ((rounding.ROWS, 2), rounding.WIDTH))
            own[: len(block)] = rng.choice(block.ravel(), (len(block), 2))  # a level, so that equality happens; a scale
            whole = block * own[: len(block), 1:]
            of_targets[: block.shape[1]] = rng.permuted(whole, axis=0)[0]
            masks = np.zeros((rounding.ROWS, 2), np.uint64)
            int8.compare_tile(shifted, start, tiles, chunk, np.append(own, of_targets), masks)
            for which, expected in enumerate((block >= own[: len(block), :1], whole >= of_targets[: block.shape[1]])):
                for row, line in enumerate(expected):
                    assert [int8.bit_is_set(masks[row, which], i) for i in range(len(line))] == line.tolist()


def test_the_error_margin_is_above_every_error() -> None:
    for seed, scale in ((3, 1.0), (4, 1e-6), (5, 1e6)):
        queries, targets = rows(seed, 40, 60, scale), rows(seed + 10, 80, 60)
        tiles = rounding.prepare_targets(targets)
        (t, target_facts, _), (q, facts, _) = (
            rounded_rows(targets),
            rounded_rows(queries, rounding.largest_query_code()),
        )
        slack = rounding.prepare_queries(queries, tiles).slack
        near = (q.astype(int) @ t.T.astype(int)) * facts[0].astype(float)[:, None] * target_facts[0].astype(float)
        errors = np.abs(queries.astype(float) @ targets.T.astype(float) - near)
        sizes = np.linalg.norm(queries.astype(float), axis=1) * np.linalg.norm(targets, axis=1).max()
        margin = getattr(int8.error_margin, "py_func", int8.error_margin)
        for row in range(40):
            for column in range(80):
                bound = margin(facts, row, tiles.bounds, column // rounding.WIDTH, slack)
                assert errors[row, column] <= bound < 0.1 * sizes[row]


@pytest.mark.parametrize(("block", "k", "leading"), [(97, 1, None), (1024, 100, None), (97, 3, 4), (97, 3, 0)])
def test_equals_the_float32_filter(block: int, k: int, leading: int | None) -> None:
    targets = rows(20, 500, 48)
    targets[100:200] = targets[:100]  # ties
    targets[300:] *= np.float32(1e-3)  # tiles of a very different size
    queries = np.concatenate([rows(21, 50, 48), targets[:20], np.zeros((2, 48), np.float32), rows(22, 3, 48, 1e-7)])
    for back in (0, k):  # the best of the queries alone, and of both
        answers = []
        for filtered in (Int8Filter(targets, block, leading), Float32Filter(targets, block)):
            of_queries, of_targets = empty_lists(len(queries), k), empty_lists(len(targets), back)
            filtered.scan(queries, 0, of_queries, of_targets, filtered.strips)
            answers.append((*of_queries, *of_targets))
        for ours, theirs in zip(*answers, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_shortened_rows_bound_the_products_from_above() -> None:
    queries, targets = rows(23, 40, 50), rows(24, 70, 50)
    queries[3, 20:] = 0
    filtered = Int8Filter(targets, 64, leading=20)
    short = [filtered.shorten(side).astype(float) for side in (queries, targets)]
    assert short[0].shape == (40, 24)
    bounds, products = short[0] @ short[1].T, queries.astype(float) @ targets.T.astype(float)
    assert (bounds >= products).all()
    rest = np.linalg.norm(queries[:, 20:], axis=1)[:, None] * np.linalg.norm(targets[:, 20:], axis=1)
    np.testing.assert_allclose(bounds, queries[:, :20] @ targets[:, :20].T + rest, rtol=1e-4, atol=1e-4)


def test_leading_dimensions() -> None:
    scale = np.where(np.arange(40) < 10, 1, 0.01)
    queries, targets = (np.asarray(rows(seed, 100, 40) * scale, np.float32) for seed in (25, 26))
    assert leading_dimensions(queries, targets, 0.1) == 12  # a multiple of four
    assert leading_dimensions(queries, targets, 1e-9) is None  # all of them
    assert leading_dimensions(queries, rows(27, 100, 40), 0.001) is None
    assert leading_dimensions(queries[:, ::-1], targets[:, ::-1], 0.1) is None  # they come last
    assert leading_dimensions(0 * queries, targets, 0.1) == 0


def test_choose_filter(monkeypatch: pytest.MonkeyPatch) -> None:
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

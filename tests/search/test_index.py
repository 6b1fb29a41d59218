"""The index of a few queries: the engine's answers to the bit, with terms and without."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bilex.numerics.types import Vectors
from bilex.search.index import Index, slack_factor
from bilex.search.local import LocalEngine

ENGINE = LocalEngine(threads=1)


def make_vectors(rng: np.random.Generator, kind: str, count: int, dimension: int) -> Vectors:
    vectors = rng.normal(size=(count, dimension)).astype(np.float32)
    if kind == "crowded":  # products that differ by less than the rounding
        vectors = vectors[:1] + np.float32(1e-6) * vectors
    elif kind == "repeated":
        vectors = vectors[rng.integers(0, min(3, count), count)]
    elif kind == "lengths":
        vectors *= (10.0 ** rng.uniform(-3, 3, (count, 1))).astype(np.float32)
    vectors[rng.random(count) < 0.05] = 0
    return vectors


def check(queries: Vectors, targets: Vectors, terms: Vectors, k: int) -> None:
    index = Index(targets)
    ones = np.ones((len(queries), 1), np.float32)
    for found, expected in (
        (index.top_k(queries, k), ENGINE.top_k(queries, targets, k)),
        (
            index.top_k(queries, k, terms),
            ENGINE.top_k(np.hstack([queries, ones]), np.hstack([targets, terms[:, None]]), k),
        ),
    ):
        assert found.indices.tobytes() == expected.indices.tobytes()
        assert found.scores.tobytes() == expected.scores.tobytes()


@settings(max_examples=60)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["plain", "crowded", "repeated", "lengths"]),
    st.integers(1, 60),
    st.integers(1, 40),
    st.integers(1, 12),
)
def test_equals_the_engine(seed: int, kind: str, count: int, dimension: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    targets, queries = make_vectors(rng, kind, count, dimension), make_vectors(rng, kind, 3, dimension)
    check(queries, targets, rng.normal(size=count).astype(np.float32), min(k, count))


@pytest.mark.filterwarnings("ignore:overflow encountered", "ignore:invalid value encountered")
@pytest.mark.parametrize("scale", [1e-30, 1e20, 1e30])
def test_products_that_underflow_or_overflow(scale: float) -> None:
    rng = np.random.default_rng(1)
    targets, queries = (make_vectors(rng, "plain", n, 16) * np.float32(scale) for n in (50, 3))
    check(queries, targets, rng.normal(size=50).astype(np.float32), 4)


@pytest.mark.filterwarnings("ignore:overflow encountered", "ignore:invalid value encountered")
@pytest.mark.parametrize("scales", [(1e10, 1e29), (1e-24, 1e18), (1e-5, 1e-40)])
def test_sums_that_overflow_on_the_way_or_numbers_that_underflow_prove_nothing(scales: tuple[float, float]) -> None:
    """Queries beside which sums overflow; targets too short to be measured; products with hardly a digit."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        targets, queries = (
            make_vectors(rng, "plain", n, 3) * np.float32(scale) for n, scale in zip((50, 3), scales, strict=True)
        )
        check(queries, targets, rng.normal(size=50).astype(np.float32), 4)


@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_products_that_are_all_too_far_below_zero_for_float32() -> None:
    rng = np.random.default_rng(2)
    targets, queries = (np.abs(make_vectors(rng, "plain", n, 16)) * np.float32(1e20) + 1e20 for n in (50, 3))
    check(queries.astype(np.float32), -targets.astype(np.float32), rng.normal(size=50).astype(np.float32), 4)


def test_a_large_term_may_round_equal_products_apart() -> None:
    """Targets of the same numbers in other orders: their float32 sums differ, and the term rounds some up."""
    rng = np.random.default_rng(3)
    numbers = rng.integers(2**21, 2**23, 300)
    numbers[-1] += (2**18 - numbers.sum()) % 2**19  # halfway between two numbers of the size of the term
    targets = np.array([rng.permutation(numbers) for _ in range(50)]).astype(np.float32) / np.float32(2**23)
    check(np.ones((1, 300), np.float32), targets, np.full(50, 1e6, np.float32), 4)


def test_no_query_is_no_answer() -> None:
    found = Index(np.ones((5, 3), np.float32)).top_k(np.zeros((0, 3), np.float32), 2)
    assert found.indices.shape == found.scores.shape == (0, 2)


def test_the_bound_covers_the_rounding_of_every_sum() -> None:
    """The textbook's bound for d products and their sum in float32, twice."""
    for dimension in (1, 100, 2048):
        rounding = dimension * float(np.finfo(np.float32).eps) / 2
        assert slack_factor(dimension) == pytest.approx(2 * rounding / (1 - rounding), rel=1e-9)

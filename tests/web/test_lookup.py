"""Single words against an oracle: every score in float64, a full sort."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bilex.numerics.rows import unit
from bilex.web.lookup import best_rows
from tests.oracles import full_sort_top_k


def make_vectors(rng: np.random.Generator, kind: str, count: int, dimension: int) -> np.ndarray:
    vectors = rng.normal(size=(count, dimension)).astype(np.float32)
    if kind == "crowded":  # cosines that differ by less than the rounding
        vectors = vectors[:1] + np.float32(1e-4) * vectors
    elif kind == "repeated":
        vectors = vectors[rng.integers(0, min(3, count), count)]
    vectors[rng.random(count) < 0.05] = 0
    return np.asarray(unit(vectors))


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["plain", "crowded", "repeated"]),
    st.integers(1, 60),
    st.integers(1, 40),
    st.integers(1, 12),
)
def test_the_best_rows_are_those_of_a_full_sort(seed: int, kind: str, count: int, dimension: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    vectors, queries = make_vectors(rng, kind, count, dimension), make_vectors(rng, kind, 1, dimension)
    rows, scores = full_sort_top_k(queries, vectors, min(k, count))
    found = best_rows(queries[0], vectors, vectors @ queries[0], k)
    assert [score for _, score in found] == pytest.approx(scores[0].tolist(), abs=1e-12)
    if kind == "plain":
        assert [row for row, _ in found] == rows[0].tolist()
    penalty = rng.random(count)
    best = np.sort(vectors.astype(float) @ queries[0].astype(float) - penalty)[::-1][:k]
    penalised = best_rows(queries[0], vectors, vectors @ queries[0], k, penalty)
    assert [score for _, score in penalised] == pytest.approx(best.tolist(), abs=1e-6)


def test_no_rows_are_no_answer() -> None:
    assert best_rows(np.ones(3, np.float32), np.ones((2, 3), np.float32), np.ones(2, np.float32), 0) == []

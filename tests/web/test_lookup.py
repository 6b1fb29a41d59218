"""Single words against the whole truth: every score in float64, a full sort."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bilex.numerics.rows import unit
from bilex.web import lookup
from bilex.web.lookup import Rounded, best
from tests.oracles import full_sort_top_k


def vectors_of(draw: np.random.Generator, kind: str, count: int, dimension: int) -> np.ndarray:
    made = draw.normal(size=(count, dimension)).astype(np.float32)
    if kind == "crowded":  # cosines that differ by less than the rounding
        made = made[:1] + np.float32(1e-4) * made
    elif kind == "spiky":  # one large number takes all the precision
        made[:, 0] += np.float32(50)
    elif kind == "repeated":
        made = made[draw.integers(0, min(3, count), count)]
    made[draw.random(count) < 0.05] = 0
    return np.asarray(unit(made))


@settings(deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["plain", "crowded", "spiky", "repeated"]),
    st.integers(1, 60),
    st.integers(1, 40),
    st.integers(1, 12),
)
def test_the_best_are_those_of_a_full_sort(seed: int, kind: str, count: int, dimension: int, k: int) -> None:
    draw = np.random.default_rng(seed)
    vectors, queries = vectors_of(draw, kind, count, dimension), vectors_of(draw, kind, 3, dimension)
    rows, scores = full_sort_top_k(queries, vectors, min(k, count))
    with ThreadPoolExecutor(2) as pool:
        for row in range(3):
            bounds = Rounded(vectors).bounds(Rounded(queries), row, pool, 2)
            truth = queries[row].astype(float) @ vectors.T.astype(float)
            assert (bounds >= truth - lookup.SLACK).all()
            found = best(bounds, k, lambda chosen, row=row: lookup.exact(queries, row, vectors, chosen))  # type: ignore[misc]
            assert [score for _, score in found] == pytest.approx(scores[row].tolist(), abs=1e-12)
            if kind == "plain":
                assert [place for place, _ in found] == rows[row].tolist()


def test_the_parts_of_several_threads_are_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookup, "PART", 7)
    vectors = vectors_of(np.random.default_rng(0), "plain", 50, 8)
    rounded = Rounded(vectors)
    with ThreadPoolExecutor(3) as pool:
        assert (rounded.bounds(rounded, 4, pool, 3) == rounded.bounds(rounded, 4, pool, 1)).all()


def test_few_are_scored() -> None:
    vectors = vectors_of(np.random.default_rng(0), "plain", 20_000, 50)
    rounded, scored = Rounded(vectors), list[int]()

    def score(rows: np.ndarray) -> np.ndarray:
        scored.append(len(rows))
        return lookup.exact(vectors, 0, vectors, rows)

    with ThreadPoolExecutor(2) as pool:
        best(rounded.bounds(rounded, 0, pool, 2), 10, score)
    assert sum(scored) < 400

"""N_k against its definition: for each target, a loop over the queries."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from bilex.errors import BilexError
from bilex.evaluation.hubness import Hubness, evaluate_hubness, skewness
from bilex.search.local import LocalEngine
from bilex.search.space import CROWDING_NEIGHBOURS
from tests import oracles
from tests.evaluation.spaces import Pairs, Space, make_space

ENGINE = LocalEngine(threads=1, query_block=16, target_block=7)


def slow(space: Space, queries: list[str], k: int, retrieval: str) -> list[int]:
    """|{x in Q : y in NN_k(x)}| for each y."""
    scores = oracles.score_matrix(space.space.source, space.space.target)
    if retrieval == "csls":
        scores = oracles.csls(space.space.source, space.space.target, CROWDING_NEIGHBOURS)
    rows = [space.source.words.index(query) for query in queries]
    return [sum(int(np.sum(scores[x] > scores[x, y])) < k for x in rows) for y in range(len(space.target))]


GOLD = [("s3", "t9"), ("s3", "t1"), ("s7", "none"), ("none", "t1"), ("s0", "t0")]


@pytest.mark.parametrize(("retrieval", "gold"), [("nn", None), ("csls", GOLD)])
def test_agrees_with_the_definition(retrieval: str, gold: Pairs | None) -> None:
    space = make_space(0, noise=1.0)
    found = evaluate_hubness(space, gold, 6, retrieval, ENGINE)
    queries = list(space.source.words) if gold is None else ["s0", "s3", "s7"]
    counts = slow(space, queries, 6, retrieval)
    assert found.counts.tolist() == counts
    figures = found.figures(4)
    ranked = sorted(range(len(counts)), key=lambda y: (-counts[y], y))[:4]
    assert figures == {
        "k": 6,
        "queries": len(queries),
        "missing": 0 if gold is None else 1,
        "targets": 50,
        "skewness": pytest.approx(scipy.stats.skew(counts)),
        "max": max(counts),
        "mean": pytest.approx(6 * len(queries) / 50),
        "never": counts.count(0),
        "retrieval": retrieval,
        "hubs": [{"word": f"t{y}", "count": counts[y]} for y in ranked],
    }


def test_hubs_come_by_count_and_then_by_frequency_and_never_with_count_zero() -> None:
    found = Hubness("nn", 1, 4, 0, ("a", "b", "c", "d"), np.array([0, 1, 2, 1]))
    assert found.hubs() == [("c", 2), ("b", 1), ("d", 1)]
    assert found.hubs(2) == [("c", 2), ("b", 1)]
    assert found.hubs(0) == []


def test_no_hub_at_all_is_no_skew() -> None:
    assert skewness(np.array([3, 3, 3])) == 0
    assert evaluate_hubness(make_space(0), None, 50, "nn", ENGINE).figures()["skewness"] == 0


def test_k_must_fit_and_a_query_must_be_known() -> None:
    for k in (0, 51):
        with pytest.raises(BilexError, match=f"k is {k}"):
            evaluate_hubness(make_space(0), None, k, "nn", ENGINE)
    with pytest.raises(BilexError, match="none of its 2 words has a vector"):
        evaluate_hubness(make_space(0), [("t0", "s0"), ("t1", "s0")], 5, "nn", ENGINE)

"""The candidates of a run: kept, ranked, turned round, and searched as a full sort would."""

from __future__ import annotations

import numpy as np
import pytest

from bilex.matching.graph import Graph, RowPairs
from bilex.model.candidates import CandidatePairs, CandidateSpace, stable_order
from bilex.search.local import LocalEngine
from bilex.search.space import SharedSpace

ENGINE = LocalEngine(threads=1)
SCALE, LOG_ODDS = 10.0, -2.0
SHAPE = (25, 20)
EMPTY = CandidatePairs.of(
    Graph.from_edges(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), SHAPE), np.zeros(0)
)


@pytest.fixture(scope="module")
def candidates() -> CandidatePairs:
    rng = np.random.default_rng(0)
    rows, columns = np.nonzero(rng.random(SHAPE) < 0.25)
    keep = rows != 3  # a word without any
    graph = Graph.from_edges(rows[keep], columns[keep], rng.integers(-4, 4, int(keep.sum())).astype(np.float64), SHAPE)
    return CandidatePairs.of(graph, rng.random(len(graph.indices)))


@pytest.fixture(scope="module")
def space() -> SharedSpace:
    rng = np.random.default_rng(1)
    source, target = (rng.normal(size=(n, 8)).astype(np.float32) for n in SHAPE)
    return SharedSpace.from_vectors(source, target, ENGINE)


def test_pairs_are_found_by_their_rows(candidates: CandidatePairs) -> None:
    graph = candidates.graph
    every = RowPairs(*(side.ravel() for side in np.indices(SHAPE)))
    known = dict(zip(zip(graph.rows.tolist(), graph.indices.tolist(), strict=True), range(999), strict=False))
    edges = [known.get(pair, -1) for pair in zip(every.source.tolist(), every.target.tolist(), strict=True)]
    assert candidates.find(every).tolist() == edges
    expected = [candidates.probability[edge] if edge >= 0 else 0.0 for edge in edges]
    assert candidates.probabilities(every).tolist() == expected
    assert EMPTY.find(every).tolist() == [-1] * len(every)
    assert EMPTY.probabilities(every).tolist() == [0.0] * len(every)
    least = float(np.sort(candidates.probability)[-40])
    likely = candidates.above(least)  # exactly so probable is enough
    assert candidates.probabilities(likely).min() == least and len(likely) == 40


def test_ranks_are_by_weight_and_ties_go_to_the_more_frequent(candidates: CandidatePairs) -> None:
    graph = candidates.graph
    for edge in range(len(graph.indices)):
        own = graph.rows == graph.rows[edge]
        ahead = (graph.weights[own] > graph.weights[edge]) | (
            (graph.weights[own] == graph.weights[edge]) & (graph.indices[own] < graph.indices[edge])
        )
        assert candidates.ranks[edge] == 1 + ahead.sum()


def test_candidates_are_listed_with_the_heaviest_first(candidates: CandidatePairs) -> None:
    graph = candidates.graph
    for row in range(SHAPE[0]):
        own = np.flatnonzero(graph.rows == row).tolist()
        expected = [(int(graph.indices[e]), graph.weights[e], candidates.probability[e]) for e in own]
        assert candidates.listed(row) == sorted(expected, key=lambda each: (-each[1], each[0]))


def test_tensors_and_two_turns_give_the_same_candidates(candidates: CandidatePairs) -> None:
    turned = candidates.mirrored()
    assert set(
        zip(turned.graph.indices, turned.graph.rows, turned.graph.weights, turned.probability, strict=True)
    ) == set(
        zip(
            candidates.graph.rows,
            candidates.graph.indices,
            candidates.graph.weights,
            candidates.probability,
            strict=True,
        )
    )
    for again in (turned.mirrored(), CandidatePairs.from_tensors(candidates.tensors(), SHAPE[1])):
        for name, tensor in again.tensors().items():
            np.testing.assert_array_equal(tensor, candidates.tensors()[name])


def test_rows_beyond_16_bits_are_sorted_and_equal_ones_keep_their_order() -> None:
    rows = np.random.default_rng(0).integers(0, 1 << 18, 500).repeat(2)[::-1]
    np.testing.assert_array_equal(stable_order(rows), np.argsort(rows, kind="stable"))


@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_search_rank_and_scores_agree_with_a_full_sort(
    candidates: CandidatePairs, space: SharedSpace, reverse: bool, empty: bool
) -> None:
    weighted = CandidateSpace.over(space, EMPTY if empty else candidates, SCALE, LOG_ODDS)
    if reverse:
        weighted = weighted.mirrored()
    graph, rows = weighted.candidates.graph, np.arange(len(weighted.source))
    cosines = weighted.source.astype(np.float64) @ weighted.target.T.astype(np.float64)
    csls = 2 * cosines - weighted.source_crowding[:, None] - weighted.target_crowding
    own = [dict(zip(graph.indices[graph.rows == r], graph.weights[graph.rows == r], strict=True)) for r in rows]
    found = {k: weighted.search(rows, k, "model", ENGINE) for k in (1, 4, 99)}
    for row in rows.tolist():
        order = sorted(own[row], key=lambda column: (-own[row][column], column))
        order += [column for column in np.argsort(-csls[row]).tolist() if column not in own[row]]
        for k, each in found.items():
            assert each.indices[row].tolist() == order[:k]
        chosen = np.array(order)
        same = np.full(len(chosen), row)
        ranks = weighted.rank(same, chosen, "model", ENGINE)
        assert ranks.tolist() == list(range(1, len(order) + 1))
        scores = weighted.scores(same, chosen, "model")
        np.testing.assert_allclose(scores, found[99].scores[row], atol=1e-5)
        assert (np.diff(scores) <= 1e-9).all()


def test_ties_with_candidates_go_to_the_more_frequent() -> None:
    """Three targets with one vector; the middle one is asked for, and the others are candidates behind a better one."""
    source, target = np.eye(2, dtype=np.float32)[:1], np.array([[1, 1], [1, 1], [1, 1], [0, 1]], np.float32)
    space = SharedSpace.from_vectors(source, target, ENGINE)
    rows, columns = np.zeros(2, np.int64), np.array([0, 2])
    kept = CandidatePairs.of(Graph.from_edges(rows, columns, np.array([3.0, 1.0]), (1, 4)), np.full(2, 0.5))
    weighted = CandidateSpace.over(space, kept, SCALE, LOG_ODDS)
    assert weighted.rank(rows[:1], np.array([1]), "model", ENGINE).tolist() == [3]  # behind both candidates
    assert weighted.rank(rows[:1], np.array([3]), "model", ENGINE).tolist() == [4]


def test_other_retrievals_and_words_without_candidates_go_by_the_vectors(
    candidates: CandidatePairs, space: SharedSpace
) -> None:
    weighted, rows = CandidateSpace.over(space, candidates, SCALE, LOG_ODDS), np.arange(5)
    assert weighted.sharpness == 2 * SCALE  # CSLS counts the cosine twice
    for retrieval in ("nn", "csls"):
        one, other = (each.search(rows, 4, retrieval, ENGINE) for each in (weighted, space))
        np.testing.assert_array_equal(one.indices, other.indices)
        np.testing.assert_array_equal(weighted.scores(rows, rows, retrieval), space.scores(rows, rows, retrieval))
        ranks = weighted.rank(rows, rows, retrieval, ENGINE)
        np.testing.assert_array_equal(ranks, space.rank(rows, rows, retrieval, ENGINE))
        asked = weighted.search_vectors(space.source[:3], 4, retrieval, ENGINE)
        np.testing.assert_array_equal(
            asked.indices, space.search_vectors(space.source[:3], 4, retrieval, ENGINE).indices
        )
    by_csls, by_model = (weighted.search_vectors(space.source[:3], 4, name, ENGINE) for name in ("csls", "model"))
    np.testing.assert_array_equal(by_model.indices, by_csls.indices)
    np.testing.assert_allclose(by_model.scores, SCALE * by_csls.scores + LOG_ODDS)


@pytest.mark.parametrize("scale", [SCALE, 5000.0])
def test_candidates_of_other_vectors_are_as_probable_as_their_weight_beside_none(
    space: SharedSpace, scale: float
) -> None:
    weighted = CandidateSpace.over(space, EMPTY, scale, LOG_ODDS)
    found, probable = weighted.vector_candidates(space.source[:3], ENGINE)
    for weights, own in zip(found.scores, probable, strict=True):
        odds = np.exp(np.minimum(weights - weights.max(initial=0), 0))
        np.testing.assert_allclose(own, odds / (odds.sum() + np.exp(-weights.max(initial=0))), atol=1e-12)

"""Retrieval against textbook formulas in float64: neighbours, scores, ranks, crowding, both directions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from bilex.errors import BilexError
from bilex.numerics.rows import apply, unit
from bilex.numerics.types import Indices, Vectors
from bilex.search.lists import NeighbourLists
from bilex.search.local import LocalEngine
from bilex.search.space import CROWDING_NEIGHBOURS, SharedSpace, whole_numbers
from tests import oracles

ENGINE = LocalEngine(threads=2, query_block=16, target_block=7)  # several blocks, even on small input


def make_space(sources: int = 50, targets: int = 40, dimension: int = 8, random: int = 0) -> SharedSpace:
    rng = np.random.default_rng(random)
    vectors = (rng.normal(size=(sources, dimension)) - 1).astype(np.float32)  # off centre: hubs
    others = (rng.normal(size=(targets, dimension)) - 1).astype(np.float32)
    return SharedSpace.from_vectors(apply(oracles.random_orthogonal(rng, dimension), vectors), others, ENGINE)


def expected(space: SharedSpace, retrieval: str) -> NDArray[np.float64]:
    """Compute all scores of all pairs, from the definition."""
    if retrieval == "nn":
        return oracles.score_matrix(space.source, space.target)
    if retrieval == "isf":
        return oracles.inverted_softmax(space.source, space.target, space.sharpness)
    return oracles.csls(space.source, space.target, CROWDING_NEIGHBOURS)


SIZES = {"hubs": (50, 40), "few words": (6, 4), "one target": (30, 1)}


@pytest.mark.parametrize(
    ("name", "reverse", "retrieval"),
    [
        ("hubs", False, "nn"),
        ("hubs", True, "csls"),
        ("few words", False, "csls"),
        ("few words", True, "nn"),
        ("one target", False, "csls"),
        ("one target", True, "nn"),
        ("hubs", False, "isf"),
        ("few words", True, "isf"),
    ],
)
def test_search_rank_and_scores_agree_with_the_full_matrix(
    name: str, reverse: bool, retrieval: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bilex.search.space.RANKED_AT_ONCE", 7)
    space = make_space(*SIZES[name])
    space = space.mirrored() if reverse else space
    scores = expected(space, retrieval)
    order = np.argsort(-scores, axis=1, kind="stable")
    rows = np.arange(len(space.source))[::-1]
    found = space.search(rows, 5, retrieval, ENGINE)
    k = min(5, len(space.target))
    np.testing.assert_array_equal(found.indices, order[rows, :k])
    np.testing.assert_allclose(found.scores, np.take_along_axis(scores, order, 1)[rows, :k], atol=1e-5)
    rows, chosen = (side.ravel() for side in np.indices(scores.shape))
    ranks = space.rank(rows, chosen, retrieval, ENGINE)
    assert ranks.tolist() == [order[row].tolist().index(column) + 1 for row, column in zip(rows, chosen, strict=True)]
    np.testing.assert_allclose(space.scores(rows, chosen, retrieval), scores[rows, chosen], atol=1e-5)


class NoRanks(LocalEngine):
    """Fails where it is asked for ranks."""

    def rank(self, queries: Vectors, targets: Vectors, chosen: Indices) -> Indices:
        """Fail."""
        raise AssertionError(f"{len(queries)} rows were not ranked by their lists")


def test_the_ranks_of_the_nearest_targets_need_no_search() -> None:
    space = make_space(200, 150)
    assert (space.rank(np.arange(200), space.source_nearest, "nn", NoRanks()) == 1).all()


def test_lists_prove_a_rank_only_beside_the_terms_of_other_targets() -> None:
    """The first target is in neither list of the first source, and before the last one only because it is alone."""
    source = np.array([[1, 0, 0, 0], [0, 0, 2, 0], [0, 0, 2, 0]], np.float32)
    target = np.array([[0.7, 0, 1, 0], [0.8, 0, 0, 0], [1, 0, 0, 0]], np.float32)
    lists, nothing = NeighbourLists.find(source, target, 2, ENGINE), np.zeros(3)
    nearest = lists.of_source[:, 0], lists.of_target[:, 0]
    space = SharedSpace(source, target, nothing, np.array([-1.0, 0, 0]), *nearest, neighbours=lists)
    for each in (space, replace(space, neighbours=None)):
        assert each.rank(np.zeros(3, np.int64), np.arange(3), "csls", ENGINE).tolist() == [1, 3, 2]


def test_the_inverted_softmax_does_not_depend_on_blocks_or_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = make_space(300, 40)._summed
    monkeypatch.setattr("bilex.search.space.TARGETS_AT_ONCE", 7)
    monkeypatch.setenv("BILEX_THREADS", "3")
    assert np.array_equal(make_space(300, 40)._summed, whole)


def test_float64_holds_the_products_of_whole_numbers_exactly() -> None:
    """So sums of them are the same in any order."""
    numbers = whole_numbers(make_space(5, 5, 300).source)
    largest = max(sum(int(number) ** 2 for number in row) for row in numbers.tolist())
    assert 2**50 < largest <= 2**53


def test_vectors_of_source_words_are_found_and_scored_as_the_words_are() -> None:
    space, rows = make_space(*SIZES["hubs"]), np.arange(5)
    for retrieval in ("csls", "nn", "isf"):
        words = space.search(rows, 3, retrieval, ENGINE)
        vectors = space.search_vectors(space.source[rows], 3, retrieval, ENGINE)
        np.testing.assert_array_equal(vectors.indices, words.indices)
        np.testing.assert_allclose(vectors.scores, words.scores, atol=1e-5)


def test_csls_is_not_just_the_cosine() -> None:
    """The hubs of the fixture make a difference; otherwise the comparison above would prove little."""
    cosine, csls = (make_space().search(np.arange(50), 1, name, ENGINE).indices for name in ("nn", "csls"))
    assert (cosine != csls).mean() > 0.1


def test_nearest_and_crowding_are_those_of_the_cosine_matrix() -> None:
    space = make_space()
    cosines = oracles.score_matrix(space.source, space.target)
    np.testing.assert_array_equal(space.source_nearest, cosines.argmax(axis=1))
    np.testing.assert_array_equal(space.target_nearest, cosines.argmax(axis=0))
    np.testing.assert_allclose(
        space.source_crowding, np.sort(cosines, axis=1)[:, -CROWDING_NEIGHBOURS:].mean(axis=1), atol=1e-7
    )
    np.testing.assert_allclose(
        space.target_crowding, np.sort(cosines, axis=0)[-CROWDING_NEIGHBOURS:].mean(axis=0), atol=1e-7
    )


def test_equal_targets_are_ordered_by_frequency() -> None:
    rng = np.random.default_rng(0)
    target = rng.normal(size=(6, 4)).astype(np.float32)[[0, 1, 2, 1, 1, 3]]
    space = SharedSpace.from_vectors(target[[1]], target, ENGINE)
    for retrieval in ("nn", "csls"):
        assert space.search(np.array([0]), 3, retrieval, ENGINE).indices.tolist() == [[1, 3, 4]]
        assert space.rank(np.zeros(3, np.int64), np.array([4, 1, 3]), retrieval, ENGINE).tolist() == [3, 1, 2]


def test_no_rows_give_no_answers() -> None:
    found = make_space().search(np.empty(0, np.int64), 3, "csls", ENGINE)
    assert found.indices.shape == found.scores.shape == (0, 3)


def test_a_zero_vector_stays_zero_and_finite() -> None:
    scaled = unit(np.array([[0, 0], [3, 4]], np.float32))
    np.testing.assert_allclose(scaled, np.array([[0, 0], [0.6, 0.8]], np.float32))
    assert scaled.dtype == np.float32


def test_an_unknown_retrieval_is_an_error() -> None:
    with pytest.raises(BilexError, match="'cosine'"):
        make_space().search(np.array([0]), 1, "cosine", ENGINE)


def test_a_mirrored_space_has_the_neighbours_of_the_other_side_if_there_are_any() -> None:
    space = make_space()
    turned = space.mirrored()
    assert space.neighbours is not None and turned.neighbours is not None
    np.testing.assert_array_equal(turned.neighbours.of_source, space.neighbours.of_target)
    assert replace(space, neighbours=None).mirrored().neighbours is None

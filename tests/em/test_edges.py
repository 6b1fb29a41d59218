"""The edges around each word, and their CSLS under maps that the word had no part in, recomputed by NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from bilex.em.edges import DICTIONARY_NEIGHBOURS, LISTING_ODDS, FoldMaps, Languages, gather_edges, match_weighed
from bilex.matching.graph import Graph, RowPairs
from bilex.methods import MapConfig
from bilex.model.evidence import kinds_between
from bilex.model.maps import procrustes
from bilex.model.pair_weights import FOLDS, CandidateEdges, PairWeights, WeighedEdges
from bilex.model.prior import Prior
from bilex.model.theta import Theta
from bilex.numerics.rows import unit
from bilex.search.local import LocalEngine
from bilex.search.space import SharedSpace
from tests.languages import make_languages

ENGINE = LocalEngine(threads=1)
DATA = make_languages(120, 12, noise=0.4)
SOURCE, TARGET = unit(DATA.source.vectors), unit(DATA.target.vectors)
LANGUAGES = Languages(SOURCE, TARGET, kinds_between(DATA.source.words, DATA.target.words))
GOLD = [(DATA.source.index[s], DATA.target.index[t]) for s, t in DATA.gold[:90]]
TRAINED = RowPairs(*np.array(GOLD).T).union(RowPairs())
SPACE, NEAR = SharedSpace.of_units(
    unit((SOURCE @ procrustes(SOURCE[TRAINED.source], TARGET[TRAINED.target]).T).astype(np.float32)), TARGET, ENGINE
)


def gather(dictionary: RowPairs | None = None, trained: RowPairs = TRAINED, threads: int = 1) -> CandidateEdges:
    engine, extra = LocalEngine(threads=threads, query_block=37 * threads), RowPairs(np.array([3]), np.array([99]))
    return gather_edges(LANGUAGES, SPACE, NEAR, trained, MapConfig(), engine, dictionary=dictionary, extra=extra)


def fold_cosines() -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """The cosine of every pair under the map that was fitted without the source word's fold."""
    cosines = np.empty((len(SOURCE), len(TARGET)))
    for word in range(len(SOURCE)):
        others = TRAINED.where(TRAINED.source % FOLDS != word % FOLDS)
        mapped = procrustes(SOURCE[others.source], TARGET[others.target]) @ SOURCE[word]
        cosines[word] = TARGET @ (mapped / np.linalg.norm(mapped))
    return cosines


def test_csls_is_that_of_maps_without_the_fold_of_the_word() -> None:
    found, cosines = gather(), fold_cosines()
    forth = np.take_along_axis(cosines, NEAR.of_source, axis=1).mean(axis=1)
    back = np.take_along_axis(cosines.T, NEAR.of_target, axis=1).mean(axis=1)
    rows, columns = found.graph.rows, found.graph.indices
    expected = (2 * cosines - forth[:, None] - back)[rows, columns]
    np.testing.assert_allclose(found.graph.weights, expected, atol=1e-5)
    whole = SPACE.scores(rows, columns, "csls")
    np.testing.assert_allclose(found.csls, (expected + whole) / 2, atol=1e-5)
    np.testing.assert_allclose(
        found.cosine, (cosines[rows, columns] + SPACE.scores(rows, columns, "nn")) / 2, atol=1e-5
    )
    edges = {(s, t) for s, near in enumerate(NEAR.of_source.tolist()) for t in near} | {(3, 99)}
    edges |= {(s, t) for t, near in enumerate(NEAR.of_target.tolist()) for s in near}
    assert set(zip(rows.tolist(), columns.tolist(), strict=True)) == edges
    np.testing.assert_array_equal(found.near, (rows != 3) | (columns != 99))  # which was asked for


def test_words_of_a_dictionary_have_the_neighbours_that_others_maps_give_them() -> None:
    words = np.arange(0, 60, 2)
    found, cosines = gather(RowPairs(words, words)), fold_cosines()
    known = np.isin(found.graph.rows, words)
    np.testing.assert_array_equal(found.csls[known], found.graph.weights[known])
    for word in words.tolist():
        own = found.graph.rows == word
        assert set(found.graph.indices[own]) == set(np.argsort(-cosines[word])[:DICTIONARY_NEIGHBOURS].tolist())
        np.testing.assert_allclose(found.cosine[own], cosines[word, found.graph.indices[own]], atol=1e-5)


@pytest.mark.parametrize("part", ["dictionary", "trained"])
def test_the_edges_of_a_word_do_not_depend_on_its_own_pairs(part: str) -> None:
    own = int(TRAINED.source[10])
    changed = RowPairs(TRAINED.source, np.where(TRAINED.source == own, 77, TRAINED.target))
    before = gather(TRAINED)
    after = gather(changed) if part == "dictionary" else gather(TRAINED, trained=changed)
    mine = [each.graph.rows == own for each in (before, after)]
    np.testing.assert_array_equal(before.graph.indices[mine[0]], after.graph.indices[mine[1]])
    np.testing.assert_array_equal(before.cosine[mine[0]], after.cosine[mine[1]])
    if part == "dictionary":
        np.testing.assert_array_equal(before.csls, after.csls)


def test_threads_and_blocks_do_not_change_the_edges() -> None:
    one, other = (gather(TRAINED, threads=threads) for threads in (1, 3))
    np.testing.assert_array_equal(one.graph.keys, other.graph.keys)
    np.testing.assert_array_equal(one.csls, other.csls)


def test_with_too_few_pairs_to_split_the_maps_of_all_are_used() -> None:
    found = gather(trained=RowPairs(np.array([0]), np.array([0])))
    np.testing.assert_allclose(found.cosine, SPACE.scores(found.graph.rows, found.graph.indices, "nn"), atol=1e-5)


def test_a_fold_without_pairs_needs_no_other_maps_and_one_pair_is_enough_for_them() -> None:
    maps = FoldMaps(SPACE, RowPairs(np.array([0, 1]), np.array([0, 1])))
    assert maps.without(2, LANGUAGES, MapConfig()) is maps
    found = maps.without(0, LANGUAGES, MapConfig())
    assert found.theta is not None and found.pairs.source.tolist() == [1]
    scaling = FoldMaps(SPACE, TRAINED).without(0, LANGUAGES, MapConfig("least-squares"))  # a map that changes lengths
    np.testing.assert_allclose(np.linalg.norm(scaling.sources(np.arange(9)), axis=1), 1, atol=1e-6)


def test_two_sided_maps_of_a_fold_map_both_sides() -> None:
    config = MapConfig("cca")
    theta = Theta.from_pairs(SOURCE[TRAINED.source], TARGET[TRAINED.target], config)
    space, near = SharedSpace.of_units(*theta.shared_units(SOURCE, TARGET), ENGINE)
    found = gather_edges(LANGUAGES, space, near, TRAINED, config, ENGINE, dictionary=TRAINED)
    word = int(TRAINED.source[3])
    others = TRAINED.where(TRAINED.source % FOLDS != word % FOLDS)
    own = Theta.from_pairs(SOURCE[others.source], TARGET[others.target], config)
    cosines = own.map_target(TARGET) @ own.map_source(SOURCE[word : word + 1])[0]
    mine = found.graph.rows == word
    np.testing.assert_allclose(found.cosine[mine], cosines[found.graph.indices[mine]], atol=1e-5)
    assert set(found.graph.indices[mine]) == set(np.argsort(-cosines)[:DICTIONARY_NEIGHBOURS].tolist())


def test_on_all_evidence_each_source_takes_its_best_target_where_the_sources_choose() -> None:
    rows, columns = np.array([0, 0, 1, 1, 2, 3]), np.array([0, 1, 0, 1, 2, 3])
    nats = np.array([3.0, 1.0, 2.0, 1.5, -1.0, -2.0])
    edges = WeighedEdges(Graph.from_edges(rows, columns, nats, (4, 5)), PairWeights({}, {}, 0.5, 0.1), nats > 0)
    found = match_weighed(edges, Prior.named("many-to-one"))
    assert found.source.tolist() == [0, 1, 2] and found.target.tolist() == [0, 0, 2]  # the last is not worth it
    assert found.objective == pytest.approx(3 + 2 - 1 + 3 * LISTING_ODDS)
    limited = match_weighed(edges, Prior.named("1:1"))
    assert limited.target.tolist() == [0, 1, 2]
    kept = match_weighed(edges, Prior(kept=RowPairs(np.array([1, 3]), np.array([0, 4]))))  # the second is no edge
    assert kept.target.tolist() == [1, 0, 2, 4]
    assert kept.objective == pytest.approx(1 + 2 - 1 + 3 * LISTING_ODDS)

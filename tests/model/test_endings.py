"""What endings say: counts by their definition, and what is counted without a label."""

from __future__ import annotations

import numpy as np

from bilex.matching.graph import Graph
from bilex.model.endings import (
    ENDING_EXAMPLES,
    MIN_ENDING_SHARE,
    EndingRatios,
    count_endings,
    cross_fit_endings,
    number_endings,
)
from bilex.model.evidence import Measured
from bilex.numerics.types import Indices


def test_rare_endings_are_one_class() -> None:
    words = ["ba", "ca", "xy"] + [f"{place}s" for place in range(round(3 / MIN_ENDING_SHARE))]
    found = number_endings(words, 1)
    assert found[0] == found[1] == found[2] == 0 and len(set(found[3:].tolist())) == 1 and found[3] > 0
    assert len(set(number_endings(words[:3], 1).tolist())) == 2  # of three words, one is no rare share
    assert len(set(number_endings(words, 0).tolist())) == 1


def test_ratios_are_those_of_the_shorter_ending_times_a_smoothed_count() -> None:
    rng = np.random.default_rng(0)
    levels = [rng.integers(0, size, 60) for size in (2, 4)]
    matched, expected = rng.random(60), rng.random(60)
    ratios = EndingRatios.count(levels, matched, expected)
    short = {
        c: (matched[levels[0] == c].sum() + ENDING_EXAMPLES) / (expected[levels[0] == c].sum() + ENDING_EXAMPLES)
        for c in (0, 1)
    }
    so_far = np.array([short[c] for c in levels[0].tolist()])
    found = ratios.read(levels)
    for edge in range(60):
        own = levels[1] == levels[1][edge]
        grown = (matched[own].sum() + ENDING_EXAMPLES) / ((expected * so_far)[own].sum() + ENDING_EXAMPLES)
        np.testing.assert_allclose(found[edge], np.log(so_far[edge] * grown))
    unseen = ratios.read([levels[0][:1], np.array([99])])
    np.testing.assert_allclose(unseen, np.log(so_far[:1]))  # no more than its shorter one
    nothing = EndingRatios.count([np.zeros(0, np.int64)], np.zeros(0), np.zeros(0))
    assert nothing.read([np.array([1, 2])]).tolist() == [0, 0]


def test_each_fold_is_read_with_the_counts_of_the_others() -> None:
    rng = np.random.default_rng(2)
    levels, folds = [rng.integers(0, 3, 40)], rng.integers(0, 4, 40)
    matched, expected = rng.random(40), rng.random(40)
    found = cross_fit_endings(levels, folds, matched, expected)
    for fold in range(4):
        own = folds == fold
        others = EndingRatios.count([levels[0][~own]], matched[~own], expected[~own])
        np.testing.assert_array_equal(found[own], others.read([levels[0][own]]))


def make_edges(words: int) -> tuple[Graph, Measured, Indices]:
    """Three candidates of each word, of which the vectors choose its own; its ending is 1, that of most others 0."""
    rows = np.repeat(np.arange(words), 3)
    columns = (rows + np.tile([0, 1, 2], words)) % words
    graph = Graph.from_edges(rows, columns, np.where(rows == columns, 0.5, 0.1), (words, words))
    own = ((graph.rows == graph.indices) | (graph.rows % 7 == 0)).astype(np.int64)
    return graph, Measured("said", (0.0, 1.0), 1, own.astype(np.float64)), own


def test_endings_of_chosen_pairs_speak_for_a_pair() -> None:
    graph, _, codes = make_edges(200)
    mute = Measured("mute", (0.0, 1.0), 0, np.zeros(len(codes)))
    folds = graph.rows % 5
    for purity in (1.0, 0.6):
        found = count_endings(graph, [mute], [codes], folds, purity)
        assert (found[codes == 1] > 1).all() and (found[codes == 0] < -1).all()
    less = count_endings(graph, [mute], [codes], folds, 1.0)
    assert (found[codes == 1] > less[codes == 1]).all()  # the fewer are right, the more of them have the ending


def test_what_other_evidence_says_is_not_said_twice() -> None:
    graph, said, codes = make_edges(200)
    mute = Measured("mute", (0.0, 1.0), 0, np.zeros(len(codes)))
    folds = graph.rows % 5
    alone, beside = (count_endings(graph, [each], [codes], folds, 1.0) for each in (mute, said))
    assert (beside[codes == 1] < alone[codes == 1] / 2).all()


def test_without_chosen_pairs_endings_say_nothing() -> None:
    graph = Graph.from_edges(np.array([0]), np.array([0]), np.array([-1.0]), (1, 1))
    mute = Measured("mute", (0.0, 1.0), 0, np.zeros(1))
    assert count_endings(graph, [mute], [np.zeros(1, np.int64)], np.zeros(1, np.int64), 0.5).tolist() == [0.0]

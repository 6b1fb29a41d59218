"""The weight of a pair: counted, taught by a dictionary, and never by a word's own pairs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bilex.matching.graph import Capacities, Graph, RowPairs
from bilex.model.counting import choose_edges, count_weights
from bilex.model.endings import EndingRatios, cross_fit_endings
from bilex.model.evidence import Measured, kinds_between
from bilex.model.forms import Vocabulary, compare_families, ending_levels, family_columns, form_columns
from bilex.model.listwise import Lessons, fit_weights
from bilex.model.pair_weights import (
    FOLDS,
    MIN_LESSONS,
    CandidateEdges,
    PairWeights,
    apply_weights,
    count_lessons,
    cross_fitted_forms,
    design_of,
    named_weights,
    prior_of,
    teach,
    weigh_counted,
    weigh_edges,
)

WORDS, CANDIDATES = 2 * MIN_LESSONS, 6


@pytest.fixture(scope="module")
def edges() -> CandidateEdges:
    """Word w translates to target w, which ends alike; the vectors alone are often wrong."""
    rng = np.random.default_rng(0)
    rows = np.repeat(np.arange(WORDS), CANDIDATES)
    columns = (rows + np.tile(np.arange(CANDIDATES) * 7, WORDS)) % WORDS
    letters = rng.integers(0, 4, WORDS)
    names = ("b", 1), ("d", 7)
    words = [[f"{stem}{row * step % 50:03d}{'aeio'[letters[row]]}" for row in range(WORDS)] for stem, step in names]
    csls = 0.1 * (rows == columns) + rng.normal(scale=0.1, size=len(rows))
    graph = Graph.from_edges(rows, columns, csls, (WORDS, WORDS))
    evidence = tuple(Measured.on(kind, graph.rows, graph.indices) for kind in kinds_between(*words))
    vocabularies = Vocabulary.of(words[0]), Vocabulary.of(words[1])
    near = np.ones(len(graph.weights), bool)
    return CandidateEdges(graph, graph.weights, 0.5 + graph.weights / 2, evidence, near, vocabularies)


def with_families(edges: CandidateEdges) -> CandidateEdges:
    """Give the targets other names, so that most words have two candidates of one family."""
    assert edges.vocabularies is not None
    named = Vocabulary.of([f"{row // 14:04d}{'aeio'[row % 4]}{'x' * (row % 5)}" for row in range(WORDS)])
    return replace(edges, vocabularies=(edges.vocabularies[0], named))


def pairs_of(words: np.ndarray[tuple[int], np.dtype[np.int64]]) -> RowPairs:
    return RowPairs(words, words)


EVERY = pairs_of(np.arange(WORDS))


def first_right(weights: Graph) -> float:
    """The share of words whose heaviest edge is right."""
    best = [weights.indices[own][np.argmax(weights.weights[own])] for own in (weights.rows == w for w in range(WORDS))]
    return float((np.array(best) == np.arange(WORDS)).mean())


def test_the_margin_is_over_the_best_other_edge_of_the_target(edges: CandidateEdges) -> None:
    targets, csls = edges.graph.indices, edges.csls
    for edge in range(0, len(targets), 17):
        rivals = csls[(targets == targets[edge]) & (np.arange(len(csls)) != edge)]
        assert edges.margin.values[edge] == pytest.approx(csls[edge] - rivals.max(initial=-np.inf))
    keep = edges.graph.rows % 2 == 0
    np.testing.assert_array_equal(edges.where(keep).margin.values, edges.margin.values[keep])  # rivals stay
    assert sorted(edges.margin.knots) == list(edges.margin.knots)


def test_counted_weights_are_their_sum(edges: CandidateEdges) -> None:
    counted = count_weights(edges.graph, edges.evidence)
    weights, nats = weigh_counted(edges, counted)
    expected = counted.scale * edges.csls + sum(each.nats(counted.curves[each.name]) for each in edges.evidence)
    np.testing.assert_allclose(nats, expected)
    weighed = weigh_edges(edges, Capacities())
    np.testing.assert_allclose(weighed.graph.weights, nats + weighed.weights.log_odds)
    assert weighed.weights.summary()["lessons"] == 0
    np.testing.assert_array_equal(weighed.chosen, choose_edges(edges.graph)[0])
    assert weighed.among_frequent(None) is weighed
    few = weighed.among_frequent(WORDS - 10).graph
    assert few.rows.max() == few.indices.max() == WORDS - 11
    assert weights.log_odds == 0
    assert weights.slopes == {"csls": counted.scale, "cosine": 0.0}


def test_endings_decide_between_the_forms_of_a_word_without_a_dictionary() -> None:
    """Word w translates to target w; the vectors find the stem, and often another form of it."""
    rng = np.random.default_rng(1)
    stems = ["".join(rng.choice(list("bcdfghklmnprst"), 6)) for _ in range(WORDS // 4)]
    words = [[stem + ending for stem in stems for ending in endings] for endings in ("aeio", "uywz")]
    rows = np.repeat(np.arange(WORDS), 6)
    forms, others = rows // 4 * 4 + np.tile([0, 1, 2, 3, 0, 0], WORDS), rng.integers(0, WORDS, len(rows))
    columns = np.where(np.tile(np.arange(6) < 4, WORDS), forms, others)
    csls = 0.3 * (rows // 4 == columns // 4) + 0.1 * (rows == columns) + rng.normal(scale=0.1, size=len(rows))
    graph = Graph.from_edges(rows, columns, csls, (WORDS, WORDS))
    evidence = tuple(Measured.on(kind, graph.rows, graph.indices) for kind in kinds_between(*words))
    near, vocabularies = np.ones(len(graph.weights), bool), (Vocabulary.of(words[0]), Vocabulary.of(words[1]))
    edges = CandidateEdges(graph, graph.weights, graph.weights, evidence, near, vocabularies)
    counted = replace(graph, weights=weigh_counted(edges, count_weights(graph, evidence))[1])
    assert first_right(weigh_edges(edges, Capacities()).graph) > first_right(counted) + 0.1


def test_a_small_dictionary_teaches_nothing_and_a_large_one_improves_the_weights(edges: CandidateEdges) -> None:
    counted, few, taught = (
        weigh_edges(edges, Capacities(), pairs)
        for pairs in (None, pairs_of(np.arange(MIN_LESSONS - 1)), pairs_of(np.arange(WORDS)))
    )
    assert weigh_edges(edges, Capacities(), pairs_of(np.arange(MIN_LESSONS))).weights.lessons == MIN_LESSONS
    np.testing.assert_array_equal(few.graph.weights, counted.graph.weights)
    assert taught.weights.lessons == count_lessons(edges.graph.rows, edges.graph.rows == edges.graph.indices) == WORDS
    assert first_right(taught.graph) > first_right(counted.graph)
    assert set(taught.weights.curves) == {"spelling", "frequency", "margin"}


def test_a_summary_has_four_digits() -> None:
    weights = PairWeights({"csls": 1.23456}, {"spelling": np.array([2.34567])}, 0.34567, 0.45678, -5.67891, 7)
    assert weights.summary() == {
        **{"purity": 0.3457, "deviation": 0.4568, "log_odds": -5.6789, "lessons": 7},
        **{"slopes": {"csls": 1.2346}, "curves": {"spelling": [2.3457]}},
    }


def test_a_lesson_is_a_word_with_right_and_wrong_candidates() -> None:
    rows, right = np.array([0, 0, 1, 1, 2, 2]), np.array([True, False, True, True, False, False])
    assert count_lessons(rows, right) == 1


def test_words_outside_the_dictionary_are_weighed_by_what_it_teaches(edges: CandidateEdges) -> None:
    known = np.flatnonzero(np.arange(WORDS) % 5 != 0)
    taught = weigh_edges(edges, Capacities(), pairs_of(known))
    other = ~np.isin(edges.graph.rows, known)
    expected = apply_weights(edges, taught.weights) + taught.weights.log_odds
    np.testing.assert_allclose(taught.graph.weights[other], expected[other])
    assert not np.allclose(taught.graph.weights[~other], expected[~other])  # these are cross-fitted


def test_slopes_count_in_proportion_and_curves_are_added(edges: CandidateEdges) -> None:
    assert edges.vocabularies is not None
    slopes = {"csls": 2.0, "cosine": 3.0, **dict.fromkeys(form_columns(edges.vocabularies), 0.0)}
    curves = {each.name: np.arange(len(each.knots)) / 10 for each in edges.taught_evidence}
    found = apply_weights(edges, PairWeights(slopes, curves, 0.5, 0.1))
    added = sum(each.nats(curves[each.name]) for each in edges.taught_evidence)
    np.testing.assert_allclose(found, 2 * edges.csls + 3 * edges.cosine + added)


def test_endings_count_in_proportion(edges: CandidateEdges) -> None:
    """Beside families, which compare what all the rest makes of a word's candidates, and count for nothing here."""
    assert edges.vocabularies is not None
    taught = weigh_edges(edges, Capacities(), EVERY).weights
    silent = dict.fromkeys(family_columns(edges.vocabularies), 0.0)
    none, some = (
        apply_weights(edges, replace(taught, slopes=taught.slopes | silent | {"both endings": slope}))
        for slope in (0.0, 2.0)
    )
    levels = ending_levels(*edges.vocabularies, edges.graph.rows, edges.graph.indices)
    nats = taught.endings[1].read(levels[1])
    assert np.abs(nats).max() > 0.1
    np.testing.assert_allclose(some - none, 2 * nats, atol=1e-9)


def test_families_count_in_proportion_by_all_the_rest(edges: CandidateEdges) -> None:
    edges = with_families(edges)
    assert edges.vocabularies is not None
    names = family_columns(edges.vocabularies)
    slopes = {"csls": 2.0, "cosine": 3.0, **dict.fromkeys(form_columns(edges.vocabularies), 0.0)}
    curves = {each.name: np.zeros(len(each.knots)) for each in edges.taught_evidence}
    rest = PairWeights(slopes, curves, 0.5, 0.1)
    nats, own = apply_weights(edges, rest), [0.5, -1.0, 2.0, 0.25]
    found = apply_weights(edges, replace(rest, slopes=slopes | dict(zip(names, own, strict=True))))
    columns = compare_families(nats, edges.graph.rows, edges.graph.indices, edges.vocabularies)
    np.testing.assert_allclose(found - nats, columns @ own, atol=1e-9)
    assert np.abs(found - nats).max() > 0.1


def test_taught_slopes_are_added_to_those_at_the_start() -> None:
    start, columns = PairWeights({"csls": 5.0, "cosine": 1.0}, {}, 0.5, 0.1), np.array([2.0, 0.5, 0.25])
    named = named_weights(columns, start, (), (), 0, ())
    assert named.slopes == {"csls": 2 * 5.0 + 0.5, "cosine": 2 * 1.0 + 0.25}


def test_before_a_dictionary_is_seen_the_counted_weight_is_taken_as_it_is(edges: CandidateEdges) -> None:
    mean, variance = prior_of(edges.taught_evidence, 2)
    rises = sum(len(each.knots) - 1 for each in edges.taught_evidence)
    assert mean.tolist() == [1, *[0] * (2 + rises + 2)]  # nothing is added to it
    assert len(variance) == len(mean) and (variance > 0).all()


def test_a_word_of_the_dictionary_is_weighed_by_what_the_words_of_other_folds_teach(edges: CandidateEdges) -> None:
    rows, columns = edges.graph.rows, edges.graph.indices
    start, nats = weigh_counted(edges, count_weights(edges.graph, edges.evidence))
    found = teach(edges, start, nats, EVERY)[1]
    right, base = rows == columns, np.column_stack([nats, design_of(edges)])
    assert edges.vocabularies is not None
    mean, variance = prior_of(edges.taught_evidence, len(form_columns(edges.vocabularies)))
    first = fit_weights(Lessons.of(base, right, rows, columns), mean[: base.shape[1]], variance[: base.shape[1]])
    full = np.column_stack([base, cross_fitted_forms(edges, base @ first, right, rows % FOLDS)[0]])
    for fold in range(FOLDS):
        own = rows % FOLDS == fold
        others = Lessons.of(full[~own], right[~own], rows[~own], columns[~own])
        np.testing.assert_allclose(found[own], full[own] @ fit_weights(others, mean, variance))


def test_taught_rises_are_added_to_the_curves_at_the_start() -> None:
    curve, rises = np.array([1.0, 2.0, 3.0]), [0.1, 0.2]
    start = PairWeights({"csls": 5.0, "cosine": 1.0}, {"spelling": curve}, 0.5, 0.1)
    kinds = [Measured(name, (0.0, 1.0, 2.0), 1, np.zeros(1)) for name in ("spelling", "new")]
    named = named_weights(np.array([2.0, 0.5, 0.25, *rises, *rises, 7.0]), start, kinds, ("family",), 0, ())
    np.testing.assert_allclose(named.curves["spelling"], 2 * curve + [0, 0.1, 0.3])
    np.testing.assert_allclose(named.curves["new"], [0, 0.1, 0.3])
    assert named.slopes["family"] == 7


def test_endings_of_a_word_do_not_know_its_own_pairs(edges: CandidateEdges) -> None:
    rows, right = edges.graph.rows, edges.graph.rows == edges.graph.indices
    scores, folds = 10 * edges.csls, edges.graph.rows % FOLDS
    first, _ = cross_fitted_forms(edges, scores, right, folds)
    own = folds == 2
    moved = right.copy()
    moved[own] = np.roll(right[own], 1)
    second, _ = cross_fitted_forms(edges, scores, moved, folds)
    np.testing.assert_array_equal(first[own], second[own])
    assert not np.array_equal(first[~own], second[~own])
    silent, _ = cross_fitted_forms(edges, scores, np.zeros(len(rows), bool), folds)
    assert not silent[:, :2].any()


def test_endings_are_counted_on_right_candidates_as_probable_as_they_are_among_these(edges: CandidateEdges) -> None:
    edges = with_families(edges)
    rows, folds, scores = edges.graph.rows, edges.graph.rows % FOLDS, 10 * edges.csls
    right = (rows == edges.graph.indices) & (rows % 7 > 0) | (rows % 3 == 0)  # none or several, of some words
    matched, expected = np.zeros(len(rows)), np.zeros(len(rows))
    for word in range(WORDS):
        odds, own = np.exp(scores[rows == word]), right[rows == word]
        if own.any():
            matched[rows == word] = odds * own / (odds * own).sum()
            expected[rows == word] = odds / odds.sum()
    assert edges.vocabularies is not None
    found, ratios = cross_fitted_forms(edges, scores, right, folds)
    for place, levels in enumerate(ending_levels(*edges.vocabularies, rows, edges.graph.indices)):
        np.testing.assert_allclose(found[:, place], cross_fit_endings(levels, folds, matched, expected), atol=1e-9)
        counted = EndingRatios.count(levels, matched, expected)
        np.testing.assert_allclose(ratios[place].read(levels), counted.read(levels), atol=1e-9)
    assert np.abs(found[:, :2]).max() > 0.1
    families = compare_families(scores + found[:, :2].sum(axis=1), rows, edges.graph.indices, edges.vocabularies)
    assert families.any()
    np.testing.assert_allclose(found[:, 2:], families, atol=1e-9)  # by all that is known of the edges before


def test_the_weights_of_a_word_hardly_depend_on_its_own_pairs(edges: CandidateEdges) -> None:
    changed = replace(EVERY, target=np.where(EVERY.source == 7, 14, EVERY.target))
    before, after = (weigh_edges(edges, Capacities(), pairs).graph.weights for pairs in (EVERY, changed))
    own = edges.graph.rows == 7
    relative = [each[own] - each[own].mean() for each in (before, after)]  # the log-odds are those of all
    assert np.abs(relative[0] - relative[1]).max() < 0.1

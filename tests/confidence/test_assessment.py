"""The confidence of a pair: the posterior, calibrated on words of a dictionary that had no part in it."""

from __future__ import annotations

import numpy as np
import pytest

import bilex
from bilex.confidence import assessment
from bilex.confidence.assessment import (
    IDENTITY,
    PRIOR_EXAMPLES,
    KnownTranslations,
    assess_edges,
    features_of,
    held_out_confidence,
)
from bilex.confidence.calibration import fit_calibration
from bilex.confidence.families import Families, confidence_of_forms
from bilex.errors import BilexError
from bilex.matching.graph import Capacities, Graph, RowPairs
from bilex.model.posterior import worthwhile_posterior
from tests.languages import make_languages

WORDS = 600


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Two candidates of each word: the heavier looks nearly certain."""
    rows = np.repeat(np.arange(WORDS), 2)
    columns = np.arange(2 * WORDS)
    rng = np.random.default_rng(0)
    weights = np.where(columns % 2 == 0, 3.0, -3.0) + rng.normal(scale=0.5, size=len(rows))
    return Graph.from_edges(rows, columns, weights, (WORDS, 2 * WORDS))


def known(share: float) -> KnownTranslations:
    """A dictionary in which the heavier candidate is right for a share of the words; some have no translation."""
    words = np.arange(WORDS)
    right = np.random.default_rng(1).random(WORDS) < share
    answered = words % 12 > 0
    pairs = RowPairs(words[answered], (2 * words + ~right)[answered])
    return KnownTranslations(pairs, words[~answered])


def test_without_enough_words_the_confidence_is_the_posterior(graph: Graph) -> None:
    few = KnownTranslations(RowPairs(np.arange(3), np.arange(3)), np.array([5]))
    assert few.words.tolist() == [0, 1, 2, 5]
    for dictionary in (None, few):
        found, about = assess_edges(graph, Capacities(), dictionary)
        np.testing.assert_allclose(
            found, worthwhile_posterior(graph, Capacities()), atol=1e-4
        )  # nothing is shared here
        assert about["examples"] == 0


def test_forms_are_judged_by_their_families_only_without_a_dictionary(graph: Graph) -> None:
    families = Families(graph.rows, graph.indices % 2 == 0, 0.7)  # both candidates of a word are forms of one
    posterior = assess_edges(graph, Capacities(), None)[0]
    found = assess_edges(graph, Capacities(), None, families)[0]
    np.testing.assert_array_equal(found, confidence_of_forms(posterior, families))
    assert np.abs(found - posterior).max() > 0.01
    one, other = (assess_edges(graph, Capacities(), known(0.5), each)[0] for each in (None, families))
    np.testing.assert_array_equal(one, other)


def test_source_words_may_share_a_translation_whatever_the_lexicon_may() -> None:
    rows, columns, odds = np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([4.0, 1.0, 2.0])
    graph = Graph.from_edges(rows, columns, np.log(odds), (2, 2))
    by_themselves = [4 / 6, 1 / 6, 2 / 3]  # each word's candidates against none, whose odds are 1
    for capacities in (Capacities(1, 1), Capacities(1, 2), Capacities(1, None)):
        np.testing.assert_allclose(assess_edges(graph, capacities, None)[0], by_themselves)
    for capacities in (Capacities(2, 1), Capacities(2, 2), Capacities(None, 1)):
        np.testing.assert_array_equal(assess_edges(graph, capacities, None)[0], worthwhile_posterior(graph, capacities))


def test_two_hundred_words_are_enough(graph: Graph) -> None:
    whole = known(0.5)
    for words, examples in ((149, 0), (150, 200)):
        part = KnownTranslations(whole.pairs.where(np.arange(len(whole.pairs)) < words), whole.unanswered)
        assert assess_edges(graph, Capacities(), part)[1]["examples"] == examples


@pytest.mark.parametrize("share", [0.4, 0.9])
def test_a_dictionary_calibrates_the_posterior(graph: Graph, share: float) -> None:
    dictionary = known(share)
    found, about = assess_edges(graph, Capacities(), dictionary)
    heavier = graph.indices % 2 == 0
    right = np.isin(graph.keys, dictionary.pairs.keys(graph.n_targets))[heavier]
    weights = np.where(np.isin(graph.rows[heavier], dictionary.unanswered), 0.5, 1.0)  # these count as wrong, but half
    assert found[heavier].mean() == pytest.approx(np.average(right, weights=weights), abs=0.01)
    assert about["examples"] == WORDS and about["held_out_error"] < 0.1
    assert ((found >= 0) & (found <= 1)).all()


def test_the_identity_trusts_the_posterior() -> None:
    posterior = np.array([0.0, 0.01, 0.5, 0.99, 1.0])
    features = features_of(posterior, posterior[::-1], np.arange(5))
    np.testing.assert_allclose(assessment.IDENTITY.probability(features), posterior, atol=2e-5)
    np.testing.assert_allclose(features[[0, -1], 0], [-np.log(1e5 - 1), np.log(1e5 - 1)])  # never without a limit
    np.testing.assert_allclose(features[:, 1], features[::-1, 0])
    np.testing.assert_allclose(features[:, 2], np.log([1, 2, 3, 4, 5]))


def test_a_dictionary_says_what_it_is_worth_that_no_other_word_has_the_translation() -> None:
    """All words are as probable by themselves, but those that share their target are wrong."""
    words = np.arange(WORDS)
    shared = words % 4 < 2
    columns = np.where(shared, words - words % 4, words)
    graph = Graph.from_edges(words, columns, np.full(WORDS, 1.0), (WORDS, WORDS))
    dictionary = KnownTranslations(RowPairs(words, np.where(shared, words + 2, words)), words[:0])
    found = assess_edges(graph, Capacities(), dictionary)[0]
    assert found[~shared].min() > 0.9 and found[shared].max() < 0.1


def test_each_half_of_the_examples_is_calibrated_by_the_other() -> None:
    rng = np.random.default_rng(0)
    features, right = rng.normal(size=(61, 3)), rng.random(61) < 0.7
    weights = rng.random(61)
    found = held_out_confidence(features, right, weights)
    for tested, rest in ((slice(0, None, 2), slice(1, None, 2)), (slice(1, None, 2), slice(0, None, 2))):
        fitted = fit_calibration(features[rest], right[rest], weights[rest], IDENTITY, PRIOR_EXAMPLES)
        assert (found[tested] == fitted.probability(features[tested])).all()


def test_the_verdict_is_on_the_entries_that_are_listed() -> None:
    languages = make_languages(200, noise=1.0)
    whole = bilex.induce(languages.source, languages.target, "identical", "ruder2018")
    least = float(np.median(whole.lexicon.confidence))
    part = bilex.induce(languages.source, languages.target, "identical", "ruder2018", min_confidence=least)
    assert list(part.lexicon) == list(whole.lexicon.confident(least))
    assert part.info["verdict"] == part.verdict.summary() != whole.info["verdict"]
    assert part.verdict.figures.expected == part.lexicon.expected_precision
    with pytest.raises(BilexError):
        bilex.induce(languages.source, languages.target, min_confidence=2)

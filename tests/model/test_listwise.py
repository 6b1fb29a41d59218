"""Weights taught by a dictionary: probabilities by definition, slopes by finite differences."""

from __future__ import annotations

import numpy as np
import pytest

from bilex.model.listwise import CandidateLists, Lessons, fit_weights
from bilex.numerics.types import Floats


def lessons(words: int, random: int = 0, truth: Floats | None = None) -> Lessons:
    """Ten candidates of each word; the right one is drawn by the softmax of its evidence under the truth."""
    rng = np.random.default_rng(random)
    truth = np.array([2.0, -1.0, 0.0]) if truth is None else truth
    columns, sources = rng.normal(size=(10 * words, 3)), np.repeat(np.arange(words), 10)
    noise = rng.gumbel(size=10 * words)
    scores = (columns @ truth + noise).reshape(words, 10)
    right = (scores == scores.max(axis=1, keepdims=True)).ravel()
    right[:10] = False  # a word of which no candidate is right says nothing
    return Lessons.of(columns, right, sources, rng.integers(0, 2 * words, 10 * words))


def test_the_softmax_of_each_list_is_that_of_its_definition() -> None:
    scores, words = np.array([1.0, 2.0, 0.5, 800.0, 799.0]), np.array([3, 3, 5, 9, 9])
    lists = CandidateLists.of(words)
    expected = [np.exp(s) / sum(np.exp(scores[words == w])) for s, w in zip(scores[:3], words[:3], strict=True)]
    np.testing.assert_allclose(lists.softmax(scores)[:3], expected)
    np.testing.assert_allclose(lists.softmax(scores)[3:], [1 / (1 + np.exp(-1)), 1 / (1 + np.exp(1))])
    assert lists.owner.tolist() == [0, 0, 1, 2, 2]
    assert lists.softmax(np.array([0.0, 1000.0, 0.0, 0.0, -1000.0])).tolist() == [0, 1, 1, 1, 0]  # without overflow


def test_candidates_compete_for_both_words_and_lists_without_a_lesson_do_not_count() -> None:
    right, scores = np.array([True, False, False, True, False]), np.array([1.0, 0.0, 2.0, 0.5, -1.0])
    sources, targets = np.array([0, 0, 1, 1, 2]), np.array([4, 5, 4, 6, 6])
    found = Lessons.of(scores[:, None], right, sources, targets).log_share(np.ones(1))
    expected = 0.0
    for own in (*(sources == word for word in (0, 1, 2)), *(targets == word for word in (4, 5, 6))):
        if right[own].any() and not right[own].all():
            expected += np.log(np.exp(scores[own & right]).sum() / np.exp(scores[own]).sum())
    assert found == pytest.approx(expected)


def test_a_list_without_wrong_edges_is_left_out() -> None:
    sources, targets = np.array([0, 0, 1, 1]), np.array([0, 1, 2, 3])
    taught = Lessons.of(np.eye(4), np.array([True, False, True, True]), sources, targets)
    assert taught.right.tolist() == [True, False] and taught.lists.starts.tolist() == [0, 2]


def test_the_slope_is_that_of_finite_differences() -> None:
    taught, weights, small = lessons(30), np.array([0.5, -0.2, 0.3]), 1e-5
    slope, spread = taught.slope_and_spread(weights)
    for place, step in enumerate(small * np.eye(3)):
        difference = taught.log_share(weights + step) - taught.log_share(weights - step)
        assert slope[place] == pytest.approx(difference / (2 * small), rel=1e-5, abs=1e-5)
    expected, probable, columns = np.zeros((3, 3)), taught.probable(weights), taught.columns[taught.edges]
    for number in range(len(taught.lists.starts) - 1):
        own = taught.lists.owner == number
        expected += np.cov(columns[own].T, aweights=probable[own], bias=True)
    np.testing.assert_allclose(spread, expected, atol=1e-9)


def test_the_weights_found_are_the_most_probable() -> None:
    taught, mean, variance = lessons(300), np.array([1.0, 0.0, 0.0]), np.array([0.5, 0.5, 0.5])
    found = fit_weights(taught, mean, variance)

    def value(weights: Floats) -> float:
        return taught.log_share(weights) - float(((weights - mean) ** 2 / variance).sum()) / 2

    for step in 0.1 * np.concatenate([np.eye(3), -np.eye(3)]):
        assert value(found + step) < value(found)
    assert found[0] > 1.5 and found[1] < -0.5 and abs(found[2]) < 0.2  # as they were drawn


def test_a_sharp_prior_and_the_dictionary_pull_alike_where_the_weights_end() -> None:
    taught, mean, variance = lessons(300, truth=np.array([2.0, 1.0, 1.0])), np.zeros(3), np.full(3, 0.001)
    found = fit_weights(taught, mean, variance)
    assert (found > 0.05).all()
    np.testing.assert_allclose(taught.slope_and_spread(found)[0], (found - mean) / variance, rtol=0.05)


def test_few_words_hardly_move_the_weights_and_a_sharp_prior_holds_them() -> None:
    mean, start = np.array([1.0, 0.0, 0.0]), np.full(3, 0.04)
    few, many = (np.abs(fit_weights(lessons(n), mean, start) - mean).max() for n in (3, 300))
    assert few < many / 2
    np.testing.assert_allclose(fit_weights(lessons(300), mean, np.full(3, 1e-9)), mean, atol=1e-5)


@pytest.mark.parametrize("first", [0, 1, 2, 3])
def test_the_list_of_the_last_source_word_ends_before_that_of_the_first_target_word(first: int) -> None:
    sources, targets = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    lessons = Lessons.of(np.eye(4), sources == targets, sources, targets + first)
    assert np.diff(lessons.lists.starts).tolist() == [2, 2, 2, 2]


@pytest.mark.parametrize("mean", [10.0, 0.0])
def test_one_word_moves_a_weight_as_far_as_the_prior_lets_it(mean: float) -> None:
    """From 10, where the wrong candidate is all but certain, Newton's step goes far too far and is halved."""
    nothing = np.zeros(2, np.int64)
    taught = Lessons.of(np.array([[0.0], [1.0]]), np.array([True, False]), nothing, np.arange(2))
    found = fit_weights(taught, np.array([mean]), np.array([100.0]))
    np.testing.assert_allclose(taught.slope_and_spread(found)[0], (found - mean) / 100, atol=0.03)
    assert np.isfinite(found).all()

"""The learnt prior: its features, its regression, and that it only adds to the weights."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from bilex.matching.graph import Graph
from bilex.matching.solver import solve
from bilex.model.edge_prior import FEATURES, EdgePrior, Examples, Features, Spellings, heaviest, learn, logistic
from bilex.model.prior import Prior
from bilex.vectors.spelling import fold_spelling
from tests import oracles

WORDS = st.text("abcé東", max_size=7)


@cache
def edits(one: str, other: str) -> int:
    """The textbook recursion."""
    if not one or not other:
        return len(one) + len(other)
    return min(edits(one[1:], other) + 1, edits(one, other[1:]) + 1, edits(one[1:], other[1:]) + (one[0] != other[0]))


@settings(deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=4), st.lists(WORDS, min_size=1, max_size=4))
def test_spelling_is_the_edit_distance_of_the_folded_words(source: list[str], target: list[str]) -> None:
    from bilex.vectors.spelling_kernel import similarities

    one, other = Spellings.of(source), Spellings.of(target)
    rows, columns = (grid.ravel() for grid in np.indices((len(source), len(target))))
    found = similarities(one.codes, one.starts, other.codes, other.starts, rows, columns)
    for row, column, value in zip(rows.tolist(), columns.tolist(), found.tolist(), strict=True):
        s, t = fold(source[row]), fold(target[column])
        longer = max(len(s), len(t))
        assert value == pytest.approx(1 - edits(s, t) / longer if longer else 1.0)


@pytest.mark.parametrize(
    ("word", "folded"),
    [("Äiti", "aiti"), ("coût", "cout"), ("naïve", "naive"), ("москва", "moskva"), ("ß", "ss"), ("", "")],
)
def test_folding(word: str, folded: str) -> None:
    assert fold(word) == folded


def small_graph(seed: int, n: int = 6) -> Graph:
    rng = np.random.default_rng(seed)
    rows, columns = (grid.ravel() for grid in np.indices((n, n)))
    kept = rng.random(n * n) < 0.6
    return Graph.from_edges(rows[kept], columns[kept], rng.normal(0.2, 0.3, size=kept.sum()), (n, n))


def test_features_of_a_graph_written_out() -> None:
    graph = Graph.from_edges(np.array([0, 0, 1, 2]), np.array([0, 1, 1, 2]), np.array([0.9, 0.3, 0.5, 0.1]), (3, 3))
    found = Features.between(["chat", "rue", "été"], ["chat", "ruelle", "ete"]).of(graph)
    expected = [
        [1.0, 0.0, 1],  # chat, chat: heaviest on both sides
        [0.0, np.log(2), 0],  # chat, ruelle
        [0.5, 0.0, 1],  # rue, ruelle
        [1.0, 0.0, 1],  # été, ete
    ]
    assert len(FEATURES) == found.shape[1]
    np.testing.assert_allclose(found, expected)


@settings(deadline=None)
@given(st.integers(0, 1000))
def test_the_heaviest_edge_of_each_word(seed: int) -> None:
    graph = small_graph(seed)
    best = heaviest(np.round(graph.weights, 1), graph.rows)
    for word in range(graph.n_sources):
        mine = np.flatnonzero(graph.rows == word)
        if len(mine):
            rounded = np.round(graph.weights[mine], 1)
            assert np.flatnonzero(best[mine]).tolist() == [int(np.argmax(rounded))]


def test_the_regression_minimises_the_penalised_loss() -> None:
    rng = np.random.default_rng(2)
    inputs = rng.normal(size=(300, 3))
    right = rng.random(300) < 1 / (1 + np.exp(-(inputs @ [2.0, -1.0, 0.0] - 1)))

    def loss(coefficients: np.ndarray) -> float:
        logits = coefficients[0] + inputs @ coefficients[1:]
        penalty = (coefficients[1:] ** 2).sum() / 2 + 1e-6 * coefficients[0] ** 2 / 2
        return float(np.logaddexp(0, np.where(right, -logits, logits)).sum() + penalty)

    found = logistic(inputs, right)
    assert loss(found) <= scipy.optimize.minimize(loss, np.zeros(4), tol=1e-10).fun + 1e-6
    assert loss(found) < loss(found + 0.05)


def examples(seed: int, informative: bool) -> tuple[Examples, Features]:
    rng = np.random.default_rng(seed)
    words = np.repeat(np.arange(400), 3)
    right = np.tile([True, False, False], 400)
    features = rng.random((1200, 4))
    if informative:
        features[:, 0] = np.where(right, 0.5, 0.1) + 0.2 * rng.random(1200)
    return Examples(rng.normal(size=1200) * 0.3 + 0.2 * right, features, right, words), Features.between([], [])


def test_it_learns_what_helps_and_its_worth_is_in_units_of_the_weight() -> None:
    data, features = examples(0, informative=True)
    prior = learn(data, features)
    assert prior is not None
    assert prior.worth[0] > 0.2
    assert data.precision(data.weights + prior.log_prior(data.features)) > data.precision(data.weights) + 0.2
    np.testing.assert_allclose(prior.log_prior(prior.typical[None]), 0, atol=1e-12)  # the typical right edge
    # Twice the weights: twice the worth, the same choices.
    double = learn(Examples(2 * data.weights, data.features, data.right, data.words), features)
    assert double is not None
    np.testing.assert_allclose(double.worth, 2 * prior.worth, rtol=1e-6)


def test_nothing_is_learnt_where_there_is_nothing_to_learn() -> None:
    data, features = examples(1, informative=False)
    prior = learn(data, features)
    assert prior is not None
    assert np.abs(prior.worth).max() < 0.5
    assert learn(Examples(-data.weights, data.features, data.right, data.words), features) is None  # heavier is worse
    for everything in (np.ones_like(data.right), np.zeros_like(data.right)):
        assert learn(Examples(data.weights, data.features, everything, data.words), features) is None


@settings(deadline=None)
@given(st.integers(0, 1000))
def test_the_matching_under_a_learnt_prior_is_the_best_by_the_sum_of_both(seed: int) -> None:
    graph = small_graph(seed)
    words = [f"w{place}" for place in range(6)]
    prior = EdgePrior(Features.between(words, words[::-1]), np.array([0.4, -0.2, 0.3]), np.array([0.5, 0, 1.0]))
    found = solve(prior.reweigh(graph), Prior.named("1:1", -0.05))
    added = prior.log_prior(prior.features.of(graph)) - 0.05
    edges = dict(zip(zip(graph.rows.tolist(), graph.indices.tolist(), strict=True), graph.weights + added, strict=True))
    best = oracles.best_by_linear_program(edges, 6, 6, 1, 1)
    assert found.objective == pytest.approx(best, abs=1e-9)


def test_examples_are_the_candidates_of_the_known_words() -> None:
    graph = small_graph(5)
    features = Features.between(list("abcdef"), list("abcdef"))
    known = (np.array([1, 1, 4]), np.array([0, 1, 4]))
    found = Examples.of(graph, features, known)
    mine = np.isin(graph.rows, [1, 4])
    assert found.words.tolist() == graph.rows[mine].tolist()
    pairs = set(zip(*(side.tolist() for side in known), strict=True))
    listed = zip(graph.rows[mine].tolist(), graph.indices[mine].tolist(), strict=True)
    assert found.right.tolist() == [pair in pairs for pair in listed]
    both = found.together(found)
    assert len(np.unique(both.words)) == 2 * len(np.unique(found.words))
    assert both.precision(both.weights) == found.precision(found.weights)

"""The priors: names, capacities, what they do to a graph, the log-probability of a matching, settled pairs."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from bilex.em.context import Context
from bilex.em.e_steps import viterbi
from bilex.errors import BilexError
from bilex.matching.graph import Capacities, Graph, RowPairs
from bilex.methods import EStepConfig
from bilex.model.prior import MAX_LOG_ODDS, PRIOR_NAMES, Prior
from bilex.model.theta import MappedWords, Theta
from bilex.numerics.types import Vectors
from bilex.runs.prepared import rows_of_pairs
from bilex.vectors.embeddings import Embeddings
from tests import oracles
from tests.em.fits import ENGINE, Data, pairs_of, row_pairs, run_fit, unit


@pytest.mark.parametrize(
    ("name", "targets_per_source", "sources_per_target", "null"),
    [
        ("1:1", 1, 1, True),
        ("1:2", 2, 1, True),  # one source word, up to two target words
        ("2:1", 1, 2, True),
        ("2:2", 2, 2, True),
        ("one-to-many", None, 1, True),
        ("one-to-many-no-null", None, 1, False),
        ("many-to-one", 1, None, True),
        ("many-to-one-no-null", 1, None, False),
    ],
)
def test_names(name: str, targets_per_source: int | None, sources_per_target: int | None, null: bool) -> None:
    prior = Prior.named(name, log_odds=0.25)
    assert prior.capacities == Capacities(targets_per_source, sources_per_target, null)
    assert prior.log_odds == 0.25
    assert prior.capacities.targets_choose == name.startswith("one-to-many")
    assert prior.capacities.sources_choose == name.startswith("many-to-one")
    mirrored = prior.mirrored().capacities
    assert (mirrored.source, mirrored.target, mirrored.null) == (sources_per_target, targets_per_source, null)
    assert mirrored.mirrored() == prior.capacities


def test_the_default_is_the_papers() -> None:
    assert Prior().capacities == Prior.named("1:1").capacities == Capacities(1, 1, True)
    assert (Prior().log_odds, Prior().settled, Prior().parts) == (0.0, False, ())


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(BilexError, match=", ".join(PRIOR_NAMES)):
        Prior.named("3:3")


@pytest.mark.parametrize(
    "limits",
    [
        (0, 1, True),
        (1, 0, True),
        (-1, None, True),
        (None, None, True),
        (None, 2, True),
        (2, None, False),
        (1, 1, False),
    ],
)
def test_impossible_capacities(limits: tuple[int | None, int | None, bool]) -> None:
    with pytest.raises(BilexError):
        Capacities(*limits)


@pytest.mark.parametrize("log_odds", [math.nan, math.inf, -1.01 * MAX_LOG_ODDS])
def test_log_odds_are_finite(log_odds: float) -> None:
    with pytest.raises(BilexError, match="log_odds"):
        Prior(log_odds=log_odds)
    assert Prior(log_odds=MAX_LOG_ODDS).log_odds == MAX_LOG_ODDS  # the largest that is allowed


def test_a_pair_cannot_be_both_kept_and_forbidden() -> None:
    pairs = row_pairs((0, 1), (2, 2))
    with pytest.raises(BilexError, match="both kept and forbidden"):
        Prior(kept=pairs, forbidden=row_pairs((2, 2)))
    assert Prior(kept=pairs, forbidden=row_pairs((0, 2), (2, 1))).settled  # the same words in other pairs


# What a prior does to a graph, and to a matching


def small_graph() -> Graph:
    rows, columns = np.array([0, 0, 1, 1, 2]), np.array([0, 1, 1, 2, 2])
    return Graph.from_edges(rows, columns, np.array([1.0, 2, 3, 4, 5]), (3, 3))


def test_log_odds_are_added_to_every_edge() -> None:
    applied = Prior(log_odds=0.5).apply(small_graph())
    np.testing.assert_array_equal(applied.weights, [1.5, 2.5, 3.5, 4.5, 5.5])
    assert Prior(log_odds=0.5).log_probability(row_pairs((0, 0), (1, 2))) == 1.0


def test_parts_of_a_prior_compose() -> None:
    class Diagonal:
        def log_odds(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
            return np.where(rows == columns, 10.0, 0.0)

    prior = Prior(log_odds=0.5, parts=(Diagonal(), Diagonal()), forbidden=row_pairs((2, 2)))
    np.testing.assert_array_equal(prior.apply(small_graph()).weights, [21.5, 2.5, 23.5, 4.5])
    assert prior.log_probability(row_pairs((0, 0), (1, 2))) == 21.0
    with pytest.raises(BilexError):
        prior.mirrored()


@pytest.mark.parametrize(
    ("capacities", "left"),
    [
        (Capacities(1, 1), {(1, 2), (2, 2)}),  # no other edge of source 0, none of target 1
        (Capacities(None, 1), {(0, 0), (1, 2), (2, 2)}),
        (Capacities(1, None), {(1, 1), (1, 2), (2, 2)}),
    ],
)
def test_kept_pairs_leave_their_words_no_other_edge_on_a_limited_side(
    capacities: Capacities, left: set[tuple[int, int]]
) -> None:
    graph = Prior(capacities, kept=row_pairs((0, 1))).apply(small_graph())
    assert set(zip(graph.rows.tolist(), graph.indices.tolist(), strict=True)) == left


def test_more_pairs_are_kept_unless_they_contradict_a_decision() -> None:
    prior = Prior(kept=row_pairs((0, 1)), forbidden=row_pairs((3, 3)))
    more = prior.keeping(row_pairs((0, 0), (1, 1), (2, 2), (3, 3), (4, 4)))
    assert pairs_of(more.kept) == [(0, 1), (2, 2), (4, 4)]
    assert pairs_of(more.among_frequent(4).kept) == [(0, 1), (2, 2)]
    assert not len(prior.among_frequent(3).forbidden)


def test_only_the_pair_that_is_forbidden_is_not_kept() -> None:
    prior = Prior(forbidden=row_pairs((0, 1), (2, 1)))
    more = prior.keeping(row_pairs((0, 3), (0, 5), (1, 5), (2, 1)))
    assert pairs_of(more.kept) == [(0, 3), (0, 5), (1, 5)]


# Settled pairs in the E-step and in EM


def vectors(seed: int, n: int, dimension: int = 8) -> Vectors:
    return unit(np.random.default_rng(seed).normal(size=(n, dimension)))


def matched(prior: Prior, *, exact: bool) -> tuple[set[tuple[int, int]], float, oracles.Array]:
    source, target = vectors(1, 30), vectors(2, 40)
    theta = Theta(oracles.random_orthogonal(np.random.default_rng(3), 8), np.full(8, 0.05))
    words, config = MappedWords(theta, source, target), EStepConfig(exact=exact)
    matching = viterbi(words, prior, config, Context(ENGINE), None).matching
    assert matching is not None
    assert abs(matching.gap) < 1e-9
    weights = oracles.weight_matrix(theta.omega, theta.mu, source, target) + prior.log_odds
    chosen = set(pairs_of(matching))
    assert matching.objective == pytest.approx(sum(weights[pair] for pair in chosen), abs=1e-5)
    return chosen, matching.objective, weights


@pytest.mark.parametrize(("name", "exact"), [("1:1", True), ("1:2", False), ("2:2", True), ("one-to-many", False)])
def test_every_matching_contains_kept_pairs_and_no_forbidden_ones(name: str, exact: bool) -> None:
    prior = Prior.named(name, 0.3)
    free, _, _ = matched(prior, exact=exact)
    banned, kept = sorted(free)[::2], [(0, 39), (7, 3)]
    assert not set(kept) & free
    chosen, _, _ = matched(replace(prior, kept=row_pairs(*kept), forbidden=row_pairs(*banned)), exact=exact)
    assert set(kept) <= chosen
    assert not set(banned) & chosen
    assert len(chosen) > len(kept)


def test_the_matching_is_optimal_among_what_is_left() -> None:
    prior = Prior(log_odds=0.3)
    free, _, _ = matched(prior, exact=True)
    banned, kept = sorted(free)[::3], [(0, 39), (7, 3)]
    settled = replace(prior, kept=row_pairs(*kept), forbidden=row_pairs(*banned))
    _, objective, weights = matched(settled, exact=True)
    gains = np.maximum(weights, 0)
    gains[tuple(np.array(banned).T)] = 0
    gains[[j for j, _ in kept]] = 0
    gains[:, [i for _, i in kept]] = 0
    rest = gains[linear_sum_assignment(gains, maximize=True)].sum()
    assert objective == pytest.approx(rest + sum(weights[pair] for pair in kept), rel=1e-6)


@pytest.mark.parametrize("name", ["1:1", "many-to-one", "one-to-many"])
def test_em_respects_settled_pairs(name: str) -> None:
    source = vectors(4, 60, 6)
    target = np.asarray(source @ oracles.random_orthogonal(np.random.default_rng(5), 6).T, np.float32)
    data = Data(source, target, np.arange(60), np.eye(6))
    kept, forbidden = row_pairs((20, 21), (55, 2)), row_pairs((30, 30), (3, 3))
    result = run_fit(data, 10, prior=name, max_rank=50, kept=kept, forbidden=forbidden)
    chosen = set(pairs_of(result.matching))
    assert (20, 21) in chosen  # wrong, but a person decided so
    assert not {(30, 30), (3, 3), (55, 2)} & chosen  # the last is beyond the frequency constraint
    assert {(5, 5), (40, 40)} <= chosen
    likelihoods = [iteration.log_likelihood for iteration in result.iterations]
    assert all(later >= before - 1e-5 for before, later in pairwise(likelihoods))


def test_pairs_of_words_are_looked_up() -> None:
    first, second = Embeddings(("a", "b"), vectors(8, 2)), Embeddings(("x", "y", "z"), vectors(9, 3))
    found = rows_of_pairs([("b", "z"), ("a", "y"), ("b", "z"), ("c", "x"), ("a", "none")], first, second)
    assert pairs_of(found) == [(0, 1), (1, 2)]
    assert len(rows_of_pairs([], first, second)) == 0


def test_row_pairs_are_a_set() -> None:
    one, other = row_pairs((0, 1), (2, 2)), row_pairs((0, 0), (0, 1), (5, 1))
    assert pairs_of(one.union(other)) == [(0, 0), (0, 1), (2, 2), (5, 1)]
    assert pairs_of(one.union(RowPairs())) == pairs_of(one)
    assert pairs_of(other.mirrored()) == [(0, 0), (1, 0), (1, 5)]

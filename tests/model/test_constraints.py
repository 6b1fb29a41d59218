"""Kept and forbidden pairs: in every matching, and in none."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from bilex.em.e_steps import Problem, viterbi
from bilex.em.em import Settings, fit
from bilex.errors import BilexError
from bilex.model.constraints import Constraints, Pairs, rows_of
from bilex.model.prior import Prior
from bilex.model.theta import Theta
from bilex.numerics.types import Vectors
from bilex.search.local import LocalEngine
from bilex.vectors.embeddings import Embeddings
from tests import oracles

ENGINE = LocalEngine(threads=1)


def vectors(seed: int, n: int, dimension: int = 8) -> Vectors:
    rows = np.random.default_rng(seed).normal(size=(n, dimension))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def pairs(*rows: tuple[int, int]) -> Pairs:
    both = np.array(sorted(rows), np.int64).reshape(-1, 2)
    return Pairs(both[:, 0], both[:, 1])


def matched(
    constraints: Constraints, prior: Prior, *, exact: bool, k: int = 3
) -> tuple[set[tuple[int, int]], float, oracles.Array]:
    source, target = vectors(1, 30), vectors(2, 40)
    theta = Theta(oracles.random_orthogonal(np.random.default_rng(3), 8), np.full(8, 0.05))
    problem = Problem(prior, k, 1.0, exact, ENGINE, constraints)
    matching = viterbi(theta, source, target, problem, None).matching
    assert matching is not None
    assert abs(matching.gap) < 1e-9
    weights = oracles.weight_matrix(theta.omega, theta.mu, source, target) + prior.log_odds
    chosen = set(zip(matching.source.tolist(), matching.target.tolist(), strict=True))
    assert matching.objective == pytest.approx(sum(weights[pair] for pair in chosen), abs=1e-5)
    return chosen, matching.objective, weights


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("prior", ["1:1", "1:2", "2:1", "2:2", "one-to-many"])
def test_kept_pairs_are_there_and_forbidden_ones_are_not(prior: str, exact: bool) -> None:
    free, _, _ = matched(Constraints(), Prior.named(prior, 0.3), exact=exact)
    banned = sorted(free)[::2]
    kept = [(0, 39), (7, 3)]
    assert not set(kept) & free
    chosen, _, _ = matched(Constraints(pairs(*kept), pairs(*banned)), Prior.named(prior, 0.3), exact=exact)
    assert set(kept) <= chosen
    assert not set(banned) & chosen
    assert len(chosen) > len(kept)


def test_optimal_among_what_is_left() -> None:
    prior = Prior(log_odds=0.3)
    free, _, _ = matched(Constraints(), prior, exact=True)
    banned, kept = sorted(free)[::3], [(0, 39), (7, 3)]
    constraints = Constraints(pairs(*kept), pairs(*banned))
    _, objective, weights = matched(constraints, prior, exact=True)
    gains = np.maximum(weights, 0)
    gains[tuple(np.array(banned).T)] = 0
    gains[[j for j, _ in kept]] = 0
    gains[:, [i for _, i in kept]] = 0
    rest = gains[linear_sum_assignment(gains, maximize=True)].sum()
    assert objective == pytest.approx(rest + sum(weights[pair] for pair in kept), rel=1e-6)


def test_em_keeps_to_them_under_every_prior_and_constraint_of_frequency() -> None:
    source = vectors(4, 60, 6)
    target = np.asarray(source @ oracles.random_orthogonal(np.random.default_rng(5), 6).T, np.float32)
    seed = (np.arange(10), np.arange(10))
    for prior in ("1:1", "many-to-one", "one-to-many"):
        constraints = Constraints(pairs((20, 21), (55, 2)), pairs((30, 30), (3, 3)))
        result = fit(source, target, seed, Settings(Prior.named(prior), max_rank=50), ENGINE, constraints=constraints)
        chosen = set(zip(result.matching.source.tolist(), result.matching.target.tolist(), strict=True))
        assert (20, 21) in chosen  # a wrong pair, but a person has said so
        assert not {(30, 30), (3, 3), (55, 2)} & chosen  # the last is beyond the frequency constraint
        assert {(5, 5), (40, 40)} <= chosen
        likelihoods = [iteration.log_likelihood for iteration in result.iterations]
        assert all(later >= before - 1e-6 for before, later in pairwise(likelihoods))


def test_other_e_steps_refuse_them() -> None:
    rows = (np.arange(5), np.arange(5))
    for settings in (Settings(e_step="mutual"), Settings(self_learning=False)):
        with pytest.raises(BilexError, match="Viterbi"):
            fit(vectors(6, 20), vectors(7, 20), rows, settings, ENGINE, constraints=Constraints(pairs((0, 1))))


def test_words_are_looked_up() -> None:
    first, second = Embeddings(("a", "b"), vectors(8, 2)), Embeddings(("x", "y", "z"), vectors(9, 3))
    found = rows_of([("b", "z"), ("a", "y"), ("b", "z"), ("c", "x"), ("a", "none")], first, second)
    assert list(zip(found.source.tolist(), found.target.tolist(), strict=True)) == [(0, 1), (1, 2)]
    assert len(rows_of([], first, second)) == 0

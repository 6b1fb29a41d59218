"""EM with more than the paper's parts: margins and slack, seeds that stay, words beyond the frequency constraint."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bilex.em import em
from bilex.em.context import Iteration, Settings, fit
from bilex.errors import BilexError
from bilex.matching.candidates import candidate_graph
from bilex.matching.dense import dense_matching
from bilex.matching.graph import Matching
from bilex.matching.solver import solve
from bilex.model.constraints import Constraints, Pairs
from bilex.model.edge_prior import EdgePrior, Features
from bilex.model.maps import Steps, procrustes
from bilex.model.prior import Prior
from bilex.model.weights import likelihood, margin
from bilex.search.local import LocalEngine
from tests.em.test_em import Data, planted

ENGINE = LocalEngine()


def pairs_of(matching: Matching) -> set[tuple[int, int]]:
    return set(zip(matching.source.tolist(), matching.target.tolist(), strict=True))


def gold_of(data: Data) -> set[tuple[int, int]]:
    return set(enumerate(data.gold.tolist()))


@pytest.mark.parametrize("maps", ["orthogonal", "cca"])
@pytest.mark.parametrize("log_odds", [0.0, -0.1])
def test_with_margins_the_planted_pairs_are_found(maps: str, log_odds: float) -> None:
    data = planted(0, n=120, more_targets=30, noise=0.3)
    settings = Settings(
        Prior.named("1:1", log_odds), weights="margin", slack=0.1, maps=maps, steps=Steps(annealing=6.0)
    )
    found = fit(data.source, data.target, data.seed(20), settings, ENGINE)
    assert len(pairs_of(found.matching) & gold_of(data)) > 110
    assert max(iteration.certificate_gap or 0.0 for iteration in found.iterations) < 1e-9


def test_the_last_matching_is_the_best_by_margins() -> None:
    data = planted(1, n=60, noise=0.3)
    settings = Settings(Prior.named("1:1", -0.1), weights="margin", max_iterations=1, slack=0.06)
    found = fit(data.source, data.target, data.seed(20), settings, ENGINE)
    start = fit(data.source, data.target, data.seed(20), Settings(self_learning=False), ENGINE).theta
    edges = margin(start, data.source, data.target, ENGINE)
    graph = candidate_graph(edges, Prior(), k=3, previous=None, engine=ENGINE)
    expected = solve(graph, Prior.named("1:1", -0.1 + 0.06))  # the first iteration has all of its slack
    assert pairs_of(found.matching) == pairs_of(expected)


def test_slack_falls_and_em_does_not_stop_before_it_is_gone() -> None:
    settings = Settings(Prior.named("1:1", -0.1), slack=0.1, tightening=0.04)
    assert [round(settings.prior_at(place).log_odds, 9) for place in range(5)] == [0.0, -0.04, -0.08, -0.1, -0.1]
    data = planted(2, noise=0.02)
    reported = list[Iteration]()
    fit(data.source, data.target, data.seed(40), settings, ENGINE, reported.append)
    assert len(reported) >= 4
    without = fit(data.source, data.target, data.seed(40), Settings(Prior.named("1:1", -0.1)), ENGINE)
    assert len(without.iterations) < 4


@pytest.mark.parametrize("exact", [False, True])
def test_without_the_warm_start_every_matching_starts_from_nothing_and_is_the_same(
    monkeypatch: pytest.MonkeyPatch, exact: bool
) -> None:
    data, starts = planted(3, n=60, noise=0.3), dict[bool, list[Matching | None]]()
    found = {}
    for warm in (True, False):
        starts[warm] = []

        def noted(*given: object, warm: bool = warm) -> Matching:
            starts[warm].append(given[4 if exact else 2])  # type: ignore[arg-type]
            return (dense_matching if exact else solve)(*given)  # type: ignore[arg-type]

        monkeypatch.setattr(f"bilex.em.e_steps.{'dense_matching' if exact else 'solve'}", noted)
        settings = Settings(warm_start=warm, exact=exact)
        found[warm] = fit(data.source, data.target, data.seed(20), settings, ENGINE)
    assert starts[False] == [None] * len(starts[False])
    assert starts[True][0] is None
    assert None not in starts[True][1:]
    assert len(starts[True]) > 1
    assert pairs_of(found[True].matching) == pairs_of(found[False].matching)


def with_a_wrong_seed(data: Data) -> tuple[np.ndarray, np.ndarray]:
    """Twenty right pairs, and two words with each other's translations; one word has two."""
    rows, columns = data.seed(20)
    wrong = [(30, data.gold[31]), (31, data.gold[30]), (5, data.gold[32])]
    return np.append(rows, [j for j, _ in wrong]), np.append(columns, [i for _, i in wrong])


def test_a_seed_may_be_a_start_a_part_of_every_m_step_or_of_every_matching() -> None:
    data = planted(3, n=80, noise=0.1)
    seed = with_a_wrong_seed(data)
    given = set(zip(*(side.tolist() for side in seed), strict=True))
    found = {
        name: fit(data.source, data.target, seed, Settings(supervision=name), ENGINE)
        for name in ("start", "soft", "fixed")
    }
    assert not given <= pairs_of(found["start"].matching)
    assert not given <= pairs_of(found["soft"].matching)
    assert given <= pairs_of(found["fixed"].matching)  # also both translations of one word
    for name, result in found.items():
        rows, columns = result.matching.source, result.matching.target
        if name != "start":
            rows, columns = np.concatenate([seed[0], rows]), np.concatenate([seed[1], columns])
        expected = procrustes(data.source[rows], data.target[columns])
        np.testing.assert_allclose(result.theta.omega, expected, atol=1e-9, err_msg=name)
    free = np.setdiff1d(np.arange(80), found["fixed"].matching.target)
    np.testing.assert_allclose(found["fixed"].theta.mu, data.target[free].mean(axis=0) if len(free) else 0, atol=1e-6)


def test_a_fixed_seed_gives_way_to_what_a_person_settled() -> None:
    data = planted(4, n=40)
    rows, columns = data.seed(10)
    settled = Constraints(
        Pairs(np.array([0]), columns[1:2]), Pairs(np.array([3]), columns[3:4])
    )  # the reviewer joins 0 with the partner of 1, and rejects 3
    found = fit(data.source, data.target, (rows, columns), Settings(supervision="fixed"), ENGINE, constraints=settled)
    pairs = pairs_of(found.matching)
    assert (0, columns[1]) in pairs
    assert not {(0, columns[0]), (1, columns[1]), (3, columns[3])} & pairs
    assert {(j, columns[j]) for j in range(4, 10)} <= pairs


def test_the_last_matching_may_take_in_rare_words() -> None:
    data = planted(5, n=90)
    plain = fit(data.source, data.target, data.seed(30), Settings(max_rank=50), ENGINE)
    whole = fit(data.source, data.target, data.seed(30), Settings(max_rank=50, match_all=True), ENGINE)
    assert max(plain.matching.source.max(), plain.matching.target.max()) < 50
    np.testing.assert_array_equal(plain.theta.omega, whole.theta.omega)
    edges = likelihood(whole.theta, data.source, data.target)
    graph = candidate_graph(edges, Prior(), k=3, previous=None, engine=ENGINE)
    assert pairs_of(whole.matching) == pairs_of(solve(graph, Prior()))
    assert len(whole.matching) > 80


def test_it_takes_in_rare_words_of_either_side_and_does_nothing_where_there_are_none() -> None:
    data = planted(6, n=60, more_sources=30)
    mixed = np.ascontiguousarray(data.source[::-1])  # the words that have a partner are the rare ones
    rows, columns = 89 - data.seed(30)[0], data.seed(30)[1]
    for source, target, seed in ((mixed, data.target, (rows, columns)), (data.target, mixed, (columns, rows))):
        found = fit(source, target, seed, Settings(max_rank=60, match_all=True), ENGINE)  # one side has no rare word
        assert len(pairs_of(found.matching)) >= 58
    # After one iteration θ is no longer what its matching was made with: another matching would not be the same.
    for limit in (90, None):
        plain, whole = (
            fit(
                data.source,
                data.target,
                data.seed(10),
                Settings(max_iterations=1, max_rank=limit, match_all=on),
                ENGINE,
            )
            for on in (False, True)
        )
        assert whole.matching.objective == plain.matching.objective


def test_nothing_matched_is_nothing_matched_also_among_rare_words() -> None:
    data = planted(7, n=40)
    settings = Settings(Prior(log_odds=-2.0), max_rank=20, match_all=True)
    assert not len(fit(data.source, data.target, data.seed(15), settings, ENGINE).matching)


def test_without_self_learning_the_map_of_the_seed_is_kept_and_every_source_has_its_nearest_target() -> None:
    data = planted(8, n=40, more_sources=5)
    reported = list[Iteration]()
    settings = Settings(Prior.named("many-to-one"), self_learning=False)
    found = fit(data.source, data.target, data.seed(12), settings, ENGINE, reported.append)
    assert found.stopped == em.SEED_ONLY
    assert found.iterations == tuple(reported) and len(reported) == 1
    rows, columns = data.seed(12)
    np.testing.assert_array_equal(found.theta.omega, procrustes(data.source[rows], data.target[columns]))
    nearest = (data.source @ found.theta.omega.T @ data.target.T).argmax(axis=1)
    np.testing.assert_array_equal(found.matching.target, nearest)
    assert (reported[0].pairs, reported[0].certificate_gap) == (45, None)
    assert list(reported[0].seconds) == ["candidates"]


@pytest.mark.parametrize(("e_step", "prior"), [("posterior", "one-to-many"), ("sinkhorn", "1:1")])
def test_a_soft_e_step_reports_how_many_pairs_it_expects_and_how_near_they_are(e_step: str, prior: str) -> None:
    data = planted(10, n=50, noise=0.05)
    settings = Settings(Prior.named(prior), e_step=e_step, temperature=0.01)
    found = fit(data.source, data.target, data.seed(20), settings, ENGINE)
    last = found.iterations[-1]
    assert 48 <= last.pairs <= 50 and last.certificate_gap is None
    assert 0.99 < last.mean_cosine <= 1
    nothing = fit(data.source, data.target, data.seed(20), replace(settings, prior=Prior.named(prior, -9.0)), ENGINE)
    assert (nothing.stopped, nothing.iterations[0].pairs) == (em.NOTHING_MATCHED, 0)
    assert abs(nothing.iterations[0].mean_cosine) <= 1


@pytest.mark.parametrize("parts", [{"self_learning": False}, {"e_step": "mutual"}])
def test_settled_pairs_need_the_viterbi_e_step(parts: dict[str, object]) -> None:
    data = planted(9, n=20)
    settled = Constraints(Pairs(np.array([0]), data.gold[:1]))
    with pytest.raises(BilexError, match="kept and forbidden pairs need a method with the Viterbi E-step"):
        fit(data.source, data.target, data.seed(10), Settings(**parts), ENGINE, constraints=settled)  # type: ignore[arg-type]


def test_a_method_without_self_learning_has_no_e_step_to_disagree_with() -> None:
    Settings(self_learning=False, e_step="mutual", weights="margin", slack=0.1, supervision="soft")


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"slack": float("inf")}, "slack must be a number from 0 up"),
        ({"tightening": float("inf")}, "tightening one above 0"),
        ({"e_step": "mutual", "slack": 0.1}, "the mutual E-step takes no"),
        ({"supervision": "hard"}, "no supervision is called 'hard'; choose one of start, soft, fixed"),
        ({"slack": -1.0}, "slack must be a number from 0 up"),
        ({"tightening": 0.0}, "tightening one above 0"),
        ({"e_step": "mutual", "weights": "margin"}, "the mutual E-step takes no other weights"),
        ({"e_step": "mutual", "supervision": "soft"}, "the mutual E-step takes no"),
    ],
)
def test_parts_that_do_not_go_together(parts: dict[str, object], message: str) -> None:
    with pytest.raises(BilexError, match=message):
        Settings(**parts)  # type: ignore[arg-type]


def test_a_learnt_prior_is_for_candidates_alone() -> None:
    data = planted(0, n=30)
    words = tuple(f"w{place}" for place in range(30))
    prior = EdgePrior(Features.between(words, words), np.zeros(3), np.zeros(3))
    with pytest.raises(BilexError, match="knows the candidates only; leave out exact"):
        fit(data.source, data.target, data.seed(10), Settings(exact=True), ENGINE, edge_prior=prior)

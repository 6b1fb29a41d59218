"""EM with more than the paper's parts: seeds that stay, settled pairs, rare words."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bilex.em import em, held_out
from bilex.em.context import Context
from bilex.em.em import fit
from bilex.errors import BilexError
from bilex.matching.candidates import candidate_graph
from bilex.matching.graph import RowPairs
from bilex.matching.solver import solve
from bilex.model.maps import procrustes
from bilex.model.prior import Prior
from bilex.model.theta import MappedWords
from bilex.numerics.types import Floats, Indices
from tests.em.fits import ENGINE, Data, Recorder, pairs_of, paper, planted, row_pairs, run_fit


def seed_with_mistakes(data: Data) -> RowPairs:
    """Twenty right pairs, two words with each other's translations, and a word with two translations."""
    right = [(j, int(data.gold[j])) for j in range(20)]
    return row_pairs(*right, (30, int(data.gold[31])), (31, int(data.gold[30])), (5, int(data.gold[32])))


def test_a_seed_may_be_a_start_a_part_of_every_m_step_or_of_every_matching() -> None:
    data = planted(3, n=80, noise=0.1)
    seed = seed_with_mistakes(data)
    given = set(pairs_of(seed))
    found = {name: run_fit(data, seed, supervision=name) for name in ("start", "soft", "fixed")}
    assert not given <= set(pairs_of(found["start"].matching))
    assert not given <= set(pairs_of(found["soft"].matching))
    assert given <= set(pairs_of(found["fixed"].matching))  # also both translations of one word
    for name, result in found.items():
        rows, columns = result.matching.source, result.matching.target
        if name != "start":
            rows, columns = np.concatenate([seed.source, rows]), np.concatenate([seed.target, columns])
        expected = procrustes(data.source[rows], data.target[columns])
        np.testing.assert_allclose(result.theta.omega, expected, atol=1e-9, err_msg=name)
    free = np.setdiff1d(np.arange(80), found["fixed"].matching.target)
    np.testing.assert_allclose(found["fixed"].theta.mu, data.target[free].mean(axis=0) if len(free) else 0, atol=1e-6)


def test_decisions_of_a_person_override_a_fixed_seed() -> None:
    data = planted(4, n=40)
    seed = data.seed(10)
    columns = seed.target.tolist()
    kept, forbidden = row_pairs((0, columns[1])), row_pairs((3, columns[3]))
    pairs = set(pairs_of(run_fit(data, seed, supervision="fixed", kept=kept, forbidden=forbidden).matching))
    assert (0, columns[1]) in pairs
    assert not {(0, columns[0]), (1, columns[1]), (3, columns[3])} & pairs
    assert {(j, columns[j]) for j in range(4, 10)} <= pairs


def test_the_last_matching_may_include_rare_words() -> None:
    data = planted(5, n=90)
    plain = run_fit(data, 30, max_rank=50)
    whole = run_fit(data, 30, max_rank=50, match_all=True)
    assert max(plain.matching.source.max(), plain.matching.target.max()) < 50
    np.testing.assert_array_equal(plain.theta.omega, whole.theta.omega)
    words, capacities = MappedWords(whole.theta, data.source, data.target), Prior().capacities
    graph = candidate_graph(words, capacities, k=3, previous=None, engine=ENGINE)
    assert pairs_of(whole.matching) == pairs_of(solve(graph, capacities))
    assert len(whole.matching) > 80


def test_rare_words_of_either_side_are_matched_and_nothing_changes_where_there_are_none() -> None:
    data = planted(6, n=60, more_sources=30)
    reversed_sources = np.ascontiguousarray(data.source[::-1])  # the words with a partner are the rare ones
    seed = RowPairs(89 - data.seed(30).source, data.seed(30).target)
    rare = Data(reversed_sources, data.target, data.gold, data.omega)
    assert len(run_fit(rare, seed, max_rank=60, match_all=True).matching) >= 58
    other = Data(data.target, reversed_sources, data.gold, data.omega.T)
    assert len(run_fit(other, seed.mirrored(), max_rank=60, match_all=True).matching) >= 58
    # After one iteration θ has moved on from its matching: another matching would not be the same.
    for limit in (90, None):
        plain, whole = (run_fit(data, 10, max_iterations=1, max_rank=limit, match_all=on) for on in (False, True))
        assert whole.matching.objective == plain.matching.objective


def test_a_run_without_pairs_does_not_match_rare_words_either() -> None:
    assert not len(run_fit(planted(7, n=40), 15, log_odds=-2.0, max_rank=20, match_all=True).matching)


def test_without_self_learning_the_map_of_the_seed_is_kept() -> None:
    data, reporter = planted(8, n=40, more_sources=5), Recorder()
    found = run_fit(data, 12, prior="many-to-one", self_learning=False, reporter=reporter)
    assert found.stopped == em.SEED_ONLY
    assert found.iterations == tuple(reporter.iterations) and len(reporter.iterations) == 1
    seed = data.seed(12)
    np.testing.assert_array_equal(found.theta.omega, procrustes(data.source[seed.source], data.target[seed.target]))
    nearest = (data.source @ found.theta.omega.T @ data.target.T).argmax(axis=1)
    np.testing.assert_array_equal(found.matching.target, nearest)
    assert (found.iterations[0].pairs, found.iterations[0].certificate_gap) == (45, None)
    assert list(found.iterations[0].seconds) == ["candidates"]


@pytest.mark.parametrize(("e_step", "prior"), [("posterior", "one-to-many"), ("sinkhorn", "1:1")])
def test_a_soft_e_step_reports_the_expected_pairs_and_their_cosine(e_step: str, prior: str) -> None:
    data = planted(10, n=50, noise=0.05)
    options: dict[str, Any] = {"prior": prior, "e_step": e_step, "temperature": 0.01}
    last = run_fit(data, 20, **options).iterations[-1]
    assert 48 <= last.pairs <= 50 and last.certificate_gap is None
    assert 0.99 < last.mean_cosine <= 1
    nothing = run_fit(data, 20, log_odds=-9.0, **options)
    assert (nothing.stopped, nothing.iterations[0].pairs) == (em.NOTHING_MATCHED, 0)
    assert abs(nothing.iterations[0].mean_cosine) <= 1


@pytest.mark.parametrize("options", [{"self_learning": False}, {"e_step": "mutual"}])
def test_settled_pairs_need_the_viterbi_e_step(options: dict[str, Any]) -> None:
    data = planted(9, n=20)
    with pytest.raises(BilexError, match="Viterbi"):
        run_fit(data, 10, kept=row_pairs((0, int(data.gold[0]))), **options)


class Bonus:
    """A learnt part of the prior that favours one pair."""

    def __init__(self, pair: tuple[int, int], bonus: float) -> None:
        self.pair, self.bonus = pair, bonus

    def log_odds(self, rows: Indices, columns: Indices) -> Floats:
        return np.where((rows == self.pair[0]) & (columns == self.pair[1]), self.bonus, 0.0)


def test_a_learnt_part_of_the_prior_adds_to_the_weights() -> None:
    data = planted(0, n=30, noise=0.3)
    wrong = (0, int(data.gold[1]))
    prior = Prior(parts=(Bonus(wrong, 9.0),))
    method = paper(candidates=30)
    found = fit(data.source, data.target, data.seed(10), method, prior, Context(ENGINE))
    assert wrong in pairs_of(found.matching)
    assert prior.log_probability(found.matching) == 9.0


def test_what_em_cannot_combine_with_a_learnt_prior_is_an_error() -> None:
    data, parts = planted(0, n=30), (Bonus((0, 0), 1.0),)
    for options in ({"exact": True}, {"prior": "many-to-one"}):
        method = paper(**options)
        prior = Prior(Prior.configured(method.prior).capacities, parts=parts)
        with pytest.raises(BilexError):
            fit(data.source, data.target, data.seed(10), method, prior, Context(ENGINE))


def test_a_page_names_the_size_of_a_dictionary_that_is_split() -> None:
    page = Path(__file__).parents[2] / "docs" / "accuracy.md"
    (words,) = re.findall(r"a dictionary of at least ([\d,]+) frequent source words is split", page.read_text("utf-8"))
    assert int(words.replace(",", "")) == held_out.MIN_WORDS_TO_SPLIT

"""Weights counted without a label: ratios, purity, scale and log-odds against slow definitions and planted truths."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from bilex.matching.graph import Capacities, Graph
from bilex.model.counting import (
    LOG_ODDS_RANGE,
    MAX_PURITY,
    MAX_RATIO,
    MIN_PURITY,
    MIN_SCALE,
    START_SCALE,
    USUAL_PURITY,
    WORST_RIVALS,
    bounded_purity,
    choice_probabilities,
    choose_edges,
    count_weights,
    decontaminate,
    estimate_purity,
    heaviest_of,
    is_telling,
    learn_log_odds,
    learn_scale,
    log_ratio,
    never_falling,
    share_among_worst,
    tells_failure,
    tells_weakness,
)
from bilex.model.evidence import FrequencyEvidence, Measured
from bilex.model.listwise import CandidateLists
from bilex.model.posterior import worthwhile_posterior
from bilex.numerics.types import Floats

NOTHING = Graph.from_edges(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), (3, 3))


def frequency(values: list[float] | np.ndarray[tuple[int], np.dtype[np.float64]]) -> Measured:
    kind = FrequencyEvidence()
    return Measured(kind.name, kind.knots, kind.direction, np.asarray(values, np.float64))


def planted(share: float, words: int = 1500, candidates: int = 8) -> tuple[Graph, list[Measured]]:
    """Candidates of each word; the first stands out, and is right (and so about as frequent) in a `share` of them."""
    rng = np.random.default_rng(1)
    rows = np.repeat(np.arange(words), candidates)
    columns = rng.integers(0, words, words * candidates)
    right = rng.random(words) < share
    near = np.clip(np.arange(words) * np.exp(0.3 * rng.normal(size=words)), 0, words - 1).astype(np.int64)
    columns[::candidates] = np.where(right, near, columns[::candidates])
    weights = rng.uniform(0.0, 0.2, len(rows))
    weights[::candidates] = rng.uniform(0.25, 0.4, words)
    graph = Graph.from_edges(rows, columns, weights, (words, words))
    return graph, [Measured.on(FrequencyEvidence(), graph.rows, graph.indices)]


def test_the_heaviest_edge_of_each_word_ties_to_the_first() -> None:
    weights, words = np.array([1.0, 3.0, 3.0, 2.0]), np.array([0, 0, 0, 1])
    assert heaviest_of(weights, words).tolist() == [False, True, False, True]


def test_values_that_never_fall_are_the_nearest_such_values() -> None:
    found = never_falling(np.array([1.0, 3.0, 2.0, 2.0, 5.0]), np.array([1.0, 1.0, 1.0, 2.0, 1.0]))
    np.testing.assert_allclose(found, [1.0, 2.25, 2.25, 2.25, 5.0])


def test_a_log_ratio_is_that_of_the_smoothed_histograms() -> None:
    rng = np.random.default_rng(0)
    measured = frequency(np.concatenate([rng.uniform(0, 2, 4000), rng.uniform(0, 6, 4000)]))
    chosen = np.arange(8000) < 4000
    nats = log_ratio(measured, chosen, ~chosen)
    np.testing.assert_allclose(nats[:4], np.log(3), atol=0.15)  # a third of the range holds all the chosen
    assert (nats[5:] < -1.5).all()
    assert (np.diff(nats) <= 1e-12).all()
    free = replace(measured, direction=0)
    for some in (chosen, np.arange(8000) == 5):
        counts = [free.counts(marked) for marked in (some, ~chosen)]
        shares = [each / each.sum() for each in counts]
        smooth = [each + (shares[0] + shares[1]) / 2 * len(free.knots) for each in counts]
        expected = np.log(smooth[0] / smooth[0].sum()) - np.log(smooth[1] / smooth[1].sum())
        np.testing.assert_allclose(log_ratio(free, some, ~chosen), expected)
        monotone = -never_falling(-expected, 1 / (1 / smooth[0] + 1 / smooth[1]))  # by the precision of each ratio
        np.testing.assert_allclose(log_ratio(measured, some, ~chosen), monotone)
        assert not np.allclose(monotone, expected)
    assert np.abs(log_ratio(frequency([0.1, 5.0]), np.array([True, False]), np.array([False, True]))).max() < 4
    assert np.abs(log_ratio(measured, np.zeros(8000, bool), ~chosen)).max() < 1e-9  # nothing chosen says nothing
    assert np.abs(log_ratio(free, chosen, np.zeros(8000, bool))[:5]).max() < 1e-9  # nor does nothing passed over


@pytest.mark.parametrize("purity", [1.0, 0.4])
def test_wrong_pairs_are_removed_from_the_counts(purity: float) -> None:
    right, wrong = np.array([0.6, 0.3, 0.1]), np.array([0.2, 0.3, 0.5])
    mixed = purity * right + (1 - purity) * wrong
    np.testing.assert_allclose(decontaminate(np.log(mixed / wrong), purity), np.log(right / wrong), atol=1e-12)
    assert decontaminate(np.array([9.0]), 0.5)[0] == pytest.approx(MAX_RATIO)
    low = decontaminate(np.array([-1.0, -4.0, -9.0]), 0.1)  # fewer than the wrong pairs alone explain
    np.testing.assert_allclose(low, [-3, -4, -MAX_RATIO])


def test_shares_among_the_worst_are_counted_word_by_word() -> None:
    rng = np.random.default_rng(2)
    words, evidence = rng.integers(0, 30, 300), rng.normal(size=300)
    chosen = np.zeros(300, bool)
    chosen[np.unique(words, return_index=True)[1][:20]] = True
    rivals = [e for e in range(300) if not chosen[e] and words[e] in set(words[chosen].tolist())]
    weight = {e: 1 / sum(words[other] == words[e] for other in rivals) for e in rivals}
    total, so_far, limit = sum(weight.values()), 0.0, np.nan
    for edge in sorted(rivals, key=lambda e: -evidence[e]):
        so_far += weight[edge]
        if so_far >= (1 - WORST_RIVALS) * total:
            limit = evidence[edge]
            break
    expected = (evidence[chosen] <= limit).mean(), sum(weight[e] for e in rivals if evidence[e] <= limit) / total
    np.testing.assert_allclose(share_among_worst(evidence, words, chosen), expected)
    few = np.array([5.0, 4.0, 3.0, 2.0, 1.0, 1.5])  # of five rivals the worst is more than a tenth; the last is chosen
    np.testing.assert_allclose(share_among_worst(few, np.zeros(6, np.int64), np.arange(6) == 5), (0.0, 0.2))
    assert share_among_worst(evidence[:1], words[:1], np.array([True])) == (1.0, 1.0)


def test_the_purity_follows_the_share_of_right_pairs_and_is_near_0_in_a_failed_run() -> None:
    found = {share: count_weights(*planted(share)) for share in (0.0, 0.5, 0.95)}
    assert all(0 < each.deviation < 0.25 for each in found.values())
    purity = {share: each.purity for share, each in found.items()}
    assert abs(purity[0.0]) < 0.3 and purity[0.0] < purity[0.5] < purity[0.95] and purity[0.95] > 0.7
    assert found[0.95].scale >= MIN_SCALE and found[0.95].curves["frequency"].any()
    assert (
        found[0.0].scale == START_SCALE and not found[0.0].curves["frequency"].any()
    )  # counts of wrong pairs are noise
    assert (np.diff(found[0.95].curves["frequency"]) <= 1e-9).all()  # the rarer beside the other, the worse


def test_few_pairs_say_little_of_the_purity_and_extremes_are_cut() -> None:
    assert bounded_purity(1.0, 0.0) == MAX_PURITY and bounded_purity(-1.0, 0.0) == MIN_PURITY
    assert bounded_purity(1.0, 100.0) == pytest.approx(USUAL_PURITY, abs=0.01)
    assert bounded_purity(0.8, 0.3) == pytest.approx(0.65)  # as likely as what is usual: half of each


def test_what_the_purity_tells() -> None:
    assert [is_telling(*each) for each in ((0.1, 0.0), (0.11, 0.0), (0.5, 0.25), (0.5, 0.15))] == [False, True] * 2
    assert [tells_failure(*each) for each in ((0.25, 0.25), (0.25, 0.26), (0.4, 0.0))] == [True, False, False]
    assert [tells_weakness(*each) for each in ((0.25, 0.125), (0.25, 0.12))] == [False, True]


def test_chosen_are_the_best_of_both_words_and_passed_over_the_best_of_neither() -> None:
    rows, columns = np.array([0, 0, 1, 1, 2, 3]), np.array([0, 1, 0, 2, 2, 3])
    graph = Graph.from_edges(rows, columns, np.array([3.0, 1.0, 2.0, 1.0, 4.0, -1.0]), (4, 4))
    chosen, passed_over = choose_edges(graph)
    assert chosen.tolist() == [True, False, False, False, True, False]  # the last is the best, but does not stand out
    assert passed_over.tolist() == [False, False, False, True, False, False]


def test_the_purity_is_read_with_the_counts_of_the_other_half_of_the_words() -> None:
    for graph, evidence in (planted(0.6, words=150), planted(0.6, words=5)):
        chosen, passed_over = choose_edges(graph)
        total, pairs = np.zeros(len(graph.weights)), chosen.sum()
        for edge, row in enumerate(graph.rows.tolist()):
            others = graph.rows % 2 != row % 2
            one = np.arange(len(total)) == edge
            total[edge] = evidence[0].where(one).nats(log_ratio(evidence[0], chosen & others, passed_over & others))[0]
        purity, deviation = [], []
        for words in (graph.rows, graph.indices):
            ours, rivals = share_among_worst(total, words, chosen)
            rivals = max(rivals, 1 / (pairs + 1))
            purity.append((1 - ours / rivals) / 0.9)
            deviation.append(np.sqrt((ours * (1 - ours) + 1 / pairs) / pairs) / rivals / 0.9)
        expected = np.mean(purity), np.mean(deviation)
        np.testing.assert_allclose(estimate_purity(graph, evidence, chosen, passed_over), expected)


def test_only_frequent_words_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, evidence = planted(0.8, words=120)
    few = graph.rows < 60
    part, its_evidence = graph.where(few), [each.where(few) for each in evidence]
    expected = count_weights(part, its_evidence), learn_log_odds(part, 40 * part.weights, 0.5, Capacities())
    monkeypatch.setattr("bilex.model.counting.MAX_COUNTED_WORDS", 60)
    counted, log_odds = count_weights(graph, evidence), learn_log_odds(graph, 40 * graph.weights, 0.5, Capacities())
    assert (counted.scale, counted.purity, log_odds) == (expected[0].scale, expected[0].purity, expected[1])


def test_every_source_word_takes_one_of_its_edges_or_none() -> None:
    lists = CandidateLists.of(np.array([0, 0, 2]))
    logits = np.array([1.0, 2.0, -1.0])
    odds = np.exp(logits)
    both = 1 + odds[0] + odds[1]
    np.testing.assert_allclose(choice_probabilities(lists, logits), [*odds[:2] / both, odds[2] / (1 + odds[2])])
    assert choice_probabilities(lists, np.array([1000.0, 0.0, -1000.0])).tolist() == [1, 0, 0]  # without overflow


@pytest.mark.parametrize(("scale", "strength"), [(12.0, 2.0), (5.0, 1.0)])
def test_the_scale_makes_the_other_evidence_most_probable(scale: float, strength: float) -> None:
    rng, (graph, _) = np.random.default_rng(0), planted(0.9, words=500)
    graph = replace(graph, weights=rng.uniform(0, 0.4, len(graph.weights))).where(rng.random(len(graph.weights)) < 0.4)
    logits = scale * graph.weights - 1 + rng.gumbel(size=len(graph.weights))
    taken = heaviest_of(logits, graph.rows) & (logits > rng.gumbel(size=500)[graph.rows])  # none, otherwise
    evidence = strength * (rng.normal(size=len(taken)) + strength * taken)
    evidence -= strength**2 / 2  # the log-ratio of two normal distributions

    def surprise(found: Floats) -> float:
        logits = found[0] * graph.weights + found[1]
        totals = [1 + np.bincount(graph.rows, np.exp(each), 500) for each in (logits + evidence, logits)]
        return float(np.log(totals[1] / totals[0]).sum())

    best = minimize(surprise, [15.0, -2.0], method="BFGS", options={"gtol": 1e-3}).x[0]
    assert learn_scale(graph, evidence) == pytest.approx(best, rel=0.01) == pytest.approx(scale, rel=0.4)
    assert learn_scale(graph, -20 * graph.weights) == MIN_SCALE


def test_nothing_to_count_is_no_error() -> None:
    counted = count_weights(NOTHING, [frequency([])])
    assert not counted.curves["frequency"].any() and (counted.purity, counted.deviation) == (0.0, 1.0)
    assert learn_log_odds(NOTHING, np.zeros(0), 0.5, Capacities()) == LOG_ODDS_RANGE[0]
    below = Graph.from_edges(np.array([0, 1]), np.array([0, 1]), np.array([-1.0, -1.0]), (2, 2))  # none stands out
    counted = count_weights(below, [frequency([0.0, 1.0])])
    assert (counted.purity, counted.deviation) == (0.0, 1.0)


def test_the_log_odds_reach_the_purity() -> None:
    graph, _ = planted(0.8, words=400)
    for purity in (0.3, 0.8, 0.9):
        log_odds = learn_log_odds(graph, 40 * graph.weights, purity, Capacities())
        posterior = worthwhile_posterior(replace(graph, weights=40 * graph.weights + log_odds), Capacities())
        chosen = heaviest_of(graph.weights, graph.rows) & heaviest_of(graph.weights, graph.indices)
        words = np.unique(graph.rows[chosen])
        assert posterior[np.isin(graph.rows, words)].sum() / len(words) == pytest.approx(purity, abs=0.04)
    improbable = np.full(len(graph.weights), -30.0)
    assert (
        -0.1 < learn_log_odds(graph, improbable, 0.9, Capacities()) <= 0
    )  # no pair is more probable than its evidence

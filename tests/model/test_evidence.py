"""The weight of a pair: ratios counted on edges, purity, scale, and the ranking that follows."""

from __future__ import annotations

import random
import string
from typing import Any

import numpy as np
import pytest

import bilex
from bilex.errors import BilexError
from bilex.matching.graph import Graph
from bilex.model.evidence import (
    MAX_RATIO,
    FrequencyEvidence,
    PairWeights,
    SpellingEvidence,
    bins_of,
    choice_probabilities,
    decontaminate,
    estimate_purity,
    heaviest_of,
    learn_weights,
    log_ratio,
    never_falling,
)
from bilex.model.ranking import WeightedSpace
from bilex.search.local import LocalEngine
from bilex.vectors.embeddings import Embeddings
from bilex.vectors.spelling import SpellingComparison
from tests.languages import make_languages

ENGINE = LocalEngine(threads=1)


def test_bins_are_closed_below_and_the_last_has_no_end() -> None:
    kind = FrequencyEvidence()
    assert bins_of(np.array([-1.0, 0.0, 0.49, 0.5, 5.99, 6.0, 99.0]), kind).tolist() == [0, 0, 0, 1, 11, 12, 12]


def test_the_heaviest_edge_of_each_word_ties_to_the_first() -> None:
    weights, words = np.array([1.0, 3.0, 3.0, 2.0]), np.array([0, 0, 0, 1])
    assert heaviest_of(weights, words).tolist() == [False, True, False, True]


def test_values_that_never_fall_are_the_nearest_such_values() -> None:
    found = never_falling(np.array([1.0, 3.0, 2.0, 2.0, 5.0]), np.array([1.0, 1.0, 1.0, 2.0, 1.0]))
    np.testing.assert_allclose(found, [1.0, 2.25, 2.25, 2.25, 5.0])


def test_a_log_ratio_is_that_of_the_smoothed_histograms() -> None:
    kind, rng = FrequencyEvidence(), np.random.default_rng(0)
    values = np.concatenate([rng.uniform(0, 2, 4000), rng.uniform(0, 6.5, 4000)])
    chosen = np.arange(8000) < 4000
    nats = log_ratio(kind, values, chosen, ~chosen)
    np.testing.assert_allclose(nats[:4], np.log(3.25), atol=0.15)  # four bins of thirteen hold all the chosen
    assert (nats[4:] < -2).all()
    assert (np.diff(nats) <= 1e-12).all()
    few = log_ratio(kind, values[:2], np.array([True, False]), np.array([False, True]))
    assert np.abs(few).max() < 1.5  # two edges say little


@pytest.mark.parametrize("purity", [1.0, 0.4])
def test_wrong_pairs_are_removed_from_the_counts(purity: float) -> None:
    right, wrong = np.array([0.6, 0.3, 0.1]), np.array([0.2, 0.3, 0.5])
    mixed = purity * right + (1 - purity) * wrong
    np.testing.assert_allclose(decontaminate(np.log(mixed / wrong), purity), np.log(right / wrong), atol=1e-12)
    assert decontaminate(np.array([9.0]), 0.5)[0] == MAX_RATIO


def test_every_source_word_takes_one_of_its_edges_or_none() -> None:
    graph = Graph.from_edges(np.array([0, 0, 2]), np.array([0, 1, 1]), np.zeros(3), (3, 2))
    logits = np.array([1.0, 2.0, -1.0])
    odds = np.exp(logits)
    np.testing.assert_allclose(
        choice_probabilities(graph, logits),
        [odds[0] / (1 + odds[0] + odds[1]), odds[1] / (1 + odds[0] + odds[1]), odds[2] / (1 + odds[2])],
    )


def planted(share: float, words: int = 1500, candidates: int = 8) -> tuple[Graph, list[Any]]:
    """Make candidates of each word; the first stands out, and is right (and about as frequent) in a `share` of them."""
    rng = np.random.default_rng(1)
    rows = np.repeat(np.arange(words), candidates)
    columns = rng.integers(0, words, words * candidates)
    right = rng.random(words) < share
    near = np.clip(np.arange(words) * np.exp(0.3 * rng.normal(size=words)), 0, words - 1).astype(np.int64)
    columns[::candidates] = np.where(right, near, columns[::candidates])
    weights = rng.uniform(0.0, 0.2, len(rows))
    weights[::candidates] = rng.uniform(0.25, 0.4, words)
    return Graph.from_edges(rows, columns, weights, (words, words)), [FrequencyEvidence()]


def test_the_purity_follows_the_share_of_right_pairs_and_is_near_0_in_a_failed_run() -> None:
    found = {}
    for share in (0.0, 0.5, 0.95):
        graph, kinds = planted(share)
        chosen = heaviest_of(graph.weights, graph.rows) & heaviest_of(graph.weights, graph.indices)
        passed = ~heaviest_of(graph.weights, graph.rows) & ~heaviest_of(graph.weights, graph.indices)
        values = [kind.measure(graph.rows, graph.indices) for kind in kinds]
        found[share], deviation = estimate_purity(graph, kinds, values, chosen, passed)
        assert 0 < deviation < 0.2
    assert abs(found[0.0]) < 0.25
    assert found[0.0] < found[0.5] < found[0.95]
    assert found[0.95] > 0.7


def test_learnt_weights_are_kept_in_the_manifest() -> None:
    weights = learn_weights(*planted(0.8))
    with pytest.raises(ValueError, match="not the weights"):
        PairWeights.from_summary(weights.summary())  # without the spelling it is not a run's
    graph = planted(0.8)[0]
    spelling = SpellingComparison(["word"] * 1500, ["mot"] * 1500)
    whole = learn_weights(graph, [SpellingEvidence(spelling), FrequencyEvidence()])
    again = PairWeights.from_summary(whole.summary())
    assert again.summary() == whole.summary()
    assert whole.scale >= 1
    for damaged in (
        {},
        {"scale": "x"},
        {**whole.summary(), "ratios": {"spelling": [0.0]}},
        {**whole.summary(), "scale": np.nan},
    ):
        with pytest.raises(ValueError, match=r"weights|convert"):
            PairWeights.from_summary(damaged)


def test_a_graph_without_edges_has_weights_too() -> None:
    nothing = Graph.from_edges(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), (3, 3))
    weights = learn_weights(nothing, [FrequencyEvidence()])
    assert not weights.ratios["frequency"].any()


# Ranking


@pytest.fixture(scope="module")
def run() -> bilex.Run:
    """A hard pair of languages in which translations are spelt nearly alike."""
    data, rng = make_languages(words=400, shared=0, noise=0.9, random=3), random.Random(0)
    names = {word: "".join(rng.choices(string.ascii_lowercase, k=8)) for word in data.source.words}
    others = {word: "".join(rng.choices(string.ascii_lowercase, k=8)) for word in data.target.words}
    others |= {t: f"{names[s]}{place}" for place, (s, t) in enumerate(data.gold)}
    source = Embeddings(tuple(names.values()), data.source.vectors)
    target = Embeddings(tuple(others.values()), data.target.vectors)
    gold = [(names[s], others[t]) for s, t in data.gold]
    learnt = bilex.induce(source, target, gold[:120], "ruder2018", engine=ENGINE)
    learnt.info["gold"] = gold[120:]
    return learnt


def test_spelling_and_frequency_improve_the_ranking(run: bilex.Run) -> None:
    gold = run.info["gold"]
    by_csls, by_model = (run.evaluate(gold, retrieval=name).precision_at(1) for name in ("csls", "model"))
    assert by_model > by_csls + 0.05
    reverse = [(t, s) for s, t in gold]
    assert run.evaluate(reverse, reverse=True).precision_at(1) > run.evaluate(
        reverse, reverse=True, retrieval="csls"
    ).precision_at(1)


def test_ranks_scores_and_answers_agree(run: bilex.Run) -> None:
    space = run.weighted_space
    assert isinstance(space, WeightedSpace)
    rows = np.arange(40)
    found = space.search(rows, 50, "model", ENGINE)
    assert (np.diff(found.scores[:, :30], axis=1) <= 0).all()
    for place in (0, 7, 29, 45):
        chosen = found.indices[:, place]
        np.testing.assert_array_equal(space.rank(rows, chosen, "model", ENGINE), place + 1)
        np.testing.assert_allclose(space.scores(rows, chosen, "model"), found.scores[:, place], atol=1e-5)
    csls = space.search(rows, 30, "csls", ENGINE).indices
    assert [set(row) for row in csls.tolist()] == [set(row) for row in found.indices[:, :30].tolist()]
    first = run.translate(run.source.words[0], k=3)
    assert [answer.word for answer in first] == [run.target.words[i] for i in found.indices[0, :3]]


def test_a_run_of_the_first_version_ranks_by_csls(run: bilex.Run) -> None:
    info = {key: value for key, value in run.info.items() if key != "weights"}
    old = bilex.Run(run.source, run.target, run.theta, run.space, run.lexicon, info)
    word = run.source.words[0]
    assert old.translate(word) == run.translate(word, retrieval="csls")
    assert old.evaluate(run.info["gold"]).retrieval == "csls"
    damaged = bilex.Run(run.source, run.target, run.theta, run.space, run.lexicon, {**info, "weights": {}})
    with pytest.raises(BilexError, match="damaged"):
        damaged.translate(word)

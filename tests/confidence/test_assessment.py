"""The confidence of an entry: its evidence against dense oracles, cross-fitting and calibration."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import bilex
from bilex.confidence.assessment import (
    EVIDENCE_FEATURES,
    FOLDS,
    MARGIN,
    NO_RIVAL_CSLS,
    TEMPERATURE,
    EdgeEvidence,
    KnownTranslations,
    compare_with_rivals,
    edge_posterior,
    labelled_examples,
)
from bilex.confidence.calibration import calibration_error
from bilex.em.context import Context
from bilex.errors import BilexError
from bilex.induction import learn
from bilex.matching.graph import Capacities, Graph, RowPairs
from bilex.methods import find_method
from bilex.model.maps import procrustes
from bilex.numerics.rows import unit
from bilex.runs.entries import Learnt, edge_evidence
from bilex.runs.prepared import prepare
from bilex.search.local import LocalEngine
from bilex.vectors.spelling import SpellingComparison
from tests.languages import Languages, make_languages

ENGINE = LocalEngine(threads=1)


@pytest.fixture(scope="module")
def languages() -> Languages:
    return make_languages(200, noise=0.4)


def learn_from(languages: Languages, seed: list[tuple[str, str]]) -> Learnt:
    return learn(prepare(languages.source, languages.target, seed, find_method("ruder2018")), Context(ENGINE))


@pytest.fixture(scope="module")
def learnt(languages: Languages) -> Learnt:
    return learn_from(languages, languages.gold[:60])


def evidence_of(learnt: Learnt) -> EdgeEvidence:
    return edge_evidence(learnt.fit.matching.pairs, learnt, *learnt.shared_space(ENGINE))


def test_the_cosines_are_those_of_maps_fitted_to_the_other_folds(learnt: Learnt) -> None:
    found = evidence_of(learnt)
    source, target = learnt.source.vectors, unit(learnt.target.vectors)
    rows, columns = learnt.fit.matching.source, learnt.fit.matching.target
    cosines = np.empty((len(source), len(target)))
    for word in range(len(source)):
        others = rows % FOLDS != word % FOLDS
        omega = procrustes(source[rows[others]], learnt.target.vectors[columns[others]])
        mapped = source[word].astype(np.float64) @ omega.T
        cosines[word] = target @ (mapped / np.linalg.norm(mapped))
    _, near = learnt.shared_space(ENGINE)
    forth = np.take_along_axis(cosines, near.of_source, axis=1).mean(axis=1)
    back = np.take_along_axis(cosines.T, near.of_target, axis=1).mean(axis=1)
    expected = 2 * cosines - forth[:, None] - back
    np.testing.assert_allclose(found.graph.weights, expected[found.graph.rows, found.graph.indices], atol=1e-5)
    edges = set(zip(found.graph.rows.tolist(), found.graph.indices.tolist(), strict=True))
    assert edges >= set(zip(rows.tolist(), columns.tolist(), strict=True))
    assert edges >= {(row, column) for row, near in enumerate(near.of_source.tolist()) for column in near}
    posterior, _ = edge_posterior(replace(found.graph, weights=found.graph.weights - MARGIN), Capacities(), TEMPERATURE)
    np.testing.assert_array_equal(found.posterior, posterior)


def test_features_agree_with_their_definitions() -> None:
    graph = Graph.from_edges(np.array([0, 0, 1, 2]), np.array([0, 1, 1, 2]), np.array([0.5, 0.3, 0.4, -0.2]), (3, 4))
    spelling = SpellingComparison(("one", "two", "été"), ("one", "abc", "ete", "d"))
    found = EdgeEvidence(graph, np.array([0.9, 0.2, 0.5, 0.0]), spelling)
    places = found.find_edges(RowPairs(np.array([0, 0, 2]), np.array([0, 1, 2])))
    assert places.tolist() == [0, 1, 3]
    features = dict(zip(EVIDENCE_FEATURES, found.features(places).T, strict=True))
    np.testing.assert_allclose(features["posterior"], [np.log(9), np.log(0.25), np.log(1e-4 / (1 - 1e-4))])
    np.testing.assert_allclose(features["csls"], [0.5, 0.3, -0.2])
    np.testing.assert_allclose(features["above source"], [0.2, -0.2, -0.2 - NO_RIVAL_CSLS])
    np.testing.assert_allclose(features["above target"], [0.5 - NO_RIVAL_CSLS, -0.1, -0.2 - NO_RIVAL_CSLS])
    np.testing.assert_allclose(features["mutual"], [1, 0, 1])
    np.testing.assert_allclose(features["spelling"], [1, 0, 1])
    np.testing.assert_allclose(features["rank"], [0, 0, np.log(3)])
    np.testing.assert_allclose(features["depth"], [0, 0.25, 0.5])


def test_rivals_agree_with_their_definition() -> None:
    rng = np.random.default_rng(0)
    words, weights = rng.integers(0, 8, 40), rng.uniform(-1, 1, size=40)
    first, above = compare_with_rivals(weights, words, 8, np.arange(40))
    for edge in range(40):
        others = [weights[other] for other in range(40) if other != edge and words[other] == words[edge]]
        assert first[edge] == (weights[edge] > max(others, default=-np.inf))
        assert above[edge] == pytest.approx(weights[edge] - max(others, default=NO_RIVAL_CSLS))


def test_examples_are_the_best_edges_of_known_words(learnt: Learnt) -> None:
    found = evidence_of(learnt)
    known = KnownTranslations(RowPairs(np.array([3, 3, 7]), np.array([1, 4, 2])), np.array([11]))
    places, right = labelled_examples(found, known)
    assert found.graph.rows[places].tolist() == [3, 7, 11]
    for place, correct in zip(places, right, strict=True):
        word, target = found.graph.rows[place], found.graph.indices[place]
        own = found.graph.rows == word
        assert found.posterior[place] == found.posterior[own].max()
        assert correct == ((word, target) in {(3, 1), (3, 4), (7, 2)})


def test_confidence_separates_right_from_wrong_and_a_seed_calibrates_it() -> None:
    languages = make_languages(1500, dimension=40, noise=1.5, random=3)
    shuffled = [languages.gold[place] for place in np.random.default_rng(0).permutation(len(languages.gold))]
    seed, gold = shuffled[:600], set(languages.gold)
    given = {source for source, _ in seed}
    run = bilex.induce(languages.source, languages.target, seed, "ruder2018", complete=True)
    entries = [entry for entry in run.lexicon if entry.source not in given]
    confidence = np.array([entry.confidence for entry in entries])
    right = np.array([entry[:2] in gold for entry in entries])
    assert 0.2 < right.mean() < 0.8  # neither is easy
    assert calibration_error(confidence, right) < 0.08
    assert right[confidence > 0.8].mean() > right.mean() + 0.2
    assert run.info["confidence"]["calibrated_on"] == "held-out seed words"
    assert run.info["confidence"]["held_out_error"] < 0.1


def test_user_supplied_pairs_get_confidence_1_and_identical_strings_do_not(languages: Languages) -> None:
    run = bilex.induce(languages.source, languages.target, languages.gold[:60], "ruder2018")
    assert {entry.confidence for entry in run.lexicon if entry.origin == "seed"} == {1.0}
    assert run.info["confidence"]["examples"] == len({source for source, _ in languages.gold[:60]})
    spelt = bilex.induce(languages.source, languages.target, "identical", "ruder2018")
    assert any(entry.confidence != 1.0 for entry in spelt.lexicon if entry.origin == "seed")
    assert spelt.info["confidence"]["examples"] == 0


def test_words_of_the_seed_whose_translations_have_no_vector_count_as_wrong(languages: Languages) -> None:
    seed = [*languages.gold[:60], *((source, "nowhere") for source, _ in languages.gold[100:120])]
    learnt = learn_from(languages, seed)
    given, missing = learnt.prepared.seed, {languages.source.index[source] for source, _ in languages.gold[100:120]}
    assert set(given.unanswered.tolist()) == missing - set(given.source.tolist())
    _, right = labelled_examples(evidence_of(learnt), KnownTranslations(RowPairs(), given.unanswered))
    assert len(right) == len(given.unanswered) > 0
    assert not right.any()


@pytest.mark.parametrize(
    ("method", "changes"),
    [
        ("ruder2018-2:2", {}),
        ("ibm1-em", {}),
        ("haghighi2008", {}),
        ("bilex", {"supervision": "fixed"}),
    ],
)
def test_confidences_are_probabilities(languages: Languages, method: str, changes: dict[str, Any]) -> None:
    run = bilex.induce(languages.source, languages.target, languages.gold[:60], method, complete=True, **changes)
    confidence = run.lexicon.confidence
    assert confidence is not None and len(confidence) == len(run.lexicon)
    assert ((confidence >= 0) & (confidence <= 1)).all()


def test_min_confidence_is_applied_after_the_verdict(languages: Languages) -> None:
    whole = bilex.induce(languages.source, languages.target, "identical", "ruder2018")
    assert whole.lexicon.confidence is not None
    least = float(np.median(whole.lexicon.confidence))
    part = bilex.induce(languages.source, languages.target, "identical", "ruder2018", min_confidence=least)
    assert list(part.lexicon) == list(whole.lexicon.confident(least))
    assert 0 < len(part.lexicon) < len(whole.lexicon)
    assert part.info["verdict"] == whole.info["verdict"]
    assert part.info["confidence"]["listed_of"] == len(whole.lexicon)
    with pytest.raises(BilexError):
        bilex.induce(languages.source, languages.target, min_confidence=2)


def test_tiny_languages_have_confidences_too() -> None:
    languages = make_languages(40, noise=0.01)
    few = replace(languages.source, words=languages.source.words[:3], vectors=languages.source.vectors[:3])
    run = bilex.induce(few, languages.target, languages.gold[:2], "artetxe2016")
    assert len(run.lexicon) == 3
    assert all(entry.confidence is not None for entry in run.lexicon)

"""Scores against a slow, independent evaluation: sort all targets of each query and look for a translation."""

from __future__ import annotations

import numpy as np
import pytest

from bilex.evaluation.translation import NotCovered, TranslationScore, evaluate_translation
from bilex.matching.graph import Graph
from bilex.model.candidates import CandidatePairs, CandidateSpace
from bilex.numerics.rows import apply
from bilex.search.local import LocalEngine
from bilex.search.space import CROWDING_NEIGHBOURS, SharedSpace
from bilex.vectors.embeddings import Embeddings
from tests import oracles

ENGINE = LocalEngine(threads=2, query_block=16, target_block=7)
Gold = list[tuple[str, str]]


def language(prefix: str, vectors: np.ndarray) -> Embeddings:
    return Embeddings(tuple(f"{prefix}{row}" for row in range(len(vectors))), vectors.astype(np.float32))


def make(random: int) -> tuple[Embeddings, Embeddings, SharedSpace, Gold]:
    """Make two languages with doubled vectors (ties), and a gold list with every awkward kind of line."""
    rng = np.random.default_rng(random)
    vectors = rng.normal(size=(45, 6))
    target = vectors[rng.integers(45, size=60)] + 0.4 * rng.normal(size=(60, 6))
    target[50:] = target[rng.integers(50, size=10)]  # exact ties
    source, other = language("s", vectors), language("t", target)
    gold = [(f"s{rng.integers(50)}", f"t{rng.integers(66)}") for _ in range(150)]  # some words unknown, some doubled
    gold += [("s3", "t50"), ("s3", "t51"), ("absent", "t1"), ("s44", "absent"), gold[0]]
    space = SharedSpace.from_vectors(apply(oracles.random_orthogonal(rng, 6), source.vectors), other.vectors, ENGINE)
    return source, other, space, gold


def slow_figures(
    source: Embeddings, target: Embeddings, space: SharedSpace, gold: Gold, retrieval: str
) -> dict[str, object]:
    """Score one query after the other, with lists and loops."""
    nearest = oracles.score_matrix(space.source, space.target)
    scores = nearest if retrieval == "nn" else oracles.csls(space.source, space.target, CROWDING_NEIGHBOURS)
    scores = scores.round(5)  # equal vectors are equal, whatever the order of summation
    places, queries = [], []
    for word, _ in gold:
        if word not in queries:
            queries.append(word)
    for word in queries:
        translations = [other for query, other in gold if query == word and other in target.words]
        if word not in source.words or not translations:
            continue
        row = scores[source.words.index(word)]
        ranking = np.lexsort((np.arange(len(target)), -row)).tolist()
        places.append(1 + min(ranking.index(target.words.index(other)) for other in translations))
    return {
        **{f"p@{k}": sum(place <= k for place in places) / len(places) for k in (1, 5, 10)},
        "mrr": sum(1 / place for place in places) / len(places),
        "coverage": len(places) / len(queries),
        "queries": len(queries),
        "covered": len(places),
        "p@1_all": sum(place == 1 for place in places) / len(queries),
        "retrieval": retrieval,
    }


@pytest.mark.parametrize(("retrieval", "reverse"), [("nn", False), ("csls", True)])
def test_agrees_with_the_slow_evaluation(retrieval: str, reverse: bool) -> None:
    source, target, space, gold = make(0)
    if reverse:
        source, target, space, gold = target, source, space.mirrored(), [(t, s) for s, t in gold]
    figures = evaluate_translation((space, source, target), gold, retrieval, ENGINE).figures()
    slow = slow_figures(source, target, space, gold, retrieval)
    assert {name: figures[name] for name in slow} == pytest.approx(slow)
    assert 0 < figures["coverage"] < 1  # type: ignore[operator]


def identity(vectors: list[list[float]], others: list[list[float]]) -> tuple[Embeddings, Embeddings, SharedSpace]:
    source, target = language("s", np.array(vectors)), language("t", np.array(others))
    return source, target, SharedSpace.from_vectors(source.vectors, target.vectors, ENGINE)


def score(gold: Gold, retrieval: str = "nn") -> TranslationScore:
    """Evaluate on two sources; s0's order is t0, then t1 and t3 (the same vector), then t2."""
    vectors = [[1.0, 0.1], [0.0, 1.0]]
    return evaluate_translation(_ordered(vectors), gold, retrieval, ENGINE)


def _ordered(vectors: list[list[float]]) -> tuple[SharedSpace, Embeddings, Embeddings]:
    source, target, space = identity(vectors, [[1, 0.1], [1, 0.5], [-1, 0], [1, 0.5]])
    return space, source, target


def test_the_best_of_several_translations_counts() -> None:
    assert score([("s0", "t2"), ("s0", "t1")]).ranks.tolist() == [2]
    assert score([("s0", "t2"), ("s0", "t1"), ("s0", "t0")]).ranks.tolist() == [1]


def test_of_equal_targets_the_more_frequent_comes_first() -> None:
    assert score([("s0", "t1")]).ranks.tolist() == [2]
    assert score([("s0", "t3")]).ranks.tolist() == [3]
    assert score([("s0", "t3"), ("s0", "t1")]).ranks.tolist() == [2]


def test_an_uncovered_query_only_counts_where_all_queries_do() -> None:
    figures = score([("s0", "t0"), ("s1", "absent"), ("absent", "t0"), ("s0", "absent")]).figures()
    assert (figures["p@1"], figures["mrr"]) == (1, 1)
    assert (figures["queries"], figures["covered"]) == (3, 1)
    assert figures["coverage"] == figures["p@1_all"] == pytest.approx(1 / 3)


def test_the_words_go_with_the_ranks() -> None:
    result = score([("s1", "t2"), ("absent", "t1"), ("s0", "t1")])
    assert dict(zip(result.words, result.ranks.tolist(), strict=True)) == {"s0": 2, "s1": 4}
    assert result.precision_at(1) == 0
    assert result.precision_at(2) == 0.5


def test_a_gold_dictionary_without_a_known_word_is_an_error() -> None:
    with pytest.raises(NotCovered):
        score([("t0", "s0"), ("t1", "s0")])


def test_sets_of_translations_are_scored_pair_by_pair() -> None:
    source, target, space, _ = make(0)
    edges = [(0, 1, 0.9), (0, 2, 0.5), (0, 3, 0.1), (1, 4, 0.6), (2, 5, 0.05), (7, 8, 0.9)]
    rows, columns, probability = (np.array(each) for each in zip(*edges, strict=True))
    graph = Graph.from_edges(rows, columns, probability, (len(source), len(target)))
    known = CandidateSpace.over(space, CandidatePairs(graph, probability), 15.0, -5.0)
    gold = [("s0", "t1"), ("s0", "t3"), ("s1", "t9"), ("s2", "t5"), ("s2", "absent"), ("absent", "t1")]
    figures = {
        limit: evaluate_translation((known, source, target), gold, "model", ENGINE, "covered", limit).figures()
        for limit in (0.5, 0.1, 1.0)
    }
    assert [figures[0.5][f"set_{name}"] for name in ("precision", "recall")] == pytest.approx([1 / 3, 1 / 4])
    assert figures[0.5]["set_f1"] == pytest.approx(2 / 7)
    assert [figures[0.1][f"set_{name}"] for name in ("precision", "recall")] == pytest.approx([2 / 4, 2 / 4])
    assert [figures[1.0][f"set_{name}"] for name in ("precision", "recall", "f1", "threshold")] == [0, 0, 0, 1.0]
    assert "set_f1" not in evaluate_translation((space, source, target), gold, "nn", ENGINE).figures()

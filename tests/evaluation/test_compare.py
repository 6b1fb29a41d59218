"""Two runs side by side, and the exact test against SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from bilex.errors import BilexError
from bilex.evaluation.compare import Comparison, compare_translations, mcnemar
from bilex.evaluation.translation import evaluate_translation
from bilex.search.local import LocalEngine
from bilex.search.space import SharedSpace
from bilex.vectors.embeddings import Embeddings
from tests.evaluation.spaces import Pairs, Space, make_space

ENGINE = LocalEngine(threads=1)


@settings(max_examples=40)
@given(st.integers(0, 400), st.integers(0, 400))
def test_mcnemar_is_the_binomial_test(only_a: int, only_b: int) -> None:
    expected = scipy.stats.binomtest(only_a, only_a + only_b).pvalue if only_a + only_b else 1
    assert mcnemar(only_a, only_b) == pytest.approx(expected, rel=1e-9)


def test_mcnemar_of_many_words_neither_overflows_nor_stalls() -> None:
    assert mcnemar(6000, 6200) == pytest.approx(scipy.stats.binomtest(6000, 12200).pvalue)
    assert mcnemar(0, 5000) == 0  # 2^-4999 is less than any float


def answers(**answer: str) -> Space:
    """Make a run whose nearest neighbours are the given ones: query="answer"."""
    words = sorted(set(answer.values()))
    target = np.eye(8, dtype=np.float32)[: len(words)]
    source = np.array([target[words.index(word)] for word in answer.values()])
    space = SharedSpace.from_vectors(source, target, ENGINE)
    return Space(space, Embeddings(tuple(answer), source), Embeddings(tuple(words), target))


def test_every_outcome_by_hand() -> None:
    a = answers(dog="chien", cat="chien", house="chat", red="rouge", blue="rouge", extra="chien", tile="toit")
    b = answers(blue="rouge", red="pourpre", house="demeure", cat="chat", dog="chien", tile="chien")
    gold: Pairs = [
        ("house", "maison"),
        ("house", "chat"),  # A is right by a second translation
        ("dog", "chien"),
        ("cat", "chat"),
        ("red", "rouge"),
        ("red", "pourpre"),  # both are right, and differ
        ("blue", "pourpre"),  # both are wrong and agree; A does not know the word pourpre, so it is not covered
        ("extra", "chien"),  # B has no such query
        ("tile", "toit"),  # B has the query, but not its translation
        ("none", "chien"),
    ]
    compared = compare_translations(a, b, gold, "nn", ENGINE)
    assert [(word.query, word.gold, word.a, word.b, word.right) for word in compared.words] == [
        ("dog", ("chien",), "chien", "chien", "both"),
        ("cat", ("chat",), "chien", "chat", "B"),
        ("house", ("maison", "chat"), "chat", "demeure", "A"),
        ("red", ("rouge", "pourpre"), "rouge", "pourpre", "both"),
    ]
    assert compared.figures() == {
        "p@1_a": 0.75,
        "p@1_b": 0.75,
        "p_value": 1.0,
        "both_right": 2,
        "only_a": 1,
        "only_b": 1,
        "both_wrong": 0,
        "differ": 3,
        "queries": 8,
        "compared": 4,
        "left_out": 4,
        "covered_a": 6,
        "covered_b": 5,
        "retrieval": "nn",
    }
    assert [word.query for word in compared.differing()] == ["cat", "house", "red"]


def test_both_wrong_but_different_only_on_request() -> None:
    a, b = answers(x="one", y="one", z="three"), answers(x="two", y="two", z="three", w="one")
    gold = [("x", "three"), ("y", "two"), ("y", "three"), ("z", "three")]
    compared = compare_translations(a, b, gold, "nn", ENGINE)
    assert compared.counts == {"neither": 1, "B": 1, "both": 1}
    assert [word.query for word in compared.differing()] == ["y"]
    assert [word.query for word in compared.differing(wrong=True)] == ["x", "y"]


def compare_random(random: int, retrieval: str) -> tuple[Space, Space, Pairs, Comparison]:
    a, b = make_space(random, 40, 50, 0.4), make_space(random, 35, 45, 0.9)
    gold = [(f"s{row}", f"t{row}") for row in range(48)] + [(f"s{row}", f"t{row + 5}") for row in range(45)]
    return a, b, gold, compare_translations(a, b, gold, retrieval, ENGINE)


@pytest.mark.parametrize("retrieval", ["nn", "csls"])
def test_agrees_with_evaluating_each_run_on_the_common_queries(retrieval: str) -> None:
    a, b, gold, compared = compare_random(0, retrieval)
    common = {word.query for word in compared.words}
    assert common == {f"s{row}" for row in range(35)}
    figures = compared.figures()
    for name, side in (("a", a), ("b", b)):
        known = [pair for pair in gold if pair[0] in common]
        expected = evaluate_translation(side, known, retrieval, ENGINE).figures()["p@1"]
        assert figures[f"p@1_{name}"] == pytest.approx(expected)
        covered = evaluate_translation(side, gold, retrieval, ENGINE).figures()["covered"]
        assert figures[f"covered_{name}"] == covered
    parts = ("both_right", "only_a", "only_b", "both_wrong")
    assert sum(figures[part] for part in parts) == figures["compared"] == 35
    assert figures["only_a"] > figures["only_b"]  # less noise is better, or the sides are mixed up


def test_exchanging_the_runs_exchanges_the_figures() -> None:
    a, b, gold, forth = compare_random(0, "nn")
    back = compare_translations(b, a, gold, "nn", ENGINE)
    assert [(word.query, word.b, word.a) for word in back.words] == [
        (word.query, word.a, word.b) for word in forth.words
    ]
    assert back.figures()["only_b"] == forth.figures()["only_a"]
    assert back.figures()["p_value"] == forth.figures()["p_value"]


def test_no_common_query_is_an_error() -> None:
    a, b = answers(x="one"), answers(y="one")
    with pytest.raises(BilexError, match=r"A covers 1, B 0"):
        compare_translations(a, b, [("x", "one"), ("y", "two")], "nn", ENGINE)

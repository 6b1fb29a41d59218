"""Correlations against SciPy's, and every way a term is found or missed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import scipy
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bilex.errors import BilexError
from bilex.evaluation.similarity import SimilarityScore, evaluate_similarity, pearson, spearman
from bilex.search.local import LocalEngine
from bilex.search.space import SharedSpace
from bilex.vectors.embeddings import Embeddings

values = st.lists(st.tuples(st.integers(-4, 4), st.floats(-5, 5)), min_size=2, max_size=30)


@settings(max_examples=40)
@given(values)
def test_correlations_are_scipys(pairs: list[tuple[int, float]]) -> None:
    x, y = (np.round(np.array(side, float), 3) for side in zip(*pairs, strict=True))  # integers: many ties
    assume(np.ptp(x) > 0 and np.ptp(y) > 0)
    assert pearson(x, y) == pytest.approx(scipy.stats.pearsonr(x, y).statistic, abs=1e-9)
    assert spearman(x, y) == pytest.approx(scipy.stats.spearmanr(x, y).statistic, abs=1e-9)


def test_extreme_values_do_not_overflow() -> None:
    x, y = np.array([1e308, -1e308, 0.0]), np.array([3e-310, -3e-310, 0.0])
    assert pearson(x, y) == pytest.approx(1)


SOURCE = {
    "dog": (1, 0, 0),
    "Rome": (0, 1, 0),
    "rome": (0, 0, 1),  # another word: found as it stands, Rome must win
    "World": (3, 0, 0),  # frequent, so it wins over world without capitals
    "world": (0, 5, 0),
    "war": (0, 2, 0),
    "new york": (0, 0, 7),
    "new": (1, 0, 0),
    "york": (0, 1, 0),
    "against": (-1, 0, 0),
    "zero": (0, 0, 0),
}
TARGET = {"Hund": (1, 0, 0), "katze": (0, 1, 0), "Krieg": (0.6, 0.8, 0), "Straße": (0, 0, 1)}
Triples = Sequence[tuple[str, str, float]]


def evaluate(pairs: Triples | Path, *, fold_case: bool = False, reverse: bool = False) -> SimilarityScore:
    source, target = (
        Embeddings(tuple(words), np.array(list(words.values()), np.float32)) for words in (SOURCE, TARGET)
    )
    space = SharedSpace.from_vectors(source.vectors, target.vectors, LocalEngine(threads=1))
    if reverse:
        return evaluate_similarity((space.mirrored(), target, source), pairs, fold_case=fold_case)
    return evaluate_similarity((space, source, target), pairs, fold_case=fold_case)


def cosine(source: str, target: str, *, fold_case: bool = False) -> float | None:
    score = evaluate([(source, target, 1.0)], fold_case=fold_case)
    assert score.covered[0] or score.cosines[0] == 0
    return float(score.cosines[0]) if score.covered[0] else None


def test_a_term_is_looked_up_as_it_stands() -> None:
    assert cosine("dog", "Hund") == pytest.approx(1)
    assert cosine("dog", "Krieg") == pytest.approx(0.6)
    assert cosine("Dog", "Hund") is None
    assert cosine("dog", "hund") is None
    assert cosine("new york", "Straße") == pytest.approx(1)  # a word of its own, not composed
    assert evaluate([("new york", "Straße", 1)]).composed == 0
    assert cosine("zero", "Hund") == 0


def test_folding_finds_the_most_frequent_but_prefers_the_exact_word() -> None:
    assert cosine("DOG", "HUND", fold_case=True) == pytest.approx(1)
    assert cosine("Rome", "katze", fold_case=True) == pytest.approx(1)
    assert cosine("rome", "Straße", fold_case=True) == pytest.approx(1)
    assert cosine("ROME", "Katze", fold_case=True) == pytest.approx(1)  # Rome comes before rome
    assert cosine("dog", "STRASSE", fold_case=True) is None  # ß is a letter, not a capital's other half
    score = evaluate([("DOG", "HUND", 1), ("dog", "Hund", 1)], fold_case=True)
    assert (score.folded, score.foldable) == (2, 0)


def test_words_are_composed_of_unit_vectors_and_only_of_all_their_words() -> None:
    assert cosine("World war", "Hund") == pytest.approx(math.sqrt(0.5))  # of unit vectors: lengths 3 and 2 are gone
    assert cosine("world war", "katze") == pytest.approx(1)
    assert cosine("World war II", "Hund") is None
    assert cosine("dog  war", "Hund Krieg") == pytest.approx(3 / math.sqrt(10))
    assert cosine("dog against", "Hund") == 0  # they cancel out: no direction, no similarity
    assert cosine("", "Hund") is None
    score = evaluate([("World war", "Hund Krieg", 1), ("WORLD WAR", "Hund", 1), ("dog II", "Hund", 2)], fold_case=True)
    assert (score.composed, score.folded, score.missing) == (3, 1, ("dog II",))


def test_both_conventions_are_always_reported() -> None:
    pairs = [("dog", "Hund", 4.0), ("dog", "Krieg", 2.5), ("dog", "katze", 1.0), ("cat", "katze", 4.0), ("x", "y", 0)]
    ours, gold = [1, 0.6, 0, 0, 0], [pair[2] for pair in pairs]
    score = evaluate(pairs)
    expected = {
        "skip": (scipy.stats.spearmanr(ours[:3], gold[:3])[0], scipy.stats.pearsonr(ours[:3], gold[:3])[0], 3),
        "zero": (scipy.stats.spearmanr(ours, gold)[0], scipy.stats.pearsonr(ours, gold)[0], 5),
    }
    for missing in ("skip", "zero"):
        figures = score.figures(missing)
        for name, triple in expected.items():
            assert list(figures[name]) == ["spearman", "pearson", "pairs"]
            assert tuple(figures[name].values()) == pytest.approx(triple)
        assert (figures["spearman"], figures["pearson"]) == pytest.approx(expected[missing][:2])
        assert (figures["pairs"], figures["covered"], figures["missing"]) == (5, 3, missing)
        assert figures["missing_terms"] == 3


def test_reverse_reads_the_target_term_first() -> None:
    pairs = [("Hund", "dog", 3.0), ("Krieg", "dog", 2.0), ("katze", "dog", 1.0)]
    assert evaluate(pairs, reverse=True).correlations()["spearman"] == pytest.approx(1)
    assert not evaluate(pairs).covered.any()


def fails(pairs: Triples, pattern: str, missing: str = "skip", fold_case: bool = False) -> None:
    with pytest.raises(BilexError, match=pattern) as caught:
        evaluate(pairs, fold_case=fold_case).figures(missing)
    assert "\n" not in str(caught.value)


def test_no_correlation_is_an_error_and_never_nan(tmp_path: Path) -> None:
    one = [("dog", "Hund", 1.0), ("Dog", "Hund", 2.0), ("y", "x", 3.0)]
    fails(one, r"1 of 3 pairs covered .* check the direction \(--reverse\), or fold .*--fold-case, 1 more pairs")
    fails([("x", "Hund", 1.0), ("x", "Krieg", 2.0)], r"0 of 2 pairs .*check the direction \(--reverse\)$")
    fails([("x", "Hund", 1.0), ("x", "Krieg", 2.0)], "0 of 2 pairs", "zero")
    fails([("dog", "Hund", 1.0), ("dog", "Krieg", 1.0)], "all 2 pairs have the score 1,.* different similarity")
    fails([("dog", "Hund", 1.0), ("dog", "Hund", 2.0)], "all 2 pairs have the cosine 1,")
    for score in (math.nan, math.inf):
        fails([("dog", "Hund", score), ("dog", "Krieg", 1.0), ("dog", "katze", 2.0)], f"{score}")
    fails([("dog", "Hund", 1.0), ("dog", "Krieg", 2.0)], "'mean'; choose one of skip, zero", "mean")
    figures = evaluate(one).figures("zero")  # what was asked for is defined, the other is not
    assert figures["skip"] == {"spearman": None, "pearson": None, "pairs": 1}
    assert figures["spearman"] == figures["zero"]["spearman"] == pytest.approx(-math.sqrt(3) / 2)
    path = tmp_path / "set.txt"
    path.write_text("x\ty\t1\n")
    with pytest.raises(BilexError, match=rf"^{path}: 0 of 1 pairs"):
        evaluate(path).figures()

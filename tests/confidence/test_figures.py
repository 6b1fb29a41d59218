"""The figures of a run, against their definitions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy

from bilex.confidence.figures import (
    InducedPairs,
    agreement_of_starts,
    evidence_of,
    induced_pairs,
    is_frequency_ordered,
    likelihood_rise,
    measure_run,
    nearest_counts,
    rank_correlation,
    saved_rows,
    seed_agreement,
)
from bilex.induction import induce
from bilex.matching.graph import RowPairs
from bilex.runs.run import Run
from bilex.search.local import LocalEngine
from bilex.vectors.embeddings import Embeddings
from tests.languages import Languages


def test_figures_agree_with_their_definitions(good_run: Run) -> None:
    found, lexicon = measure_run(good_run), good_run.lexicon
    sizes = len(good_run.source), len(good_run.target)
    assert (found.pairs, found.seen) == (len(lexicon), sizes)
    of_source, of_target = good_run.space.source_nearest, good_run.space.target_nearest
    weights = good_run.info["weights"]
    assert found.evidence == weights["purity"] - 2 * weights["deviation"]
    assert found.expected == pytest.approx(lexicon.expected_precision)
    agreement = good_run.info["configuration"]["seed"]["agreement"]
    assert found.seed_near == agreement["near"] / agreement["words"]
    counts = [np.bincount(of_source, minlength=sizes[1]), np.bincount(of_target, minlength=sizes[0])]
    assert found.hubness == pytest.approx(max(map(scipy.stats.skew, counts)))
    assert found.largest_hub == max(each.max() / each.sum() for each in counts)
    assert found.ordered and not found.measured


def test_figures_of_other_runs(good_run: Run, languages: Languages) -> None:
    about: tuple[dict[str, int], ...] = ({}, {"examples": 0}, {"examples": 1})
    runs = [replace(good_run, info={**good_run.info, "confidence": each}) for each in about]
    assert [measure_run(run).measured for run in runs] == [False, False, True]
    assert measure_run(replace(good_run, lexicon=good_run.lexicon.head(0))).expected is None
    rows = np.argsort(languages.target.words)
    target = Embeddings(tuple(languages.target.words[row] for row in rows), languages.target.vectors[rows])
    run = induce(languages.source.top(200), target, languages.gold, "ruder2018", max_rank=150, self_learning=False)
    found = measure_run(run)
    assert (found.seen, found.ordered) == ((200, 586), False)
    near = run.space.source_nearest, run.space.target_nearest
    counts = np.bincount(near[0], minlength=586), np.bincount(near[1], minlength=200)
    assert found.hubness == pytest.approx(max(map(scipy.stats.skew, counts)))


def test_nearest_neighbours_are_counted_among_frequent_words() -> None:
    assert nearest_counts(np.array([0, 1, 1, 3, 2]), (4, 3)).tolist() == [1, 2, 0]


def test_only_frequent_words_that_the_matching_saw_are_counted(languages: Languages) -> None:
    run = induce(languages.source, languages.target, languages.gold[:25], "ruder2018", max_rank=200)
    found = measure_run(run)
    assert found.seen == (200, 200)
    assert found.pairs <= 200
    likelihoods = [each["log_likelihood"] for each in run.info["iterations"]]
    assert found.rise == likelihoods[-1] - likelihoods[0] > 0
    assert (found.iterations, found.stopped) == (len(likelihoods), run.info["stopped"])


def test_entries_that_were_looked_up_are_no_induced_pairs(languages: Languages, good_run: Run) -> None:
    complete = induce(languages.source, languages.target, "identical", complete=True)
    assert len(complete.lexicon) > len(good_run.lexicon)
    assert measure_run(complete) == measure_run(good_run)


def test_words_outside_the_vocabulary_have_no_row(good_run: Run) -> None:
    lexicon = good_run.lexicon.head(5)
    strange = replace(lexicon, source=("nowhere", *lexicon.source[1:]))
    pairs = induced_pairs(replace(good_run, lexicon=strange))
    assert pairs.known.tolist() == [False, True, True, True, True]
    rows = RowPairs(np.array([-1, 0, 0, 1]), np.array([0, -1, 0, 1]))
    assert InducedPairs(lexicon, rows).known.tolist() == [False, False, True, True]
    assert saved_rows(np.array([3, 4]), ("a\tb", "c")).tolist() == [-1, 4]


@pytest.mark.parametrize(
    ("purity", "deviation", "least"),
    [(0.75, 0.125, 0.5), (0.25, 0.25, -0.25), (0.25, 0.125, 0.0), (0.25, 0.375, None), (0.125, 0.125, -0.125)],
)
def test_evidence_is_mute_where_none_or_half_of_the_pairs_may_be_right(
    purity: float, deviation: float, least: float | None
) -> None:
    assert evidence_of({"purity": purity, "deviation": deviation}) == least


def test_the_likelihood_counts_only_if_both_steps_of_em_maximise_it(good_run: Run) -> None:
    method = {"self_learning": True, "map": "orthogonal", "supervision": "start"}
    iterations = [{"log_likelihood": value} for value in (-5.0, -4.0, -3.0)]
    assert likelihood_rise(iterations, method) == 2
    assert likelihood_rise([], method) == 0
    for change in ({"self_learning": False}, {"map": "whitened"}, {"supervision": "fixed"}):
        assert likelihood_rise(iterations, {**method, **change}) is None
    assert measure_run(good_run).rise is None


def test_the_order_of_a_vocabulary_is_recognised(languages: Languages) -> None:
    words = languages.source.words
    assert is_frequency_ordered(words)
    assert not is_frequency_ordered(sorted(words))
    assert not is_frequency_ordered([words[row] for row in np.random.default_rng(1).permutation(len(words))])
    assert is_frequency_ordered(sorted(words)[:99])  # too few to tell
    assert not is_frequency_ordered(sorted(words)[:100])
    assert not is_frequency_ordered([f"{number * 37 % 128:03}" for number in range(128)])  # all of one length

    def falling(count: int, falls: int) -> list[str]:
        """Make words that get longer and follow each other in the alphabet but for some."""
        return ["fedcba"[place * (falls + 1) // count] + "x" * place for place in range(count)]

    assert not is_frequency_ordered(falling(101, 3))  # 97 of 100 rise
    assert is_frequency_ordered(falling(134, 4))  # 129 of 133


def test_seed_agreement_counts_source_words(good_run: Run) -> None:
    pairs = induced_pairs(good_run)
    induced = pairs.rows.where(np.arange(len(pairs)) < 50)
    right = seed_agreement(induced, induced, None, good_run.space, LocalEngine())
    assert (right["words"], right["matched"]) == (50, 50)
    assert right["near"] > 40
    wrong = RowPairs(induced.source, np.roll(induced.target, 1))
    found = seed_agreement(wrong, induced, None, good_run.space, LocalEngine())
    assert (found["words"], found["matched"]) == (50, 0)
    assert seed_agreement(induced.union(wrong), induced, None, good_run.space, LocalEngine()) == right
    assert seed_agreement(induced, induced, 1, good_run.space, LocalEngine())["words"] <= 1
    nothing = induced.where(np.zeros(50, bool))
    assert not any(seed_agreement(nothing, induced, None, good_run.space, LocalEngine()).values())
    every, source = np.arange(len(good_run.target)), np.arange(10)
    ranks = [good_run.space.rank(np.full(len(every), row), every, "csls", LocalEngine()) for row in source]
    for rank, near in ((5, 10), (6, 0)):
        seed = RowPairs(source, np.array([np.flatnonzero(each == rank)[0] for each in ranks]))
        assert seed_agreement(seed, induced, None, good_run.space, LocalEngine())["near"] == near


def test_rank_correlation_needs_enough_different_values() -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(50, size=200)
    columns = rows // 2 + rng.integers(20, size=200)
    assert rank_correlation(rows, columns) == pytest.approx(scipy.stats.spearmanr(rows, columns)[0])
    assert rank_correlation(rows[:30], columns[:30]) is not None
    assert rank_correlation(rows[:29], columns[:29]) is None
    assert rank_correlation(rows % 2, columns) == pytest.approx(scipy.stats.spearmanr(rows % 2, columns)[0])
    assert rank_correlation(rows, columns % 2) == pytest.approx(scipy.stats.spearmanr(rows, columns % 2)[0])
    assert rank_correlation(rows * 0, columns) is None
    assert rank_correlation(rows, columns * 0) is None


def test_the_agreement_is_that_of_the_starts_that_were_tried_last() -> None:
    def start(agreement: float, tried: int) -> dict[str, Any]:
        return {"about": "start", "measured": dict.fromkeys("abc"[:tried], 0.0), "agreement": agreement}

    role = {"about": "supervision", "measured": {"a": 0.5, "b": 0.4}, "agreement": 1.0}
    assert agreement_of_starts([]) is None
    assert agreement_of_starts([role, start(1.0, 1)]) is None  # nothing to agree with
    assert agreement_of_starts([role, start(0.3, 2)]) == 0.3
    assert agreement_of_starts([role, start(0.3, 2), start(0.8, 3)]) == 0.8

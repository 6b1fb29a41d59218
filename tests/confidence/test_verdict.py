"""The verdict: sound where the lexicon is good, failed where it is worthless, and never a crash between."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bilex.confidence.signs import gather, induced_pairs, mean_ranks, seed_agreement, spearman
from bilex.confidence.verdict import DOUBTFUL, FAILED, LIMITS, SOUND, Verdict, decide
from bilex.induction import induce
from bilex.report import judge
from bilex.runs.run import Run
from bilex.vectors.embeddings import Embeddings
from tests.languages import Languages


def sentences(verdict: Verdict) -> None:
    """Check that the reasons and the advice are plain sentences."""
    assert verdict.reasons
    assert verdict.advice
    for sentence in (*verdict.reasons, *verdict.advice):
        assert sentence[0].isupper() or sentence[0].isdigit(), sentence
        assert sentence[-1] in ".?", sentence
        assert "nan" not in sentence


def precision(run: Run, languages: Languages) -> float:
    """P@1 of a run, which its verdict does not know."""
    return float(run.evaluate(languages.gold).figures()["p@1"])


def test_a_good_run_is_sound(good: Run, languages: Languages) -> None:
    assert precision(good, languages) > 0.8
    verdict = judge(good)
    assert verdict.level == SOUND
    assert all(sign.level == SOUND for sign in verdict.signs)
    assert good.info["verdict"] == verdict.summary()
    assert json.loads(json.dumps(verdict.summary())) == verdict.summary()
    sentences(verdict)


@pytest.mark.parametrize(
    "options",
    [{}, {"log_odds": 0.5}, {"method": "artetxe2017"}, {"method": "ibm1", "log_odds": 0.3}, {"method": "xing2015"}],
    ids=str,
)
def test_vectors_dealt_to_the_wrong_words_are_called_failed(
    languages: Languages, shuffled: Embeddings, options: dict[str, Any]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nothing may be matched at all
        run = induce(languages.source, shuffled, "identical", **options)
    verdict = judge(run)
    assert verdict.level == FAILED
    assert any("--seed" in advice for advice in verdict.advice)
    sentences(verdict)


def test_random_vectors_are_called_failed(languages: Languages) -> None:
    noise = np.random.default_rng(1).normal(size=languages.target.vectors.shape)
    target = Embeddings(languages.target.words, noise.astype(np.float32))
    assert judge(induce(languages.source, target, "identical", log_odds=0.5)).level == FAILED


def test_a_run_from_too_few_pairs_is_called_failed(languages: Languages) -> None:
    run = induce(languages.source, languages.target, languages.gold[:3])
    assert precision(run, languages) < 0.1
    verdict = judge(run)
    assert verdict.level == FAILED
    assert any("more pairs than 3" in advice for advice in verdict.advice)


def test_nothing_matched_is_failed(good: Run) -> None:
    empty = replace(good, lexicon=good.lexicon.head(0))
    verdict = judge(empty)
    assert verdict.level == FAILED
    assert verdict.reasons == ("No pair of words was matched.",)
    sentences(verdict)


def test_a_few_words_are_too_few_to_judge_by(languages: Languages) -> None:
    few = induce(languages.source.top(20), languages.target.top(20), languages.gold[:20], candidates=2)
    verdict = judge(few)
    assert verdict.level == DOUBTFUL
    assert "too few to judge by" in verdict.reasons[0]
    sentences(verdict)


def test_a_seed_that_the_run_does_not_bear_out_condemns_it_with_one_more_weak_sign(good: Run) -> None:
    configuration, figures = good.info["configuration"], judge(good).figures
    denied = replace(figures, seed_near=0.1)
    assert decide(denied, configuration).level == DOUBTFUL
    assert decide(replace(denied, mutual=0.3), configuration).level == FAILED


def test_advice_is_about_what_was_asked_for(good: Run) -> None:
    configuration, figures = good.info["configuration"], judge(good).figures
    method = {**configuration["method"], "max_rank": 200, "log_odds": 0.5}
    asked = {**configuration, "seed": {**configuration["seed"], "name": "numerals"}, "method": method}
    verdict = decide(replace(figures, mutual=0.3, frequency=0.3), asked)
    assert verdict.level == DOUBTFUL
    for part in ("`--seed identical`", "more words than 200", "Leave out `--log-odds`"):
        assert any(part in advice for advice in verdict.advice), part
        assert not any(part in advice for advice in judge(good).advice)
    sentences(verdict)
    many = decide(replace(figures, mutual=0.3, hubness=10.0, seen=(20_000, 20_000)), configuration)
    assert any("`--max-rank 10000`" in advice for advice in many.advice)
    assert any("corrects for hubs" in advice for advice in many.advice)


@pytest.mark.parametrize("order", ["shuffled", "alphabetical"])
def test_vectors_in_another_order_are_doubted_but_not_condemned(languages: Languages, order: str) -> None:
    """Frequency says nothing then."""
    sides = []
    for side in (languages.source, languages.target):
        rows = np.random.default_rng(1).permutation(len(side))
        if order == "alphabetical":
            rows = np.argsort(side.words)
        sides.append(Embeddings(tuple(side.words[row] for row in rows), side.vectors[rows]))
    run = induce(sides[0], sides[1], "identical")
    assert precision(run, languages) > 0.8
    verdict = judge(run)
    assert (verdict.level, verdict.figures.frequency) == (DOUBTFUL, None)
    assert "not seem to be in order of frequency" in verdict.reasons[0]
    sentences(verdict)


@pytest.mark.parametrize("key", ["matched", "mutual", "cosine", "returning", "frequency", "seed_near"])
def test_a_worse_figure_never_makes_a_better_verdict(good: Run, key: str) -> None:
    evidence, order = gather(good, induced_pairs(good)), [FAILED, DOUBTFUL, SOUND]
    levels = [
        order.index(decide(replace(evidence, **{key: value}), good.info["configuration"]).level)
        for value in np.linspace(0, 1, 21).tolist()
    ]
    assert levels == sorted(levels)
    assert levels[-1] > levels[0]


def test_older_runs_that_do_not_know_their_seed_are_judged_too(good: Run) -> None:
    configuration = {**good.info["configuration"], "seed": {"name": "identical", "given": 40, "used": 40}}
    verdict = judge(replace(good, info={**good.info, "configuration": configuration}))
    assert verdict.level == SOUND
    assert "seed" not in {sign.key for sign in verdict.signs}


def test_every_limit_leaves_room_between_sound_and_failed() -> None:
    for key, (sound, failed) in LIMITS.items():
        assert (sound < failed) == (key == "hubness")


def test_agreement_counts_words_of_the_seed(good: Run, languages: Languages) -> None:
    from bilex.search.local import LocalEngine

    matched = [(entry.source, entry.target) for entry in good.lexicon][:50]
    rows = tuple(
        np.array([side.index[word] for word in words])
        for side, words in zip((good.source, good.target), zip(*matched, strict=True), strict=True)
    )
    induced = (rows[0], rows[1])
    right = seed_agreement(induced, induced, None, good.space, LocalEngine())
    assert (right["words"], right["matched"]) == (50, 50)
    assert right["near"] > 40
    wrong = (induced[0], np.roll(induced[1], 1))
    found = seed_agreement(wrong, induced, None, good.space, LocalEngine())
    assert (found["words"], found["matched"]) == (50, 0)
    twice = tuple(np.concatenate(columns) for columns in zip(induced, wrong, strict=True))
    assert seed_agreement((twice[0], twice[1]), induced, None, good.space, LocalEngine()) == right
    none = seed_agreement(induced, induced, 1, good.space, LocalEngine())
    assert none["words"] <= 1


def test_spearman_agrees_with_counting() -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(50, size=200)
    columns = rows // 2 + rng.integers(20, size=200)
    ranks = [
        [(column < one).sum() + ((column == one).sum() + 1) / 2 for one in column.tolist()]
        for column in (rows, columns)
    ]
    np.testing.assert_allclose(mean_ranks(rows), ranks[0])
    assert spearman(rows, columns) == pytest.approx(np.corrcoef(ranks)[0, 1])
    assert spearman(rows[:5], columns[:5]) is None
    assert spearman(rows * 0, columns) is None

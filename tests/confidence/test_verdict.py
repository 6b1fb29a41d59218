"""The verdict: sound where the lexicon is good, failed where it is worthless, and always with reasons and advice."""

from __future__ import annotations

import json
import warnings
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bilex.confidence.figures import RunFigures
from bilex.confidence.signs import DOUBTFUL, FAILED, HUBNESS_LIMITS, SCALES, SOUND, Sign, read_signs
from bilex.confidence.verdict import Verdict, decide_verdict, judge
from bilex.em.em import CONVERGED
from bilex.induction import induce
from bilex.methods import DEFAULT_METHOD, Method
from bilex.runs.run import Run
from bilex.vectors.embeddings import Embeddings
from tests.languages import Languages

FIELDS = {"seed": "seed_near", "precision": "expected"}  # where a sign and its figure have different names
FIGURES = RunFigures(
    pairs=500,
    seen=(1000, 1000),
    evidence=0.7,
    expected=0.8,
    ordered=True,
    hubness=2.0,
    largest_hub=0.01,
    seed_near=0.8,
    rise=100.0,
    iterations=9,
    stopped=CONVERGED,
)

CASES: tuple[tuple[dict[str, Any], str], ...] = (
    ({}, SOUND),
    ({"hubness": 10.0}, SOUND),  # one weak sign beside the two that decide
    ({"hubness": 10.0, "stopped": "after 50 iterations"}, DOUBTFUL),
    ({"ordered": False}, DOUBTFUL),
    ({"evidence": 0.3}, DOUBTFUL),
    ({"evidence": 0.3, "measured": True}, SOUND),  # held-out words tell more
    ({"evidence": 0.3, "measured": True, "expected": 0.4}, DOUBTFUL),
    ({"evidence": 0.05, "measured": True}, FAILED),
    ({"evidence": 0.05}, FAILED),  # no better than what was passed over
    ({"evidence": None}, DOUBTFUL),  # it cannot tell
    ({"expected": 0.49}, DOUBTFUL),
    ({"expected": 0.05}, FAILED),
    ({"expected": None, "evidence": None}, DOUBTFUL),  # an older run
    ({"seed_near": 0.3}, SOUND),
    ({"seed_near": 0.1}, DOUBTFUL),
    ({"seed_near": 0.1, "evidence": 0.3}, FAILED),
    ({"seed_near": 0.1, "evidence": 0.3, "seed_words": 99}, DOUBTFUL),
    ({"seed_near": 0.1, "evidence": 0.3, "seed_words": 100}, FAILED),
    ({"seed_near": None}, SOUND),
    ({"agreement": 0.1, "evidence": 0.3}, DOUBTFUL),
    ({"agreement": 0.09, "evidence": 0.3}, FAILED),  # each start led elsewhere, and the evidence does not save it
    ({"agreement": 0.09, "evidence": None}, FAILED),
    ({"agreement": 0.09}, SOUND),
    ({"pairs": 99}, DOUBTFUL),
    ({"pairs": 100}, SOUND),
    ({"stopped": "after 50 iterations"}, SOUND),
    ({"rise": -5.0, "hubness": 10.0}, DOUBTFUL),
    ({"seen": (1000, 100)}, SOUND),
    ({"seen": (1000, 99)}, DOUBTFUL),
    ({"seen": (20, 20), "pairs": 0}, FAILED),
)


@pytest.fixture
def configuration(good_run: Run) -> dict[str, Any]:
    found: dict[str, Any] = good_run.info["configuration"]
    return found


def check_sentences(verdict: Verdict) -> None:
    """Check that the reasons and the advice are plain sentences."""
    assert verdict.reasons
    assert verdict.advice
    for sentence in (*verdict.reasons, *verdict.advice):
        assert sentence[0].isupper() or sentence[0].isdigit(), sentence
        assert sentence[-1] in ".?", sentence
        assert "nan" not in sentence


def signs_by_key(figures: RunFigures) -> dict[str, Sign]:
    return {sign.key: sign for sign in read_signs(figures)}


@pytest.mark.parametrize(
    ("least", "level", "shown"),
    [(1.2, SOUND, "100%"), (0.5, SOUND, "50%"), (0.2, DOUBTFUL, "20%"), (0.1, FAILED, "10%"), (-0.3, FAILED, "0%")],
)
def test_the_evidence_is_read_as_a_share(least: float, level: str, shown: str) -> None:
    sign = signs_by_key(replace(FIGURES, evidence=least))["evidence"]
    assert (sign.level, sign.value.replace(".0", "")) == (level, shown)


@pytest.mark.parametrize(("rise", "level"), [(0.0, SOUND), (-1e-12, SOUND), (-1e-6, DOUBTFUL)])
def test_a_likelihood_that_falls_is_doubted(rise: float, level: str) -> None:
    assert signs_by_key(replace(FIGURES, rise=rise))["learning"].level == level


def test_a_good_run_is_sound(good_run: Run, languages: Languages) -> None:
    assert float(good_run.evaluate(languages.gold).figures()["p@1"]) > 0.8
    verdict = judge(good_run)
    assert verdict.level == SOUND
    assert all(sign.level == SOUND for sign in verdict.signs)
    assert good_run.info["verdict"] == verdict.summary()
    assert json.loads(json.dumps(verdict.summary())) == verdict.summary()
    check_sentences(verdict)


@pytest.mark.parametrize(
    ("vectors", "options"),
    [("shuffled", {}), ("shuffled", {"method": "xing2015"}), ("random", {"log_odds": 0.5})],
)
def test_vectors_of_other_words_fail(languages: Languages, vectors: str, options: dict[str, Any]) -> None:
    rng, target = np.random.default_rng(0), languages.target
    made = rng.permutation(target.vectors) if vectors == "shuffled" else rng.normal(size=target.vectors.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nothing may be matched at all
        run = induce(languages.source, Embeddings(target.words, made.astype(np.float32)), "identical", **options)
    verdict = judge(run)
    assert verdict.level == FAILED
    assert any("--seed" in advice for advice in verdict.advice)
    check_sentences(verdict)


def test_a_run_from_too_few_pairs_fails(languages: Languages) -> None:
    run = induce(languages.source, languages.target, languages.gold[:3], "ruder2018")
    assert run.evaluate(languages.gold, retrieval="csls").precision_at(1) < 0.1
    verdict = judge(run)
    assert verdict.level == FAILED
    assert any("`--seed FILE`" in advice for advice in verdict.advice)


def test_a_run_without_pairs_fails_for_that_reason_alone(good_run: Run) -> None:
    verdict = judge(replace(good_run, lexicon=good_run.lexicon.head(0)))
    assert verdict.level == FAILED
    assert len(verdict.reasons) == 1
    check_sentences(verdict)


def test_vectors_in_another_order_are_doubted_but_not_condemned(languages: Languages) -> None:
    sides = []
    for side in (languages.source, languages.target):
        rows = np.argsort(side.words)
        sides.append(Embeddings(tuple(side.words[row] for row in rows), side.vectors[rows]))
    verdict = judge(induce(sides[0], sides[1], "identical"))
    assert (verdict.level, verdict.figures.evidence, verdict.figures.ordered) == (DOUBTFUL, None, False)
    check_sentences(verdict)


def test_signs_are_combined_by_the_rules(configuration: dict[str, Any]) -> None:
    for changes, level in CASES:
        verdict = decide_verdict(replace(FIGURES, **changes), configuration)
        assert verdict.level == level, changes
        check_sentences(verdict)


def test_a_worse_figure_never_makes_a_better_verdict(configuration: dict[str, Any]) -> None:
    order, weak = [FAILED, DOUBTFUL, SOUND], replace(FIGURES, hubness=10.0)
    for key in SCALES:
        changed = [replace(weak, **{FIELDS.get(key, key): value}) for value in np.linspace(0, 1, 21).tolist()]
        levels = [order.index(decide_verdict(figures, configuration).level) for figures in changed]
        assert levels == sorted(levels), key
        assert levels[-1] > levels[0], key


def test_a_sign_changes_its_level_at_its_limits() -> None:
    changed: dict[str, Any]
    for key, scale in SCALES.items():
        assert scale.failed < scale.sound
        for value, level in (
            (scale.sound, SOUND),
            (scale.sound - 0.01, DOUBTFUL),
            (scale.failed, DOUBTFUL),
            (scale.failed - 0.01, FAILED),
        ):
            changed = {FIELDS.get(key, key): value}
            assert signs_by_key(replace(FIGURES, **changed))[key].level == level
    for value, level in zip((8.0, 8.1, 18.0, 18.1), (SOUND, DOUBTFUL, DOUBTFUL, FAILED), strict=True):
        assert signs_by_key(replace(FIGURES, hubness=value))["hubness"].level == level
    assert HUBNESS_LIMITS == (8.0, 18.0)


def test_signs_show_their_value_and_limit() -> None:
    signs = signs_by_key(replace(FIGURES, expected=0.2, seed_near=0.2, rise=-1234.56))
    assert (signs["precision"].value, signs["precision"].limit) == ("20%", "from 50%")
    assert signs["seed"].sentence.startswith("Only 20% of")
    assert signs_by_key(replace(FIGURES, seed_near=0.0))["seed"].sentence.startswith("0% of")
    assert (signs["learning"].value, signs["learning"].level) == ("−1,234.6", DOUBTFUL)
    assert signs_by_key(FIGURES)["learning"].value == "+100.0"
    assert "learning" not in signs_by_key(replace(FIGURES, rise=None))
    assert signs_by_key(replace(FIGURES, rise=None, stopped="after 50 iterations"))["learning"].value == "+0.0"
    assert signs_by_key(replace(FIGURES, hubness=9.26))["hubness"].value == "9.3"
    sentences = [signs_by_key(replace(FIGURES, rise=rise))["learning"].sentence for rise in (0.0, 0.04, 0.05, 0.5)]
    assert sentences[0] == sentences[1] != sentences[2] != sentences[3]


def test_advice_depends_on_the_configuration(configuration: dict[str, Any]) -> None:
    def advice(figures: RunFigures, seed: dict[str, Any], method: dict[str, Any]) -> str:
        options = asdict(Method.from_manifest(configuration["method"]).with_changes(method))
        changed = {"seed": {**configuration["seed"], **seed}, "method": options}
        return " ".join(decide_verdict(figures, changed).advice)

    weak = replace(FIGURES, expected=0.3)
    asked = advice(weak, {"name": "numerals", "used": 99}, {"max_rank": 200, "log_odds": 0.5})
    other = advice(weak, {"name": "pairs.txt", "used": 100}, {"self_learning": False, "name": "xing2015"})
    for option in ("--seed identical", "--seed FILE", "--max-rank 10000", "--log-odds"):
        assert f"`{option}`" in asked
        assert f"`{option}`" not in other
    assert "`--method`" in other
    assert "`--method`" not in asked
    assert "`--method`" not in advice(weak, {}, {"self_learning": False, "name": DEFAULT_METHOD})
    many = advice(replace(weak, hubness=10.0, seen=(20_000, 20_000)), {}, {})
    assert "`--max-rank 10000`" in many
    limits = advice(replace(weak, seen=(10_000, 10_000)), {}, {"max_rank": 5_000})
    assert "--max-rank" not in limits
    assert "`--max-rank 10000`" in advice(replace(weak, seen=(10_000, 10_000)), {}, {"max_rank": 4_999})
    assert "CSLS" in many
    assert "CSLS" not in asked
    few = advice(weak, {"name": "pairs.txt", "used": 99}, {})
    assert "Give more pairs than 99" in few and "Check the seed" not in few
    assert "Give more pairs" not in other and "Check the seed" in other
    assert "--seed" not in advice(FIGURES, {"name": "numerals", "used": 9}, {})  # which went well
    assert "`--max-rank 10000`" in advice(replace(weak, seen=(20_000, 500)), {}, {})
    for name in ("identical", "unsupervised"):  # nobody wrote these pairs: a dictionary would be better
        found = advice(weak, {"name": name, "used": 200}, {})
        assert "`--seed FILE`" in found and "Check the seed" not in found


def test_older_runs_without_seed_agreement_are_judged_too(good_run: Run) -> None:
    configuration = {**good_run.info["configuration"], "seed": {"name": "identical", "given": 40, "used": 40}}
    verdict = judge(replace(good_run, info={**good_run.info, "configuration": configuration}))
    assert verdict.level == SOUND
    assert "seed" not in {sign.key for sign in verdict.signs}


def test_a_slipped_dictionary_is_named_with_its_worst_lines(languages: Languages, tmp_path: Path) -> None:
    pairs = languages.gold
    slipped = [(source, pairs[(place + 40) % len(pairs)][1]) for place, (source, _) in enumerate(pairs)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nothing may be matched at all
        file = tmp_path / "slipped.txt"
        file.write_text("\n" + "".join(f"{source}\t{target}\n" for source, target in slipped), "utf-8")
        run = induce(languages.source, languages.target, file)
    assert run.verdict.level == FAILED
    seed = run.info["configuration"]["seed"]
    assert [tuple(pair) for pair in seed["contradicted"]] == [slipped[line - 2] for line in seed["contradicted_lines"]]
    if len(run.lexicon):
        named = f"{' '.join(seed['contradicted'][0])} (line {seed['contradicted_lines'][0]})"
        assert any(named in reason for reason in run.verdict.reasons)


def test_a_seed_is_certain_only_if_that_is_said(languages: Languages) -> None:
    wrong = (languages.gold[3][0], languages.gold[60][1])
    seed = [wrong, *languages.gold[100:140]]
    judged = induce(languages.source, languages.target, seed, min_confidence=0)
    assert wrong not in judged.lexicon
    certain = induce(languages.source, languages.target, seed, certain_seed=True)
    assert certain.lexicon[wrong[0]][0].target == wrong[1]
    assert certain.lexicon[wrong[0]][0].confidence == 1


@pytest.mark.parametrize(
    ("changes", "reason", "advised", "not_advised"),
    [
        (
            {"pairs": 99, "hubness": 10.0},
            "only 99 entries",
            ["--min-confidence"],
            ["Read every entry", "most frequent words first"],
        ),
        ({"pairs": 100, "evidence": None, "hubness": 10.0}, "can tell", ["--min-confidence"], ["Read every entry"]),
        (
            {"seen": (99, 1000), "hubness": 10.0},
            "only 99 words",
            ["Read every entry", "--min-confidence"],
            ["most frequent words first"],
        ),
        ({"ordered": False}, "order of frequency", ["--min-confidence", "most frequent words first"], ["Read every"]),
        ({"evidence": None}, "can tell", ["--min-confidence"], ["Read every entry"]),
        ({"evidence": 0.05}, "no better", [], ["--min-confidence", "Read every entry"]),
        ({"pairs": 0, "seen": (20, 20)}, "No pair", [], ["Read every entry"]),
    ],
)
def test_the_first_reason_is_what_decided(
    changes: dict[str, Any], reason: str, advised: list[str], not_advised: list[str], configuration: dict[str, Any]
) -> None:
    verdict = decide_verdict(replace(FIGURES, **changes), configuration)
    assert reason in verdict.reasons[0]
    advice = " ".join(verdict.advice)
    assert all(part in advice for part in advised) and not any(part in advice for part in not_advised)


@pytest.mark.parametrize("lines", [None, [4, 2, 9, 7]])
def test_three_pairs_that_the_run_contradicts_are_named(lines: list[int] | None, configuration: dict[str, Any]) -> None:
    pairs = [["a", "b"], ["c", "d"], ["e", "f"], ["g", "h"]]
    seed = {**configuration["seed"], "name": "x/seed.txt", "contradicted": pairs, "contradicted_lines": lines}
    reason = decide_verdict(replace(FIGURES, seed_near=0.1), {**configuration, "seed": seed}).reasons[0]
    named = "a b (line 4), c d (line 2), e f (line 9)" if lines else "a b, c d, e f"
    assert reason.endswith(f"seed.txt, for example: {named}.")


def test_every_level_has_a_headline_that_is_shown(configuration: dict[str, Any]) -> None:
    verdict = decide_verdict(FIGURES, configuration)
    verdicts = [replace(verdict, level=level) for level in (SOUND, DOUBTFUL, FAILED)]
    assert len({each.headline for each in verdicts}) == 3
    for each in verdicts:
        assert repr(each).startswith(each.headline)
        assert all(text in each._repr_html_() for text in (each.headline, each.reasons[0]))


@pytest.mark.parametrize(("expected", "words"), [(0.5, "At least half"), (0.49, "Fewer than half")])
def test_a_sign_says_on_which_side_of_its_limit_the_figure_is(expected: float, words: str) -> None:
    (sign,) = (each for each in read_signs(replace(FIGURES, expected=expected)) if each.key == "precision")
    assert sign.sentence.startswith(words)

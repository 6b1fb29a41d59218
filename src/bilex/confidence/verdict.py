"""The verdict on a run: sound, doubtful or failed, with reasons and advice, drawn from the run itself.

The method can fail silently: it always ends with an optimal matching, even for a worthless map. How the signs lead to a
verdict, and the runs that their limits were set on, is explained in `docs/reading-the-report.md`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bilex.confidence.figures import MIN_WORDS, RunFigures, measure_run
from bilex.confidence.signs import DOUBTFUL, FAILED, SMALL_SEED, SOUND, Sign, read_signs
from bilex.lexicon.text import html_table
from bilex.methods import DEFAULT_METHOD, flat_options
from bilex.runs.run import Run

MAX_NAMED_PAIRS = 3
MIN_PAIRS = 100  # a lexicon of fewer is never called sound
ADVISED_MAX_RANK = 10_000
HEADLINES = {
    SOUND: "This lexicon looks sound",
    DOUBTFUL: "This lexicon looks doubtful",
    FAILED: "This run failed: do not use its lexicon",
}


@dataclass(frozen=True, repr=False)
class Verdict:
    """What to think of a run, why, and what to do next; `reasons` and `advice` are plain sentences."""

    level: str
    reasons: tuple[str, ...]
    advice: tuple[str, ...]
    signs: tuple[Sign, ...]
    figures: RunFigures

    @property
    def headline(self) -> str:
        """The verdict in a few words."""
        return HEADLINES[self.level]

    def __repr__(self) -> str:
        return "\n".join([self.headline, *(f"  {line}" for line in (*self.reasons, *self.advice))])

    def _repr_html_(self) -> str:
        rows = [*(("reason", reason) for reason in self.reasons), *(("next", advice) for advice in self.advice)]
        return html_table(self.headline, (), rows)

    def summary(self) -> dict[str, Any]:
        """Return what ``run.json`` holds of it."""
        return {"level": self.level, "reasons": list(self.reasons), "advice": list(self.advice)}


def judge(run: Run) -> Verdict:
    """Judge a run."""
    return decide_verdict(measure_run(run), run.info["configuration"])


def decide_verdict(figures: RunFigures, configuration: dict[str, Any]) -> Verdict:
    """Draw the verdict from the figures; the advice depends on the configuration."""
    signs = read_signs(figures)
    levels = {sign.key: sign.level for sign in signs}
    level = combine_levels(figures, levels)
    order = (SOUND, FAILED, DOUBTFUL) if level == SOUND else (FAILED, DOUBTFUL)
    headline = ("precision", SOUND)  # says so already
    reasons = [sign.sentence for each in order for sign in signs if sign.level == each and (sign.key, each) != headline]
    seed = configuration["seed"]
    if levels.get("seed", SOUND) != SOUND and seed.get("contradicted"):
        lines = seed.get("contradicted_lines") or [None] * len(seed["contradicted"])
        named = list(zip(seed["contradicted"], lines, strict=True))[:MAX_NAMED_PAIRS]
        worst = ", ".join(" ".join(pair) + f" (line {line})" * (line is not None) for pair, line in named)
        reasons.insert(0, f"The run contradicts the seed {Path(seed['name']).name}, for example: {worst}.")
    if not figures.pairs:
        reasons = ["No pair of words was matched."]
    elif not figures.ordered:
        missing = "The words do not seem to be in order of frequency, so the surest sign is missing."
        reasons = [missing, *reasons]
    elif level == DOUBTFUL and figures.pairs < MIN_PAIRS:
        reasons.insert(0, f"There are only {figures.pairs:,} entries, too few to judge by.")
    elif level == DOUBTFUL and figures.evidence is None:
        reasons.insert(0, "Neither spelling nor frequency can tell whether the pairs are right.")
    if figures.pairs and too_few_words(figures):
        reasons.insert(0, f"There are only {min(figures.seen):,} words on a side, too few to judge by.")
    return Verdict(level, tuple(reasons), tuple(advise(level, levels, figures, configuration)), signs, figures)


def combine_levels(figures: RunFigures, levels: dict[str, str]) -> str:
    """Return the level of the verdict from the levels of the signs.

    *Failed* where the pairs look no better than candidates that were passed over, where hardly any is expected to be
    right, or where the evidence is not sound and the run contradicts its seed or no other start led to the same pairs.
    *Sound* only where at least half of the entries are expected to be right, and the evidence agrees, or held-out words
    of a dictionary were asked, which tell more than spelling and frequency.
    """
    if not figures.pairs:
        return FAILED
    if too_few_words(figures):
        return DOUBTFUL
    evidence, weak = levels.get("evidence", DOUBTFUL), [key for key, level in levels.items() if level != SOUND]
    condemned = FAILED in (levels.get("seed"), levels.get("starts")) and evidence != SOUND
    if FAILED in (evidence, levels.get("precision")) or condemned:
        return FAILED
    borne_out = evidence == SOUND or figures.measured
    decided = levels.get("precision", SOUND) == SOUND and borne_out and levels.get("seed") != FAILED
    return SOUND if figures.ordered and figures.pairs >= MIN_PAIRS and decided and len(weak) <= 1 else DOUBTFUL


def too_few_words(figures: RunFigures) -> bool:
    """Check whether there are too few words to judge by."""
    return min(figures.seen) < MIN_WORDS


def advise(level: str, levels: dict[str, str], figures: RunFigures, configuration: dict[str, Any]) -> list[str]:
    """Return what to do next."""
    if level == SOUND:
        return [
            'Check the entries of low confidence first, under "Doubtful entries" in the report.',
            "Measure it with any dictionary you have: `bilex evaluate`, or in Python `run.evaluate`.",
        ]
    advice = ["Read every entry, or use vectors of more words."] if too_few_words(figures) and figures.pairs else []
    advice += [
        *seed_advice(configuration["seed"]),
        *method_advice(configuration["method"], levels, figures),
    ]
    if level == DOUBTFUL:
        advice.append(
            "Until then, use only entries of high confidence (`--min-confidence 0.8`), and check a sample of them."
        )
        if not figures.ordered:
            advice.append("If you can, put the most frequent words first: then the result can be judged better.")
    return advice


def seed_advice(seed: dict[str, Any]) -> list[str]:
    """Return what to try with the seed."""
    advice = []
    if seed["name"] == "numerals":
        advice.append("Try another seed: words spelt the same (`--seed identical`), or a dictionary (`--seed FILE`).")
    elif seed["name"] in ("identical", "unsupervised"):
        advice.append("Try another seed: a dictionary, even one of 25 to 100 frequent words (`--seed FILE`).")
    elif seed["used"] >= SMALL_SEED:
        advice.append("Check the seed: is the source word first, are the translations right and the words frequent?")
    if seed["used"] < SMALL_SEED:
        advice.append(
            f"Give more pairs than {seed['used']:,}: a few hundred frequent words with their translations "
            "(`--seed FILE`)."
        )
    return advice


def method_advice(configuration: dict[str, Any], levels: dict[str, str], figures: RunFigures) -> list[str]:
    """Return what to try with the method."""
    method = flat_options(configuration)
    advice, max_rank, option = [], method["max_rank"], f"`--max-rank {ADVISED_MAX_RANK}`"
    if max(figures.seen) > ADVISED_MAX_RANK:
        advice.append(f"Match only frequent words, which are easier (a frequency constraint): {option}.")
    elif max_rank is not None and max_rank < ADVISED_MAX_RANK // 2:
        advice.append(f"Let the matching see more words than {max_rank:,}: {option}.")
    supervised = not method["self_learning"] and configuration.get("name") != DEFAULT_METHOD
    if supervised or method["prior"] not in ("1:1", "1:2", "2:1", "2:2"):
        advice.append("Leave out `--method`: the default method makes more of a weak seed.")
    if method["log_odds"] > 0:
        advice.append("Leave out `--log-odds`: it accepts pairs that are hardly alike.")
    if levels["hubness"] != SOUND:
        advice.append("Use CSLS when you look words up: it corrects for hubs.")
    return advice

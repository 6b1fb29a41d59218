"""The signs of a run: each figure read as *sound*, *doubtful* or *failed*, with a sentence that says so.

`docs/reading-the-report.md` shows the runs that the limits were set on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from bilex.confidence.figures import RunFigures
from bilex.em.em import CONVERGED, SEED_ONLY
from bilex.em.held_out import MIN_AGREEMENT
from bilex.model.counting import MIN_TELLING_PURITY
from bilex.numerics.formatting import format_number, format_percent

SOUND, DOUBTFUL, FAILED = "sound", "doubtful", "failed"
EVIDENCE_LIMIT = 0.5  # at least this share of the pairs that stand out is right in a sound run
SMALL_SEED = 100  # words: fewer cannot condemn a run, and more would help it
HUBNESS_LIMITS = (8.0, 18.0)  # sound up to the first, failed above the second


@dataclass(frozen=True)
class Sign:
    """One sign: its value and limit as text, its level, and a sentence about it."""

    key: str
    value: str
    limit: str
    level: str
    sentence: str


class Scale(NamedTuple):
    """How to read a figure of which more is better: sound from `sound` on, failed below `failed`."""

    sound: float
    failed: float
    sentence: str


SCALES = {
    "precision": Scale(0.50, 0.10, "{compared} half of the entries are expected to be right."),
    "seed": Scale(0.50, 0.15, "{value} of the seed's words have their translation among the five best."),
}


def read_signs(figures: RunFigures) -> tuple[Sign, ...]:
    """Read every sign for which the run has a figure."""
    signs = (
        scale_sign("precision", figures.expected),
        evidence_sign(figures),
        seed_sign(figures),
        starts_sign(figures),
        hubness_sign(figures),
        learning_sign(figures),
    )
    return tuple(sign for sign in signs if sign is not None)


def scale_sign(key: str, value: float | None) -> Sign | None:
    """Read a share by its scale; None if the run has no such figure."""
    if value is None:
        return None
    sound, failed, sentence = SCALES[key]
    level = SOUND if value >= sound else FAILED if value < failed else DOUBTFUL
    shown = format_percent(value)
    only, compared = "only " * (level != SOUND and value > 0), "at least" if level == SOUND else "fewer than"
    sentence = sentence.format(value=f"{only}{shown}", compared=compared)  # the headline has the precision itself
    return Sign(key, shown, f"from {sound:.0%}", level, sentence[0].upper() + sentence[1:])


def seed_sign(figures: RunFigures) -> Sign | None:
    """Read how near the translations of the seed are; a few words cannot condemn a run."""
    sign = scale_sign("seed", figures.seed_near)
    few = figures.seed_words < SMALL_SEED
    return replace(sign, level=DOUBTFUL) if sign is not None and sign.level == FAILED and few else sign


def starts_sign(figures: RunFigures) -> Sign | None:
    """Read whether EM found the same from another start: what is wrong differs from start to start."""
    share = figures.agreement
    if share is None:
        return None
    level, shown = SOUND if share >= MIN_AGREEMENT else FAILED, format_percent(share)
    sentence = {
        SOUND: f"Another start led to {shown} of the same pairs.",
        FAILED: f"Every other start led to other pairs: at most {shown} are the same.",
    }[level]
    return Sign("starts", shown, f"from {MIN_AGREEMENT:.0%}", level, sentence)


def evidence_sign(figures: RunFigures) -> Sign | None:
    """Read what spelling and frequency, which had no part in choosing the pairs, say of them."""
    least = figures.evidence
    if least is None:
        return None
    level = SOUND if least >= EVIDENCE_LIMIT else DOUBTFUL if least > MIN_TELLING_PURITY else FAILED
    share = format_percent(min(max(least, 0.0), 1.0))
    sentence = {
        SOUND: f"By their spelling and frequency, at least {share} of the pairs that stand out are right.",
        DOUBTFUL: f"By their spelling and frequency, as few as {share} of the pairs that stand out may be right.",
        FAILED: "By their spelling and frequency, the pairs look no better than candidates that were passed over.",
    }[level]
    return Sign("evidence", share, f"from {EVIDENCE_LIMIT:.0%}", level, sentence)


def hubness_sign(figures: RunFigures) -> Sign:
    """Read the hubness, of which less is better."""
    sound, failed = HUBNESS_LIMITS
    level = SOUND if figures.hubness <= sound else FAILED if figures.hubness > failed else DOUBTFUL
    share = format_percent(figures.largest_hub)
    sentence = {
        SOUND: "No hub is the nearest neighbour of many words.",
        DOUBTFUL: f"There are hubs: the largest is the nearest neighbour of {share} of the frequent words.",
        FAILED: f"Hubs have taken over: the largest is the nearest neighbour of {share} of the frequent words.",
    }[level]
    return Sign("hubness", format_number(figures.hubness, 1), f"up to {sound:.0f}", level, sentence)


def learning_sign(figures: RunFigures) -> Sign | None:
    """Read how EM went; None if it did not run, or maximised something else than the log-likelihood."""
    converged = figures.stopped in (CONVERGED, SEED_ONLY)
    if converged and figures.rise is None:
        return None
    rise, steps = figures.rise or 0.0, f"{figures.iterations} iteration{'s' * (figures.iterations != 1)}"
    if not converged:
        level, sentence = DOUBTFUL, f"Learning did not converge in {steps}."
    elif rise < -1e-9:
        level, sentence = DOUBTFUL, f"The log-likelihood fell by {format_number(-rise, 1)} while learning."
    else:
        change = f"rose by {format_number(rise, 1)}" if rise >= 0.05 else "stayed the same"
        level, sentence = SOUND, f"Learning converged in {steps}, and the log-likelihood {change}."
    return Sign("learning", f"{'+' * (rise >= 0)}{format_number(rise, 1)}", "not falling", level, sentence)

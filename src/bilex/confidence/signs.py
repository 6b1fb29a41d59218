"""The signs of a run: each figure read as *sound*, *doubtful* or *failed*, with a sentence that says so.

`docs/reading-the-report.md` shows the runs that the limits were set on.
"""

from __future__ import annotations

from dataclasses import dataclass

from bilex.confidence.figures import RunFigures
from bilex.em.em import CONVERGED, SEED_ONLY
from bilex.numerics.formatting import format_number, format_percent

__all__ = ["DOUBTFUL", "FAILED", "HUBNESS_LIMITS", "SCALES", "SOUND", "Sign", "read_signs"]

SOUND, DOUBTFUL, FAILED = "sound", "doubtful", "failed"
HUBNESS_LIMITS = (8.0, 18.0)  # sound up to the first, failed above the second


@dataclass(frozen=True)
class Sign:
    """One sign: its name, its value and limit as text, its level, what it measures, and a sentence about it."""

    key: str
    name: str
    value: str
    limit: str
    level: str
    meaning: str
    sentence: str


@dataclass(frozen=True)
class Scale:
    """How to read a figure of which more is better: sound from `sound` on, failed below `failed`."""

    key: str
    name: str
    sound: float
    failed: float
    meaning: str
    sentence: str
    share: bool = True

    def level(self, value: float) -> str:
        """Return the level of a value."""
        return SOUND if value >= self.sound else FAILED if value < self.failed else DOUBTFUL

    def read(self, value: float | None) -> Sign | None:
        """Make the sign of a value; None if the run has no such figure."""
        if value is None:
            return None
        level = self.level(value)
        shown = format_percent(value) if self.share else format_number(value, 2)
        limit = f"from {self.sound:.0%}" if self.share else f"from {self.sound:.2f}"
        agree = {SOUND: "agree", DOUBTFUL: "agree only weakly", FAILED: "hardly agree"}[level]
        small = "only " if self.share and level != SOUND and value > 0 else ""
        sentence = self.sentence.format(value=small + shown, agree=agree)
        return Sign(self.key, self.name, shown, limit, level, self.meaning, sentence[0].upper() + sentence[1:])


SCALES = {
    scale.key: scale
    for scale in (
        Scale(
            "matched",
            "words matched",
            0.25,
            0.15,
            "share of the frequent words that have a partner",
            "{value} of the frequent words were matched.",
        ),
        Scale(
            "mutual",
            "mutual neighbours",
            0.40,
            0.10,
            "share of the pairs whose words are each other's nearest neighbours",
            "The words of {value} of the pairs are each other's nearest neighbours.",
        ),
        Scale(
            "cosine",
            "mean cosine",
            0.60,
            0.45,
            "how alike the words of a pair are in the shared space, on average",
            "The mean cosine of the pairs is {value}.",
            share=False,
        ),
        Scale(
            "returning",
            "round trip",
            0.30,
            0.08,
            "share of the frequent words that are the nearest neighbour of their nearest neighbour",
            "Going to the nearest neighbour and back returns to the same word for {value} of the frequent words.",
        ),
        Scale(
            "frequency",
            "frequency agreement",
            0.35,
            0.24,
            "correlation of the two words' frequency ranks, which the model does not see, in the better half",
            "The words of a pair {agree} in how frequent they are (correlation {value}).",
            share=False,
        ),
        Scale(
            "seed",
            "agreement with the seed",
            0.50,
            0.15,
            "share of the seed's words with a seed translation among their five best by CSLS",
            "{value} of the seed's words have their translation among the five best.",
        ),
    )
}


def read_signs(figures: RunFigures) -> tuple[Sign, ...]:
    """Read every sign for which the run has a figure."""
    signs = (
        SCALES["matched"].read(figures.matched),
        SCALES["mutual"].read(figures.mutual),
        SCALES["cosine"].read(figures.cosine),
        SCALES["returning"].read(figures.returning),
        SCALES["frequency"].read(figures.frequency),
        hubness_sign(figures),
        SCALES["seed"].read(figures.seed_near),
        learning_sign(figures),
    )
    return tuple(sign for sign in signs if sign is not None)


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
    meaning = "skewness of how often a word is a nearest neighbour: high if a few words are near to many"
    return Sign("hubness", "hubness", format_number(figures.hubness, 1), f"up to {sound:.0f}", level, meaning, sentence)


def learning_sign(figures: RunFigures) -> Sign | None:
    """Read how EM went; None if it did not run, or maximised something else than the log-likelihood."""
    converged = figures.stopped in (CONVERGED, SEED_ONLY)
    if converged and figures.rise is None:
        return None
    rise, steps = figures.rise or 0.0, f"{figures.iterations} iteration{'s' * (figures.iterations != 1)}"
    if not converged:
        level, sentence = DOUBTFUL, f"Learning did not converge in {steps}."
    elif rise < -1e-9 * max(1.0, abs(rise)):
        level, sentence = DOUBTFUL, f"The log-likelihood fell by {format_number(-rise, 1)} while learning."
    else:
        change = f"rose by {format_number(rise, 1)}" if rise >= 0.05 else "stayed the same"
        level, sentence = SOUND, f"Learning converged in {steps}, and the log-likelihood {change}."
    meaning = "how far the log-likelihood rose while learning; EM should end by converging"
    value = f"{'+' * (rise >= 0)}{format_number(rise, 1)}"
    return Sign("learning", "log-likelihood", value, "not falling", level, meaning, sentence)

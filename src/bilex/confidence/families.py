"""The confidence of a pair without a dictionary: a family of forms first, a form inside it second.

Two right translations share a word's probability, and so do two forms of one translation. A dictionary that lists both
translations counts either as right, but it lists one form. So families (targets that begin alike, or that have one
lemma) are judged each for itself, and the forms of one compete:

    confidence(s, t) = p(family of t is right for s) · p(t | family)

The second factor is the form's share of the family's posterior. In the first, the log-odds of the family's posterior
count for half, since pieces of evidence that speak for the same pairs were added up as if they were independent; and
they are shifted so that the pairs that stand out most are right as often as the run estimates.
"""

from dataclasses import dataclass

import numpy as np

from bilex.model.evidence import Flags
from bilex.numerics.types import Floats, Indices

EVIDENCE_SHARE = 0.5  # of the log-odds; chosen on train words, see docs/confidence.md
CLOSEST = 1e-9  # posteriors of families come no closer to 0 and 1
MAX_SHIFTS, SHIFT_TOLERANCE, FLATTEST = 60, 1e-9, 0.01  # of Newton's method: its steps, their size, the slope


@dataclass(frozen=True, eq=False)
class Families:
    """The family of each edge, the edges that stand out most for both words, and the share of these that is right.

    A family belongs to one source word, as `bilex.model.forms.families_of` numbers them.
    """

    of_edges: Indices
    chosen: Flags
    purity: float


def confidence_of_forms(posterior: Floats, families: Families) -> Floats:
    """Return the probability that each edge is right, from its posterior."""
    if not families.chosen.any():
        return posterior
    together = np.bincount(families.of_edges, posterior)[families.of_edges]
    log_odds = EVIDENCE_SHARE * log_odds_of(np.clip(together, CLOSEST, 1 - CLOSEST))
    expected = (families.purity + float(together[families.chosen].mean())) / 2  # two estimates of the same share
    right = probability_of(log_odds + shift_to_mean(log_odds[families.chosen], expected))
    return np.divide(right * posterior, together, where=together > 0, out=np.zeros(len(posterior)))


def shift_to_mean(log_odds: Floats, mean: float) -> float:
    """Find what to add to log-odds so that their probabilities have this mean, by Newton's method."""
    shift = 0.0
    for _ in range(MAX_SHIFTS):
        found = probability_of(log_odds + shift)
        step = (mean - float(found.mean())) / max(float((found * (1 - found)).mean()), FLATTEST)
        shift += step
        if abs(step) < SHIFT_TOLERANCE:
            break
    return shift


def log_odds_of(probability: Floats) -> Floats:
    """Return the log-odds of probabilities."""
    return np.asarray(np.log(probability / (1 - probability)))


def probability_of(log_odds: Floats) -> Floats:
    """Return the probabilities of log-odds."""
    return np.asarray(1 / (1 + np.exp(-log_odds)))

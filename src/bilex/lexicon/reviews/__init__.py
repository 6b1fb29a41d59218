"""What a person has decided about a lexicon, kept in the run directory, and what follows from it."""

from bilex.lexicon.reviews.log import (
    ACCEPTED,
    CORRECTED,
    NOTHING,
    REJECTED,
    UNDECIDED,
    VERDICTS,
    Conflict,
    Decision,
    Pair,
    Reviews,
)
from bilex.lexicon.reviews.reviewed import Reviewed, is_reviewed, precision_interval, read_reviewed

__all__ = [
    "ACCEPTED",
    "CORRECTED",
    "NOTHING",
    "REJECTED",
    "UNDECIDED",
    "VERDICTS",
    "Conflict",
    "Decision",
    "Pair",
    "Reviewed",
    "Reviews",
    "is_reviewed",
    "precision_interval",
    "read_reviewed",
]

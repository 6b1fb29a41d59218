"""The prior p(m): which edge sets are allowed, and what an edge is worth before any vector is seen.

Paper, sections 3, 5 and 7 ("Different Priors"). A prior limits how many edges a source word and a target word may
have. Within the limits every edge set is equally likely, up to a factor ``exp(log_odds)`` for each edge:

    log p(m) = log_odds · |m| + constant    if m keeps to the limits, minus infinity otherwise

``log_odds = 0`` is the paper's uniform prior. Because log p(m) is a sum over edges, it only adds to the edge
weights, and the same exact solver serves all priors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from bilex.errors import BilexError

__all__ = ["PRIOR_NAMES", "Prior"]

UNLIMITED = None

CAPACITIES: dict[str, tuple[int | None, int | None, bool]] = {
    # name: (targets per source, sources per target, may a word stay unmatched?)
    "1:1": (1, 1, True),
    "1:2": (2, 1, True),
    "2:1": (1, 2, True),
    "2:2": (2, 2, True),
    "one-to-many": (UNLIMITED, 1, True),
    "one-to-many-no-null": (UNLIMITED, 1, False),
    "many-to-one": (1, UNLIMITED, True),
    "many-to-one-no-null": (1, UNLIMITED, False),
}
PRIOR_NAMES = tuple(CAPACITIES)


@dataclass(frozen=True)
class Prior:
    """A prior over edge sets.

    Parameters
    ----------
    source_capacity
        How many targets a source word may have; None for no limit.
    target_capacity
        How many sources a target word may have; None for no limit.
    null
        Whether a word may stay unmatched. Only a prior with one side unlimited can forbid it: then each word of
        the other side takes its best partner, whatever its weight.
    log_odds
        Added to the weight of every edge.

    Notes
    -----
    ``Prior.named("1:2")`` follows the paper: *one* source word with up to *two* target words. "one-to-many" is its
    reading of Artetxe et al. (2017): each target takes its best source or none. "many-to-one" is the same with
    the two languages exchanged: each source takes its best target, as the published system does.
    """

    source_capacity: int | None = 1
    target_capacity: int | None = 1
    null: bool = True
    log_odds: float = 0.0

    def __post_init__(self) -> None:
        capacities = (self.source_capacity, self.target_capacity)
        if any(capacity is not None and capacity < 1 for capacity in capacities):
            raise BilexError(f"a prior's capacities must be at least 1, not {capacities}")
        if capacities.count(None) == 2 or (None in capacities and 1 not in capacities):
            raise BilexError("a prior with one side unlimited needs capacity 1 on the other side")
        if not self.null and None not in capacities:
            raise BilexError("only one-to-many and many-to-one priors can do without the null option")
        if not math.isfinite(self.log_odds):
            raise BilexError(f"a prior's log_odds must be a finite number, not {self.log_odds}")

    @classmethod
    def named(cls, name: str, log_odds: float = 0.0) -> Prior:
        """Give the prior of that name."""
        if name not in CAPACITIES:
            raise BilexError(f"no prior is called {name!r}; choose one of {', '.join(PRIOR_NAMES)}")
        source_capacity, target_capacity, null = CAPACITIES[name]
        return cls(source_capacity, target_capacity, null, log_odds)

    @property
    def name(self) -> str:
        """The name that `named` would know it by, or its capacities where it has none."""
        limits = (self.source_capacity, self.target_capacity, self.null)
        names = [name for name, known in CAPACITIES.items() if known == limits]
        return names[0] if names else f"{self.target_capacity}:{self.source_capacity}"

    @property
    def sources_choose(self) -> bool:
        """Whether each source takes its best target, with no limit on the targets."""
        return self.target_capacity is UNLIMITED

    @property
    def targets_choose(self) -> bool:
        """Whether each target takes its best source, with no limit on the sources."""
        return self.source_capacity is UNLIMITED

    def mirrored(self) -> Prior:
        """Give the same prior with source and target exchanged."""
        return replace(self, source_capacity=self.target_capacity, target_capacity=self.source_capacity)

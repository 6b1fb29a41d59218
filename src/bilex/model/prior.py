"""The prior p(m): which edge sets are allowed, and what an edge is worth before any vector is seen.

Paper, sections 3, 5 and 7 ("Different Priors"). Within the capacities every edge set is equally likely, up to a sum
over its edges:

    log p(m) = Σ over e in m of [log_odds + Σ over the learnt parts of part(e)] + constant

and minus infinity if m breaks the capacities, lacks a kept pair or contains a forbidden one. ``log_odds = 0`` and
nothing else is the paper's uniform prior. Because log p(m) is a sum over edges, it only adds to the edge weights, and
the same exact solver serves all priors. A prior does two things: `apply` changes the weights and edges of a graph,
once, after the candidates are found; `log_probability` scores a matching.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Protocol, get_args

import numpy as np

from bilex.errors import BilexError
from bilex.matching.graph import Capacities, Graph, Matching, RowPairs
from bilex.methods import PriorConfig, PriorKind
from bilex.numerics.types import Floats, Indices

PRIOR_NAMES: tuple[str, ...] = get_args(PriorKind)
UNLIMITED = None
CAPACITIES = {
    # name: (targets per source, sources per target, whether a word may stay unmatched)
    "1:1": Capacities(1, 1),
    "1:2": Capacities(2, 1),
    "2:1": Capacities(1, 2),
    "2:2": Capacities(2, 2),
    "one-to-many": Capacities(UNLIMITED, 1),
    "one-to-many-no-null": Capacities(UNLIMITED, 1, null=False),
    "many-to-one": Capacities(1, UNLIMITED),
    "many-to-one-no-null": Capacities(1, UNLIMITED, null=False),
}


class LearntPart(Protocol):
    """A part of the prior that was learnt: what it adds to the weight of an edge."""

    def log_odds(self, rows: Indices, columns: Indices) -> Floats:
        """Return what it adds to the weight of each edge."""
        ...


MAX_LOG_ODDS = 1e6  # beyond it, the weights of the edges no longer count beside it


@dataclass(frozen=True, eq=False)
class Prior:
    """A prior over edge sets.

    Parameters
    ----------
    capacities
        How many edges a word may have.
    log_odds
        Added to the weight of every edge.
    kept, forbidden
        Pairs of rows that every edge set contains, and pairs that none does: what a person has decided. Words of
        kept pairs take no other partner on a side whose capacity is limited.
    parts
        Learnt parts, each of which adds to the weight of an edge.

    Notes
    -----
    ``Prior.named("1:2")`` follows the paper: *one* source word with up to *two* target words. "one-to-many" is its
    reading of Artetxe et al. (2017): each target takes its best source or none. "many-to-one" is the same with
    the two languages exchanged: each source takes its best target, as the published system does.
    """

    capacities: Capacities = field(default_factory=Capacities)
    log_odds: float = 0.0
    kept: RowPairs = field(default_factory=RowPairs)
    forbidden: RowPairs = field(default_factory=RowPairs)
    parts: tuple[LearntPart, ...] = ()

    def __post_init__(self) -> None:
        if not abs(self.log_odds) <= MAX_LOG_ODDS:  # so that NaN is refused, too
            raise BilexError(f"a prior's log_odds is {self.log_odds}; give a number within ±{MAX_LOG_ODDS:,.0f}")
        if self.kept.isin(self.forbidden).any():
            raise BilexError("a pair is both kept and forbidden; decide for one of the two")

    @classmethod
    def named(cls, name: str, log_odds: float = 0.0) -> Prior:
        """Return the prior of that name."""
        if name not in CAPACITIES:
            raise BilexError(f"no prior is called {name!r}; choose one of {', '.join(PRIOR_NAMES)}")
        return cls(CAPACITIES[name], log_odds)

    @classmethod
    def configured(cls, config: PriorConfig) -> Prior:
        """Return the prior of a configuration."""
        return cls.named(config.kind, config.log_odds)

    @property
    def settled(self) -> bool:
        """Whether any pair is kept or forbidden."""
        return bool(len(self.kept) or len(self.forbidden))

    @property
    def undecided(self) -> Prior:
        """The prior without kept and forbidden pairs."""
        return replace(self, kept=RowPairs(), forbidden=RowPairs())

    def apply(self, graph: Graph) -> Graph:
        """Add the prior to the weights; remove forbidden edges, and other edges of words that have their kept pair."""
        weights = self.edge_log_odds(graph.rows, graph.indices) + graph.weights
        graph = replace(graph, weights=weights)
        if not self.settled:
            return graph
        keys = graph.keys
        removed = np.isin(keys, self.forbidden.keys(graph.n_targets))
        removed |= np.isin(keys, self.kept.keys(graph.n_targets))
        if self.capacities.source is not None:
            removed |= np.isin(graph.rows, self.kept.source)
        if self.capacities.target is not None:
            removed |= np.isin(graph.indices, self.kept.target)
        return graph.where(~removed)

    def edge_log_odds(self, rows: Indices, columns: Indices) -> Floats:
        """Return what the prior adds to the weight of each edge."""
        total = np.full(len(rows), self.log_odds)
        for part in self.parts:
            total += part.log_odds(rows, columns)
        return total

    def log_probability(self, matching: Matching | RowPairs) -> float:
        """Compute log p(m) of an allowed edge set, up to the constant."""
        return float(self.edge_log_odds(matching.source, matching.target).sum())

    def complete(self, matching: Matching, weights: Floats) -> Matching:
        """Add the kept pairs, whose likelihood weights are given, to a matching of the other words."""
        source = np.concatenate([matching.source, self.kept.source])
        target = np.concatenate([matching.target, self.kept.target])
        order = np.lexsort((target, source))
        objective = matching.objective + float(weights.sum()) + self.log_probability(self.kept)
        return replace(matching, source=source[order], target=target[order], objective=objective)

    def keeping(self, pairs: RowPairs) -> Prior:
        """Keep more pairs, except forbidden ones and those with a word that is in a kept pair already."""
        taken = np.isin(pairs.source, self.kept.source) | np.isin(pairs.target, self.kept.target)
        taken |= pairs.isin(self.forbidden)
        return replace(self, kept=self.kept.union(pairs.where(~taken)))

    def among_frequent(self, max_rank: int | None) -> Prior:
        """Leave out kept and forbidden pairs with a word beyond the frequency constraint."""
        kept, forbidden = self.kept.among_frequent(max_rank), self.forbidden.among_frequent(max_rank)
        return replace(self, kept=kept, forbidden=forbidden)

    def mirrored(self) -> Prior:
        """Exchange source and target."""
        if self.parts:
            raise BilexError("a learnt prior cannot be combined with sources that choose; use another prior")
        kept, forbidden = self.kept.mirrored(), self.forbidden.mirrored()
        return replace(self, capacities=self.capacities.mirrored(), kept=kept, forbidden=forbidden)

"""The posterior of an edge: how probable it is that a pair of words belongs to the matching.

With the weights w of a graph and a temperature T, the posterior over the edge sets m that the prior allows is

    p(m | S, T) = (1 / Z) exp( Σ over e in m of w_e / T )

An edge's posterior is the sum of p(m) over all m that contain it. Where one side has no capacity limit it has a closed
form. With limits on both sides it is computed by belief propagation: exact on graphs without cycles, the Bethe
approximation on others. `docs/confidence.md` compares it with enumeration and with entropic transport.
"""

from __future__ import annotations

from typing import NamedTuple

from bilex.matching.graph import Capacities, Graph
from bilex.numerics.types import Floats

TOLERANCE = 1e-4
MAX_ROUNDS = 200


class EdgePosterior(NamedTuple):
    """The probability of each edge, and how much the last round of belief propagation changed one (0 if exact)."""

    probabilities: Floats
    error: float


def edge_posterior(
    graph: Graph,
    capacities: Capacities,
    temperature: float = 1.0,
    *,
    tolerance: float = TOLERANCE,
    max_rounds: int = MAX_ROUNDS,
) -> EdgePosterior:
    """Compute the posterior of every edge, in time linear in their number."""
    from bilex.confidence.beliefs_kernel import marginals

    logits = graph.weights / temperature
    limits = (capacities.source or 0, capacities.target or 0)
    found = marginals(
        graph.indptr, graph.indices, logits, graph.n_targets, *limits, capacities.null, tolerance, max_rounds
    )
    return EdgePosterior(*found)

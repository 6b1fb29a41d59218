"""The posterior over edge sets, edge by edge: how probable it is that a pair of words belongs to the matching.

With the weights w of a graph and a temperature T, the posterior over the edge sets m that the prior allows is

    p(m | S, T) = (1 / Z) exp( Σ over e in m of (w_e + log_odds) / T )

whose best m is the Viterbi E-step's, at any temperature. The sum over all m that hold an edge is

- exact and in closed form where one side has no limit (one-to-many, many-to-one): each word of the other side
  chooses alone, among its edges and none;
- for limits on both sides (1:1, 1:2, 2:2) a permanent, which nobody computes exactly in reasonable time. Belief
  propagation gives it exactly on graphs without cycles, and its Bethe approximation on others. For matchings that
  approximation is a good one: the Bethe free energy is convex there, so there is one fixed point, and every cycle of
  a sparse graph of words passes through some edge that is improbable, which cuts it.

Unlike entropic transport (`bilex.em.sinkhorn_kernel`), which spreads a word's probability as if its edges were used
independently of each other, belief propagation leaves out what a word hears from the very neighbour it speaks to.
"""

from __future__ import annotations

from dataclasses import dataclass

from bilex.matching.solver import Graph
from bilex.model.prior import Prior
from bilex.numerics.types import Floats

__all__ = ["Posterior", "edge_posterior"]

TOLERANCE = 1e-4
ROUNDS = 200


@dataclass(frozen=True, eq=False)
class Posterior:
    """The probability of each edge, and how far belief propagation was from its fixed point (0 if exact)."""

    probabilities: Floats
    error: float


def edge_posterior(
    graph: Graph, prior: Prior, temperature: float = 1.0, *, tolerance: float = TOLERANCE, rounds: int = ROUNDS
) -> Posterior:
    """Compute each edge's probability; the time is linear in the edges."""
    from bilex.confidence.beliefs_kernel import marginals

    logits = (graph.weights + prior.log_odds) / temperature
    capacities = (prior.source_capacity or 0, prior.target_capacity or 0)
    found, error = marginals(
        graph.indptr, graph.indices, logits, graph.n_targets, *capacities, prior.null, tolerance, rounds
    )
    return Posterior(found, error)

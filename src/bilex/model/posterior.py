"""The posterior of an edge: its probability over all matchings that the prior allows, by belief propagation."""

import numpy as np

from bilex.matching.graph import Capacities, Graph
from bilex.numerics.types import Floats

TOLERANCE, MAX_ROUNDS = 1e-4, 200
HOPELESS = -7.0  # nats: an edge of less weight has no chance, and is left out


def edge_posterior(
    graph: Graph,
    capacities: Capacities,
    temperature: float = 1.0,
    *,
    tolerance: float = TOLERANCE,
    max_rounds: int = MAX_ROUNDS,
) -> tuple[Floats, float]:
    """Return the probability that each edge is in the matching, and the last change of one (0 if they are exact).

    An edge set m that the prior allows has a probability in proportion to ``exp(Σ over e in m of w_e / temperature)``.
    """
    from bilex.model.beliefs_kernel import marginals

    logits = graph.weights / temperature
    limits = (capacities.source or 0, capacities.target or 0, capacities.null)
    found: tuple[Floats, float] = marginals(
        graph.indptr, graph.rows, graph.indices, logits, graph.n_targets, *limits, tolerance, max_rounds
    )
    return found


def worthwhile_posterior(graph: Graph, capacities: Capacities, tolerance: float = TOLERANCE) -> Floats:
    """Return the probability of each edge, of which hopeless ones are left out where a word may stay unmatched."""
    worth = graph.weights > HOPELESS if capacities.null else np.ones(len(graph.weights), bool)
    posterior = np.zeros(len(graph.weights))
    posterior[worth] = edge_posterior(graph.where(worth), capacities, tolerance=tolerance)[0]
    return posterior

"""Entropic transport with null options on a sparse bipartite graph, in the log domain, in numba.

Find f and g so that with

    P_e = exp(logits_e + f_j + g_i),    null_j = exp(f_j),    null_i = exp(g_i)

every source j has ``Σ P + null_j = 1`` and every target i has ``Σ P + null_i = 1``. That P is the maximiser of
``Σ P · logits + entropy(P, nulls)`` under these constraints, a strictly concave problem, so it is unique; Sinkhorn's
alternation solves the sources' constraints for f, then the targets' for g, until both hold.
"""

import numpy as np

from bilex.matching.solver_kernel import transpose
from bilex.numerics.compilation import njit
from bilex.numerics.types import Floats, Indices, Vectors


@njit(cache=True, nogil=True)
def scale(pointers: Indices, edges: Indices, others: Indices, logits: Floats, other: Floats, own: Floats) -> float:
    """Solve one side's constraints; returns the largest change of a marginal since the last time."""
    change = 0.0
    for vertex in range(own.size):
        largest = 0.0  # the null option's logit
        for place in range(pointers[vertex], pointers[vertex + 1]):
            edge = edges[place]
            largest = max(largest, logits[edge] + other[others[edge]])
        total = np.exp(-largest)
        for place in range(pointers[vertex], pointers[vertex + 1]):
            edge = edges[place]
            total += np.exp(logits[edge] + other[others[edge]] - largest)
        new = -(largest + np.log(total))
        change = max(change, abs(np.exp(own[vertex] - new) - 1.0))  # this vertex's marginal was off by so much
        own[vertex] = new
    return change


@njit(cache=True, nogil=True)
def balance(
    indptr: Indices, indices: Indices, logits: Floats, n_targets: int, tolerance: float, most_rounds: int
) -> tuple[Floats, Floats, Floats, float]:
    """Run Sinkhorn's algorithm.

    Returns
    -------
    probabilities, source_null, target_null, error
        P for every edge, the probability of the null option for every source and target, and the largest error
        of a marginal when it stopped.
    """
    n_sources = indptr.size - 1
    rows = np.empty(indices.size, np.int64)
    for source in range(n_sources):
        rows[indptr[source] : indptr[source + 1]] = source
    edges = np.arange(indices.size)
    pointers, by_target = transpose(indices, n_targets)
    f, g = np.zeros(n_sources), np.zeros(n_targets)
    error = np.inf
    for _ in range(most_rounds):
        error = scale(indptr, edges, indices, logits, g, f)
        scale(pointers, by_target, rows, logits, f, g)
        if error < tolerance:
            break
    probabilities = np.empty(indices.size)
    for edge in range(indices.size):
        probabilities[edge] = np.exp(logits[edge] + f[rows[edge]] + g[indices[edge]])
    return probabilities, np.exp(f), np.exp(g), error


@njit(cache=True, nogil=True)
def gather(pointers: Indices, rows: Indices, weights: Floats, vectors: Vectors) -> Vectors:
    """Sum, for every group of edges, the weighted vectors of their rows, in float64."""
    sums = np.zeros((pointers.size - 1, vectors.shape[1]), np.float32)
    total = np.zeros(vectors.shape[1])
    for group in range(pointers.size - 1):
        total[:] = 0.0
        for place in range(pointers[group], pointers[group + 1]):
            for column in range(vectors.shape[1]):
                total[column] += weights[place] * vectors[rows[place], column]
        for column in range(vectors.shape[1]):
            sums[group, column] = total[column]
    return sums

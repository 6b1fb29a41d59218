"""Slow, obvious reference implementations, each written from its definition in float64, without code of bilex."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment, linprog
from scipy.sparse import csr_array

__all__ = [
    "Edges",
    "allowed",
    "assignment_with_dummies",
    "best_by_linear_program",
    "best_by_subsets",
    "csls",
    "doubled",
    "full_sort_rank",
    "full_sort_top_k",
    "log_likelihood",
    "log_normal",
    "marginals_by_subsets",
    "perfect_then_delete",
    "random_orthogonal",
    "score_matrix",
    "weight_matrix",
]

Array = NDArray[np.float64]
Edges = dict[tuple[int, int], float]
"""A graph: the weight of each (source, target)."""


# Matchings


def allowed(
    pairs: Iterable[tuple[int, int]],
    edges: Edges,
    source_capacity: int | None,
    target_capacity: int | None,
    null: bool = True,
) -> bool:
    """Check whether a set of pairs is allowed by the capacities."""
    pairs = list(pairs)
    if len(set(pairs)) != len(pairs) or not set(pairs) <= set(edges):
        return False
    for side, capacity in ((0, source_capacity), (1, target_capacity)):
        words = [pair[side] for pair in pairs]
        if capacity is not None and any(words.count(word) > capacity for word in words):
            return False
    must_be_matched = set() if null else {target for _, target in edges}
    return must_be_matched <= {target for _, target in pairs}


def best_by_subsets(
    edges: Edges, source_capacity: int | None, target_capacity: int | None, null: bool = True
) -> tuple[float, list[tuple[int, int]]]:
    """Try every subset of the edges; return the largest weight of an allowed one, and that subset."""
    best, best_pairs = -np.inf, list[tuple[int, int]]()
    for pairs in subsets(list(edges)):
        if allowed(pairs, edges, source_capacity, target_capacity, null):
            weight = sum(edges[pair] for pair in pairs)
            if weight > best:
                best, best_pairs = weight, list(pairs)
    return best, best_pairs


def subsets(pairs: list[tuple[int, int]]) -> Iterator[tuple[tuple[int, int], ...]]:
    """List all subsets, smallest first."""
    return itertools.chain.from_iterable(itertools.combinations(pairs, size) for size in range(len(pairs) + 1))


def marginals_by_subsets(
    edges: Edges, source_capacity: int | None, target_capacity: int | None, null: bool = True
) -> dict[tuple[int, int], float]:
    """Sum over every allowed subset m of the edges, with p(m) proportional to the exponential of its weight."""
    total, chances = 0.0, dict.fromkeys(edges, 0.0)
    for pairs in subsets(list(edges)):
        if allowed(pairs, edges, source_capacity, target_capacity, null):
            weight = np.exp(sum(edges[pair] for pair in pairs))
            total += weight
            for pair in pairs:
                chances[pair] += weight
    return {pair: chance / total for pair, chance in chances.items()}


def assignment_with_dummies(edges: Edges, n_sources: int, n_targets: int) -> tuple[float, list[tuple[int, int]]]:
    """Solve 1:1 as the appendix does: a private dummy of weight 0 for every vertex, then a perfect matching.

    Row j is source j, row n_sources + i the dummy of target i; column i is target i, column n_targets + j the dummy
    of source j. Two dummies may always be paired, at weight 0.
    """
    size = n_sources + n_targets
    forbidden = -1e6 * (1 + max((abs(weight) for weight in edges.values()), default=0))
    weights = np.full((size, size), forbidden)
    weights[n_sources:, n_targets:] = 0
    weights[np.arange(n_sources), n_targets + np.arange(n_sources)] = 0
    weights[n_sources + np.arange(n_targets), np.arange(n_targets)] = 0
    for (source, target), weight in edges.items():
        weights[source, target] = weight
    rows, columns = linear_sum_assignment(weights, maximize=True)
    pairs = [(int(j), int(i)) for j, i in zip(rows, columns, strict=True) if j < n_sources and i < n_targets]
    return sum(edges[pair] for pair in pairs), pairs


def best_by_linear_program(
    edges: Edges, n_sources: int, n_targets: int, source_capacity: int, target_capacity: int
) -> float:
    """Solve for any capacities as a linear program; its matrix is totally unimodular, so the optimum is integral."""
    pairs = np.array(list(edges))
    edge = np.arange(len(pairs))
    rows = np.concatenate([pairs[:, 0], n_sources + pairs[:, 1]])
    limits = csr_array((np.ones(2 * len(pairs)), (rows, np.tile(edge, 2))), shape=(n_sources + n_targets, len(pairs)))
    capacities = np.repeat([source_capacity, target_capacity], [n_sources, n_targets])
    answer = linprog(-np.array(list(edges.values())), A_ub=limits, b_ub=capacities, bounds=(0, 1), method="highs")
    assert answer.success, answer.message
    return float(-answer.fun)


def perfect_then_delete(edges: Edges, n: int) -> float:
    """Do what the paper warns against: find a perfect matching of n × n words and keep its edges of weight > 0."""
    weights = np.full((n, n), -1e6)
    for (source, target), weight in edges.items():
        weights[source, target] = weight
    rows, columns = linear_sum_assignment(weights, maximize=True)
    return float(np.maximum(weights[rows, columns], 0).sum())


def doubled(edges: Edges, n_sources: int, n_targets: int) -> Edges:
    """Copy every vertex, and every edge between all copies: the naive reading of a 2:2 prior."""
    return {
        (source + a * n_sources, target + b * n_targets): weight
        for (source, target), weight in edges.items()
        for a in (0, 1)
        for b in (0, 1)
    }


# Searches


def score_matrix(queries: NDArray[Any], targets: NDArray[Any]) -> Array:
    """Compute all inner products in float64, in the same order for every pair so that equal rows have equal scores."""
    left, right = queries.astype(np.float64), targets.astype(np.float64)
    return np.asarray((left[:, None, :] * right[None, :, :]).sum(axis=2))


def full_sort_top_k(queries: NDArray[Any], targets: NDArray[Any], k: int) -> tuple[NDArray[np.int64], Array]:
    """Sort all targets of each query, largest score first and ties by lower index; return the first k."""
    scores = score_matrix(queries, targets)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(scores, order, axis=1)


def full_sort_rank(queries: NDArray[Any], targets: NDArray[Any], chosen: NDArray[np.int64]) -> list[int]:
    """Return the rank, from 1, of each chosen target in the full sort."""
    order, _ = full_sort_top_k(queries, targets, len(targets))
    return [list(row).index(column) + 1 for row, column in zip(order, chosen, strict=True)]


def csls(mapped: NDArray[Any], targets: NDArray[Any], k: int) -> Array:
    """Compute cross-domain similarity local scaling (Conneau et al. 2018): 2 cos(x, y) - r(x) - r(y).

    r(x) is the mean cosine of x and its k nearest targets, r(y) that of y and its k nearest mapped sources.
    """
    left, right = mapped.astype(np.float64), targets.astype(np.float64)
    left = left / np.linalg.norm(left, axis=1, keepdims=True)
    right = right / np.linalg.norm(right, axis=1, keepdims=True)
    cosines = score_matrix(left, right)
    nearest_targets = np.sort(cosines, axis=1)[:, ::-1][:, : min(k, len(right))].mean(axis=1)
    nearest_sources = np.sort(cosines, axis=0)[::-1][: min(k, len(left))].mean(axis=0)
    return np.asarray(2 * cosines - nearest_targets[:, None] - nearest_sources[None, :])


# The model


def inverted_softmax(mapped: NDArray[Any], targets: NDArray[Any], sharpness: float) -> Array:
    """Compute the logarithm of the softmax over the source words, of each target (Smith et al. 2017)."""
    logits = sharpness * score_matrix(mapped, targets)
    return np.asarray(logits - np.log(np.exp(logits).sum(axis=0)))


def random_orthogonal(rng: np.random.Generator, dimension: int) -> Array:
    """Draw an orthogonal matrix, a rotation or a reflection."""
    return np.asarray(np.linalg.qr(rng.normal(size=(dimension, dimension)))[0])


def log_normal(x: NDArray[Any], mean: NDArray[Any]) -> float:
    """Compute the log-density of N(mean, I) at x."""
    difference = np.asarray(x, np.float64) - np.asarray(mean, np.float64)
    return float(-0.5 * difference @ difference - 0.5 * len(difference) * np.log(2 * np.pi))


def weight_matrix(omega: Array, mu: Array, source: NDArray[Any], target: NDArray[Any]) -> Array:
    """Compute w[j, i] = log p(t_i | s_j) - log p(t_i) from the two densities."""
    means = [omega @ s.astype(np.float64) for s in source]
    return np.array([[log_normal(t, mean) - log_normal(t, mu) for t in target] for mean in means])


def log_likelihood(
    omega: Array,
    mu: Array,
    source: NDArray[Any],
    target: NDArray[Any],
    pairs: list[tuple[int, int]],
    target_capacity: int,
    null: bool,
    log_odds: float,
) -> float:
    """Compute log p(T, m | S): every copy of a target is drawn from its source, or from the null distribution."""
    total = 0.0
    for i, t in enumerate(target):
        sources = [j for j, matched in pairs if matched == i]
        total += sum(log_normal(t, omega @ source[j].astype(np.float64)) + log_odds for j in sources)
        if null:
            total += (target_capacity - len(sources)) * log_normal(t, mu)
    return total


def edit_distance(one: str, other: str) -> int:
    """Count the insertions, deletions and substitutions that lead from one word to the other, by the textbook."""
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        above, row[0] = row[0], i
        for j, another in enumerate(other, 1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (letter != another))
    return row[-1]

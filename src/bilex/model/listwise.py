"""Weights of evidence taught by a dictionary: a listwise logistic regression over the candidates of its words.

A pair weighs ``f·w`` nats, with f its evidence and w one weight for each column of it. For a word of the dictionary
whose candidates are C, of which R are right, the model gives the dictionary the probability that the softmax over C
gives to R. What is maximised is

    Σ over words of log (Σ over R of exp f·w / Σ over C of exp f·w)  -  Σ over k of (w_k - m_k)² / (2 v_k)

The Gaussian around m is what is known without the dictionary (the counted curves), so that a few words hardly move the
weights and thousands decide. Each word's candidates must come from maps that it had no part in.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bilex.model.evidence import Flags
from bilex.numerics.rows import blocks
from bilex.numerics.types import Floats, Indices

MAX_NEWTON_ROUNDS = 60
MIN_GAIN = 0.01  # nats, over all words together: a smaller one ends the search
MIN_STEP = 1e-3  # part of a Newton step
SMALLEST = 1e-300
EDGES_IN_CACHE = 1024


@dataclass(frozen=True, eq=False)
class CandidateLists:
    """Candidate edges in the order of the word that they compete for: list l is ``starts[l] : starts[l + 1]``."""

    starts: Indices

    @classmethod
    def of(cls, words: Indices) -> CandidateLists:
        """Group edges that are in the order of their words; there is at least one."""
        return cls(np.concatenate([[0], np.flatnonzero(np.diff(words)) + 1, [len(words)]]).astype(np.int64))

    @cached_property
    def owner(self) -> Indices:
        """The list that each edge is in."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def total(self, values: Floats) -> Floats:
        """Sum values over each list."""
        return np.asarray(np.add.reduceat(values, self.starts[:-1]))

    def softmax(self, scores: Floats) -> Floats:
        """Compute the probability of each edge within its list."""
        odds = np.exp(scores - np.maximum.reduceat(scores, self.starts[:-1])[self.owner])
        return np.asarray(odds / self.total(odds)[self.owner])


@dataclass(frozen=True, eq=False)
class Lessons:
    """What a dictionary says of the candidates of its words: lists of edges with their evidence, and the right ones."""

    columns: Floats  # the evidence, a row for each edge
    edges: Indices  # of all lists, one after the other
    right: Flags  # for each of these
    lists: CandidateLists

    @classmethod
    def of(cls, columns: Floats, right: Flags, sources: Indices, targets: Indices) -> Lessons:
        """Let the candidates of each source word compete, and those of each target word, with the same weights.

        All source words are the dictionary's; of another one it could not be told that it is wrong. Lists without
        right edges, or without wrong ones, say nothing and are left out; at least one has both.
        """
        order = np.argsort(targets, kind="stable")
        edges = np.concatenate([np.arange(len(order)), order])
        lists = CandidateLists.of(np.concatenate([sources, targets[order] + (sources.max(initial=0) + 1)]))
        count = lists.total(right[edges].astype(np.float64))
        telling = ((count > 0) & (count < np.diff(lists.starts)))[lists.owner]
        edges = edges[telling]
        return cls(columns, edges, right[edges], CandidateLists.of(lists.owner[telling]))

    def probable(self, weights: Floats) -> Floats:
        """Compute the probability of each edge within each list."""
        return self.lists.softmax((self.columns @ weights)[self.edges])

    def log_share(self, weights: Floats) -> float:
        """Compute the log-probability of the dictionary."""
        probable = self.probable(weights)
        return float(np.log(np.maximum(self.lists.total(probable * self.right), SMALLEST)).sum())

    def slope_and_spread(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return matched minus expected evidence, and the spread of the expected evidence.

        The share of the right edges is replaced by its tangent, in which each of them is as probable as it is now: that
        leaves a concave problem.
        """
        from bilex.numerics.rows_kernel import weighted_sums

        lists, probable = self.lists, self.probable(weights)
        matched = probable * self.right / np.maximum(lists.total(probable * self.right), SMALLEST)[lists.owner]
        expected = weighted_sums(self.columns, self.edges, probable, lists.starts)
        more, often = (np.bincount(self.edges, each, len(self.columns)) for each in (matched - probable, probable))
        spread = -expected.T @ expected
        for rows in blocks(len(self.columns), EDGES_IN_CACHE):
            spread += (self.columns[rows] * often[rows, None]).T @ self.columns[rows]
        return np.asarray(more @ self.columns), spread


def fit_weights(lessons: Lessons, mean: Floats, variance: Floats) -> Floats:
    """Find the most probable weights by Newton's method, with steps that are halved until they improve."""

    def value(weights: Floats) -> float:
        return lessons.log_share(weights) - float(((weights - mean) ** 2 / variance).sum()) / 2

    weights = mean.astype(np.float64)
    reached = value(weights)
    for _ in range(MAX_NEWTON_ROUNDS):
        slope, spread = lessons.slope_and_spread(weights)
        step = np.linalg.solve(spread + np.diag(1 / variance), slope - (weights - mean) / variance)
        size = 1.0
        while (tried := value(weights + size * step)) < reached and size > MIN_STEP:
            size /= 2
        gain = tried - reached
        if gain <= 0:
            break
        weights, reached = weights + size * step, tried
        if gain < MIN_GAIN:
            break
    return weights

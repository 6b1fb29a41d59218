"""What the endings of two words say for a pair: a dictionary form looks like one, and *-s* goes with *-t*.

Vectors hardly tell the forms of a word apart, but over a whole vocabulary the endings of right pairs differ from those
of rivals. Ratios are counted from short endings to long ones, each on top of the shorter one's:

    ratio(c) = ratio(shorter c) · (matched(c) + κ) / (expected(c) + κ)

the posterior mean of a Poisson rate under a Gamma prior of κ examples around the shorter ending's rate. A dictionary
says which edges are matched (`bilex.model.pair_weights`); without one they are the chosen edges (`count_endings`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bilex.matching.graph import Graph
from bilex.model.counting import MAX_COUNTED_WORDS, choose_edges, decontaminate, log_ratio
from bilex.model.evidence import Measured
from bilex.numerics.types import Floats, Indices

LONGEST_ENDING = 3  # letters
MIN_ENDING_SHARE = 1e-3  # of the words; rarer endings are one class, so that two languages' classes fit in a table
ENDING_EXAMPLES = 20.0  # κ: examples that a shorter ending's ratio counts for


def number_endings(words: Sequence[str], letters: int) -> Indices:
    """Assign numbers to the endings of words; all rare ones have the number 0."""
    endings = [word[-letters:] if letters else "" for word in words]
    counts, least = Counter(endings), MIN_ENDING_SHARE * len(words)
    numbers, common = dict.fromkeys(counts, 0), (each for each, count in counts.items() if count >= least)
    numbers |= {each: number for number, each in enumerate(common, 1)}
    return np.fromiter(map(numbers.__getitem__, endings), np.int64, len(endings))


@dataclass(frozen=True, eq=False)
class EndingRatios:
    """For each level the log-ratios of its classes of endings."""

    nats: tuple[Floats, ...]

    @classmethod
    def count(cls, levels: Sequence[Indices], matched: Floats, expected: Floats) -> EndingRatios:
        """Count how often each class of edges is matched, beside how often that is expected."""
        ratio, nats = np.ones(len(matched)), list[Floats]()
        for codes in levels:
            found, awaited = np.bincount(codes, matched), np.bincount(codes, expected * ratio)
            grown = (found + ENDING_EXAMPLES) / (awaited + ENDING_EXAMPLES)
            ratio = ratio * grown[codes]
            nats.append(np.log(grown))
        return cls(tuple(nats))

    def read(self, levels: Sequence[Indices]) -> Floats:
        """Add up the log-ratios of edges over the levels; an unseen ending says no more than its shorter one."""
        total = np.zeros(len(levels[0]))
        for nats, codes in zip(self.nats, levels, strict=True):
            total += np.append(nats, 0.0)[np.minimum(codes, len(nats))]
        return total


def cross_fit_endings(levels: Sequence[Indices], folds: Indices, matched: Floats, expected: Floats) -> Floats:
    """Return the log-ratio of each edge, counted on the edges of the other folds."""
    nats = np.empty(len(folds))
    for fold in np.unique(folds):
        own = folds == fold
        others = EndingRatios.count([codes[~own] for codes in levels], matched[~own], expected[~own])
        nats[own] = others.read([codes[own] for codes in levels])
    return nats


def count_endings(
    graph: Graph, evidence: Sequence[Measured], levels: Sequence[Indices], folds: Indices, purity: float
) -> Floats:
    """Return what the endings say for each edge, counted without a label, on top of the other evidence.

    Matched are the chosen edges. Expected are the passed-over ones, each as often as its other evidence makes it
    likelier to be chosen, so that what spelling and frequency have said already is not said twice.
    """
    chosen, passed_over = (marked & (graph.rows < MAX_COUNTED_WORDS) for marked in choose_edges(graph))
    if not (chosen.any() and passed_over.any()):
        return np.zeros(len(folds))
    so_far = np.sum([each.nats(log_ratio(each, chosen, passed_over)) for each in evidence], axis=0)
    expected = passed_over * np.exp(so_far)
    expected *= chosen.sum() / expected.sum()
    return decontaminate(cross_fit_endings(levels, folds, chosen.astype(np.float64), expected), purity)

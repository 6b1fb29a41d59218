"""How probable it is that an entry of a lexicon is right: the posterior of its edge, calibrated on held-out seed pairs.

1. *Edges*: each word's ten nearest of the other language, which the shared space has looked up already, and the
   entries themselves. Everything below is linear in their number.
2. *No pair votes for itself*: the words fall into five parts, and the edges of each part are weighed under maps that
   were fitted to the other parts' pairs only. So an entry that EM believed and then learnt from looks no better than
   one that it never saw, and the pairs of the seed can be asked as if they were unknown.
3. *Posterior*: with CSLS as the weight, ``w = 2 cos - r(s) - r(t) - MARGIN``, the posterior over the edge sets that
   the prior allows, at temperature `TEMPERATURE`; see `bilex.confidence.posterior`. CSLS is the model's weight with a
   null distribution that is each word's own surroundings instead of one N(μ, I) for all.
4. *Calibration*: a logistic regression on the log-odds of the posterior, the CSLS score, how far it is above the
   best rival of either word, whether the words are each other's best, the likeness of their spelling, the source
   word's frequency rank (as a logarithm) and the target word's (as a part of its vocabulary). It starts from
   `SHIPPED`, learnt on other runs, and moves to what the seed's words say, if the seed is somebody's dictionary: for
   each of them the best edge, right or not.

`docs/confidence.md` says how well that works, and where it does not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilex.confidence.calibration import Calibration, calibrate, calibration_error
from bilex.confidence.posterior import edge_posterior
from bilex.matching.solver import Graph
from bilex.model.edge_prior import Features
from bilex.model.prior import Prior
from bilex.model.theta import Theta
from bilex.numerics.rows import unit
from bilex.numerics.types import Floats, Indices, Vectors
from bilex.search.space import NeighbourLists, SharedSpace

__all__ = ["FEATURES", "SHIPPED", "Evidence", "Known", "Refit", "assess", "examples_of", "gather"]

FEATURES = ("posterior", "csls", "above source's", "above target's", "mutual", "spelling", "rank", "depth")
FOLDS = 5
MARGIN = 0.1  # what a pair must stand out by, to be more probable than none
TEMPERATURE = 0.1
SUREST = 1e-4  # a posterior nearer to 0 or 1 says no more than this
WORTHS = (1000, 100, 10)  # examples that the shipped calibration counts for: the most, unless the seed's words say less
FEW = 200  # examples below which they cannot say that, nor how well calibrated they are
DIGITS = 4  # as the table has it, so that a lexicon is the same before and after it is saved
ALONE = -1.0  # the CSLS score of a rival that is not there

SHIPPED = Calibration(  # python -m tools.confidence learn
    1.151,
    np.array([0.561, 1.344, 0.306, 0.133, 0.111, 0.563, 0.201, -0.785]),
    np.array([-0.986, 0.226, 0.101, 0.052, 0.493, 0.324, 7.820, 0.308]),
    np.array([2.047, 0.191, 0.156, 0.202, 0.500, 0.324, 1.175, 0.268]),
)

Pairs = tuple[Indices, Indices]
Refit = Callable[[Indices, Indices], Theta]
"""Fits the maps of the method to pairs of rows."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """The edges between two vocabularies and what speaks for them: CSLS as the graph's weights, and the posterior.

    The posterior does not know the spelling; `spelling` looks that up.
    """

    graph: Graph
    posterior: Floats
    spelling: Features

    def places(self, rows: Indices, columns: Indices) -> Indices:
        """Find edges, which must be there, by their words."""
        return np.searchsorted(keys(self.graph), rows * np.int64(self.graph.n_targets) + columns)

    def features(self, places: Indices) -> Floats:
        """Give a row of features, in the order of `FEATURES`, for each of these edges."""
        graph, csls = self.graph, self.graph.weights[places]
        chance = np.clip(self.posterior[places], SUREST, 1 - SUREST)
        pairs = graph.rows[places], graph.indices[places]
        first, above_source = standing(graph.weights, graph.rows, graph.n_sources, places)
        other_first, above_target = standing(graph.weights, graph.indices, graph.n_targets, places)
        return np.column_stack(
            [
                np.log(chance / (1 - chance)),
                csls,
                above_source,
                above_target,
                first & other_first,
                self.spelling.likeness(*pairs),
                np.log1p(pairs[0]),
                pairs[1] / graph.n_targets,
            ]
        ).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Known:
    """What a dictionary says: pairs that are right, and source words whose translations all lack a vector."""

    pairs: Pairs
    unanswered: Indices

    def __len__(self) -> int:
        return len(np.union1d(self.pairs[0], self.unanswered))


def keys(graph: Graph) -> Indices:
    """Give each edge of a graph a number that stands for its words, in ascending order."""
    return np.asarray(graph.rows * np.int64(graph.n_targets) + graph.indices)


def standing(weights: Floats, words: Indices, n_words: int, places: Indices) -> tuple[NDArray[np.bool_], Floats]:
    """Say of edges whether each is its word's heaviest, and how far above (or below) the heaviest other it is."""
    from bilex.confidence.rivals_kernel import top_two

    best, second = top_two(words, weights, n_words)
    own = words[places]
    first = best[own] == places
    rival = np.where(first, np.maximum(second[own], ALONE), weights[best[own]])
    return first, weights[places] - rival


def gather(
    vectors: tuple[Vectors, Vectors],
    space: SharedSpace,
    around: NeighbourLists,
    entries: Pairs,
    trained: Pairs,
    refit: Refit,
    prior: Prior,
    spelling: Features,
) -> Evidence:
    """Weigh the edges around each word and the entries, each under maps that its own source word had no part in.

    `trained` are the pairs that the maps were fitted to.
    """
    shape = (len(space.source), len(space.target))
    width = np.int64(shape[1])
    forth, back = around.of_source, around.of_target
    every = (
        np.concatenate([np.repeat(np.arange(shape[0]), forth.shape[1]), back.ravel(), entries[0]]),
        np.concatenate([forth.ravel(), np.repeat(np.arange(shape[1]), back.shape[1]), entries[1]]),
    )
    graph = Graph.from_edges(*every, np.zeros(len(every[0])), shape)
    cosines, order = held_out_cosines(graph, vectors, space, trained, refit), keys(graph)
    crowding = [
        cosines[np.searchsorted(order, found)].mean(axis=1)
        for found in (np.arange(shape[0])[:, None] * width + forth, back * width + np.arange(shape[1])[:, None])
    ]
    graph = replace(graph, weights=2 * cosines - crowding[0][graph.rows] - crowding[1][graph.indices])
    posterior = edge_posterior(graph, replace(prior, log_odds=-MARGIN), TEMPERATURE)
    return Evidence(graph, posterior.probabilities, spelling)


def held_out_cosines(
    graph: Graph, vectors: tuple[Vectors, Vectors], space: SharedSpace, trained: Pairs, refit: Refit
) -> Floats:
    """Give the cosine of each edge under maps fitted to pairs of source words of other parts than its own."""
    from bilex.search.topk_kernel import edge_scores

    rows, cosines = graph.rows, np.empty(len(graph.indices))
    for part in range(FOLDS):
        own, others = rows % FOLDS == part, trained[0] % FOLDS != part
        mapped, targets = space.source[part::FOLDS], space.target
        if others.any() and not others.all():
            theta = refit(trained[0][others], trained[1][others])
            mapped = unit(theta.map_source(vectors[0][part::FOLDS]))
            targets = space.target if theta.target_map is None else unit(theta.map_target(vectors[1]))
        cosines[own] = edge_scores(np.ascontiguousarray(mapped), targets, rows[own] // FOLDS, graph.indices[own])
    return cosines


def examples_of(evidence: Evidence, known: Known) -> tuple[Indices, NDArray[np.bool_]]:
    """Give the best edge of each known word, by the posterior, and whether it is right."""
    from bilex.confidence.rivals_kernel import top_two

    graph = evidence.graph
    words = np.union1d(known.pairs[0], known.unanswered)
    best = top_two(graph.rows, evidence.posterior, graph.n_sources)[0][words]
    right = np.isin(keys(graph)[best], known.pairs[0] * np.int64(graph.n_targets) + known.pairs[1])
    return best, right


def assess(evidence: Evidence, entries: Pairs, known: Known | None) -> tuple[Floats, dict[str, Any]]:
    """Give the probability that each entry is right, and for ``run.json`` what that rests on."""
    calibration, about = SHIPPED, dict[str, Any](calibrated_on="shipped vectors", examples=0)
    if known is not None and len(known):
        places, right = examples_of(evidence, known)
        features = evidence.features(places)
        about, worth = {"calibrated_on": "held-out seed words", "examples": len(places)}, WORTHS[0]
        if len(places) >= FEW:
            held_out = {each: held_out_confidence(features, right, each) for each in WORTHS}
            worth = min(WORTHS, key=lambda each: surprise(held_out[each], right))
            about["held_out_error"] = round(calibration_error(held_out[worth], right), 4)
        calibration = calibrate(features, right, SHIPPED, worth)
    confidence = calibration.probability(evidence.features(evidence.places(*entries))).round(DIGITS)
    return confidence, {**about, "expected_precision": round(float(confidence.mean()), 4) if len(confidence) else None}


def held_out_confidence(features: Floats, right: NDArray[np.bool_], worth: float) -> Floats:
    """Give the confidence in examples, each half's as the other half teaches it."""
    half, found = np.arange(len(right)) % 2 == 0, np.empty(len(right))
    for tested in (half, ~half):
        found[tested] = calibrate(features[~tested], right[~tested], SHIPPED, worth).probability(features[tested])
    return found


def surprise(confidence: Floats, right: NDArray[np.bool_]) -> float:
    """Give the mean negative log-likelihood of what was right and what was not."""
    return float(-np.log(np.where(right, confidence, 1 - confidence)).mean())

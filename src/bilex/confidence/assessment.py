"""The confidence of an entry: the posterior of its edge, calibrated on held-out seed pairs.

1. *Edges*: the ten nearest neighbours of each word in the other language, and the entries themselves.
2. *Cross-fitting*: the source words are split into five folds, and the edges of each fold are weighed under maps
   fitted to the pairs of the other folds. So a pair that EM learnt from looks no better than one that it never saw.
3. *Posterior*: `edge_posterior` with CSLS as the weight, ``w = 2 cos - r(s) - r(t) - MARGIN``, at `TEMPERATURE`.
4. *Calibration*: a logistic regression on `EVIDENCE_FEATURES`. It starts from `SHIPPED_CALIBRATION` and, if the seed is
   a dictionary, is fitted to the best edge of each seed word.

`docs/confidence.md` explains each step and shows how well calibrated the result is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilex.confidence.calibration import Calibration, calibration_error, fit_calibration
from bilex.matching.graph import Capacities, Graph, RowPairs
from bilex.model.theta import Theta
from bilex.numerics.rows import unit
from bilex.numerics.types import Floats, Indices, Vectors
from bilex.search.lists import NeighbourLists
from bilex.search.space import SharedSpace
from bilex.vectors.spelling import SpellingComparison

EVIDENCE_FEATURES = ("posterior", "csls", "above source", "above target", "mutual", "spelling", "rank", "depth")
FOLDS = 5
MARGIN = 0.1  # the CSLS score at which a pair is as probable as no pair
TEMPERATURE = 0.1
TOLERANCE, MAX_ROUNDS = 1e-4, 200  # of belief propagation
MIN_POSTERIOR = 1e-4  # posteriors are clipped to [MIN_POSTERIOR, 1 - MIN_POSTERIOR]
PRIOR_EXAMPLES = (1000, 100, 10)  # how many examples the shipped calibration may count for; the first by default
MIN_EXAMPLES = 200  # fewer examples can neither choose among PRIOR_EXAMPLES nor measure the calibration
CONFIDENCE_DIGITS = 4  # as lexicon.tsv has it, so that a lexicon is the same before and after it is saved
NO_RIVAL_CSLS = -1.0  # the CSLS score assumed for the rival of a word's only edge

SHIPPED_CALIBRATION = Calibration(  # python -m tools.confidence learn
    1.151,
    np.array([0.561, 1.344, 0.306, 0.133, 0.111, 0.563, 0.201, -0.785]),
    np.array([-0.986, 0.226, 0.101, 0.052, 0.493, 0.324, 7.820, 0.308]),
    np.array([2.047, 0.191, 0.156, 0.202, 0.500, 0.324, 1.175, 0.268]),
)

Refit = Callable[[RowPairs], Theta]
"""Fits the maps of the method to pairs."""


@dataclass(frozen=True, eq=False)
class EdgeEvidence:
    """The edges between two vocabularies with their CSLS scores (the graph's weights), posteriors and spelling."""

    graph: Graph
    posterior: Floats
    spelling: SpellingComparison

    def find_edges(self, pairs: RowPairs) -> Indices:
        """Return the positions of the edges of these pairs, which must exist."""
        return np.searchsorted(self.graph.keys, pairs.keys(self.graph.n_targets))

    def features(self, edges: Indices) -> Floats:
        """Return a row of `EVIDENCE_FEATURES` for each of these edges."""
        graph, csls = self.graph, self.graph.weights[edges]
        posterior = np.clip(self.posterior[edges], MIN_POSTERIOR, 1 - MIN_POSTERIOR)
        pairs = graph.rows[edges], graph.indices[edges]
        best_of_source, above_source = compare_with_rivals(graph.weights, graph.rows, graph.n_sources, edges)
        best_of_target, above_target = compare_with_rivals(graph.weights, graph.indices, graph.n_targets, edges)
        return np.column_stack(
            [
                np.log(posterior / (1 - posterior)),
                csls,
                above_source,
                above_target,
                best_of_source & best_of_target,
                self.spelling.likeness(*pairs),
                np.log1p(pairs[0]),
                pairs[1] / graph.n_targets,
            ]
        ).astype(np.float64)


@dataclass(frozen=True, eq=False)
class KnownTranslations:
    """Pairs that a dictionary lists, and source words whose listed translations all lack a vector."""

    pairs: RowPairs
    unanswered: Indices

    @cached_property
    def words(self) -> Indices:
        """The source words about which the dictionary says something."""
        return np.union1d(self.pairs.source, self.unanswered)


def compare_with_rivals(
    weights: Floats, words: Indices, n_words: int, edges: Indices
) -> tuple[NDArray[np.bool_], Floats]:
    """Return whether each edge is its word's heaviest, and how far it is above (or below) the heaviest other."""
    from bilex.confidence.rivals_kernel import top_two

    best, second = top_two(words, weights, n_words)
    own = words[edges]
    heaviest = best[own] == edges
    rival = np.where(heaviest, np.maximum(second[own], NO_RIVAL_CSLS), weights[best[own]])
    return heaviest, weights[edges] - rival


def gather_edge_evidence(
    vectors: tuple[Vectors, Vectors],
    space: SharedSpace,
    neighbours: NeighbourLists,
    entries: RowPairs,
    trained: RowPairs,
    refit: Refit,
    capacities: Capacities,
    spelling: SpellingComparison,
) -> EdgeEvidence:
    """Weigh the edges around each word and the entries, under maps fitted without the edge's source word.

    `trained` are the pairs that the maps were fitted to.
    """
    shape = (len(space.source), len(space.target))
    width = np.int64(shape[1])
    of_source, of_target = neighbours.of_source, neighbours.of_target
    edges = (
        np.concatenate([np.repeat(np.arange(shape[0]), of_source.shape[1]), of_target.ravel(), entries.source]),
        np.concatenate([of_source.ravel(), np.repeat(np.arange(shape[1]), of_target.shape[1]), entries.target]),
    )
    graph = Graph.from_edges(*edges, np.zeros(len(edges[0])), shape)
    cosines, keys = cross_fitted_cosines(graph, vectors, space, trained, refit), graph.keys
    crowding = [
        cosines[np.searchsorted(keys, near)].mean(axis=1)
        for near in (
            np.arange(shape[0])[:, None] * width + of_source,
            of_target * width + np.arange(shape[1])[:, None],
        )
    ]
    graph = replace(graph, weights=2 * cosines - crowding[0][graph.rows] - crowding[1][graph.indices])
    posterior, _ = edge_posterior(replace(graph, weights=graph.weights - MARGIN), capacities, TEMPERATURE)
    return EdgeEvidence(graph, posterior, spelling)


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
    from bilex.confidence.beliefs_kernel import marginals

    logits = graph.weights / temperature
    limits = (capacities.source or 0, capacities.target or 0, capacities.null)
    found: tuple[Floats, float] = marginals(
        graph.indptr, graph.indices, logits, graph.n_targets, *limits, tolerance, max_rounds
    )
    return found


def cross_fitted_cosines(
    graph: Graph, vectors: tuple[Vectors, Vectors], space: SharedSpace, trained: RowPairs, refit: Refit
) -> Floats:
    """Return the cosine of each edge under maps fitted to the pairs of the other folds' source words."""
    from bilex.search.topk_kernel import edge_scores

    rows, cosines = graph.rows, np.empty(len(graph.indices))
    for fold in range(FOLDS):
        own, others = rows % FOLDS == fold, trained.source % FOLDS != fold
        mapped, targets = space.source[fold::FOLDS], space.target
        if others.any() and not others.all():
            theta = refit(trained.where(others))
            mapped = unit(theta.map_source(vectors[0][fold::FOLDS]))
            targets = space.target if theta.target_map is None else unit(theta.map_target(vectors[1]))
        cosines[own] = edge_scores(np.ascontiguousarray(mapped), targets, rows[own] // FOLDS, graph.indices[own])
    return cosines


def labelled_examples(evidence: EdgeEvidence, known: KnownTranslations) -> tuple[Indices, NDArray[np.bool_]]:
    """Return the most probable edge of each known word, and whether the dictionary lists it."""
    from bilex.confidence.rivals_kernel import top_two

    graph = evidence.graph
    best = top_two(graph.rows, evidence.posterior, graph.n_sources)[0][known.words]
    return best, np.isin(graph.keys[best], known.pairs.keys(graph.n_targets))


def assess_entries(
    evidence: EdgeEvidence, entries: RowPairs, known: KnownTranslations | None
) -> tuple[Floats, dict[str, Any]]:
    """Return the confidence of each entry, and what ``run.json`` says about it."""
    calibration, about = SHIPPED_CALIBRATION, dict[str, Any](calibrated_on="shipped vectors", examples=0)
    if known is not None and len(known.words):
        edges, right = labelled_examples(evidence, known)
        features, prior_examples = evidence.features(edges), PRIOR_EXAMPLES[0]
        about = {"calibrated_on": "held-out seed words", "examples": len(edges)}
        if len(edges) >= MIN_EXAMPLES:
            held_out = {count: held_out_confidence(features, right, count) for count in PRIOR_EXAMPLES}
            prior_examples = min(PRIOR_EXAMPLES, key=lambda count: log_loss(held_out[count], right))
            about["held_out_error"] = round(calibration_error(held_out[prior_examples], right), 4)
        calibration = fit_calibration(features, right, SHIPPED_CALIBRATION, prior_examples)
    confidence = calibration.probability(evidence.features(evidence.find_edges(entries))).round(CONFIDENCE_DIGITS)
    return confidence, {**about, "expected_precision": round(float(confidence.mean()), 4) if len(confidence) else None}


def held_out_confidence(features: Floats, right: NDArray[np.bool_], prior_examples: float) -> Floats:
    """Return the confidence of each example under a calibration fitted to the other half of the examples."""
    half, found = np.arange(len(right)) % 2 == 0, np.empty(len(right))
    for tested in (half, ~half):
        fitted = fit_calibration(features[~tested], right[~tested], SHIPPED_CALIBRATION, prior_examples)
        found[tested] = fitted.probability(features[tested])
    return found


def log_loss(confidence: Floats, right: NDArray[np.bool_]) -> float:
    """Return the mean negative log-likelihood of the labels."""
    return float(-np.log(np.where(right, confidence, 1 - confidence)).mean())

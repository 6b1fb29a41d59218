"""The weight of a pair of words in nats: every edge of a run weighed by all its evidence.

The counted curves (`bilex.model.counting`) say what the vectors, the spelling and the frequency are worth. A dictionary
then teaches the same weights, and what the endings and the family of a word add (`bilex.model.listwise`,
`bilex.model.forms`); each word of it is weighed by what the others teach, so its edges look no better than those of a
word that it does not know.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from bilex.matching.graph import Capacities, Graph, RowPairs
from bilex.model.counting import CountedWeights, bounded_purity, choose_edges, count_weights, is_telling, learn_log_odds
from bilex.model.endings import EndingRatios, count_endings, cross_fit_endings
from bilex.model.evidence import Flags, Measured
from bilex.model.forms import (
    ENDING_COLUMNS,
    Vocabularies,
    compare_families,
    decide_within_families,
    ending_levels,
    family_columns,
    form_columns,
)
from bilex.model.listwise import CandidateLists, Lessons, fit_weights
from bilex.numerics.threads import single_threaded_blas
from bilex.numerics.types import Floats, Indices

FOLDS = 5
MIN_LESSONS = 200  # words with right and wrong candidates; fewer cannot tell wrong from not listed
VECTOR_COLUMNS = ("csls", "cosine")
MARGIN_KNOTS = (-0.3, -0.2, -0.1, -0.05, 0.0, 0.05, 0.1, 0.2)
TEMPERATURE_VARIANCE = 0.04  # of what a dictionary may change, before it is seen: how sharp the counted weights are,
SLOPE_VARIANCE = 9.0  # nats per unit of a cosine,
CURVE_VARIANCE = 0.25  # the rise of a curve between two knots, the weight of an ending's ratio, of a family's flag


@dataclass(frozen=True, eq=False)
class CandidateEdges:
    """The edges around each word and what speaks for them.

    The graph's weights are CSLS scores under maps that the source word had no part in, `csls` those that pairs are
    weighed by, and `cosine` belongs to these.
    """

    graph: Graph
    csls: Floats
    cosine: Floats
    evidence: tuple[Measured, ...]
    near: Flags  # neighbours; the others are edges only because they were asked for
    vocabularies: Vocabularies | None = None  # for endings and families

    @cached_property
    def margin(self) -> Measured:
        """How far each edge is above the best other edge of its target, by CSLS; a dictionary says what it is worth.

        Chosen edges are the best of their target by definition, so it cannot be counted.
        """
        from bilex.model.rivals_kernel import top_two

        best, second = top_two(self.graph.indices, self.csls, self.graph.n_targets)
        first = best[self.graph.indices]
        rival = np.where(first == np.arange(len(first)), second[self.graph.indices], self.csls[first])
        return Measured("margin", MARGIN_KNOTS, 1, self.csls - rival)

    @property
    def taught_evidence(self) -> tuple[Measured, ...]:
        """What a dictionary teaches curves of."""
        return *self.evidence, self.margin

    def where(self, keep: Flags) -> CandidateEdges:
        """Return only these edges."""
        evidence, margin = tuple(each.where(keep) for each in self.evidence), self.margin.where(keep)
        graph = self.graph.where(keep)
        columns = {name: getattr(self, name)[keep] for name in ("csls", "cosine", "near")}
        part = replace(self, graph=graph, evidence=evidence, **columns)
        vars(part)["margin"] = margin  # over the rivals among all edges
        return part


@dataclass(frozen=True, eq=False)
class PairWeights:
    """What each kind of evidence is worth: slopes of what counts in proportion, and curves of the rest.

    `log_odds` are those of a pair without any evidence; `purity` and `deviation` as in `CountedWeights`. `lessons`
    counts the words of a dictionary that taught the weights.
    """

    slopes: dict[str, float]
    curves: dict[str, Floats]
    purity: float
    deviation: float
    log_odds: float = 0.0
    lessons: int = 0
    endings: tuple[EndingRatios, ...] = field(default=())

    def summary(self) -> dict[str, Any]:
        """Return it as ``run.json`` holds it."""
        figures = {name: round(float(getattr(self, name)), 4) for name in ("purity", "deviation", "log_odds")}
        curves = {name: [round(float(nats), 4) for nats in curve] for name, curve in self.curves.items()}
        slopes = {name: round(slope, 4) for name, slope in self.slopes.items()}
        return {**figures, "slopes": slopes, "curves": curves, "lessons": self.lessons}


@dataclass(frozen=True, eq=False)
class WeighedEdges:
    """The edges of a run with their weights in nats, log-odds included, and how they were weighed.

    `chosen` are the edges that stand out most for both of their words.
    """

    graph: Graph
    weights: PairWeights
    chosen: Flags

    def among_frequent(self, max_rank: int | None) -> WeighedEdges:
        """Return only the edges between two words among the `max_rank` most frequent."""
        if max_rank is None:
            return self
        seen = (self.graph.rows < max_rank) & (self.graph.indices < max_rank)
        return replace(self, graph=self.graph.where(seen), chosen=self.chosen[seen])


@single_threaded_blas()
def weigh_edges(edges: CandidateEdges, capacities: Capacities, dictionary: RowPairs | None = None) -> WeighedEdges:
    """Learn the weights of pairs from the edges of a run and, if there is one, a dictionary; weigh every edge."""
    counted = count_weights(edges.graph, edges.evidence)
    purity = bounded_purity(counted.purity, counted.deviation)
    weights, nats = weigh_counted(edges, counted)
    if dictionary is not None and edges.vocabularies is not None:
        weights, nats = teach(edges, weights, nats, dictionary)
    if edges.vocabularies is not None and not weights.lessons and is_telling(counted.purity, counted.deviation):
        rows, columns = edges.graph.rows, edges.graph.indices
        levels = [codes for column in ending_levels(*edges.vocabularies, rows, columns) for codes in column]
        endings = count_endings(edges.graph, edges.evidence, levels, rows % FOLDS, purity)
        nats = nats + decide_within_families(nats, endings, rows, columns, edges.vocabularies[1])
    log_odds = learn_log_odds(edges.graph, nats, purity, capacities)
    graph, weights = replace(edges.graph, weights=nats + log_odds), replace(weights, log_odds=log_odds)
    return WeighedEdges(graph, weights, choose_edges(edges.graph)[0])


def weigh_counted(edges: CandidateEdges, counted: CountedWeights) -> tuple[PairWeights, Floats]:
    """Weigh edges by what was counted."""
    slopes = dict(zip(VECTOR_COLUMNS, (counted.scale, 0.0), strict=True))
    weights = PairWeights(slopes, counted.curves, counted.purity, counted.deviation)
    nats = counted.scale * edges.csls
    for each in edges.evidence:
        nats = nats + each.nats(counted.curves[each.name])
    return weights, nats


def teach(edges: CandidateEdges, start: PairWeights, nats: Floats, dictionary: RowPairs) -> tuple[PairWeights, Floats]:
    """Improve the weights with a dictionary, and weigh every edge again.

    First the curves, then these together with endings and families, which need weights to be counted. The edges of the
    dictionary's words are weighed by what the other folds' words teach.
    """
    known = np.isin(edges.graph.rows, dictionary.source) & edges.near
    own, counted = edges.where(known), nats[known]
    right = np.isin(own.graph.keys, dictionary.keys(own.graph.n_targets))
    if count_lessons(own.graph.rows, right) < MIN_LESSONS:
        return start, nats
    assert edges.vocabularies is not None
    rows, columns, named = own.graph.rows, own.graph.indices, form_columns(edges.vocabularies)
    base = np.column_stack([counted, design_of(own)])
    mean, variance = prior_of(edges.taught_evidence, len(named))
    places = slice(base.shape[1])
    lessons = Lessons.of(base, right, rows, columns)
    scores = base @ fit_weights(lessons, mean[places], variance[places])
    forms, endings = cross_fitted_forms(own, scores, right, rows % FOLDS)
    full = np.column_stack([base, forms])
    taught = fit_weights(Lessons.of(full, right, rows, columns), mean, variance)
    weights = named_weights(taught, start, edges.taught_evidence, named, count_lessons(rows, right), endings)
    found = apply_weights(edges, weights)
    held_out = np.empty(len(right))
    for fold in range(FOLDS):
        tested = rows % FOLDS == fold
        if tested.any():
            others = Lessons.of(full[~tested], right[~tested], rows[~tested], columns[~tested])
            held_out[tested] = full[tested] @ fit_weights(others, mean, variance)
    found[known] = held_out
    return weights, found


def count_lessons(rows: Indices, right: Flags) -> int:
    """Count the words that have both right and wrong candidates."""
    return len(np.intersect1d(rows[right], rows[~right]))


def design_of(edges: CandidateEdges) -> Floats:
    """Return the columns in which the taught weights may differ from the counted ones: a row for each edge."""
    curves = [each.stretches() for each in edges.taught_evidence]
    return np.column_stack([edges.csls, edges.cosine, *curves])


def prior_of(evidence: Sequence[Measured], forms: int) -> tuple[Floats, Floats]:
    """Return the mean and the variance of the columns' weights before a dictionary is seen.

    The first column is the counted weight; the others are what may be added to it.
    """
    rises = sum(len(each.knots) - 1 for each in evidence) + forms
    variance = [TEMPERATURE_VARIANCE, *[SLOPE_VARIANCE] * len(VECTOR_COLUMNS), *[CURVE_VARIANCE] * rises]
    return np.concatenate([[1.0], np.zeros(len(variance) - 1)]), np.array(variance)


def named_weights(
    taught: Floats,
    start: PairWeights,
    evidence: Sequence[Measured],
    forms: tuple[str, ...],
    lessons: int,
    endings: tuple[EndingRatios, ...],
) -> PairWeights:
    """Read the weights of the columns as slopes and curves; a curve keeps its mean over the knots."""
    sharpness, place = float(taught[0]), 1 + len(VECTOR_COLUMNS)
    slopes = {
        name: sharpness * start.slopes[name] + float(added)
        for name, added in zip(VECTOR_COLUMNS, taught[1:], strict=False)
    }
    curves = {}
    for each in evidence:
        rises = taught[place : place + len(each.knots) - 1]
        added = np.concatenate([[0.0], np.cumsum(rises)])
        curves[each.name] = sharpness * start.curves.get(each.name, np.zeros(1)) + added
        place += len(rises)
    slopes |= dict(zip(forms, taught[place:].tolist(), strict=True))
    return replace(start, slopes=slopes, curves=curves, lessons=lessons, endings=endings)


def apply_weights(edges: CandidateEdges, weights: PairWeights) -> Floats:
    """Weigh edges by taught weights."""
    assert edges.vocabularies is not None
    rows, columns = edges.graph.rows, edges.graph.indices
    nats = weights.slopes["csls"] * edges.csls + weights.slopes["cosine"] * edges.cosine
    for each in edges.taught_evidence:
        nats = nats + each.nats(weights.curves[each.name])
    levels = ending_levels(*edges.vocabularies, rows, columns)
    for name, ratios, each_level in zip(ENDING_COLUMNS, weights.endings, levels, strict=False):
        nats = nats + weights.slopes[name] * ratios.read(each_level)
    families = compare_families(nats, rows, columns, edges.vocabularies)
    return np.asarray(nats + families @ [weights.slopes[name] for name in family_columns(edges.vocabularies)])


def cross_fitted_forms(
    edges: CandidateEdges, scores: Floats, right: Flags, folds: Indices
) -> tuple[Floats, tuple[EndingRatios, ...]]:
    """Return the columns of endings and families, and the ratios of endings counted on all words.

    Each word's endings are read with the counts of the other folds' words. Words of which no candidate is right say
    nothing of endings.
    """
    assert edges.vocabularies is not None
    rows, columns, lists = edges.graph.rows, edges.graph.indices, CandidateLists.of(edges.graph.rows)
    probable = lists.softmax(scores)
    share = lists.total(probable * right)[lists.owner]
    matched = np.divide(probable * right, share, where=share > 0, out=np.zeros(len(share)))
    expected, found, ratios = probable * (share > 0), list[Floats](), list[EndingRatios]()
    for levels in ending_levels(*edges.vocabularies, rows, columns):
        found.append(cross_fit_endings(levels, folds, matched, expected))
        ratios.append(EndingRatios.count(levels, matched, expected))
    families = compare_families(scores + np.sum(found, axis=0), rows, columns, edges.vocabularies)
    return np.column_stack([*found, families]), tuple(ratios)

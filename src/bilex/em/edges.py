"""The edges around each word, and how far they stand out under maps that their words had no part in.

The edges are the ten nearest neighbours of each word in the other language. A pair that EM learnt from looks better
under its maps than one that it never saw, so the source words are split into folds, and the edges of each fold are
measured under maps fitted to the pairs of the other folds. That is what the evidence is counted on. The maps of all
pairs know more, so the weights of pairs use the mean of both.

The words of a dictionary teach and calibrate. They must look exactly like words that it does not know, so even their
neighbours are those under the maps of the other folds, and their pairs are no edges because the dictionary lists them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bilex.matching.graph import Graph, Matching, RowPairs
from bilex.matching.solver import solve
from bilex.methods import MapConfig
from bilex.model.evidence import Evidence, Flags, Measured
from bilex.model.forms import Vocabularies
from bilex.model.pair_weights import FOLDS, CandidateEdges, WeighedEdges
from bilex.model.prior import Prior
from bilex.model.theta import Theta
from bilex.numerics.rows import distinct, make_unit
from bilex.numerics.types import Floats, Indices, Vectors
from bilex.search.engine import Engine
from bilex.search.lists import NeighbourLists
from bilex.search.space import CROWDING_NEIGHBOURS, SharedSpace

DICTIONARY_NEIGHBOURS = 20  # of a dictionary's word: as many as other words have edges, by neighbours of both sides
LISTING_ODDS = 1.75  # nats: a pair may be this much less probable than no pair, since synonyms share a word's posterior


@dataclass(frozen=True, eq=False)
class Languages:
    """Both languages as they are measured: vectors, the kinds of evidence between their words, and their forms."""

    source: Vectors
    target: Vectors
    kinds: tuple[Evidence, ...]
    vocabularies: Vocabularies | None = None

    def among_frequent(self, max_rank: int | None) -> Languages:
        """Return the most frequent words of both; evidence is measured by row, so it stays."""
        return replace(self, source=self.source[:max_rank], target=self.target[:max_rank])


def gather_edges(
    languages: Languages,
    space: SharedSpace,
    neighbours: NeighbourLists,
    trained: RowPairs,
    config: MapConfig,
    engine: Engine,
    *,
    dictionary: RowPairs | None = None,
    extra: RowPairs | None = None,
) -> CandidateEdges:
    """Collect the edges around each word, and the `extra` pairs, and measure all evidence on them.

    `trained` are the pairs that the maps were fitted to, by the configuration.
    """
    shape = len(space.source), len(space.target)
    known = np.zeros(shape[0], bool)
    if dictionary is not None:
        known[dictionary.source] = True
    keys, near = list[Indices](), list[Flags]()
    measured = StandingOut(neighbours, shape)
    added = np.zeros(0, np.int64) if extra is None else extra.keys(shape[1])
    everything = FoldMaps(space, trained)
    for fold in range(FOLDS):
        own = np.arange(fold, shape[0], FOLDS)
        maps = everything.without(fold, languages, config)
        mapped, unknown, taught = maps.sources(own), own[~known[own]], own[known[own]]
        rows, columns = edges_of_fold(fold, unknown, known, neighbours)
        if len(taught):
            found = engine.top_k(mapped[taught // FOLDS], maps.targets, min(DICTIONARY_NEIGHBOURS, shape[1]))
            rows = np.concatenate([rows, np.repeat(taught, found.indices.shape[1])])
            columns = np.concatenate([columns, found.indices.ravel()])
            measured.fitted.source[taught] = found.scores[:, :CROWDING_NEIGHBOURS].mean(axis=1)
        found_keys = distinct(rows * np.int64(shape[1]) + columns)
        keys.append(distinct(np.concatenate([found_keys, added[added // shape[1] % FOLDS == fold]])))
        near.append(np.isin(keys[-1], found_keys, assume_unique=True))
        measured.measure(fold, unknown, keys[-1], (mapped, maps.targets), (everything.sources(own), space.target))
        del maps, mapped  # before those of the next fold are made
    order = np.argsort(np.concatenate(keys))
    pairs = RowPairs(*np.divmod(np.concatenate(keys)[order], shape[1]))
    evidence = tuple(Measured.on(kind, pairs.source, pairs.target) for kind in languages.kinds)
    graph, csls, cosine = measured.edges(pairs, order, known)
    return CandidateEdges(graph, csls, cosine, evidence, np.concatenate(near)[order], languages.vocabularies)


@dataclass(frozen=True, eq=False)
class FoldMaps:
    """Maps and the pairs that they were fitted to: those of all pairs, or of those without one fold."""

    space: SharedSpace  # of all pairs
    pairs: RowPairs
    theta: Theta | None = None  # None where the maps are those of all pairs
    vectors: Vectors | None = None

    def without(self, fold: int, languages: Languages, config: MapConfig) -> FoldMaps:
        """Fit the maps to the pairs of the other folds; if these are all pairs or none, nothing changes."""
        pairs = self.pairs.where(self.pairs.source % FOLDS != fold)
        if not 0 < len(pairs) < len(self.pairs):
            return self
        theta = Theta.from_pairs(languages.source[pairs.source], languages.target[pairs.target], config)
        found = FoldMaps(self.space, pairs, theta, languages.source)
        if theta.target_map is not None:
            vars(found)["targets"] = make_unit(theta.map_target(languages.target))
        return found

    def sources(self, rows: Indices) -> Vectors:
        """Map these source words."""
        if self.theta is None or self.vectors is None:
            return np.ascontiguousarray(self.space.source[rows])
        return make_unit(self.theta.map_source(self.vectors[rows]))

    @cached_property
    def targets(self) -> Vectors:
        """All target words."""
        return self.space.target


class StandingOut:
    """How far edges stand out: their cosines and the crowding of their words, cross-fitted and by all pairs."""

    def __init__(self, neighbours: NeighbourLists, shape: tuple[int, int]) -> None:
        self.fitted, self.whole = FoldCrowding(neighbours, shape), FoldCrowding(neighbours, shape)
        self._cosines = list[tuple[Floats, Floats]]()
        self._shape = shape

    def measure(
        self, fold: int, words: Indices, keys: Indices, fitted: tuple[Vectors, Vectors], whole: tuple[Vectors, Vectors]
    ) -> None:
        """Add the edges of a fold, under its own maps and under those of all pairs."""
        rows, columns = np.divmod(keys, self._shape[1])
        self._cosines.append(
            (score_edges(*fitted, rows // FOLDS, columns), score_edges(*whole, rows // FOLDS, columns))
        )
        self.fitted.measure(words, fold, *fitted)
        self.whole.measure(words, fold, *whole)

    def edges(self, pairs: RowPairs, order: Indices, known: Flags) -> tuple[Graph, Floats, Floats]:
        """Return the graph of cross-fitted CSLS, and the CSLS and the cosines that pairs are weighed by.

        These are the mean of cross-fitted and of all pairs, and for the words of a dictionary cross-fitted.
        """
        rows, columns = pairs.source, pairs.target
        cosines, whole = (np.concatenate(each)[order] for each in zip(*self._cosines, strict=True))
        cross_fitted = self.fitted.csls(cosines, pairs)
        csls = (self.whole.csls(whole, pairs) + cross_fitted) / 2
        graph = Graph.from_edges(rows, columns, cross_fitted, self._shape)
        own = known[rows]
        return graph, np.where(own, cross_fitted, csls), np.where(own, cosines, (cosines + whole) / 2)


def score_edges(queries: Vectors, targets: Vectors, rows: Indices, columns: Indices) -> Floats:
    """Compute the cosine of each edge between unit vectors."""
    from bilex.search.topk_kernel import edge_scores

    return np.asarray(edge_scores(queries, targets, rows, columns))


def edges_of_fold(fold: int, unknown: Indices, known: Flags, neighbours: NeighbourLists) -> tuple[Indices, Indices]:
    """Return the edges of a fold's source words: neighbours in either direction.

    The neighbours of `known` words are not used; `unknown` are the other words of the fold.
    """
    back = neighbours.of_target.ravel()
    behind = np.repeat(np.arange(len(neighbours.of_target)), neighbours.of_target.shape[1])
    theirs = (back % FOLDS == fold) & ~known[back]
    rows = np.concatenate([np.repeat(unknown, neighbours.of_source.shape[1]), back[theirs]])
    return rows, np.concatenate([neighbours.of_source[unknown].ravel(), behind[theirs]])


class FoldCrowding:
    """The crowding of each word, from cosines with its neighbours under the maps of the source words' folds."""

    def __init__(self, neighbours: NeighbourLists, shape: tuple[int, int]) -> None:
        self.source, self.target = np.zeros(shape[0]), np.zeros(shape[1])
        self._neighbours = neighbours

    def measure(self, words: Indices, fold: int, mapped: Vectors, targets: Vectors) -> None:
        """Add what a fold says: of these source words, and of all targets that its words are near to."""
        near, back = self._neighbours.of_source[words], self._neighbours.of_target
        found = score_edges(mapped, targets, np.repeat(words // FOLDS, near.shape[1]), near.ravel())
        self.source[words] = found.reshape(near.shape).mean(axis=1)
        columns, places = np.nonzero(back % FOLDS == fold)
        cosines = score_edges(mapped, targets, back[columns, places] // FOLDS, columns)
        self.target += np.bincount(columns, cosines, len(self.target)) / back.shape[1]

    def csls(self, cosines: Floats, pairs: RowPairs) -> Floats:
        """Return the CSLS scores of pairs from their cosines."""
        return np.asarray(2 * cosines - self.source[pairs.source] - self.target[pairs.target])


def match_weighed(edges: WeighedEdges, prior: Prior, least_odds: float = LISTING_ODDS) -> Matching:
    """Find the best edge set on all evidence that the prior allows; a pair weighs ``-least_odds`` at least."""
    graph = replace(edges.graph, weights=edges.graph.weights + least_odds)
    if prior.capacities.sources_choose:
        turned = Graph.from_edges(graph.indices, graph.rows, graph.weights, (graph.n_targets, graph.n_sources))
        return match_graph(turned, prior.mirrored()).mirrored()
    return match_graph(graph, prior)


def match_graph(graph: Graph, prior: Prior) -> Matching:
    """Apply the prior to a graph and solve it; kept pairs are added, with the weight that the graph has for them."""
    matching = solve(prior.apply(graph), prior.capacities)
    kept = np.isin(prior.kept.keys(graph.n_targets), graph.keys)
    weights = np.zeros(len(prior.kept))
    weights[kept] = graph.weights[np.searchsorted(graph.keys, prior.kept.keys(graph.n_targets)[kept])]
    return prior.complete(matching, weights)

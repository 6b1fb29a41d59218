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

import numpy as np

from bilex.matching.graph import Graph, Matching, RowPairs
from bilex.matching.solver import solve
from bilex.methods import MIN_LISTED, MapConfig
from bilex.model.evidence import Evidence, Flags, Measured
from bilex.model.forms import Vocabulary
from bilex.model.pair_weights import FOLDS, CandidateEdges, WeighedEdges
from bilex.model.prior import Prior
from bilex.model.theta import Theta
from bilex.numerics.rows import unit
from bilex.numerics.types import Floats, Indices, Vectors
from bilex.search.engine import Engine
from bilex.search.lists import NeighbourLists
from bilex.search.space import CROWDING_NEIGHBOURS, SharedSpace

DICTIONARY_NEIGHBOURS = 20  # of a dictionary's word: as many as other words have edges, by neighbours of both sides
LISTING_ODDS = float(np.log(1 / MIN_LISTED - 1))  # what an entry has to outweigh is this much less than no entry


@dataclass(frozen=True, eq=False)
class Languages:
    """Both languages as they are measured: vectors, the kinds of evidence between their words, and their forms."""

    source: Vectors
    target: Vectors
    kinds: tuple[Evidence, ...]
    vocabularies: tuple[Vocabulary, Vocabulary] | None = None

    def among_frequent(self, max_rank: int | None) -> Languages:
        """Return the most frequent words of both; evidence is measured by row, so it stays."""
        return replace(self, source=self.source[:max_rank], target=self.target[:max_rank], vocabularies=None)


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
    parts, crowding = list[tuple[Indices, Floats, Flags]](), FoldCrowding(neighbours, shape)
    added = np.zeros(0, np.int64) if extra is None else extra.keys(shape[1])
    for fold in range(FOLDS):
        others = trained.source % FOLDS != fold
        mapped, targets = space.source[fold::FOLDS], space.target
        if others.any() and not others.all():
            pairs = trained.where(others)
            theta = Theta.from_pairs(languages.source[pairs.source], languages.target[pairs.target], config)
            mapped = unit(theta.map_source(languages.source[fold::FOLDS]))
            targets = space.target if theta.target_map is None else unit(theta.map_target(languages.target))
        mapped = np.ascontiguousarray(mapped)
        own = np.arange(fold, shape[0], FOLDS)
        rows, columns = edges_of_fold(fold, own[~known[own]], known, neighbours)
        taught = own[known[own]]
        if len(taught):
            found = engine.top_k(mapped[taught // FOLDS], targets, min(DICTIONARY_NEIGHBOURS, shape[1]))
            rows = np.concatenate([rows, np.repeat(taught, found.indices.shape[1])])
            columns = np.concatenate([columns, found.indices.ravel()])
            crowding.source[taught] = found.scores[:, :CROWDING_NEIGHBOURS].mean(axis=1)
        found_keys = np.unique(rows * np.int64(shape[1]) + columns)
        keys = np.union1d(found_keys, added[added // shape[1] % FOLDS == fold])
        cosines = score_edges(mapped, targets, keys // shape[1] // FOLDS, keys % shape[1])
        parts.append((keys, cosines, np.isin(keys, found_keys)))
        crowding.measure(own[~known[own]], fold, mapped, targets)
    keys, cosines, near = (np.concatenate(each) for each in zip(*parts, strict=True))
    order = np.argsort(keys)
    rows, columns, cosines, near = keys[order] // shape[1], keys[order] % shape[1], cosines[order], near[order]
    cross_fitted = 2 * cosines - crowding.source[rows] - crowding.target[columns]
    graph = Graph.from_edges(rows, columns, cross_fitted, shape)
    whole = score_edges(space.source, space.target, rows, columns)
    csls = (2 * whole - space.source_crowding[rows] - space.target_crowding[columns] + cross_fitted) / 2
    evidence = tuple(Measured.on(kind, rows, columns) for kind in languages.kinds)
    return CandidateEdges(
        graph,
        np.where(known[rows], cross_fitted, csls),
        np.where(known[rows], cosines, (cosines + whole) / 2),
        evidence,
        near,
        languages.vocabularies,
    )


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

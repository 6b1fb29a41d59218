"""The edges around each word, and how far they stand out under maps that their words had no part in.

The edges are the ten nearest neighbours of each word in the other language. A pair that EM learnt from looks better
under its maps than one that it never saw, so the source words are split into folds, and the edges of each fold are
measured under maps fitted to the pairs of the other folds. That is what the evidence is counted on. The maps of all
pairs know more, so the weights of pairs use the mean of both.

The words of a dictionary teach and calibrate. They must look exactly like words that it does not know, so even their
neighbours are those under the maps of the other folds, and their pairs are no edges because the dictionary lists them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from bilex.matching.graph import Graph, Matching, RowPairs
from bilex.matching.solver import solve
from bilex.methods import MapConfig
from bilex.model.evidence import Evidence, Flags, Measured
from bilex.model.forms import Vocabularies
from bilex.model.maps import Moments, moments_suffice
from bilex.model.pair_weights import FOLDS, CandidateEdges, WeighedEdges
from bilex.model.prior import Prior
from bilex.model.theta import Theta
from bilex.numerics.rows import as_rows, blocks, make_unit
from bilex.numerics.threads import for_each
from bilex.numerics.types import Floats, Indices, Vectors
from bilex.search.engine import Engine
from bilex.search.lists import NeighbourLists
from bilex.search.space import CROWDING_NEIGHBOURS, SharedSpace

EDGES_OF_A_THREAD = 1 << 16  # at a time
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
    every, added = FoldMaps.of(space, trained, languages, config), RowPairs() if extra is None else extra
    crowding, found = Crowding(np.zeros(shape[0]), np.zeros(shape[1])), list[FoundEdges]()
    for fold in range(FOLDS):
        maps, own = every.without(fold, languages, config), np.arange(fold, shape[0], FOLDS)
        words = FoldWords(fold, own[~known[own]], maps.sources(own), maps.targets)
        parts = [words.find_neighbours(neighbours, crowding), words.find_followers(neighbours, crowding, known)]
        if known[own].any():
            parts.append(words.search(own[known[own]], engine, crowding))
        parts.append(words.score_pairs(added.where(added.source % FOLDS == fold), space))
        found.append(FoundEdges.join(parts).distinct(shape[1]))
        del maps, words  # before those of the next fold are made
    edges = FoundEdges.join(found).distinct(shape[1])
    rows, columns = edges.rows, edges.columns
    fitted = crowding.csls(edges.fitted, rows, columns)
    whole = Crowding(space.source_crowding, space.target_crowding).csls(edges.whole, rows, columns)
    own = known[rows]
    return CandidateEdges(
        Graph.from_edges(rows, columns, fitted, shape),
        np.where(own, fitted, (whole + fitted) / 2),
        np.where(own, edges.fitted, (edges.fitted + edges.whole) / 2),
        tuple(Measured.on(kind, rows, columns) for kind in languages.kinds),
        edges.near,
        languages.vocabularies,
    )


@dataclass(frozen=True, eq=False)
class FoundEdges:
    """Edges and their cosines: under maps that their source words had no part in (`fitted`) and those of all pairs.

    The words of a dictionary have only the former. `near` are neighbours; the others are edges because they were asked
    for.
    """

    rows: Indices
    columns: Indices
    fitted: Floats
    whole: Floats
    near: Flags

    @classmethod
    def join(cls, parts: Sequence[FoundEdges]) -> FoundEdges:
        """Put lists of edges one after the other."""
        return cls(*(np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(cls)))

    def where(self, keep: Flags | Indices) -> FoundEdges:
        """Return only these edges."""
        return FoundEdges(*(getattr(self, each.name)[keep] for each in fields(self)))

    def distinct(self, width: int) -> FoundEdges:
        """Sort the edges; of those that were found twice the first stays."""
        keys = self.rows * np.int64(width) + self.columns
        order = np.argsort(keys, kind="stable")
        is_new = np.ones(len(order), np.bool_)
        np.not_equal(keys[order[1:]], keys[order[:-1]], out=is_new[1:])
        return self.where(order[is_new])


@dataclass(frozen=True, eq=False)
class Crowding:
    """The mean cosine of each word with its neighbours."""

    source: Floats
    target: Floats

    def csls(self, cosines: Floats, rows: Indices, columns: Indices) -> Floats:
        """Return the CSLS scores of pairs from their cosines."""
        return np.asarray(2 * cosines - self.source[rows] - self.target[columns])


@dataclass(frozen=True, eq=False)
class FoldWords:
    """The source words of a fold and all targets, under maps that the fold had no part in.

    `unknown` are the words that no dictionary lists.
    """

    fold: int
    unknown: Indices
    mapped: Vectors
    targets: Vectors

    def find_neighbours(self, neighbours: NeighbourLists, crowding: Crowding) -> FoundEdges:
        """Return the edges to the neighbours of the unknown words, and measure their crowding."""
        near = neighbours.of_source[self.unknown]
        rows, columns = np.repeat(self.unknown, near.shape[1]), near.ravel()
        cosines = self._cosines(rows, columns)
        crowding.source[self.unknown] = cosines.reshape(near.shape).mean(axis=1)
        whole = neighbours.source_cosines[self.unknown].ravel()
        return FoundEdges(rows, columns, cosines, whole, np.ones(len(rows), np.bool_))

    def find_followers(self, neighbours: NeighbourLists, crowding: Crowding, known: Flags) -> FoundEdges:
        """Return the edges to targets that have unknown words as neighbours, and add to the crowding of all targets."""
        columns, places = np.nonzero(neighbours.of_target % FOLDS == self.fold)
        rows = neighbours.of_target[columns, places]
        cosines = self._cosines(rows, columns)
        crowding.target[:] += np.bincount(columns, cosines, len(crowding.target)) / neighbours.of_target.shape[1]
        whole = neighbours.target_cosines[columns, places]
        return FoundEdges(rows, columns, cosines, whole, np.ones(len(rows), np.bool_)).where(~known[rows])

    def search(self, words: Indices, engine: Engine, crowding: Crowding) -> FoundEdges:
        """Search for the neighbours of a dictionary's words, and measure their crowding."""
        found = engine.top_k(self.mapped[words // FOLDS], self.targets, min(DICTIONARY_NEIGHBOURS, len(self.targets)))
        crowding.source[words] = found.scores[:, :CROWDING_NEIGHBOURS].mean(axis=1)
        rows, cosines = np.repeat(words, found.indices.shape[1]), found.scores.ravel()
        return FoundEdges(rows, found.indices.ravel(), cosines, cosines, np.ones(len(rows), np.bool_))

    def score_pairs(self, pairs: RowPairs, space: SharedSpace) -> FoundEdges:
        """Return pairs of these words as edges."""
        rows, columns = pairs.source, pairs.target
        whole = score_edges(space.source, space.target, rows, columns)
        return FoundEdges(rows, columns, self._cosines(rows, columns), whole, np.zeros(len(rows), np.bool_))

    def _cosines(self, rows: Indices, columns: Indices) -> Floats:
        return score_edges(self.mapped, self.targets, rows // FOLDS, columns)


@dataclass(frozen=True, eq=False)
class FoldMaps:
    """Maps and the pairs that they were fitted to: those of all pairs, or of those without one fold."""

    space: SharedSpace  # of all pairs
    pairs: RowPairs
    theta: Theta | None = None  # None where the maps are those of all pairs
    vectors: Vectors | None = None
    moments: tuple[Moments, ...] = ()  # of the pairs of each fold, where these are all that the maps need

    @classmethod
    def of(cls, space: SharedSpace, pairs: RowPairs, languages: Languages, config: MapConfig) -> FoldMaps:
        """Return the maps of all pairs."""
        moments = tuple[Moments, ...]()
        if moments_suffice(config, languages.source, languages.target):
            folds = (pairs.where(pairs.source % FOLDS == fold) for fold in range(FOLDS))
            moments = tuple(Moments.of(languages.source[each.source], languages.target[each.target]) for each in folds)
        return cls(space, pairs, moments=moments)

    def without(self, fold: int, languages: Languages, config: MapConfig) -> FoldMaps:
        """Fit the maps to the pairs of the other folds; if these are all pairs or none, nothing changes."""
        pairs = self.pairs.where(self.pairs.source % FOLDS != fold)
        if not 0 < len(pairs) < len(self.pairs):
            return self
        if self.moments:
            theta = Theta.from_moments(Moments.total(self.moments[:fold] + self.moments[fold + 1 :]), config)
        else:
            theta = Theta.from_pairs(languages.source[pairs.source], languages.target[pairs.target], config)
        found = FoldMaps(self.space, pairs, theta, languages.source)
        if theta.target_map is not None:
            vars(found)["targets"] = theta.map_target(languages.target)
        return found

    def sources(self, rows: Indices) -> Vectors:
        """Map these source words."""
        if self.theta is None or self.vectors is None:
            return np.ascontiguousarray(self.space.source[rows])
        mapped = self.theta.map_source(self.vectors[rows])
        return make_unit(mapped) if self.theta.target_map is None else mapped

    @cached_property
    def targets(self) -> Vectors:
        """All target words."""
        return self.space.target


def score_edges(queries: Vectors, targets: Vectors, rows: Indices, columns: Indices) -> Floats:
    """Compute the cosine of each edge between unit vectors, on all threads."""
    from bilex.numerics.products_kernel import edge_scores

    queries, targets, scores = as_rows(queries), as_rows(targets), np.empty(len(rows))

    def score(part: slice) -> None:
        scores[part] = edge_scores(queries, targets, rows[part], columns[part])

    for_each(score, list(blocks(len(rows), EDGES_OF_A_THREAD)))
    return scores


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

"""From the matching to the entries of the lexicon: their rows, scores, ranks and confidence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bilex.confidence.assessment import EdgeEvidence, KnownTranslations, assess_entries, gather_edge_evidence
from bilex.em.em import Fit
from bilex.em.held_out import Choice
from bilex.lexicon.lexicon import MATCHING, RETRIEVAL, SEED, Lexicon
from bilex.matching.graph import RowPairs
from bilex.methods import Method
from bilex.model.evidence import FrequencyEvidence, PairWeights, SpellingEvidence, learn_weights
from bilex.model.theta import Theta
from bilex.numerics.types import Indices
from bilex.runs.prepared import Prepared
from bilex.search.engine import Engine
from bilex.search.lists import NeighbourLists
from bilex.search.space import SharedSpace
from bilex.vectors.embeddings import Embeddings
from bilex.vectors.spelling import SpellingComparison


@dataclass(frozen=True, eq=False)
class Learnt:
    """What EM started from and what it learnt, before anything is looked up with it."""

    prepared: Prepared
    fit: Fit
    method: Method  # with everything decided
    choices: tuple[Choice, ...]  # what was decided

    @property
    def source(self) -> Embeddings:
        """The prepared source vectors."""
        return self.prepared.source

    @property
    def target(self) -> Embeddings:
        """The prepared target vectors."""
        return self.prepared.target

    def shared_space(self, engine: Engine) -> tuple[SharedSpace, NeighbourLists]:
        """Map all words into one space, and find the neighbours of each."""
        theta, prepared = self.fit.theta, self.prepared
        mapped = theta.map_source(prepared.source.vectors), theta.map_target(prepared.target.vectors)
        return SharedSpace.with_neighbours(*mapped, engine)

    def training_pairs(self) -> RowPairs:
        """Return the pairs that the maps were fitted to last."""
        seed, method = self.prepared.seed.pairs, self.method
        if not method.self_learning:
            return seed
        matched = self.fit.matching.pairs.among_frequent(method.e_step.max_rank)
        return matched if method.supervision == "start" else matched.union(seed)


def build_lexicon(learnt: Learnt, space: SharedSpace, engine: Engine, *, complete: bool) -> tuple[Lexicon, RowPairs]:
    """Build the lexicon of the matched pairs and, if asked to, of the best neighbour of every other source word.

    Kept pairs that the matching could not contain, because a word is beyond the frequency constraint, are entries too.
    Returns the rows of the entries as well.
    """
    prepared = learnt.prepared
    source, target, seed, prior = prepared.source, prepared.target, prepared.seed, prepared.prior
    pairs = learnt.fit.matching.pairs.union(prior.kept)
    given = prior.kept if seed.reviewed else seed.pairs  # the rest of a reviewed lexicon is only a start
    from_seed = np.isin(pairs.keys(len(target)), given.keys(len(target)))
    origin = np.where(from_seed, SEED, MATCHING).tolist()
    if complete:
        rest = np.setdiff1d(np.arange(len(source)), pairs.source)
        best = best_allowed(rest, prior.forbidden, space, engine)
        rest, best = rest[best >= 0], best[best >= 0]
        pairs = RowPairs(np.concatenate([pairs.source, rest]), np.concatenate([pairs.target, best]))
        origin += [RETRIEVAL] * len(rest)
    rows, columns = pairs.source, pairs.target
    lexicon = Lexicon(
        tuple(source.words[row] for row in rows.tolist()),
        tuple(target.words[column] for column in columns.tolist()),
        space.scores(rows, columns, "nn"),
        space.rank(rows, columns, "csls", engine),
        (space.source_nearest[rows] == columns) & (space.target_nearest[columns] == rows),
        tuple(origin),
    )
    return lexicon, pairs


def best_allowed(rows: Indices, forbidden: RowPairs, space: SharedSpace, engine: Engine) -> Indices:
    """Find the best CSLS neighbour of each source word that is not forbidden to it; -1 if there is none."""
    best = space.search(rows, 1, "csls", engine).indices[:, 0].copy()
    size = len(space.target)
    never = forbidden.keys(size)
    places = np.flatnonzero(np.isin(RowPairs(rows, best).keys(size), never))
    if not len(places):
        return best
    most = int(np.bincount(forbidden.source).max()) + 1
    found = space.search(rows[places], most, "csls", engine).indices
    allowed = ~np.isin(rows[places][:, None] * size + found, never)
    best[places] = np.where(allowed.any(axis=1), found[np.arange(len(places)), allowed.argmax(axis=1)], -1)
    return best


def with_confidence(
    lexicon: Lexicon, entries: RowPairs, learnt: Learnt, evidence: EdgeEvidence
) -> tuple[Lexicon, dict[str, Any]]:
    """Add to each entry the probability that it is right, and describe for ``run.json`` what that rests on.

    Pairs that a person gave or accepted get confidence 1; identical strings do not.
    """
    seed = learnt.prepared.seed
    known = KnownTranslations(seed.pairs, seed.unanswered) if seed.is_dictionary else None
    confidence, about = assess_entries(evidence, entries, known)
    if seed.is_dictionary or seed.reviewed:
        confidence = np.where([origin == SEED for origin in lexicon.origin], 1.0, confidence)
    return replace(lexicon, confidence=confidence), about


def weights_of_pairs(evidence: EdgeEvidence) -> PairWeights:
    """Learn what each kind of evidence says for a pair, from the edges of the run."""
    return learn_weights(evidence.graph, (SpellingEvidence(evidence.spelling), FrequencyEvidence()))


def edge_evidence(entries: RowPairs, learnt: Learnt, space: SharedSpace, neighbours: NeighbourLists) -> EdgeEvidence:
    """Gather the evidence for the entries, under maps that they themselves had no part in."""
    source, target, trained = learnt.prepared.source, learnt.prepared.target, learnt.training_pairs()

    def refit(pairs: RowPairs) -> Theta:
        return Theta.from_pairs(source.vectors[pairs.source], target.vectors[pairs.target], learnt.method.map)

    return gather_edge_evidence(
        (source.vectors, target.vectors),
        space,
        neighbours,
        entries,
        trained,
        refit,
        learnt.prepared.prior.capacities,
        SpellingComparison(source.words, target.words),
    )

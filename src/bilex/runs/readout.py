"""From what EM learnt to the entries of a lexicon: pairs, their scores and ranks, and how probably each is right."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bilex.confidence.assessment import EdgeEvidence, KnownTranslations, assess_entries, gather_edge_evidence
from bilex.lexicon.lexicon import MATCHING, RETRIEVAL, SEED, Lexicon
from bilex.model.constraints import Pairs, rows_of
from bilex.model.edge_prior import Features
from bilex.model.theta import Theta
from bilex.numerics.types import Indices
from bilex.runs.learning import Learnt
from bilex.search.engine import Engine
from bilex.search.space import NeighbourLists, SharedSpace
from bilex.seeds.seed import SEED_NAMES

__all__ = ["build_lexicon", "evidence_for", "rows_of_entries", "with_confidence"]


def build_lexicon(learnt: Learnt, space: SharedSpace, engine: Engine, *, complete: bool) -> Lexicon:
    """Put the matched pairs, and on request the best neighbour of every other source word, into a lexicon.

    Kept pairs that the matching could not see, because a word is beyond the frequency constraint, are entries too.
    """
    source, target, seed = learnt.source, learnt.target, learnt.seed
    kept, matching = rows_of(seed.kept, source, target), learnt.fit.matching
    pairs = set(zip(matching.source.tolist(), matching.target.tolist(), strict=True))
    pairs |= set(zip(kept.source.tolist(), kept.target.tolist(), strict=True))
    rows, columns = np.array(sorted(pairs), np.int64).reshape(-1, 2).T
    given = kept if seed.reviewed else seed  # the rest of a lexicon is but a start
    seeds = set(zip(given.source.tolist(), given.target.tolist(), strict=True))
    origin = [SEED if pair in seeds else MATCHING for pair in zip(rows.tolist(), columns.tolist(), strict=True)]
    if complete:
        rest = np.setdiff1d(np.arange(len(source)), rows)
        best = best_allowed(rest, rows_of(seed.forbidden, source, target), space, engine)
        rest, best = rest[best >= 0], best[best >= 0]
        rows, columns = np.concatenate([rows, rest]), np.concatenate([columns, best])
        origin += [RETRIEVAL] * len(rest)
    return Lexicon(
        tuple(source.words[row] for row in rows.tolist()),
        tuple(target.words[column] for column in columns.tolist()),
        space.scores(rows, columns, "nn"),
        space.rank(rows, columns, "csls", engine),
        (space.source_nearest[rows] == columns) & (space.target_nearest[columns] == rows),
        tuple(origin),
    )


def best_allowed(rows: Indices, forbidden: Pairs, space: SharedSpace, engine: Engine) -> Indices:
    """Give the best CSLS neighbour of each source word that is not forbidden to it; -1 if there is none."""
    best = space.search(rows, 1, "csls", engine).indices[:, 0].copy()
    size = len(space.target)
    never = forbidden.source * size + forbidden.target
    places = np.flatnonzero(np.isin(rows * size + best, never))
    if not len(places):
        return best
    most = int(np.bincount(forbidden.source).max()) + 1
    found = space.search(rows[places], most, "csls", engine).indices
    allowed = ~np.isin(rows[places][:, None] * size + found, never)
    best[places] = np.where(allowed.any(axis=1), found[np.arange(len(places)), allowed.argmax(axis=1)], -1)
    return best


def with_confidence(
    lexicon: Lexicon, learnt: Learnt, space: SharedSpace, around: NeighbourLists
) -> tuple[Lexicon, dict[str, Any]]:
    """Give each entry the probability that it is right, and say for ``run.json`` what that rests on.

    What a person gave or accepted is right by their word; words spelt the same are nobody's.
    """
    seed, entries = learnt.seed, rows_of_entries(lexicon, learnt)
    dictionary = seed.name not in SEED_NAMES and not seed.reviewed
    known = KnownTranslations((seed.source, seed.target), seed.unanswered) if dictionary else None
    confidence, about = assess_entries(evidence_for(entries, learnt, space, around), entries, known)
    if dictionary or seed.reviewed:
        confidence = np.where([origin == SEED for origin in lexicon.origin], 1.0, confidence)
    return replace(lexicon, confidence=confidence), about


def rows_of_entries(lexicon: Lexicon, learnt: Learnt) -> tuple[Indices, Indices]:
    """Look the words of a lexicon up."""
    rows = [learnt.source.index[word] for word in lexicon.source]
    columns = [learnt.target.index[word] for word in lexicon.target]
    return np.array(rows, np.int64), np.array(columns, np.int64)


def evidence_for(
    entries: tuple[Indices, Indices], learnt: Learnt, space: SharedSpace, around: NeighbourLists
) -> EdgeEvidence:
    """Gather what speaks for the entries, under maps that they themselves had no part in."""
    source, target, settings, trained = learnt.source, learnt.target, learnt.method.settings(), learnt.trained()

    def refit(rows: Indices, columns: Indices) -> Theta:
        return Theta.from_pairs(source.vectors[rows], target.vectors[columns], settings.maps, settings.steps)

    return gather_edge_evidence(
        (source.vectors, target.vectors),
        space,
        around,
        entries,
        (trained.source, trained.target),
        refit,
        settings.prior,
        Features.between(source.words, target.words),
    )

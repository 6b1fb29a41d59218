"""From what EM learnt to the entries of the lexicon: the candidates of every word, their weights and probabilities."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bilex.confidence.assessment import KnownTranslations, assess_edges
from bilex.confidence.families import Families
from bilex.confidence.figures import is_frequency_ordered
from bilex.em.context import Context
from bilex.em.edges import Languages, gather_edges, match_weighed
from bilex.em.em import Fit
from bilex.em.held_out import Choice
from bilex.em.refinement import training_pairs
from bilex.lexicon.lexicon import MATCHING, RETRIEVAL, REVIEW, SEED, Lexicon
from bilex.matching.graph import RowPairs
from bilex.methods import Method
from bilex.model.candidates import CandidatePairs
from bilex.model.counting import MIN_PURITY, bounded_purity, tells_failure
from bilex.model.evidence import kinds_between
from bilex.model.forms import Vocabulary, families_of
from bilex.model.pair_weights import WeighedEdges, weigh_edges
from bilex.runs.prepared import Prepared
from bilex.search.engine import Engine
from bilex.search.lists import NeighbourLists
from bilex.search.space import SharedSpace
from bilex.vectors.embeddings import Embeddings

CONFIDENCE_DIGITS = 4  # as lexicon.tsv has it, so that a lexicon is the same before and after it is saved


@dataclass(frozen=True, eq=False)
class Learnt:
    """What EM started from and what it learnt, before anything is looked up with it."""

    prepared: Prepared
    languages: Languages
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
        mapped = self.fit.theta.shared_units(self.source.vectors, self.target.vectors)
        return SharedSpace.of_units(*mapped, engine)

    def training_pairs(self) -> RowPairs:
        """Return the pairs that the maps were fitted to last."""
        return training_pairs(self.fit, self.prepared.seed.pairs, self.method)

    @property
    def dictionary(self) -> KnownTranslations | None:
        """The seed, if a person made it."""
        seed = self.prepared.seed
        return KnownTranslations(seed.pairs, seed.unanswered) if seed.is_dictionary else None


def languages_of(prepared: Prepared) -> Languages:
    """Return both languages as their evidence is measured."""
    source, target = prepared.source, prepared.target
    vocabularies = Vocabulary.of(source.words, source.lemmas), Vocabulary.of(target.words, target.lemmas)
    return Languages(source.vectors, target.vectors, kinds_between(source.words, target.words), vocabularies)


def weigh_candidates(
    learnt: Learnt, space: SharedSpace, neighbours: NeighbourLists, context: Context
) -> tuple[WeighedEdges, RowPairs]:
    """Weigh the edges around every word, and return the pairs of the lexicon as well.

    These are the matching on all evidence, if the method asks for it, otherwise EM's matching, whose pairs are then
    edges too; and the pairs that a person keeps.
    """
    method, prior, known = learnt.method, learnt.prepared.prior, learnt.dictionary
    by_evidence = method.evidence and len(learnt.fit.matching) > 0  # a run that learnt nothing has no evidence either
    matched = RowPairs() if by_evidence else learnt.fit.matching.pairs
    edges = gather_edges(
        learnt.languages,
        space,
        neighbours,
        learnt.training_pairs(),
        method.map,
        context.engine,
        dictionary=None if known is None else known.pairs,
        extra=matched.union(prior.kept),
    )
    context.reporter.stage("scoring")
    weighed = weigh_edges(edges, prior.capacities, None if known is None else known.pairs)
    if by_evidence:
        seen = weighed if method.e_step.match_all else weighed.among_frequent(method.e_step.max_rank)
        matched = match_weighed(seen, prior).pairs
    return weighed, matched.union(prior.kept)


def assess_candidates(learnt: Learnt, weighed: WeighedEdges) -> tuple[CandidatePairs, dict[str, Any]]:
    """Add to each edge the probability that it is right, and describe for ``run.json`` what that rests on.

    Pairs that a person keeps are right, and those that a person forbids are wrong.
    """
    prior, graph, weights = learnt.prepared.prior, weighed.graph, weighed.weights
    families = None
    if learnt.languages.vocabularies is not None:
        of_edges = families_of(graph.rows, graph.indices, learnt.languages.vocabularies[1])[0]
        families = Families(of_edges, weighed.chosen, bounded_purity(weights.purity, weights.deviation))
    probability, about = assess_edges(graph, prior.capacities, learnt.dictionary, families)
    if (
        about["examples"] == 0
        and tells_failure(weights.purity, weights.deviation)
        and all(is_frequency_ordered(side.words) for side in (learnt.source, learnt.target))  # or it cannot tell
    ):
        probability = np.minimum(probability, MIN_PURITY)
    probability[np.isin(graph.keys, prior.kept.keys(graph.n_targets))] = 1.0
    probability[np.isin(graph.keys, prior.forbidden.keys(graph.n_targets))] = 0.0
    return CandidatePairs.of(graph, probability), about


def build_lexicon(
    learnt: Learnt, pairs: RowPairs, candidates: CandidatePairs, space: SharedSpace, engine: Engine, *, complete: bool
) -> tuple[Lexicon, RowPairs]:
    """Build the lexicon of the matched pairs and, if asked to, of the best candidate of every other source word.

    Returns the rows of the entries as well.
    """
    prepared = learnt.prepared
    source, target, seed, prior = prepared.source, prepared.target, prepared.seed, prepared.prior
    given = RowPairs() if seed.reviewed else seed.pairs  # a reviewed lexicon is only a start
    keys, width = pairs.keys(len(target)), len(target)
    origin = np.where(np.isin(keys, given.keys(width)), SEED, MATCHING)
    origin = np.where(np.isin(keys, prior.kept.keys(width)), REVIEW, origin).tolist()
    if complete:
        graph = candidates.graph
        allowed = graph.where(~np.isin(graph.keys, prior.forbidden.keys(width)))
        rest = np.setdiff1d(np.flatnonzero(np.diff(allowed.indptr)), pairs.source)
        heaviest = np.lexsort((-allowed.weights, allowed.rows))[allowed.indptr[rest]]
        best = allowed.indices[heaviest]
        pairs = RowPairs(np.concatenate([pairs.source, rest]), np.concatenate([pairs.target, best]))
        origin += [RETRIEVAL] * len(rest)
    return describe_pairs(pairs, origin, (source, target), candidates, space, engine), pairs


def describe_pairs(
    pairs: RowPairs,
    origin: Sequence[str],
    languages: tuple[Embeddings, Embeddings],
    candidates: CandidatePairs,
    space: SharedSpace,
    engine: Engine,
) -> Lexicon:
    """Return the entries of these pairs."""
    rows, columns = pairs.source, pairs.target
    lemmas = (
        tuple(side.lemmas[row] if side.lemmas else "" for row in places.tolist())
        for side, places in zip(languages, (rows, columns), strict=True)
    )
    return Lexicon(
        tuple(languages[0].words[row] for row in rows.tolist()),
        tuple(languages[1].words[column] for column in columns.tolist()),
        space.scores(rows, columns, "nn"),
        space.rank(rows, columns, "csls", engine),
        (space.source_nearest[rows] == columns) & (space.target_nearest[columns] == rows),
        tuple(origin),
        candidates.probabilities(pairs).astype(np.float64).round(CONFIDENCE_DIGITS),
        *(lemmas if any(side.lemmas for side in languages) else ()),
    )

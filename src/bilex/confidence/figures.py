"""The figures that a verdict is drawn from: what a run shows about itself, without a gold dictionary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilex.evaluation.hubness import skewness
from bilex.evaluation.similarity import average_ranks
from bilex.lexicon.lexicon import RETRIEVAL, Lexicon
from bilex.lexicon.text import tsv_cell
from bilex.matching.graph import RowPairs
from bilex.methods import flat_options
from bilex.model.counting import is_telling, tells_failure
from bilex.numerics.types import Indices
from bilex.runs.run import Run
from bilex.search.engine import Engine
from bilex.search.space import SharedSpace

FREQUENT_WORDS = 5000  # vocabularies of all sizes are judged by their most frequent words
MIN_WORDS = 100  # on a side, to judge by
MIN_CORRELATED = 30
MAX_SEED_WORDS = 1000
SEED_RANK = 5  # a seed translation agrees if CSLS ranks it so or better
ZIPF_WORDS = 3000  # the order of a vocabulary is judged by its first words
MIN_ZIPF = 0.06  # correlation of rank and length in a vocabulary that is in order of frequency
MAX_ALPHABETICAL = 0.97  # share of its words that follow the word before in the alphabet


@dataclass(frozen=True, eq=False)
class InducedPairs:
    """The entries of a lexicon that were induced, and their rows (-1 where a word is not in the vocabulary).

    The lexicon is as ``lexicon.tsv`` holds it, so that a run is judged the same before and after it is saved.
    """

    lexicon: Lexicon
    rows: RowPairs

    def __len__(self) -> int:
        return len(self.lexicon)

    @property
    def known(self) -> NDArray[np.bool_]:
        """Where both words are in the vocabularies."""
        return (self.rows.source >= 0) & (self.rows.target >= 0)


def induced_pairs(run: Run) -> InducedPairs:
    """Return a run's lexicon without the entries that were only looked up (`complete`)."""
    induced = np.array([origin != RETRIEVAL for origin in run.lexicon.origin], bool)
    found = run.lexicon[induced]
    lexicon = replace(
        found,
        source=saved_words(found.source),
        target=saved_words(found.target),
        score=np.array([float(f"{score:.6f}") for score in found.score.tolist()], np.float64),
    )
    rows = run.entry_rows.where(induced)
    return InducedPairs(lexicon, RowPairs(saved_rows(rows.source, found.source), saved_rows(rows.target, found.target)))


def saved_words(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words as they are saved."""
    return words if "".join(words).isprintable() else tuple(map(tsv_cell, words))


def saved_rows(rows: Indices, words: tuple[str, ...]) -> Indices:
    """Return the rows of words, with -1 for a word that contains a tab and so is saved as another."""
    saved = saved_words(words)
    return rows if saved is words else np.where(np.array(saved, object) == np.array(words, object), rows, -1)


@dataclass(frozen=True)
class RunFigures:
    """The figures of a verdict. Frequent words are the first `FREQUENT_WORDS` of those that the matching saw."""

    pairs: int
    seen: tuple[int, int]  # words of each language that the matching saw
    evidence: float | None  # purity of the pairs that stand out, two deviations down (`bilex.model.evidence`)
    expected: float | None  # mean confidence of the pairs; None in older runs
    ordered: bool  # whether both vocabularies seem to be in order of frequency
    hubness: float  # skewness of how often a frequent word is a nearest neighbour, in the worse direction
    largest_hub: float  # share of the frequent words whose nearest neighbour is the largest hub
    seed_near: float | None  # share of the seed's words with a seed translation among their five best by CSLS
    rise: float | None  # of the log-likelihood from the first iteration to the last; None if EM does not maximise it
    iterations: int
    stopped: str
    seed_words: int = MAX_SEED_WORDS  # that `seed_near` was measured on
    measured: bool = False  # whether `expected` was measured on held-out words of a dictionary
    agreement: float | None = None  # share of EM's pairs that another start led to; None if no other was tried


def measure_run(run: Run) -> RunFigures:
    """Compute the figures of a run."""
    pairs, iterations = induced_pairs(run), run.info["iterations"]
    method = flat_options(run.info["configuration"]["method"])
    max_rank = method["max_rank"] if method["self_learning"] else None  # else the matching saw all words
    seen = (len(run.source.top(max_rank)), len(run.target.top(max_rank)))
    frequent = (min(seen[0], FREQUENT_WORDS), min(seen[1], FREQUENT_WORDS))
    agreement = run.info["configuration"]["seed"].get("agreement") or {}
    words, weights = int(agreement.get("words", 0)), run.info.get("weights")
    ordered = is_frequency_ordered(run.source.words) and is_frequency_ordered(run.target.words)
    of_source, of_target = run.space.source_nearest, run.space.target_nearest
    counts = [nearest_counts(of_source, frequent), nearest_counts(of_target, frequent[::-1])]
    return RunFigures(
        pairs=len(pairs),
        seen=seen,
        evidence=evidence_of(weights) if weights and ordered else None,
        expected=pairs.lexicon.expected_precision if len(pairs) and pairs.lexicon.confidence is not None else None,
        ordered=ordered,
        hubness=max(skewness(each) for each in counts),
        largest_hub=max(float(each.max() / max(each.sum(), 1)) for each in counts),
        seed_near=agreement["near"] / words if words else None,
        seed_words=words,
        rise=likelihood_rise(iterations, method),
        iterations=len(iterations),
        stopped=run.info["stopped"],
        measured=run.info.get("confidence", {}).get("examples", 0) > 0,
        agreement=agreement_of_starts(run.info.get("choices", ())),
    )


def evidence_of(weights: dict[str, Any]) -> float | None:
    """Return the least share of right pairs among those that stand out, by the other evidence; None if it is mute.

    It is mute if so few pairs stand out that none of them or half of them may be right.
    """
    purity, deviation = weights["purity"], weights["deviation"]
    tells = is_telling(purity, deviation) or tells_failure(purity, deviation)
    return purity - 2 * deviation if tells else None


def agreement_of_starts(choices: Sequence[dict[str, Any]]) -> float | None:
    """Return how far the starts that were tried last agreed; None if there were no two."""
    tried = [choice for choice in choices if choice["about"] == "start" and len(choice["measured"]) > 1]
    return tried[-1].get("agreement") if tried else None


def likelihood_rise(iterations: list[dict[str, Any]], method: dict[str, Any]) -> float | None:
    """Return by how much the log-likelihood rose; None unless both steps of the method maximise it."""
    paper = {"map": "orthogonal", "supervision": "start", "self_learning": True}
    if any(method[name] != value for name, value in paper.items()):
        return None
    return float(iterations[-1]["log_likelihood"] - iterations[0]["log_likelihood"]) if iterations else 0.0


def nearest_counts(nearest: Indices, frequent: tuple[int, int]) -> Indices:
    """Count how often each frequent word is the nearest neighbour of a frequent word of the other language."""
    near = nearest[: frequent[0]]
    return np.bincount(near[near < frequent[1]], minlength=frequent[1])


def is_frequency_ordered(words: Sequence[str]) -> bool:
    """Check whether words seem to be in order of frequency: rarer words are longer (Zipf), and not alphabetical.

    The correlation of rank and length is 0.14 to 0.34 in the vocabularies that were measured (English, French, German,
    Finnish), and within 0.02 of 0 if they are shuffled. A few words are always accepted.
    """
    words = words[:ZIPF_WORDS]
    if len(words) < MIN_WORDS:
        return True
    rising = sum(one <= other for one, other in pairwise(words)) / (len(words) - 1)
    lengths = np.array([len(word) for word in words])
    return rising < MAX_ALPHABETICAL and (rank_correlation(np.arange(len(words)), lengths) or 0.0) > MIN_ZIPF


def rank_correlation(first: Indices, second: Indices) -> float | None:
    """Return Spearman's correlation of two columns; None if there are few values or all are the same."""
    if len(first) < MIN_CORRELATED or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    return float(np.corrcoef(average_ranks(first), average_ranks(second))[0, 1])


def seed_agreement(
    seed: RowPairs, induced: RowPairs, max_rank: int | None, space: SharedSpace, engine: Engine
) -> dict[str, int]:
    """Count the seed's source words, those matched as in the seed, and those with a seed translation near by CSLS.

    Words are counted, not pairs, because a seed may give a word several translations. Only pairs of two frequent words
    that the matching saw count: a word that is frequent in one language and rare in the other, though spelt the same,
    is mostly a foreign word there.
    """
    seed = seed.among_frequent(FREQUENT_WORDS if max_rank is None else min(max_rank, FREQUENT_WORDS))
    words = np.unique(seed.source)[:MAX_SEED_WORDS]
    seed = seed.where(np.isin(seed.source, words))
    near = space.rank(seed.source, seed.target, "csls", engine) <= SEED_RANK if len(seed) else np.zeros(0, bool)
    size = len(space.target)
    matched = np.isin(seed.keys(size), induced.keys(size))
    counts = {"matched": len(np.unique(seed.source[matched])), "near": len(np.unique(seed.source[near]))}
    return {"words": len(words), **counts}

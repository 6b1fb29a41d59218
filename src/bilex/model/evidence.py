"""The weight of a pair in nats: how much each kind of evidence speaks for it, counted in the run itself.

An edge (s, t) stands out in the shared space by x (CSLS, under maps that its own source word had no part in), and shows
evidence z that the maps know nothing of: how alike the words are spelt, how far apart their frequency ranks are. Its
weight is

    weight(s, t) = scale · x + Σ over the kinds of evidence of log p(z | right) / p(z | passed over)

All of it is estimated from the run, without a label:

1. *Chosen* are the edges that stand out most for both of their words, by x alone; *passed over* are those that do for
   neither. The other evidence had no part in that choice, so its counts are fair.
2. *Purity*: some chosen pairs are wrong. Wrong ones are in the worst tenth by z (of the rivals of the same words) as
   often as rivals are; right ones hardly ever. So purity is about ``1 - share(chosen) / share(rivals)``, cross-fitted
   over halves of the words. In a failed run it is near 0.
3. *Ratios*: the chosen are a mixture, ``p(z | chosen) = purity · p(z | right) + (1 - purity) · p(z | passed over)``;
   solved for the right ones, smoothed, and monotone where that is known.
4. *Scale*: z teaches what x is worth. The scale makes the z of all words most probable, if each word takes one of its
   candidates, or none, with probability in proportion to exp(scale · x + offset).

To add a kind of evidence, write a class like `SpellingEvidence` and give an instance of it to `learn_weights`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bilex.matching.graph import Graph
from bilex.numerics.types import Floats, Indices
from bilex.vectors.spelling import SpellingComparison

Flags = NDArray[np.bool_]

WORST_RIVALS = 0.1  # the share of the rivals that their evidence speaks most against
RIGHT_AMONG_WORST = 0.1  # how often right pairs are as bad, beside rivals
MAX_RATIO, MIN_RATIO = 6.0, -3.0  # nats: one kind of evidence says no more for a pair, and no less against it
MAX_PURITY, MIN_PURITY = 0.99, 0.05  # counts cannot tell purities beyond these apart
START_SCALE, START_OFFSET = 15.0, -2.0  # Newton's method ends in the same place from others
MIN_SCALE = 1.0  # however weak the vectors, they decide where the other evidence is the same
MAX_COUNTED_WORDS = 20_000  # the most frequent source words: enough to count on
MAX_SCALE_ROUNDS = 40
SCALE_TOLERANCE = 0.005


class Evidence(Protocol):
    """A kind of evidence: its name, the bounds of its bins, and how to measure it on pairs of rows.

    `monotone` is 1 where a larger value speaks for a pair, -1 where a smaller one does, and 0 where that is not known.
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def bounds(self) -> tuple[float, ...]: ...  # noqa: D102
    @property
    def monotone(self) -> int: ...  # noqa: D102
    def measure(self, rows: Indices, columns: Indices) -> Floats:
        """Measure it on pairs of a source row and a target row."""
        ...


@dataclass(frozen=True, eq=False)
class SpellingEvidence:
    """How alike two words are spelt, from 0 to 1, after folding and transliteration."""

    comparison: SpellingComparison
    name: str = "spelling"
    bounds: tuple[float, ...] = tuple(tenth / 10 for tenth in range(11))
    monotone: int = 1

    def measure(self, rows: Indices, columns: Indices) -> Floats:
        """Compare the spellings."""
        return self.comparison.likeness(rows, columns)


@dataclass(frozen=True, eq=False)
class FrequencyEvidence:
    """How far apart the frequency ranks of two words are: the difference of their logarithms."""

    name: str = "frequency"
    bounds: tuple[float, ...] = tuple(half / 2 for half in range(13))
    monotone: int = -1

    def measure(self, rows: Indices, columns: Indices) -> Floats:
        """Compare the ranks."""
        return np.asarray(np.abs(np.log1p(rows) - np.log1p(columns)))


@dataclass(frozen=True, eq=False)
class PairWeights:
    """The learnt weight of a pair: `scale` times CSLS, and for each kind of evidence a log-ratio for each of its bins.

    `purity` is the share of right pairs among those that stand out most for both words, near 0 in a failed run, and
    `deviation` its standard deviation.
    """

    scale: float
    ratios: dict[str, Floats]
    purity: float
    deviation: float

    def weigh(self, csls: Floats, kinds: Sequence[Evidence], rows: Indices, columns: Indices) -> Floats:
        """Compute the weight of pairs, in nats, from their CSLS scores and the evidence of their words."""
        total = self.scale * csls
        for kind in kinds:
            total = total + self.ratios[kind.name][bins_of(kind.measure(rows, columns), kind)]
        return np.asarray(total)

    def summary(self) -> dict[str, Any]:
        """Return it as ``run.json`` holds it."""
        ratios = {name: [round(float(nats), 4) for nats in ratio] for name, ratio in self.ratios.items()}
        figures = {name: round(float(getattr(self, name)), 4) for name in ("scale", "purity", "deviation")}
        return {**figures, "ratios": ratios}

    @classmethod
    def from_summary(cls, summary: Mapping[str, Any]) -> PairWeights:
        """Read what `summary` wrote; raise `ValueError` if it is something else."""
        try:
            ratios = {str(name): np.array(nats, np.float64) for name, nats in summary["ratios"].items()}
            found = cls(float(summary["scale"]), ratios, float(summary["purity"]), float(summary["deviation"]))
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError("not the weights of a run") from error
        sizes = {kind.name: (len(kind.bounds),) for kind in (SpellingEvidence, FrequencyEvidence)}
        numbers = np.concatenate([[found.scale, found.purity, found.deviation], *ratios.values()])
        if {name: nats.shape for name, nats in ratios.items()} != sizes or not np.isfinite(numbers).all():
            raise ValueError("not the weights of a run")
        return found


def learn_weights(graph: Graph, kinds: Sequence[Evidence]) -> PairWeights:
    """Learn the weight of a pair from a graph of candidates, whose weights are cross-fitted CSLS scores."""
    graph = graph.where(graph.rows < MAX_COUNTED_WORDS)
    if not len(graph.weights):
        return PairWeights(START_SCALE, {kind.name: np.zeros(len(kind.bounds)) for kind in kinds}, 0.0, 1.0)
    first, other_first = heaviest_of(graph.weights, graph.rows), heaviest_of(graph.weights, graph.indices)
    chosen, passed_over = first & other_first & (graph.weights > 0), ~first & ~other_first
    rows, values = graph.rows, [kind.measure(graph.rows, graph.indices) for kind in kinds]
    counted = [log_ratio(kind, each, chosen, passed_over) for kind, each in zip(kinds, values, strict=True)]
    purity, deviation = estimate_purity(graph, kinds, values, chosen, passed_over)
    bounded = float(np.clip(purity, MIN_PURITY, MAX_PURITY))
    ratios = {kind.name: decontaminate(nats, bounded) for kind, nats in zip(kinds, counted, strict=True)}
    evidence = np.zeros(len(rows))
    for kind, each in zip(kinds, values, strict=True):
        evidence += ratios[kind.name][bins_of(each, kind)]
    return PairWeights(learn_scale(graph, evidence), ratios, purity, deviation)


def heaviest_of(weights: Floats, words: Indices) -> Flags:
    """Mark the heaviest edge of each word; ties go to the first."""
    order = np.lexsort((-weights, words))
    best = np.zeros(len(weights), np.bool_)
    best[order[np.unique(words[order], return_index=True)[1]]] = True
    return best


def bins_of(values: Floats, kind: Evidence) -> Indices:
    """Find the bin of each value: the last bound it reaches, or the first."""
    return np.clip(np.searchsorted(kind.bounds, values, side="right") - 1, 0, len(kind.bounds) - 1)


def log_ratio(kind: Evidence, values: Floats, chosen: Flags, passed_over: Flags) -> Floats:
    """Compare the histograms of chosen and passed-over edges: the logarithm of their ratio in each bin.

    Each bin starts with one count, spread as the two histograms are on average, so that few edges say little.
    """
    width, places = len(kind.bounds), bins_of(values, kind)
    counts = [np.bincount(places[marked], minlength=width).astype(np.float64) for marked in (chosen, passed_over)]
    shares = [each / max(each.sum(), 1.0) for each in counts]
    pooled = (shares[0] + shares[1]) / 2 if counts[0].any() else shares[1]
    counts = [each + pooled * width + np.finfo(float).tiny for each in counts]
    nats = np.log(counts[0] / counts[0].sum()) - np.log(counts[1] / counts[1].sum())
    if kind.monotone:
        precision = 1 / (1 / counts[0] + 1 / counts[1])
        nats = kind.monotone * never_falling(kind.monotone * nats, precision)
    return np.asarray(nats)


def never_falling(values: Floats, precision: Floats) -> Floats:
    """Find the nearest values that never fall, by pooling neighbours that do."""
    blocks = list[tuple[float, float, int]]()
    for value, weight in zip(values.tolist(), precision.tolist(), strict=True):
        block = (value, weight, 1)
        while blocks and blocks[-1][0] > block[0]:
            mean, total, size = blocks.pop()
            both = total + block[1]
            block = ((mean * total + block[0] * block[1]) / both, both, size + block[2])
        blocks.append(block)
    return np.repeat([block[0] for block in blocks], [block[2] for block in blocks])


def decontaminate(nats: Floats, purity: float) -> Floats:
    """Remove the wrong pairs from the counts of the chosen ones: the log-ratio of right pairs alone."""
    odds = 1 + (np.exp(nats) - 1) / purity
    lowest = np.exp(np.maximum(-MAX_RATIO, np.minimum(nats, MIN_RATIO)))  # never lower than counted, or than MIN_RATIO
    return np.asarray(np.log(np.clip(odds, lowest, np.exp(MAX_RATIO))))


def estimate_purity(
    graph: Graph, kinds: Sequence[Evidence], values: Sequence[Floats], chosen: Flags, passed_over: Flags
) -> tuple[float, float]:
    """Estimate the share of right pairs among the chosen ones, and its deviation, from the other evidence.

    The evidence of one half of the source words is read with the counts of the other half. The rivals of a chosen pair
    are the other candidates of its source word, and those of its target word; each word counts once.
    """
    pairs = int(chosen.sum())
    if not pairs:
        return 0.0, 1.0
    rows, evidence = graph.rows, np.zeros(len(graph.weights))
    for half in (rows % 2 == 0, rows % 2 == 1):
        for kind, each in zip(kinds, values, strict=True):
            nats = log_ratio(kind, each, chosen & ~half, passed_over & ~half)
            evidence[half] += nats[bins_of(each[half], kind)]
    sides = np.array([share_among_worst(evidence, words, chosen) for words in (rows, graph.indices)])
    ours, rivals = sides[:, 0], np.maximum(sides[:, 1], 1 / (pairs + 1))
    noise = np.sqrt((ours * (1 - ours) + 1 / pairs) / pairs) / rivals  # of a binomial count
    whole = 1 - RIGHT_AMONG_WORST
    return float(np.mean(1 - ours / rivals)) / whole, float(noise.mean()) / whole


def share_among_worst(evidence: Floats, words: Indices, chosen: Flags) -> tuple[float, float]:
    """Return the shares of chosen pairs, and of rivals of the same words, that are as bad as the worst rivals."""
    n_words = int(words.max(initial=0)) + 1
    has_chosen = np.zeros(n_words, np.bool_)
    has_chosen[words[chosen]] = True
    rivals = has_chosen[words] & ~chosen
    if not rivals.any():
        return 1.0, 1.0
    weight = 1 / np.bincount(words[rivals], minlength=n_words)[words[rivals]]
    order = np.argsort(-evidence[rivals], kind="stable")
    better = np.cumsum(weight[order]) / weight.sum()
    limit = evidence[rivals][order][min(int(np.searchsorted(better, 1 - WORST_RIVALS)), len(order) - 1)]
    share = float(weight[evidence[rivals] <= limit].sum() / weight.sum())
    return float((evidence[chosen] <= limit).mean()), share


def learn_scale(graph: Graph, evidence: Floats) -> float:
    """Learn what CSLS is worth from what the other evidence says, by EM with one Newton step in each M-step."""
    design = np.column_stack([graph.weights, np.ones(len(graph.weights))])
    found = np.array([START_SCALE, START_OFFSET])
    for _ in range(MAX_SCALE_ROUNDS):
        expected = choice_probabilities(graph, design @ found + evidence)
        chance = choice_probabilities(graph, design @ found)
        weighted = chance[:, None] * design
        means = np.add.reduceat(weighted, graph.indptr[:-1][np.diff(graph.indptr) > 0], axis=0)
        curvature = design.T @ weighted - means.T @ means + 1e-3 * np.eye(2)
        step = np.linalg.solve(curvature, design.T @ (expected - chance))
        found = found + step
        if np.abs(step).max() < SCALE_TOLERANCE:
            break
    return float(max(found[0], MIN_SCALE)) if np.isfinite(found).all() else START_SCALE


def choice_probabilities(graph: Graph, logits: Floats) -> Floats:
    """Compute the probability of each edge if every source word takes one of its own, or none at logit 0."""
    some = np.diff(graph.indptr) > 0
    largest, rows = np.zeros(graph.n_sources), graph.rows
    largest[some] = np.maximum(np.maximum.reduceat(logits, graph.indptr[:-1][some]), 0)
    odds, total = np.exp(logits - largest[rows]), np.exp(-largest)
    total[some] += np.add.reduceat(odds, graph.indptr[:-1][some])
    return np.asarray(odds / total[rows])

"""The confidence of a pair: the posterior of its edge, recalibrated on the words of a dictionary.

1. *Posterior*: a matching m that the prior allows has a probability in proportion to ``exp(Σ over m of weight)``,
   with the weights of `bilex.model.pair_weights`, which are nats; `bilex.model.posterior` sums over all matchings.
   A lexicon may give each target once, but a pair is no less right because another source word has the same
   translation. So where a source word has one translation at most, the confidence lets others share it.
2. *Calibration*: if the seed is a dictionary of enough words, their best edges, which were found and weighed without
   them, show how often such a posterior is right. A logistic regression on its log-odds, on those of the prior's own
   posterior and on how rare the word is starts from the confidence itself. A word whose listed translations all lack
   vectors counts as an example of a wrong one, but half.

No coefficient is shipped. `docs/confidence.md` explains each step and shows how well calibrated the result is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilex.confidence.calibration import Calibration, calibration_error, fit_calibration
from bilex.confidence.families import Families, confidence_of_forms, log_odds_of
from bilex.matching.graph import Capacities, Graph, RowPairs
from bilex.model.posterior import worthwhile_posterior
from bilex.numerics.threads import single_threaded_blas
from bilex.numerics.types import Floats, Indices

MIN_POSTERIOR = 1e-5  # posteriors are clipped to [MIN_POSTERIOR, 1 - MIN_POSTERIOR]
PRIOR_EXAMPLES = 10.0  # examples that the posterior itself counts for
MIN_EXAMPLES = 200  # words of a dictionary; fewer cannot calibrate
UNANSWERED_WEIGHT = 0.5  # of a word whose listed translations lack vectors: others may be right and not be listed


@dataclass(frozen=True, eq=False)
class KnownTranslations:
    """Pairs that a dictionary lists, and source words whose listed translations all lack a vector."""

    pairs: RowPairs
    unanswered: Indices

    @cached_property
    def words(self) -> Indices:
        """The source words about which the dictionary says something."""
        return np.union1d(self.pairs.source, self.unanswered)


@single_threaded_blas()
def assess_edges(
    graph: Graph, capacities: Capacities, known: KnownTranslations | None, families: Families | None = None
) -> tuple[Floats, dict[str, Any]]:
    """Return the probability that each edge is right, from its weight in nats, and what ``run.json`` says about it."""
    confidence = worthwhile_posterior(graph, let_sources_share(capacities))
    if known is None or len(known.words) < MIN_EXAMPLES:
        if families is not None:
            confidence = confidence_of_forms(confidence, families)
        return confidence, {"calibrated_on": "the run itself", "examples": 0}
    from bilex.model.rivals_kernel import top_two

    best = top_two(graph.rows, graph.weights, graph.n_sources)[0][known.words]
    best = best[best >= 0]
    features = features_of(confidence, worthwhile_posterior(graph, capacities), graph.rows)
    right = np.isin(graph.keys[best], known.pairs.keys(graph.n_targets))
    weights = np.where(np.isin(graph.rows[best], known.pairs.source), 1.0, UNANSWERED_WEIGHT)
    error = calibration_error(held_out_confidence(features[best], right, weights), right)
    calibration = fit_calibration(features[best], right, weights, IDENTITY, PRIOR_EXAMPLES)
    about = {"calibrated_on": "held-out seed words", "examples": len(best), "held_out_error": round(error, 4)}
    return calibration.probability(features), about


def let_sources_share(capacities: Capacities) -> Capacities:
    """Lift the limit of the targets, if a source word has one translation at most."""
    return replace(capacities, target=None) if capacities.source == 1 else capacities


IDENTITY = Calibration(0.0, np.array([1.0, 0.0, 0.0]), np.zeros(3), np.ones(3))
"""The calibration that trusts the confidence."""


def features_of(confidence: Floats, posterior: Floats, rows: Indices) -> Floats:
    """Return the log-odds of each edge's confidence and posterior, and the logarithm of its source word's rank."""
    clipped = np.clip((confidence, posterior), MIN_POSTERIOR, 1 - MIN_POSTERIOR)
    return np.column_stack([*log_odds_of(clipped), np.log1p(rows)])


def held_out_confidence(features: Floats, right: NDArray[np.bool_], weights: Floats) -> Floats:
    """Return the confidence of each example under a calibration fitted to the other half of the examples."""
    half, found = np.arange(len(right)) % 2 > 0, np.empty(len(right))
    for tested in (half, ~half):
        fitted = fit_calibration(features[~tested], right[~tested], weights[~tested], IDENTITY, PRIOR_EXAMPLES)
        found[tested] = fitted.probability(features[tested])
    return found

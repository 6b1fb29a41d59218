"""Viterbi EM: Algorithm 1 of the paper.

The loop in `viterbi_em` can be laid beside the pseudocode. Both steps make the same quantity larger, the
log-likelihood of the matching and the parameters together, so it never falls from one iteration to the next.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from bilex.arrays import Indices, Vectors
from bilex.candidates import candidate_graph
from bilex.engines.base import Engine
from bilex.mapping import apply
from bilex.matching import Matching, solve
from bilex.model import Theta, log_likelihood, m_step
from bilex.priors import Prior

__all__ = ["Fit", "Iteration", "Settings", "fit", "viterbi_em"]

CONVERGED = "converged: the mean cosine of the induced pairs no longer changes"
NOTHING_MATCHED = "failed: no pair of words is a better explanation than none"
TOO_LONG = "the limit of iterations was reached"


@dataclass(frozen=True)
class Settings:
    """How EM is run: the prior, the candidates per source word, how many words it sees, and when to stop."""

    prior: Prior = field(default_factory=Prior)
    candidates: int = 3
    max_rank: int | None = None
    tolerance: float = 1e-6
    max_iterations: int = 100


@dataclass(frozen=True)
class Iteration:
    """What one iteration did: one entry of ``iterations`` in ``run.json``."""

    pairs: int
    mean_cosine: float
    log_likelihood: float
    certificate_gap: float
    seconds: dict[str, float]


@dataclass(frozen=True, eq=False)
class Fit:
    """Where EM ended: the parameters, the last matching, how it got there and why it stopped."""

    theta: Theta
    matching: Matching
    iterations: tuple[Iteration, ...]
    stopped: str


def viterbi_em(
    theta: Theta,
    source: Vectors,
    target: Vectors,
    settings: Settings,
    engine: Engine,
    report: Callable[[Iteration], None] = lambda iteration: None,
) -> Fit:
    """Alternate the exact matching and Procrustes from θ on until convergence (Algorithm 1)."""
    prior, matching, iterations = settings.prior, None, list[Iteration]()
    while True:
        clock = Stopwatch()
        # Viterbi E-step
        graph = candidate_graph(theta, source, target, prior, k=settings.candidates, previous=matching, engine=engine)
        clock.lap("candidates")
        matching = solve(graph, prior)
        clock.lap("matching")
        # M-step
        theta = m_step(theta, source, target, matching, prior)
        clock.lap("mapping")
        iterations.append(
            Iteration(
                pairs=len(matching),
                mean_cosine=mean_cosine(theta, source, target, matching),
                log_likelihood=log_likelihood(theta, source, target, matching, prior),
                certificate_gap=matching.gap,
                seconds=clock.seconds,
            )
        )
        report(iterations[-1])
        stopped = why_stop(iterations, settings)
        if stopped:
            return Fit(theta, matching, tuple(iterations), stopped)


def why_stop(iterations: list[Iteration], settings: Settings) -> str:
    """Say why EM should stop now, or nothing if it should go on."""
    if iterations[-1].pairs == 0:
        return NOTHING_MATCHED
    if len(iterations) > 1:
        gain = iterations[-1].mean_cosine - iterations[-2].mean_cosine
        if abs(gain) < settings.tolerance:
            return CONVERGED
    return TOO_LONG if len(iterations) >= settings.max_iterations else ""


def mean_cosine(theta: Theta, source: Vectors, target: Vectors, matching: Matching) -> float:
    """Average the cosine of Ωs and t over the induced pairs; 0 if there are none."""
    if not len(matching):
        return 0.0
    mapped = apply(theta.omega, source[matching.source]).astype(np.float64)
    aligned = target[matching.target].astype(np.float64)
    norms = np.linalg.norm(mapped, axis=1) * np.linalg.norm(aligned, axis=1)
    return float(np.mean((mapped * aligned).sum(axis=1) / np.where(norms > 0, norms, 1)))


class Stopwatch:
    """Seconds spent in each part of an iteration."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, part: str) -> None:
        """Put the time since the last call down to `part`."""
        now = time.perf_counter()
        self.seconds[part] = now - self._last
        self._last = now


def fit(
    source: Vectors,
    target: Vectors,
    seed: tuple[Indices, Indices],
    settings: Settings,
    engine: Engine,
    report: Callable[[Iteration], None] = lambda iteration: None,
) -> Fit:
    """Run EM from the pairs of a seed, on the `max_rank` most frequent words of both languages.

    The seed may use rarer words as well. Where the prior lets the sources choose, the same model is read in the
    other direction: the source words are drawn around their targets, so EM runs with the sides exchanged and Ω is
    turned round at the end.
    """
    rows, columns = seed
    if settings.prior.sources_choose:
        mirrored = replace(settings, prior=settings.prior.mirrored())
        other = fit(target, source, (columns, rows), mirrored, engine, report)
        theta = Theta(other.theta.omega.T, other.theta.omega.T @ other.theta.mu)
        return Fit(theta, other.matching.mirrored(), other.iterations, other.stopped)
    theta = Theta.from_pairs(source[rows], target[columns])
    frequent = slice(settings.max_rank)
    return viterbi_em(theta, source[frequent], target[frequent], settings, engine, report)

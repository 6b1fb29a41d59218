"""EM: Algorithm 1 of the paper.

The loop in `viterbi_em` can be laid beside the pseudocode. With the Viterbi E-step both steps make the same quantity
larger, the log-likelihood of the matching and the parameters together, so it never falls from one iteration to the
next. The other E-steps (`bilex.em.e_steps`) run in the same loop.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from bilex.em.e_steps import E_STEPS, SOFT, Belief, Problem, nearest_targets
from bilex.errors import BilexError
from bilex.matching.solver import Matching
from bilex.model.constraints import Constraints, Pairs
from bilex.model.edge_prior import EdgePrior
from bilex.model.maps import Steps
from bilex.model.prior import Prior
from bilex.model.theta import Expectation, Theta, log_likelihood, maximise
from bilex.numerics.types import Indices, Vectors
from bilex.search.engine import Engine

__all__ = ["Fit", "Iteration", "Settings", "State", "fit", "match_all", "viterbi_em"]

CONVERGED = "converged: the mean cosine of the induced pairs no longer changes"
NOTHING_MATCHED = "failed: no pair of words is a better explanation than none"
TOO_LONG = "the limit of iterations was reached"
SUPERVISION = ("start", "soft", "fixed")
STILL = 0.01  # a matching whose number of pairs changes by less than this part does not grow any more
SEED_ONLY = "this method learns from the seed alone"


@dataclass(frozen=True)
class Settings:
    """How EM is run.

    `prior`, `candidates` per source word and the `max_rank` most frequent words define the E-step's problem;
    `tolerance` and `max_iterations` say when to stop; `e_step` and `maps` name other E- and M-steps than the paper's,
    and `steps` are those of the ``cca`` maps; `temperature` belongs to the soft E-steps; without `self_learning` the
    map of the seed is kept; with `exact` the matching is optimal among all pairs of words, not only the candidates.

    `weights` name what an edge weighs (`bilex.model.weights`). `slack` is added to all weights at first and falls by
    `tightening` with each iteration, so that EM starts permissive; it does not stop before the slack is gone.
    `supervision` says what the seed is after the start: with ``start`` nothing more; with ``soft`` its pairs are
    laid on each other in every M-step, beside those of the matching; with ``fixed`` they also are in every matching.
    With `match_all` the last matching takes in all words, also those beyond `max_rank`. Without `warm_start` the solver
    starts each matching from nothing and not from the last one's duals: it takes longer and finds the same.
    """

    prior: Prior = field(default_factory=Prior)
    candidates: int = 3
    max_rank: int | None = None
    tolerance: float = 1e-6
    max_iterations: int = 100
    e_step: str = "viterbi"
    maps: str = "orthogonal"
    steps: Steps = field(default_factory=Steps)
    temperature: float = 1.0
    self_learning: bool = True
    exact: bool = False
    weights: str = "likelihood"
    slack: float = 0.0
    tightening: float = 0.02
    supervision: str = "start"
    match_all: bool = False
    warm_start: bool = True

    def __post_init__(self) -> None:
        if self.supervision not in SUPERVISION:
            raise BilexError(f"no supervision is called {self.supervision!r}; choose one of {', '.join(SUPERVISION)}")
        if not (0 <= self.slack < math.inf and 0 < self.tightening < math.inf):
            raise BilexError("slack must be a number from 0 up and tightening one above 0; correct them")
        if not self.self_learning:
            return
        viterbi = self.e_step == "viterbi"
        if not viterbi and (self.weights != "likelihood" or self.slack or self.supervision != "start"):
            raise BilexError(f"the {self.e_step} E-step takes no other weights, slack or supervision; use viterbi")
        if self.e_step in SOFT and self.maps != "orthogonal":
            # Only there is it enough to know each target's expected source: others need its second moments.
            raise BilexError(f"the {self.e_step} E-step needs orthogonal maps; set maps = 'orthogonal'")
        if self.prior.sources_choose and self.maps == "least-squares":
            raise BilexError(
                f"a least-squares map cannot be turned round as {self.prior.name} needs it; set maps = 'orthogonal'"
            )

    def problem(self, engine: Engine, constraints: Constraints, edge_prior: EdgePrior | None) -> Problem:
        """Give the E-step what it needs to know besides θ and the vectors."""
        return Problem(
            self.prior,
            self.candidates,
            self.temperature,
            self.exact,
            engine,
            constraints,
            self.weights,
            edge_prior,
            self.warm_start,
        )

    def prior_at(self, iteration: int) -> Prior:
        """Give the prior with what is left of the slack in an iteration, counted from 0."""
        left = self.slack_left(iteration)
        return replace(self.prior, log_odds=self.prior.log_odds + left) if left else self.prior

    def slack_left(self, iteration: int) -> float:
        """Give what is left of the slack in an iteration, counted from 0."""
        return max(0.0, self.slack - iteration * self.tightening)


@dataclass(frozen=True)
class Iteration:
    """What one iteration did: one entry of ``iterations`` in ``run.json``.

    `certificate_gap` is None where the E-step does not solve an optimisation problem.
    """

    pairs: int
    mean_cosine: float
    log_likelihood: float
    certificate_gap: float | None
    seconds: dict[str, float]


@dataclass(frozen=True, eq=False)
class Fit:
    """Where EM ended: the parameters, the last matching, how it got there and why it stopped."""

    theta: Theta
    matching: Matching
    iterations: tuple[Iteration, ...]
    stopped: str


@dataclass(frozen=True, eq=False)
class State:
    """Where EM is between two iterations: all it needs to go on as if it had never stopped.

    `matching` is the last E-step's, from whose pairs and duals the next one starts; a soft E-step has none.
    """

    theta: Theta
    matching: Matching | None
    iterations: tuple[Iteration, ...]


def viterbi_em(
    theta: Theta,
    source: Vectors,
    target: Vectors,
    settings: Settings,
    engine: Engine,
    report: Callable[[Iteration], None] = lambda iteration: None,
    constraints: Constraints | None = None,
    given: tuple[Vectors, Vectors] | None = None,
    edge_prior: EdgePrior | None = None,
    checkpoint: Callable[[State], None] = lambda state: None,
    resume: State | None = None,
) -> Fit:
    """Alternate the E-step and the M-step from θ on until convergence (Algorithm 1).

    `given` are rows that every M-step lays on each other, whatever the matching; `edge_prior` is p(m) where that is
    learnt (`bilex.model.edge_prior`). After each iteration its state goes to `checkpoint`; `resume` is such a state,
    and the work goes on from there.
    """
    e_step, state = E_STEPS[settings.e_step], resume or State(theta, None, ())
    theta, matching, iterations = state.theta, state.matching, list(state.iterations)
    for iteration in iterations:
        report(iteration)
    problem = settings.problem(engine, constraints or Constraints(), edge_prior)
    while not (stopped := why_stop(iterations, settings)):
        clock = Stopwatch()
        prior = settings.prior_at(len(iterations))
        # E-step; Viterbi: m* = argmax log p(m | S, T), with the exact matching
        belief = e_step(theta, source, target, replace(problem, prior=prior, lap=clock.lap), matching)
        # M-step: Ω by Procrustes, μ = centroid of the unmatched targets
        theta = maximise(theta, target, beside(given, belief.expected), settings.maps, settings.steps)
        clock.lap("mapping")
        matching = belief.matching
        iterations.append(describe(theta, source, target, belief, prior, clock))
        report(iterations[-1])
        checkpoint(State(theta, matching, tuple(iterations)))
    if matching is None:  # a soft E-step: the lexicon is the best edge set under the parameters it led to
        matching = E_STEPS["viterbi"](theta, source, target, problem, None).matching
        assert matching is not None
    return Fit(theta, matching, tuple(iterations), stopped)


def beside(given: tuple[Vectors, Vectors] | None, expected: Expectation) -> Expectation:
    """Put the given pairs of rows beside those of an E-step."""
    if given is None:
        return expected
    source = np.concatenate([given[0], expected.source])
    return Expectation(source, np.concatenate([given[1], expected.target]), expected.free)


def why_stop(iterations: list[Iteration], settings: Settings) -> str:
    """Say why EM should stop now, or nothing if it should go on.

    The paper's rule is that the mean cosine improves by less than the tolerance. With a partial matching it falls
    while the matching grows, so a change in either direction counts. And it can stand still for a moment between
    falling and rising, while the matching grows by a quarter: so that has to stand still too.
    """
    if not iterations:
        return ""
    if iterations[-1].pairs == 0:
        return NOTHING_MATCHED
    if settings.slack_left(len(iterations) - 1) == 0 and len(iterations) > 1:
        last, now = iterations[-2:]
        grown = abs(now.pairs - last.pairs) > STILL * now.pairs
        if not grown and abs(now.mean_cosine - last.mean_cosine) < settings.tolerance:
            return CONVERGED
    return TOO_LONG if len(iterations) >= settings.max_iterations else ""


def describe(
    theta: Theta, source: Vectors, target: Vectors, belief: Belief, prior: Prior, clock: Stopwatch
) -> Iteration:
    """Put an iteration's result into numbers."""
    gap, likelihood, matching = None, belief.log_likelihood, belief.matching
    if matching is not None:
        cosine = mean_cosine(theta, source, target, matching)
        likelihood = log_likelihood(theta, source, target, matching, prior)
        gap = None if np.isnan(matching.gap) else matching.gap
    else:
        mapped = theta.map_source(belief.expected.source).astype(np.float64)
        aligned = theta.map_target(belief.expected.target)
        cosine = float((mapped * aligned).sum() / max(belief.pairs, np.finfo(float).tiny))
    assert likelihood is not None, "an E-step gives a matching or a likelihood"
    return Iteration(round(belief.pairs), cosine, likelihood, gap, clock.seconds)


def mean_cosine(theta: Theta, source: Vectors, target: Vectors, matching: Matching) -> float:
    """Average the cosine of Ωs and t over the induced pairs; 0 if there are none."""
    if not len(matching):
        return 0.0
    mapped = theta.map_source(source[matching.source]).astype(np.float64)
    aligned = theta.map_target(target[matching.target]).astype(np.float64)
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
    constraints: Constraints | None = None,
    *,
    start: Theta | None = None,
    edge_prior: EdgePrior | None = None,
    checkpoint: Callable[[State], None] = lambda state: None,
    resume: State | None = None,
) -> Fit:
    """Run EM from the pairs of a seed, on the `max_rank` most frequent words of both languages.

    The seed may use rarer words as well, and `constraints` settle some pairs beforehand. `start` is where EM starts
    instead of the seed's own map, and `edge_prior` a learnt p(m). Where the prior lets the
    sources choose, the same model is read in the other direction: the source words are drawn around their targets,
    so EM runs with the sides exchanged and Ω is turned round at the end.
    """
    rows, columns = seed
    constraints = constraints or Constraints()
    if constraints and not (settings.self_learning and settings.e_step == "viterbi"):
        raise BilexError("kept and forbidden pairs need a method with the Viterbi E-step, such as ruder2018")
    if not settings.self_learning:
        theta = Theta.from_pairs(source[rows], target[columns], settings.maps, settings.steps)
        clock = Stopwatch()
        belief = nearest_targets(theta, source, target, engine)
        clock.lap("candidates")
        report(iteration := describe(theta, source, target, belief, Prior.named("one-to-many-no-null"), clock))
        assert belief.matching is not None
        return Fit(theta, belief.matching, (iteration,), SEED_ONLY)
    if settings.prior.sources_choose:
        mirrored = replace(settings, prior=settings.prior.mirrored())
        turned = (target, source, (columns, rows), mirrored, engine, report, constraints.mirrored())
        other = fit(*turned, checkpoint=checkpoint, resume=resume)
        return Fit(other.theta.mirrored(), other.matching.mirrored(), other.iterations, other.stopped)
    theta = start or Theta.from_pairs(source[rows], target[columns], settings.maps, settings.steps)
    frequent = slice(settings.max_rank)
    if settings.supervision == "fixed":
        constraints = constraints.keeping(Pairs(rows, columns))
    given = None if settings.supervision == "start" else (source[rows], target[columns])
    inside = constraints.within(settings.max_rank)
    sides = (theta, source[frequent], target[frequent])
    found = viterbi_em(*sides, settings, engine, report, inside, given, edge_prior, checkpoint, resume)
    if settings.match_all and len(found.matching) and max(len(source), len(target)) > (settings.max_rank or math.inf):
        return replace(
            found, matching=match_all(found.theta, source, target, settings, engine, constraints, edge_prior)
        )
    return found


def match_all(
    theta: Theta,
    source: Vectors,
    target: Vectors,
    settings: Settings,
    engine: Engine,
    constraints: Constraints,
    edge_prior: EdgePrior | None,
) -> Matching:
    """Find the best matching of all words under the parameters that the frequent ones led to."""
    problem = settings.problem(engine, constraints, edge_prior)
    matching = E_STEPS["viterbi"](theta, source, target, problem, None).matching
    assert matching is not None
    return matching

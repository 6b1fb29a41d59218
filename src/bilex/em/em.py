"""EM: Algorithm 1 of the paper.

The loop in `run_em` can be laid beside the pseudocode. For `ruder2018` (the Viterbi E-step, orthogonal maps, candidates
that include the last matching's pairs) both steps increase the log-likelihood of the matching and the parameters
together, so it never falls from one iteration to the next. Other E-steps (`bilex.em.e_steps`) and maps run in the same
loop, without that promise.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from bilex.em.context import Context, Iteration, State
from bilex.em.e_steps import E_STEPS, EStepResult, nearest_targets
from bilex.errors import BilexError
from bilex.matching.graph import Graph, Matching, RowPairs
from bilex.methods import EStepConfig, Method, StoppingConfig
from bilex.model.pair_weights import PairWeights
from bilex.model.prior import Prior
from bilex.model.theta import MappedWords, Theta, log_likelihood, m_step, mean_cosine
from bilex.numerics.types import Vectors

CONVERGED = "converged: the mean cosine of the induced pairs no longer changes"
NOTHING_MATCHED = "failed: no pair of words is a better explanation than none"
TOO_LONG = "the limit of iterations was reached"
SEED_ONLY = "this method learns from the seed alone"
MIN_PAIR_CHANGE = 0.01  # a matching whose number of pairs changes by a smaller part no longer grows


@dataclass(frozen=True, eq=False)
class Fit:
    """Where EM ended: the parameters, the last matching, how it got there and why it stopped."""

    theta: Theta
    matching: Matching
    iterations: tuple[Iteration, ...]
    stopped: str
    weights: PairWeights | None = None  # what the evidence said of it, if it was asked
    words: MappedWords | None = None  # under the parameters, if they are kept


def run_em(
    start: State,
    source: Vectors,
    target: Vectors,
    method: Method,
    prior: Prior,
    context: Context,
    seed: tuple[Vectors, Vectors] | None = None,
) -> Fit:
    """Alternate the E-step and the M-step from a state's θ on until convergence (Algorithm 1).

    `seed` are pairs of rows that every M-step aligns besides those of the matching.
    """
    observer = Observer(context)
    state = observer.begin(start)
    words, matching = MappedWords(state.theta, source, target), state.matching
    e_step = E_STEPS[method.e_step.kind]
    while not (stopped := reason_to_stop(observer.iterations, method.stopping)):
        # E-step; Viterbi: m* = argmax log p(m | S, T), with the exact matching
        result = e_step(words, prior, method.e_step, context, matching)
        # M-step: Ω by Procrustes, μ = centroid of the unmatched targets
        statistics = result.statistics if seed is None else result.statistics.with_pairs(*seed)
        words = m_step(words.theta, source, target, statistics, method.map)
        matching = result.matching
        observer.end_iteration(words, result, prior)
    if matching is None:  # a soft E-step: the lexicon is the best edge set under the parameters it led to
        matching = best_matching(words, prior, method.e_step, context)
    return Fit(words.theta, matching, tuple(observer.iterations), stopped, words=words)


class Observer:
    """Records the iterations of one EM run: clock, progress, checkpoints. EM itself does not depend on it."""

    def __init__(self, context: Context) -> None:
        self.iterations: list[Iteration] = []
        self._context = context
        self._previous, self._record = context.history.begin()

    def begin(self, start: State) -> State:
        """Return the state to start from: that of an interrupted run, if there is one."""
        state = self._previous or start
        for iteration in state.iterations:
            self._context.reporter.iteration(iteration)
        self.iterations += state.iterations
        self._context.clock.restart()
        return state

    def end_iteration(self, words: MappedWords, result: EStepResult, prior: Prior) -> None:
        """Measure an iteration, report it and store where EM is."""
        clock = self._context.clock
        clock.lap("mapping")
        self.iterations.append(measure_iteration(words, result, prior, clock.seconds))
        self._context.reporter.iteration(self.iterations[-1])
        self._record(State(words.theta, result.matching, tuple(self.iterations)))
        clock.restart()


def reason_to_stop(iterations: list[Iteration], stopping: StoppingConfig) -> str | None:
    """Return why EM stops after these iterations, or None if it goes on.

    The paper stops when the mean cosine improves by less than the tolerance. With a partial matching the mean falls
    while the matching grows, so a change in either direction counts; and it can stand still for a moment between
    falling and rising, so the number of pairs has to stand still too.
    """
    if not iterations:
        return None
    if iterations[-1].pairs == 0:
        return NOTHING_MATCHED
    if len(iterations) > 1:
        before, after = iterations[-2:]
        settled = abs(after.pairs - before.pairs) <= MIN_PAIR_CHANGE * after.pairs
        if settled and abs(after.mean_cosine - before.mean_cosine) < stopping.tolerance:
            return CONVERGED
    return TOO_LONG if len(iterations) >= stopping.max_iterations else None


def measure_iteration(words: MappedWords, result: EStepResult, prior: Prior, seconds: dict[str, float]) -> Iteration:
    """Summarise an iteration in numbers."""
    gap, likelihood, matching = None, result.log_likelihood, result.matching
    if matching is not None:
        cosine = mean_cosine(words, matching)
        likelihood = log_likelihood(words, matching, prior)
        gap = None if np.isnan(matching.gap) else matching.gap
    else:
        mapped = words.theta.map_source(result.statistics.source).astype(np.float64)
        cosine = float((mapped * words.targets).sum() / max(result.pairs, np.finfo(float).tiny))
    assert likelihood is not None, "an E-step returns a matching or a likelihood"
    return Iteration(round(result.pairs), cosine, likelihood, gap, seconds)


def fit(
    source: Vectors,
    target: Vectors,
    seed: RowPairs,
    method: Method,
    prior: Prior,
    context: Context,
) -> Fit:
    """Run EM from the pairs of a seed, on the `max_rank` most frequent words of both languages.

    The seed may use rarer words as well; `prior` holds the pairs that are settled beforehand. Where the prior lets the
    sources choose, the same model is read in the other direction: the source words are drawn around their targets,
    so EM runs with the sides exchanged and Ω is reversed at the end.
    """
    if prior.settled and not (method.self_learning and method.e_step.kind == "viterbi"):
        raise BilexError("kept and forbidden pairs need a method with the Viterbi E-step, such as ruder2018")
    if not method.self_learning:
        return fit_seed_only(source, target, seed, method, context)
    if prior.capacities.sources_choose:
        reverse = method.with_changes({"prior": method.prior.kind.replace("many-to-one", "one-to-many")})
        swapped = RowPairs(seed.target, seed.source)  # in the same order, so that sums are the same
        other = fit(target, source, swapped, reverse, prior.mirrored(), context)
        return Fit(other.theta.mirrored(), other.matching.mirrored(), other.iterations, other.stopped)
    pairs = source[seed.source], target[seed.target]
    frequent, e_step = slice(method.e_step.max_rank), method.e_step
    start = State(Theta.from_pairs(*pairs, method.map), None, ())
    constant = None if method.supervision == "start" else pairs

    def run(start: State, prior: Prior) -> Fit:
        return run_em(start, source[frequent], target[frequent], method, allowed(prior), context, constant)

    def allowed(prior: Prior) -> Prior:
        return (prior.keeping(seed) if method.supervision == "fixed" else prior).among_frequent(e_step.max_rank)

    # Decisions come in where EM ends without them: a start with them would lead elsewhere, for reasons of its own.
    found = run(start, prior.undecided)
    if prior.settled and method.evidence and not method.certain_seed:
        # the last round fits the maps to them; more iterations would change other pairs too
        found = replace(found, matching=settle_pairs(found.matching, allowed(prior), (len(source), len(target))))
    elif prior.settled:
        found = run(State(found.theta, found.matching, ()), prior)
    beyond = max(len(source), len(target)) > (e_step.max_rank or math.inf)
    if method.evidence or not (e_step.match_all and beyond and len(found.matching)):
        return found
    return replace(found, matching=best_matching(MappedWords(found.theta, source, target), prior, e_step, context))


def settle_pairs(matching: Matching, prior: Prior, shape: tuple[int, int]) -> Matching:
    """Put the kept pairs into a matching, and leave out the forbidden ones and what the kept ones exclude."""
    graph = Graph.from_edges(matching.source, matching.target, np.ones(len(matching)), shape)
    left = prior.apply(graph)
    return prior.complete(replace(matching, source=left.rows, target=left.indices), np.ones(len(prior.kept)))


def fit_seed_only(source: Vectors, target: Vectors, seed: RowPairs, method: Method, context: Context) -> Fit:
    """Fit the maps to the seed, without EM, and pair every source word with its nearest target.

    Where the lexicon is matched on all evidence anyway, that is only a figure, measured on the words that EM would see.
    """
    theta = Theta.from_pairs(source[seed.source], target[seed.target], method.map)
    seen = slice(method.e_step.max_rank if method.evidence else None)
    words = MappedWords(theta, source[seen], target[seen])
    context.clock.restart()
    result = nearest_targets(words, context.engine)
    context.clock.lap("candidates")
    iteration = measure_iteration(words, result, Prior.named("one-to-many-no-null"), context.clock.seconds)
    context.reporter.iteration(iteration)
    assert result.matching is not None
    return Fit(theta, result.matching, (iteration,), SEED_ONLY)


def best_matching(words: MappedWords, prior: Prior, config: EStepConfig, context: Context) -> Matching:
    """Find the best matching under fixed parameters."""
    matching = E_STEPS["viterbi"](words, prior, config, context, None).matching
    assert matching is not None
    return matching

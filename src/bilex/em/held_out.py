"""What a method leaves open, decided on held-out pairs of the seed or by trying, and recorded.

- *Supervision* (`supervision = "choose"`). A large seed is split by source words. Each way to use it learns from four
  fifths and is scored on the rest, by P@1 with CSLS among the words of the E-step: the orthogonal map of the seed, the
  method's own map of the seed, and EM that uses the seed as fixed pairs, softly or, if that is best so far, only as a
  start. The best then learns from the whole seed, so self-learning is used only where it helps. A small seed is too
  small to be split: EM uses it softly. Identical strings and numerals are not a dictionary: they are only a start.
- *The start* (`--seed unsupervised`). EM runs from the couplings (`bilex.seeds.coupling`) of more and of fewer
  words; the start that leads to the largest log-likelihood is used.
- *Another start*. If the evidence of a run from a few pairs, or from none, tells that most of them are wrong, or if no
  other start led to the same pairs, EM runs from words spelt the same, and from pairs that several couplings of parts
  of the words have in common. What is wrong differs from result to result, and what is right does not: so EM runs again
  from the pairs that several results have in common, and so on while the log-likelihood rises.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from bilex.em.context import Context
from bilex.em.em import Fit, best_matching, fit
from bilex.matching.graph import RowPairs
from bilex.methods import METHODS, Method
from bilex.model.counting import tells_weakness
from bilex.model.prior import Prior
from bilex.model.theta import MappedWords, Theta
from bilex.numerics.types import Vectors
from bilex.search.engine import Engine
from bilex.search.reuse import ReusingEngine
from bilex.search.space import CROWDING_NEIGHBOURS
from bilex.seeds.coupling import COUPLINGS, SIZES, couple, couple_parts
from bilex.seeds.seed import UNSUPERVISED, Seed

MIN_WORDS_TO_SPLIT = 500  # source words of a seed: enough to hold some out
HELD_OUT_EVERY = 5  # one word in so many is held out
PROCRUSTES, SEED_MAP = "procrustes", "seed"
ROUNDS = 4  # of other starts, at most
MIN_IN_COMMON = 8  # pairs: EM does not start from fewer
MIN_AGREEMENT = 0.1  # of a start with the others; 0.39 and 0.88 were seen where it was good, 0.003 where it was not
MAX_SHARING = 6  # results that must share a pair, at most; there are few pairs that more have found


@dataclass(frozen=True)
class Choice:
    """One decision: what it was about, what was chosen and why, and the figures it rests on.

    Of a start, `agreement` is the share of the pairs it led to that another start led to as well.
    """

    about: str
    chosen: str
    why: str
    measured: dict[str, float] = field(default_factory=dict)
    held_out: int = 0
    agreement: float = 1.0


@dataclass(frozen=True, eq=False)
class FittedMethod:
    """The fit of a method, the method with everything decided, and the decisions."""

    fit: Fit
    method: Method
    choices: tuple[Choice, ...] = ()


@dataclass(frozen=True, eq=False)
class Training:
    """What is learnt from: the prepared vectors, the prior with the settled pairs, and the context."""

    source: Vectors
    target: Vectors
    prior: Prior
    context: Context

    @property
    def equal_dimensions(self) -> bool:
        """Whether a square map can lead from one language to the other."""
        return bool(self.source.shape[1] == self.target.shape[1])

    def fit(self, method: Method, pairs: RowPairs) -> Fit:
        """Run the method from the given pairs."""
        found = fit(self.source, self.target, pairs, method, self.prior, self.context)
        return replace(found, words=None)  # they take memory

    def trial(self, method: Method, pairs: RowPairs) -> Fit:
        """Run the method on the words of the E-step, without reporting its iterations."""
        only = method.with_changes({"match_all": False})
        return fit(self.source, self.target, pairs, only, self.prior, self.context.silent())


def fit_method(training: Training, seed: Seed, method: Method) -> FittedMethod:
    """Run EM as the method says, after deciding what it leaves open."""
    context = training.context
    if method.map.kind != "cca":  # two-sided maps move the targets too, and then no answer is proved to hold
        context = replace(context, engine=ReusingEngine(context.engine))
        training = replace(training, context=context)
    base = METHODS.get(method.name, method)
    if training.prior.settled and not method.self_learning and base.supervision == "choose":
        # an earlier run had chosen the map of the seed; decisions need EM
        method = method.with_changes({"self_learning": True, "map": base.map.kind, "supervision": "soft"})
    pairs, choices = seed.pairs, list[Choice]()
    if method.supervision == "choose":
        method, choice = choose_supervision(training, method, seed)
        choices.append(choice)
    if seed.name == UNSUPERVISED and method.self_learning:
        pairs, choice = choose_start(training, method, couplings(training, pairs))
        choices.append(choice)
    context.reporter.stage("learning")
    found = training.fit(method, pairs)
    if (
        choices and not method.self_learning and not method.evidence
    ):  # the map is the seed's, but the lexicon is the model's matching
        words = MappedWords(found.theta, training.source, training.target)
        found = replace(found, matching=best_matching(words, training.prior, method.e_step, training.context))
    return FittedMethod(found, method, tuple(choices))


def split_words(pairs: RowPairs, every: int = HELD_OUT_EVERY) -> tuple[RowPairs, RowPairs]:
    """Hold out the pairs of one source word in so many, evenly over the frequencies."""
    words = np.unique(pairs.source)
    held = np.isin(pairs.source, words[every // 2 :: every])
    return pairs.where(~held), pairs.where(held)


def choose_supervision(training: Training, method: Method, seed: Seed) -> tuple[Method, Choice]:
    """Decide the role of the seed in EM."""
    if not seed.is_dictionary:
        found = seed.name == UNSUPERVISED
        what = "pairs found without one" if found else "identical strings, numerals and earlier lexicons"
        why = f"{what} are not a dictionary"
        return method.with_changes({"supervision": "start"}), Choice("supervision", "start", why)
    known = seed.pairs.among_frequent(method.e_step.max_rank)
    words = len(np.unique(known.source))
    if words < MIN_WORDS_TO_SPLIT:
        why = f"it has fewer than {MIN_WORDS_TO_SPLIT} frequent words, too few to try other uses"
        return method.with_changes({"supervision": "soft"}), Choice("supervision", "soft", why)
    _, held = split_words(known)
    rest = seed.pairs.where(~np.isin(seed.pairs.source, held.source))
    options = {name: method.with_changes({"supervision": name}) for name in ("fixed", "soft", "start")}
    if not training.prior.settled:  # settled pairs need a matching
        alone = method.with_changes({"supervision": "start", "self_learning": False})
        square = {PROCRUSTES: alone.with_changes({"map": "orthogonal"})} if training.equal_dimensions else {}
        options = {**square, SEED_MAP: alone, **options}
    measured = dict[str, float]()
    for name, option in options.items():
        if name == "start" and max(measured, key=measured.__getitem__) != "soft":
            break  # where more trust in the seed is better, less is not
        training.context.reporter.stage(f"trying {name} on held-out pairs")
        measured[name] = held_out_precision(trial_words(training, option, rest), held, training.context.engine)
    best = max(measured, key=measured.__getitem__)
    count = len(np.unique(held.source))
    why = f"best P@1 on {count} source words held out of the seed"
    return options[best], Choice("supervision", best, why, measured, count)


def choose_start(
    training: Training, method: Method, starts: Iterable[tuple[str, RowPairs]], rounds: int = 1
) -> tuple[RowPairs, Choice]:
    """Try EM from each start, and use the one that the model likes best.

    Further rounds start from what the results of the last round have in common, while the log-likelihood rises.
    """
    tried, measured, results = dict[str, RowPairs](), dict[str, float](), dict[str, RowPairs]()
    for again in range(rounds):
        best, before = max(measured.values(), default=-np.inf), len(results)
        for name, pairs in starts:
            training.context.reporter.stage(f"starting from {name}")
            found = training.trial(method, pairs)
            tried[name], measured[name] = pairs, found.iterations[-1].log_likelihood
            results[name] = RowPairs(found.matching.source, found.matching.target)
        if max(measured.values()) <= best:
            break
        starts = in_common([*results.values()][before:], f"results of round {again + 1}", len(training.target))
    chosen = max(measured, key=lambda name: measured[name])
    ours, *others = (results[name].keys(len(training.target)) for name in (chosen, *measured.keys() - {chosen}))
    agreement = round(float(np.isin(ours, np.concatenate(others)).mean()), 4) if others and len(ours) else 1.0
    why = "EM from there ends with the largest log-likelihood"
    return tried[chosen], Choice("start", chosen, why, measured, agreement=agreement)


def in_common(found: Sequence[RowPairs], name: str, n_targets: int) -> Iterator[tuple[str, RowPairs]]:
    """Yield the pairs that at least two of the results have, at least three, and so on, if these are enough pairs."""
    keys, counts = np.unique(np.concatenate([pairs.keys(n_targets) for pairs in found]), return_counts=True)
    for least in range(2, MAX_SHARING + 1):
        shared = keys[counts >= least]
        differs = least == MAX_SHARING or (counts == least).any()  # from those of the next
        if differs and len(shared) >= MIN_IN_COMMON:
            yield f"pairs common to at least {least} {name}", RowPairs(shared // n_targets, shared % n_targets)


def couplings(training: Training, largest: RowPairs) -> Iterator[tuple[str, RowPairs]]:
    """Yield the couplings of more and of fewer words; the `largest` is known."""
    fewest = min(len(training.source), len(training.target))
    largest_size, *smaller = dict.fromkeys(min(size, fewest) for size in SIZES)
    yield f"{largest_size:,} words", largest
    for size in smaller:
        yield f"{size:,} words", RowPairs(*couple(training.source, training.target, size))


def leads_astray(seed: Seed, fit: Fit, choices: Sequence[Choice] = ()) -> bool:
    """Check whether a few pairs, or none, led to pairs most of which are wrong; others are used as they are given."""
    few = seed.name == UNSUPERVISED or (seed.is_dictionary and len(np.unique(seed.source)) < MIN_WORDS_TO_SPLIT)
    weak = fit.weights is not None and tells_weakness(fit.weights.purity, fit.weights.deviation)
    return few and (weak or any(choice.agreement < MIN_AGREEMENT for choice in choices))


def fit_from_elsewhere(training: Training, fitted: FittedMethod, seed: Seed, identical: RowPairs) -> FittedMethod:
    """Run EM from other starts than the seed alone, which led to pairs that are mostly wrong.

    These are words spelt the same, and pairs that several couplings share, each with the seed's pairs; the pairs found
    so far may be partly right, and join them. What was fitted stays, if the model likes it best.
    """
    method = fitted.method.with_changes({"supervision": "start"})
    training.context.reporter.note(
        "the pairs found so far look mostly wrong; trying other starts, which takes several times as long"
    )
    parts = list[RowPairs]()
    for found in couple_parts(training.source, training.target):
        parts.append(RowPairs(*found))
        training.context.reporter.stage(f"coupling parts of the words: {len(parts)} of {COUPLINGS}")
    starts = dict(in_common(parts, "couplings", len(training.target)))
    if len(identical):
        starts["words spelt the same"] = identical
    if not starts:
        return fitted
    starts["the pairs found so far"] = RowPairs(fitted.fit.matching.source, fitted.fit.matching.target)
    if seed.name != UNSUPERVISED:
        starts = {name: pairs.union(seed.pairs) for name, pairs in starts.items()}
    pairs, choice = choose_start(training, method, starts.items(), ROUNDS)
    if max(choice.measured.values()) <= fitted.fit.iterations[-1].log_likelihood:
        return replace(fitted, choices=tuple(with_agreement(each, choice) for each in fitted.choices))
    training.context.reporter.stage("learning")
    return FittedMethod(training.fit(method, pairs), method, (*fitted.choices, choice))


def with_agreement(first: Choice, later: Choice) -> Choice:
    """Return the first choice of a start with the agreement that was found when others were tried."""
    return replace(first, agreement=later.agreement) if first.about == later.about else first


def trial_words(training: Training, method: Method, pairs: RowPairs) -> MappedWords:
    """Learn only the parameters; return the words of the E-step under them."""
    if method.self_learning:
        found = training.trial(method, pairs)
        if found.words is not None:
            return found.words
        theta = found.theta
    else:
        theta = Theta.from_pairs(training.source[pairs.source], training.target[pairs.target], method.map)
    seen = slice(method.e_step.max_rank)
    return MappedWords(theta, training.source[seen], training.target[seen])


def held_out_precision(mapped_words: MappedWords, held: RowPairs, engine: Engine) -> float:
    """Compute P@1 by CSLS for held-out pairs, among the words of the E-step."""
    words, (mapped, targets) = np.unique(held.source), mapped_words.units
    crowding = engine.top_k(targets, mapped, min(CROWDING_NEIGHBOURS, len(mapped))).scores.mean(axis=1)
    queries = np.column_stack([mapped[words], np.ones(len(words), np.float32)])
    best = engine.top_k(queries, np.column_stack([targets, -crowding.astype(np.float32) / 2]), 1).indices[:, 0]
    found = RowPairs(words, best).keys(len(targets))
    return float(np.isin(found, held.keys(len(targets))).mean())

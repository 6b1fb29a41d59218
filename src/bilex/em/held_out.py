"""Which parts a run uses, where its method leaves that open: measured on held-out pairs of the seed, and recorded.

Three things are decided here.

- *Supervision* (`supervision = "choose"`). A large seed is split by source words. Each way to use it learns from four
  fifths and is scored on the rest, by P@1 with CSLS among the words of the E-step: the orthogonal map of the seed, the
  method's own map of the seed, and EM that takes the seed as a start, softly or as fixed. The best then learns from
  the whole seed. So self-learning is used only where it helps. A small seed is too small to be split: EM takes it
  softly. Words spelt the same and numerals were never anybody's dictionary: they are a start.
- *The edge prior* (`edge_prior = "learned"`). It is learnt by cross-fitting, so that no pair teaches both a map and the
  prior: a map of one half of the known pairs gives the candidates of the other half's words. The known pairs are the
  seed's, if it is large; otherwise the pairs of the matching whose words are each other's best. It is used if on each
  half, with the prior learnt from the other one, it puts the right candidate first more often; otherwise the prior
  stays uniform. A matching confirms itself, so a prior learnt from one must also put more of the small seed's own
  words right, under a map that none of them had a part in; a seed that is no dictionary cannot say so.
- *The start* (`--seed unsupervised`). EM runs roughly from the couplings (`bilex.seeds.coupling`) of more and of fewer
  words; the start that led to the largest log-likelihood is taken.

Nothing else is measured: the method's other parts are as its configuration says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from bilex.em.em import Fit, Iteration, Settings, fit, match_all
from bilex.em.journal import Journal
from bilex.em.progress import Reporter
from bilex.matching.candidates import candidate_graph
from bilex.methods import CHOOSE, METHODS, Method
from bilex.model.constraints import Constraints
from bilex.model.edge_prior import FEATURES, EdgePrior, Examples, Features, heaviest, learn
from bilex.model.theta import Theta
from bilex.model.weights import WEIGHTS
from bilex.numerics.types import Indices, Vectors
from bilex.search.engine import Engine
from bilex.search.reuse import ReusingEngine
from bilex.search.space import SharedSpace
from bilex.seeds.coupling import SIZES, couple
from bilex.seeds.seed import SEED_NAMES, UNSUPERVISED, Seed
from bilex.vectors.embeddings import Embeddings

__all__ = ["LARGE", "Choice", "Chosen", "fit_method", "held_out_precision", "split"]

LARGE = 500  # source words of a seed: enough to hold some out
HELD_OUT = 5  # one word in so many
PROCRUSTES, SEED_MAP = "procrustes", "seed"
ROUGH = 1e-3  # the tolerance of trials: the map hardly changes after it
WORTH = 0.002  # what a prior must add to the precision on held-out pairs
Pairs = tuple[Indices, Indices]


@dataclass(frozen=True)
class Choice:
    """One decision: what it was about, what was chosen and why, and the figures it rests on."""

    about: str
    chosen: str
    why: str
    measured: dict[str, float] = field(default_factory=dict)
    held_out: int = 0


@dataclass(frozen=True, eq=False)
class Chosen:
    """The fit of a method whose open parts have been decided, that method, and the decisions."""

    fit: Fit
    method: Method
    choices: tuple[Choice, ...] = ()

    def summary(self) -> list[dict[str, Any]]:
        """Give what ``run.json`` holds of the decisions."""
        return [asdict(choice) for choice in self.choices]


@dataclass(frozen=True, eq=False)
class Task:
    """The prepared vectors of both languages, what is settled, and who searches, watches and takes notes."""

    source: Embeddings
    target: Embeddings
    constraints: Constraints
    engine: Engine
    reporter: Reporter
    journal: Journal = field(default_factory=Journal)
    reuse: bool = True

    def learn(
        self,
        method: Method,
        pairs: Pairs,
        *,
        start: Theta | None = None,
        edge_prior: EdgePrior | None = None,
        report: Callable[[Iteration], None] = lambda iteration: None,
    ) -> Fit:
        """Run the method from the given pairs."""
        resume, checkpoint = self.journal.next()
        return fit(
            self.source.vectors,
            self.target.vectors,
            pairs,
            replace(method.settings(), warm_start=self.reuse),
            self.engine,
            report,
            self.constraints,
            start=start,
            edge_prior=edge_prior,
            checkpoint=checkpoint,
            resume=resume,
        )

    def frequent(self, most: int | None) -> tuple[Vectors, Vectors]:
        """Give the vectors that the E-step sees."""
        return self.source.vectors[:most], self.target.vectors[:most]


def fit_method(
    source: Embeddings,
    target: Embeddings,
    seed: Seed,
    method: Method,
    engine: Engine,
    reporter: Reporter,
    constraints: Constraints,
    journal: Journal | None = None,
    *,
    reuse: bool = True,
) -> Chosen:
    """Run EM as the method says, and decide first what it leaves open.

    With `reuse` an iteration keeps of the last one what is proved still right: answers of the search, and the duals.
    """
    engine = ReusingEngine(engine) if reuse else engine
    task = Task(source, target, constraints, engine, reporter, journal or Journal(), reuse)
    base = METHODS.get(method.name, method)
    if constraints and not method.self_learning and base.supervision == CHOOSE:  # an earlier run had decided so
        method = replace(method, self_learning=True, maps=base.maps, supervision="soft")
    pairs, choices = (seed.source, seed.target), list[Choice]()
    curated = seed.name not in SEED_NAMES and not seed.reviewed
    known = within(pairs, method.max_rank, task) if curated else (pairs[0][:0], pairs[1][:0])
    if method.supervision == CHOOSE:
        method, choice = choose_supervision(task, method, pairs, known, curated)
        choices.append(choice)
    if seed.name == UNSUPERVISED and method.self_learning:
        pairs, choice = choose_start(task, method, pairs)
        choices.append(choice)
    reporter.stage("learning")
    found = task.learn(method, pairs, report=reporter.iteration)
    if choices and not method.self_learning:  # the map is the seed's, but the lexicon is the model's matching
        settings = method.settings()
        sides = (source.vectors, target.vectors)
        found = replace(found, matching=match_all(found.theta, *sides, settings, engine, constraints, None))
    if method.edge_prior == "learned" and method.self_learning and len(found.matching):
        reporter.stage("learning the prior")
        prior, choice = choose_prior(task, method, known, found)
        choices.append(choice)
        if prior is None:
            method = replace(method, edge_prior="uniform")
        else:
            settled = replace(method, slack=0.0)
            reporter.stage("learning")
            again = task.learn(settled, pairs, start=found.theta, edge_prior=prior, report=reporter.iteration)
            found = replace(again, iterations=found.iterations + again.iterations)
    return Chosen(found, method, tuple(choices))


def within(pairs: Pairs, most: int | None, task: Task) -> Pairs:
    """Leave out pairs with a word that the E-step does not see."""
    limits = [min(most or len(side), len(side)) for side in (task.source, task.target)]
    inside = (pairs[0] < limits[0]) & (pairs[1] < limits[1])
    return pairs[0][inside], pairs[1][inside]


def split(pairs: Pairs, every: int = HELD_OUT) -> tuple[Pairs, Pairs]:
    """Hold out the pairs of one source word in so many, evenly over the frequencies."""
    words = np.unique(pairs[0])
    held = np.isin(pairs[0], words[every // 2 :: every])
    return (pairs[0][~held], pairs[1][~held]), (pairs[0][held], pairs[1][held])


def choose_supervision(task: Task, method: Method, pairs: Pairs, known: Pairs, curated: bool) -> tuple[Method, Choice]:
    """Decide what the seed is to EM."""
    words = len(np.unique(known[0]))
    if not curated:
        why = "the seed is no dictionary, so it only starts EM"
        return replace(method, supervision="start"), Choice("supervision", "start", why)
    if words < LARGE:
        why = f"the seed has {words} frequent words, fewer than {LARGE}: too few to hold some out"
        return replace(method, supervision="soft"), Choice("supervision", "soft", why)
    _, held = split(known)
    rest = ~np.isin(pairs[0], held[0])
    training = (pairs[0][rest], pairs[1][rest])
    options = {name: replace(method, supervision=name) for name in ("start", "soft", "fixed")}
    if not task.constraints:  # what a person has settled is settled in the matching
        alone = replace(options["start"], self_learning=False)
        options = {PROCRUSTES: replace(alone, maps="orthogonal"), SEED_MAP: alone, **options}
    measured = dict[str, float]()
    for name, option in options.items():
        task.reporter.stage(f"trying {name} on held-out pairs")
        measured[name] = held_out_precision(task, tried(task, option, training), held, method.max_rank)
    best = max(measured, key=lambda name: measured[name])
    why = f"best P@1 on {len(np.unique(held[0]))} source words held out of the seed"
    return options[best], Choice("supervision", best, why, measured, len(np.unique(held[0])))


def choose_start(task: Task, method: Method, pairs: Pairs) -> tuple[Pairs, Choice]:
    """Try what coupling more and fewer words gave, the seed first, and take what the model likes best in the end."""
    rough = replace(method, match_all=False, tolerance=max(method.tolerance, ROUGH))
    fewest = min(len(task.source), len(task.target))
    starts, measured = dict[str, Pairs](), dict[str, float]()
    for size in (size for size in SIZES if size == SIZES[0] or size < fewest):
        name = f"{min(size, fewest)} words"
        task.reporter.stage(f"starting from a coupling of {name}")
        starts[name] = pairs if size == SIZES[0] else couple(task.source.vectors, task.target.vectors, size)
        measured[name] = task.learn(rough, starts[name]).iterations[-1].log_likelihood
    best = max(measured, key=lambda name: measured[name])
    return starts[best], Choice("start", best, "EM from there ends with the largest log-likelihood", measured)


def tried(task: Task, option: Method, training: Pairs) -> Theta:
    """Learn the parameters only, and those of EM roughly."""
    if option.self_learning:
        return task.learn(replace(option, match_all=False, tolerance=max(option.tolerance, ROUGH)), training).theta
    source, target = task.source.vectors[training[0]], task.target.vectors[training[1]]
    return Theta.from_pairs(source, target, option.maps, option.settings().steps)


def held_out_precision(task: Task, theta: Theta, held: Pairs, most: int | None) -> float:
    """Give P@1 by CSLS for held-out pairs, among the words that the E-step sees."""
    source, target = task.frequent(most)
    space = SharedSpace.from_vectors(theta.map_source(source), theta.map_target(target), task.engine)
    words = np.unique(held[0])
    best = space.search(words, 1, "csls", task.engine).indices[:, 0]
    width = np.int64(len(target))
    return float(np.isin(words * width + best, held[0] * width + held[1]).mean())


def choose_prior(task: Task, method: Method, known: Pairs, found: Fit) -> tuple[EdgePrior | None, Choice]:
    """Learn an edge prior by cross-fitting, and decide whether it is worth having."""
    settings = method.settings()
    if settings.exact or None in (settings.prior.source_capacity, settings.prior.target_capacity):
        why = "a learned one is for candidates, with limits on both sides"
        return None, Choice("edge prior", "uniform", why)
    whose, judges = "the seed", None
    if len(np.unique(known[0])) < LARGE:
        if not len(known[0]):
            why = "one learnt from a matching confirms itself, and the seed is no dictionary that could judge it"
            return None, Choice("edge prior", "uniform", why)
        judges, whose = known, "the confident part of the matching"
        known = apart_from(confident(task, settings, found), judges)
    if len(np.unique(known[0])) < LARGE:
        return None, Choice("edge prior", "uniform", f"fewer than {LARGE} pairs are known well enough to learn from")
    most = settings.max_rank
    features = Features.between(task.source.words[:most], task.target.words[:most])
    halves = split(known, 2)
    examples = [cross_fitted(task, settings, halves[place], halves[1 - place], features) for place in (0, 1)]
    without, with_prior = list[float](), list[float]()
    for place in (0, 1):
        prior = learn(examples[1 - place], features)
        without.append(examples[place].precision(examples[place].weights))
        added = 0 if prior is None else prior.log_prior(examples[place].features)
        with_prior.append(examples[place].precision(examples[place].weights + added))
    measured = {"uniform": float(np.mean(without)), "learned": float(np.mean(with_prior))}
    prior = learn(examples[0].together(examples[1]), features)
    useful = prior is not None and all(b > a + WORTH for a, b in zip(without, with_prior, strict=True))
    if prior is not None and useful and judges is not None:
        tested = cross_fitted(task, settings, judges, known, features)
        after = tested.precision(tested.weights + prior.log_prior(tested.features))
        measured["added on the seed"] = gain = after - tested.precision(tested.weights)
        useful, whose = gain > WORTH, f"{whose} and of the seed"
    words = len(np.unique(known[0]))
    if not useful or prior is None:
        why = f"a learned one does not put the right candidate first more often for held-out words of {whose}"
        return None, Choice("edge prior", "uniform", why, measured, words)
    worth = ", ".join(f"{name} {value:+.3f}" for name, value in zip(FEATURES, prior.worth, strict=True))
    why = f"it puts the right candidate first more often for held-out words of {whose}; worth: {worth}"
    full = Features.between(task.source.words, task.target.words)
    return replace(prior, features=full), Choice("edge prior", "learned", why, measured, words)


def apart_from(pairs: Pairs, others: Pairs) -> Pairs:
    """Leave out pairs that share a word with others."""
    apart = ~(np.isin(pairs[0], others[0]) | np.isin(pairs[1], others[1]))
    return pairs[0][apart], pairs[1][apart]


def confident(task: Task, settings: Settings, found: Fit) -> Pairs:
    """Give the frequent pairs of a matching whose words are each other's heaviest candidates."""
    source, target = task.frequent(settings.max_rank)
    edges = WEIGHTS[settings.weights](found.theta, source, target, task.engine)
    graph = candidate_graph(edges, settings.prior, k=settings.candidates, previous=None, engine=task.engine)
    mutual = heaviest(graph.weights, graph.rows) & heaviest(graph.weights, graph.indices)
    width = np.int64(graph.n_targets)
    matched = np.isin(graph.rows * width + graph.indices, found.matching.source * width + found.matching.target)
    chosen = mutual & matched
    return graph.rows[chosen], graph.indices[chosen]


def cross_fitted(task: Task, settings: Settings, tested: Pairs, trained: Pairs, features: Features) -> Examples:
    """Give the candidates of the tested words under a map of the trained pairs."""
    source, target = task.frequent(settings.max_rank)
    theta = Theta.from_pairs(source[trained[0]], target[trained[1]], settings.maps, settings.steps)
    edges = WEIGHTS[settings.weights](theta, source, target, task.engine)
    graph = candidate_graph(edges, settings.prior, k=settings.candidates, previous=None, engine=task.engine)
    return Examples.of(graph, features, tested)

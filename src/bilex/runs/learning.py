"""From two sets of word vectors and a seed to a map between them, before anything is looked up with it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bilex.em.em import Fit, State
from bilex.em.held_out import Chosen, fit_method
from bilex.em.journal import Journal
from bilex.em.progress import Reporter
from bilex.errors import BilexError, BilexWarning, NothingMatchedWarning
from bilex.methods import DEFAULT_METHOD, Method, find_method
from bilex.model.constraints import Constraints, Pairs, rows_of
from bilex.runs.checkpoints import Checkpoint, digests
from bilex.search.engine import Engine
from bilex.search.local import LocalEngine
from bilex.search.space import NeighbourLists, SharedSpace
from bilex.seeds.seed import IDENTICAL, UNSUPERVISED, Seed, SeedLike, find_seed
from bilex.vectors.embeddings import Embeddings

__all__ = ["Learnt", "check", "learn"]


@dataclass(frozen=True, eq=False)
class Learnt:
    """What EM learnt, before anything is looked up with it: the prepared vectors, the seed, the fit and its method."""

    source: Embeddings
    target: Embeddings
    seed: Seed
    chosen: Chosen

    @property
    def method(self) -> Method:
        """The method, with what it left open decided."""
        return self.chosen.method

    @property
    def fit(self) -> Fit:
        """What EM ended with."""
        return self.chosen.fit

    def space(self, engine: Engine) -> SharedSpace:
        """Put both languages into one space."""
        return self.with_neighbours(engine)[0]

    def with_neighbours(self, engine: Engine) -> tuple[SharedSpace, NeighbourLists]:
        """Do as `space`, and give what is near each word too."""
        theta = self.fit.theta
        mapped = theta.map_source(self.source.vectors), theta.map_target(self.target.vectors)
        return SharedSpace.with_neighbours(*mapped, engine)

    def trained(self) -> Pairs:
        """Give the pairs that the maps were fitted to last."""
        matching, method = Pairs(self.fit.matching.source, self.fit.matching.target), self.method
        seed = Pairs(self.seed.source, self.seed.target)
        if not method.self_learning:
            return seed
        matched = matching.within(method.max_rank)
        return matched if method.supervision == "start" else matched.union(seed)


def learn(
    source: Embeddings,
    target: Embeddings,
    seed: SeedLike = IDENTICAL,
    method: str | Method = DEFAULT_METHOD,
    *,
    kept: Iterable[tuple[str, str]] = (),
    forbidden: Iterable[tuple[str, str]] = (),
    engine: Engine | None = None,
    reuse: bool = True,
    reporter: Reporter | None = None,
    checkpoint: Callable[[Checkpoint], None] | None = None,
    resume: Checkpoint | None = None,
    **changes: Any,
) -> Learnt:
    """Prepare the vectors, find the seed and run EM: `induce` without the lexicon."""
    reporter = reporter or Reporter()
    engine = engine or LocalEngine(progress=reporter.rows)
    method = (find_method(method) if isinstance(method, str) else method).with_changes(changes)
    check(source, target, method)
    source, target = method.prepare(source), method.prepare(target)
    if isinstance(seed, str) and seed == UNSUPERVISED:
        reporter.stage("looking for a start in the vectors alone")
    pairs = find_seed(seed, source, target).settling(kept, forbidden)
    settled = Constraints(rows_of(pairs.kept, source, target), rows_of(pairs.forbidden, source, target))
    found = {} if checkpoint is None and resume is None else digests(source, target, pairs, method)
    if resume is not None:
        resume.check(found, shape_of(source, target, method))

    def keep(states: tuple[State | None, ...]) -> None:
        if checkpoint is not None:
            checkpoint(Checkpoint(states, found))

    journal = Journal(() if resume is None else resume.states, keep)
    chosen = fit_method(source, target, pairs, method, engine, reporter, settled, journal, reuse=reuse)
    result = chosen.fit
    if not len(result.matching):
        warnings.warn(
            f"nothing was matched from the {len(pairs)} seed pairs; give more pairs, or try --max-rank or --log-odds",
            NothingMatchedWarning,
            stacklevel=2,
        )
    return Learnt(source, target, pairs, chosen)


def shape_of(source: Embeddings, target: Embeddings, method: Method) -> tuple[int, int, int]:
    """Give the numbers of words that EM sees on its two sides, and of dimensions."""
    sizes = [len(side.top(method.max_rank)) for side in (source, target)]
    if method.settings().prior.sources_choose:
        sizes.reverse()
    return sizes[0], sizes[1], source.dimension


def check(source: Embeddings, target: Embeddings, method: Method) -> None:
    """Raise or warn where the input and the method do not fit together."""
    for side in (source, target):
        if not len(side):
            raise BilexError(f"{label(side)}: the vocabulary is empty; give at least one word")
        check_words(side)
        check_numbers(side)
    if source.dimension != target.dimension:
        raise BilexError(
            f"{label(source)} has {source.dimension} dimensions and {label(target)} has {target.dimension}; "
            "give vectors of the same dimension"
        )
    seen = len(target.top(method.max_rank))
    if method.candidates > seen:
        warnings.warn(
            f"{method.candidates} candidates asked for, but there are only {seen} target words; all are used",
            BilexWarning,
            stacklevel=3,
        )


def check_words(side: Embeddings) -> None:
    """Raise if a word could not be saved: found out before the work, not after it. Files do not hold such words."""
    if not savable("".join(side.words)):
        bad = next(word for word in side.words if not savable(word))
        raise BilexError(f"{label(side)}: the word {bad!r} has a line feed or is not Unicode text; rename it")


def check_numbers(side: Embeddings) -> None:
    """Raise if a number is none: what came from a file has only numbers, what was made in Python may not."""
    finite = np.isfinite(side.vectors).all(axis=1)
    if not finite.all():
        word = side.words[int(np.argmin(finite))]
        raise BilexError(f"{label(side)}: the vector of {word!r} holds NaN or infinity; leave the word out")


def savable(text: str) -> bool:
    """Say whether UTF-8 can hold the text (lone surrogates it cannot), on one line."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return "\n" not in text


def label(side: Embeddings) -> str:
    """Name a language's vectors in a message."""
    return side.paths[0] if side.paths else side.name or "the vectors"

"""From two sets of word vectors and a seed to a run: the path that every command and every script takes."""

from __future__ import annotations

import platform
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from bilex.arrays import Indices
from bilex.checkpoints import Checkpoint, digests
from bilex.choosing import Chosen, fit_method
from bilex.confidence import Evidence, Known, assess, gather
from bilex.constraints import Constraints, Pairs, rows_of
from bilex.edge_prior import Features
from bilex.em import Fit, State
from bilex.embeddings import Embeddings
from bilex.engines.base import Engine
from bilex.engines.local import LocalEngine
from bilex.errors import BilexError, BilexWarning, NothingMatchedWarning
from bilex.journal import Journal
from bilex.lexicon import MATCHING, RETRIEVAL, SEED, Lexicon
from bilex.methods import DEFAULT_METHOD, Method, find_method
from bilex.model import Theta
from bilex.progress import Reporter
from bilex.report.evidence import seed_agreement
from bilex.report.verdict import judge
from bilex.retrieval import SharedSpace, Surroundings
from bilex.rundir import file_sha256
from bilex.runs import Run
from bilex.seeds import IDENTICAL, SEED_NAMES, UNSUPERVISED, Seed, SeedLike, find_seed
from bilex.threads import thread_count
from bilex.version import __version__

__all__ = ["Learnt", "induce", "learn"]


def induce(
    source: Embeddings,
    target: Embeddings,
    seed: SeedLike = IDENTICAL,
    method: str | Method = DEFAULT_METHOD,
    *,
    kept: Iterable[tuple[str, str]] = (),
    forbidden: Iterable[tuple[str, str]] = (),
    complete: bool = False,
    min_confidence: float = 0.0,
    engine: Engine | None = None,
    reuse: bool = True,
    reporter: Reporter | None = None,
    checkpoint: Callable[[Checkpoint], None] | None = None,
    resume: Checkpoint | None = None,
    **changes: Any,
) -> Run:
    """Learn a bilingual lexicon.

    Parameters
    ----------
    source, target
        The word vectors of the two languages, most frequent word first, as `bilex.load` gives them.
    seed
        ``"identical"``, ``"numerals"``, a dictionary file, ``"RUN/reviewed"`` (the lexicon of an earlier run as it
        was reviewed, whose accepted pairs are kept and whose rejected pairs are forbidden), or pairs of words.
    method
        The name of a method, or a `Method`.
    kept, forbidden
        Pairs that every matching must hold, and pairs that none may: what a person has accepted and rejected.
    complete
        Whether words left unmatched get their best CSLS neighbour as an entry, after the induced pairs.
    min_confidence
        Only entries that are right with at least this probability are listed; see `bilex.confidence`.
    engine
        Where the searches run; by default on this machine, on all cores.
    reuse
        Whether an iteration may start from the last one: a search keeps the answers that a bound proves still
        right, and the matching starts from the last duals. It changes the time, not the result.
    reporter
        Is told how it goes.
    checkpoint
        Is given the state after each iteration, to be stored.
    resume
        Such a state, of a run with the same input: the work goes on from there and ends the same.
    **changes
        Parts of the method to change, such as ``prior="2:2"`` or ``max_rank=10_000``; see `Method`.

    Returns
    -------
    Run
        The lexicon, the learnt map, and how it went.
    """
    if not 0 <= min_confidence <= 1:
        raise BilexError(f"min-confidence is {min_confidence}; give a probability from 0 to 1")
    reporter = reporter or Reporter()
    engine = engine or LocalEngine(progress=reporter.rows)
    started = time.perf_counter()
    learnt = learn(
        source,
        target,
        seed,
        method,
        kept=kept,
        forbidden=forbidden,
        engine=engine,
        reuse=reuse,
        reporter=reporter,
        checkpoint=checkpoint,
        resume=resume,
        **changes,
    )
    reporter.stage("measuring")
    space, around = learnt.with_surroundings(engine)
    reporter.stage("ranking")
    lexicon = build_lexicon(learnt, space, engine, complete=complete)
    reporter.stage("weighing")
    lexicon, confidence = with_confidence(lexicon, learnt, space, around)
    info = {
        "version": __version__,
        "versions": {"python": platform.python_version(), **{name: version(name) for name in ("numpy", "numba")}},
        "configuration": {
            "method": asdict(learnt.method),
            "seed": describe_seed(learnt, space, engine),
            "kept": len(learnt.seed.kept),
            "forbidden": len(learnt.seed.forbidden),
            "complete": complete,
            "min_confidence": min_confidence,
            "engine": type(engine).__name__,
        },
        "inputs": {"source": describe(source), "target": describe(target)},
        "threads": getattr(engine, "threads", thread_count()),
        "choices": learnt.chosen.summary(),
        "stopped": learnt.fit.stopped,
        "seconds": round(time.perf_counter() - started, 3),
        "pairs": len(learnt.fit.matching),
        "confidence": confidence,
        "iterations": [asdict(iteration) for iteration in learnt.fit.iterations],
    }
    if resume is not None:
        info["resumed_after"] = resume.iterations
    if learnt.seed.settled:  # so that the review of this run can go on from there
        info["reviewed"] = {name: list(map(list, getattr(learnt.seed, name))) for name in ("kept", "forbidden")}
    run = Run(learnt.source, learnt.target, learnt.fit.theta, space, lexicon, info)
    verdict = judge(run)
    info["verdict"] = verdict.summary()
    if not min_confidence:
        return run
    info["confidence"] = {**confidence, "listed_of": len(lexicon), "matched": verdict.figures.matched}
    return replace(run, lexicon=lexicon.confident(min_confidence))


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
        return self.with_surroundings(engine)[0]

    def with_surroundings(self, engine: Engine) -> tuple[SharedSpace, Surroundings]:
        """Do as `space`, and give what is near each word too."""
        theta = self.fit.theta
        mapped = theta.map_source(self.source.vectors), theta.map_target(self.target.vectors)
        return SharedSpace.with_surroundings(*mapped, engine)

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


def build_lexicon(learnt: Learnt, space: SharedSpace, engine: Engine, *, complete: bool) -> Lexicon:
    """Put the matched pairs, and on request the best neighbour of every other source word, into a lexicon.

    Kept pairs that the matching could not see, because a word is beyond the frequency constraint, are entries too.
    """
    source, target, seed = learnt.source, learnt.target, learnt.seed
    kept, matching = rows_of(seed.kept, source, target), learnt.fit.matching
    pairs = set(zip(matching.source.tolist(), matching.target.tolist(), strict=True))
    pairs |= set(zip(kept.source.tolist(), kept.target.tolist(), strict=True))
    rows, columns = np.array(sorted(pairs), np.int64).reshape(-1, 2).T
    given = kept if seed.reviewed else seed  # the rest of a lexicon is but a start
    seeds = set(zip(given.source.tolist(), given.target.tolist(), strict=True))
    origin = [SEED if pair in seeds else MATCHING for pair in zip(rows.tolist(), columns.tolist(), strict=True)]
    if complete:
        rest = np.setdiff1d(np.arange(len(source)), rows)
        best = best_allowed(rest, rows_of(seed.forbidden, source, target), space, engine)
        rest, best = rest[best >= 0], best[best >= 0]
        rows, columns = np.concatenate([rows, rest]), np.concatenate([columns, best])
        origin += [RETRIEVAL] * len(rest)
    return Lexicon(
        tuple(source.words[row] for row in rows.tolist()),
        tuple(target.words[column] for column in columns.tolist()),
        space.scores(rows, columns, "nn"),
        space.rank(rows, columns, "csls", engine),
        (space.source_nearest[rows] == columns) & (space.target_nearest[columns] == rows),
        tuple(origin),
    )


def with_confidence(
    lexicon: Lexicon, learnt: Learnt, space: SharedSpace, around: Surroundings
) -> tuple[Lexicon, dict[str, Any]]:
    """Give each entry the probability that it is right, and say for ``run.json`` what that rests on.

    What a person gave or accepted is right by their word; words spelt the same are nobody's.
    """
    seed, entries = learnt.seed, rows_of_entries(lexicon, learnt)
    dictionary = seed.name not in SEED_NAMES and not seed.reviewed
    known = Known((seed.source, seed.target), seed.unanswered) if dictionary else None
    confidence, about = assess(evidence_for(entries, learnt, space, around), entries, known)
    if dictionary or seed.reviewed:
        confidence = np.where([origin == SEED for origin in lexicon.origin], 1.0, confidence)
    return replace(lexicon, confidence=confidence), about


def rows_of_entries(lexicon: Lexicon, learnt: Learnt) -> tuple[Indices, Indices]:
    """Look the words of a lexicon up."""
    rows = [learnt.source.index[word] for word in lexicon.source]
    columns = [learnt.target.index[word] for word in lexicon.target]
    return np.array(rows, np.int64), np.array(columns, np.int64)


def evidence_for(
    entries: tuple[Indices, Indices], learnt: Learnt, space: SharedSpace, around: Surroundings
) -> Evidence:
    """Gather what speaks for the entries, under maps that they themselves had no part in."""
    source, target, settings, trained = learnt.source, learnt.target, learnt.method.settings(), learnt.trained()

    def refit(rows: Indices, columns: Indices) -> Theta:
        return Theta.from_pairs(source.vectors[rows], target.vectors[columns], settings.maps, settings.steps)

    return gather(
        (source.vectors, target.vectors),
        space,
        around,
        entries,
        (trained.source, trained.target),
        refit,
        settings.prior,
        Features.between(source.words, target.words),
    )


def best_allowed(rows: Indices, forbidden: Pairs, space: SharedSpace, engine: Engine) -> Indices:
    """Give the best CSLS neighbour of each source word that is not forbidden to it; -1 if there is none."""
    best = space.search(rows, 1, "csls", engine).indices[:, 0].copy()
    size = len(space.target)
    never = forbidden.source * size + forbidden.target
    places = np.flatnonzero(np.isin(rows * size + best, never))
    if not len(places):
        return best
    most = int(np.bincount(forbidden.source).max()) + 1
    found = space.search(rows[places], most, "csls", engine).indices
    allowed = ~np.isin(rows[places][:, None] * size + found, never)
    best[places] = np.where(allowed.any(axis=1), found[np.arange(len(places)), allowed.argmax(axis=1)], -1)
    return best


def describe(side: Embeddings) -> dict[str, Any]:
    """Say what a language's vectors were, for ``run.json``; what came through a pipe cannot be read again."""
    files = [{"path": path, "sha256": file_sha256(path) if Path(path).is_file() else None} for path in side.paths]
    return {"name": side.name, "words": len(side), "dimension": side.dimension, "files": files}


def describe_seed(learnt: Learnt, space: SharedSpace, engine: Engine) -> dict[str, Any]:
    """Say what the seed was, for ``run.json``, and how much of it the run bears out."""
    seed, matching, method = learnt.seed, learnt.fit.matching, learnt.method
    read = seed.name not in SEED_NAMES and Path(seed.name).is_file()
    most = method.max_rank if method.self_learning else None
    rows, induced = (seed.source, seed.target), (matching.source, matching.target)
    return {
        "name": seed.name,
        "given": seed.given,
        "used": len(seed),
        **({"sha256": file_sha256(seed.name)} if read else {}),
        # What came from the vectors alone is mostly wrong, and says nothing about the run.
        "agreement": None if seed.name == UNSUPERVISED else seed_agreement(rows, induced, most, space, engine),
    }


def label(side: Embeddings) -> str:
    """Name a language's vectors in a message."""
    return side.paths[0] if side.paths else side.name or "the vectors"

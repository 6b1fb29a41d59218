"""The whole walk from two sets of word vectors and a seed to a run: prepare, learn, read out, judge."""

import os
import time
import warnings
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import Any

import numpy as np

from bilex.em.context import Context, EMHistory, Reporter
from bilex.em.held_out import MIN_WORDS_TO_SPLIT, FittedMethod, Training, fit_from_elsewhere, fit_method, leads_astray
from bilex.em.refinement import refine
from bilex.errors import NothingMatchedWarning
from bilex.methods import DEFAULT_METHOD, METHODS, Method, find_method
from bilex.runs.checkpoints import Checkpoint, digests
from bilex.runs.costs import stage_seconds
from bilex.runs.entries import Learnt, assess_candidates, build_lexicon, languages_of, weigh_candidates
from bilex.runs.prepared import Prepared, prepare
from bilex.runs.progress import notebook_progress
from bilex.runs.run import Run
from bilex.runs.summary import summarise_run
from bilex.search.engine import Engine, check_engine
from bilex.search.local import LocalEngine
from bilex.seeds.seed import IDENTICAL, UNSUPERVISED, SeedLike, identical_rows
from bilex.vectors.embeddings import Embeddings, load

VectorsLike = Embeddings | str | os.PathLike[str] | Any
"""Vectors, or what `bilex.load` can load."""


def induce(
    source: VectorsLike,
    target: VectorsLike,
    seed: SeedLike = IDENTICAL,
    method: str | Method = DEFAULT_METHOD,
    *,
    kept: Iterable[tuple[str, str]] = (),
    forbidden: Iterable[tuple[str, str]] = (),
    complete: bool = False,
    engine: Engine | None = None,
    overwrite: bool = False,
    reporter: Reporter | None = None,
    checkpoint: Callable[[Checkpoint], None] | None = None,
    resume: Checkpoint | None = None,
    **changes: Any,
) -> Run:
    """Learn a bilingual lexicon.

    Parameters
    ----------
    source, target
        The word vectors of the two languages, most frequent word first: as `bilex.load` returns them, or files and
        objects for it to load.
    seed
        ``"identical"``, ``"numerals"``, ``"unsupervised"``, a dictionary file, ``"RUN/reviewed"`` (the lexicon of an
        earlier run as it was reviewed, whose accepted pairs are kept and whose rejected pairs are forbidden), or pairs
        of words.
    method
        The name of a method (a key of `bilex.METHODS`), a TOML file, or a `Method`.
    kept, forbidden
        Pairs of words that every matching must contain, and pairs that none may: what a person has decided.
    complete
        Whether unmatched words get their best candidate as an entry, after the induced pairs; the default method then
        leaves out no improbable entry.
    engine
        Where the searches run; by default on this machine, on all cores.
    overwrite
        Whether the vectors may be normalised in their place, which saves the memory of a copy.
    reporter
        Receives progress callbacks; by default a notebook shows a bar, and other programs nothing.
    checkpoint
        Receives the state after each iteration, to be stored.
    resume
        Such a state, of a run with the same input: the work goes on from there and ends the same.
    **changes
        Options of the method to change, such as ``prior="2:2"``, ``max_rank=10_000`` or ``min_confidence=0``;
        `bilex.methods.OPTIONS` has all of them with their accepted values.

    Returns
    -------
    Run
        The lexicon, the learnt map, and how it went.
    """
    chosen, started = find_method(method).with_changes(changes), time.perf_counter()
    source, target = (side if isinstance(side, Embeddings) else load(side) for side in (source, target))
    with notebook_progress() if reporter is None else nullcontext(reporter) as shown:
        engine = LocalEngine(progress=shown.rows) if engine is None else check_engine(engine)
        if isinstance(seed, str) and seed == UNSUPERVISED:
            shown.stage("looking for a start")
        prepared = prepare(source, target, seed, chosen, kept, forbidden, overwrite=overwrite)
        tries = (
            chosen.supervision == "choose" and prepared.seed.is_dictionary and len(prepared.seed) >= MIN_WORDS_TO_SPLIT
        )
        shown.expect(stage_seconds((len(source), len(target)), source.dimension, chosen, tries=tries))
        history = EMHistory()
        if checkpoint is not None or resume is not None:
            history = resumable_history(prepared, checkpoint, resume)
        learnt = learn(prepared, Context(engine, shown, history))
        run = read_out(learnt, Context(engine, shown), complete=complete)
    run.info["seconds"] = round(time.perf_counter() - started, 3)
    if resume is not None:
        run.info["resumed_after"] = resume.iterations
    return run


def resumable_history(
    prepared: Prepared, checkpoint: Callable[[Checkpoint], None] | None, resume: Checkpoint | None
) -> EMHistory:
    """Return a history that stores every state with digests of the input, and starts from those of `resume`."""
    found = digests(prepared.source, prepared.target, prepared.seed, prepared.method)
    if resume is not None:
        sides = [prepared.source, prepared.target]
        if prepared.prior.capacities.sources_choose:
            sides.reverse()
        first, second = (side.top(prepared.method.e_step.max_rank) for side in sides)
        resume.check(found, (len(first), len(second), first.dimension, second.dimension))
    states = () if resume is None else resume.states
    return EMHistory(states, lambda states: None if checkpoint is None else checkpoint(Checkpoint(states, found)))


def learn(prepared: Prepared, context: Context) -> Learnt:
    """Run EM on prepared vectors: `induce` without the lexicon."""
    training = Training(prepared.source.vectors, prepared.target.vectors, prepared.prior, context)
    fitted = fit_method(training, prepared.seed, prepared.method)
    if not len(fitted.fit.matching):
        warnings.warn(
            f"nothing was matched from the {len(prepared.seed)} seed pairs; give more pairs, "
            "or try --max-rank or --log-odds",
            NothingMatchedWarning,
            stacklevel=3,
        )
    return use_evidence(training, fitted, prepared)


def use_evidence(training: Training, fitted: FittedMethod, prepared: Prepared) -> Learnt:
    """Go on from EM with all evidence, if the method asks for it: a last round, or another start."""
    seed, prior, languages = prepared.seed, prepared.prior, languages_of(prepared)
    fit, method = fitted.fit, fitted.method
    if len(fit.matching) and method.evidence and method.self_learning:
        fit = refine(fit, languages, seed.pairs, method, prior, training.context)
        if leads_astray(seed, fit, fitted.choices):
            other = fit_from_elsewhere(training, fitted, seed, identical_rows(prepared.source, prepared.target))
            if other.fit is not fitted.fit:
                method = other.method
                fit = refine(other.fit, languages, seed.pairs, method, prior, training.context)
            fitted = other
    return Learnt(prepared, languages, fit, method, fitted.choices)


def read_out(learnt: Learnt, context: Context, *, complete: bool = False) -> Run:
    """Turn what EM learnt into a run: the shared space, the weighed candidates, the listed entries, the verdict."""
    engine, reporter = context.engine, context.reporter
    reporter.stage("measuring")
    space, neighbours = learnt.shared_space(engine)
    reporter.stage("comparing candidates")
    weighed, pairs = weigh_candidates(learnt, space, neighbours, context)
    candidates, confidence = assess_candidates(learnt, weighed)
    reporter.stage("ranking")
    lexicon, entries = build_lexicon(learnt, pairs, candidates, space, engine, complete=complete)
    confidence["expected_precision"] = round(lexicon.expected_precision, 4) if len(lexicon) else None
    info = summarise_run(learnt, pairs, candidates, space, engine)
    info |= {"confidence": confidence, "weights": weighed.weights.summary()}
    info["configuration"]["complete"] = complete
    run = Run(learnt.source, learnt.target, learnt.fit.theta, space, lexicon, info, candidates)
    vars(run)["entry_rows"] = entries  # so that no word is looked up
    return leave_out_improbable(run, learnt.method, complete=complete)


def leave_out_improbable(run: Run, method: Method, *, complete: bool = False) -> Run:
    """Return the run without entries below the method's floor, and the verdict on the others.

    The floor that comes with a method leaves out no word that was asked for, and is not applied if it leaves nothing;
    one that the user sets is.
    """
    least, named = method.min_confidence, METHODS.get(method.name)
    surest = np.max(run.lexicon.confidence, initial=0.0)
    spared = named is not None and least == named.min_confidence and (complete or surest < least)
    if least and not spared:
        return run.confident(least)
    run.info["verdict"] = run.verdict.summary()
    return run

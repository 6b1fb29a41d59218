"""From two sets of word vectors and a seed to a run: the path that every command and every script takes."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bilex.confidence.figures import seed_agreement
from bilex.confidence.verdict import judge
from bilex.em.progress import Reporter
from bilex.errors import BilexError
from bilex.files.run_directory import file_sha256
from bilex.methods import DEFAULT_METHOD, Method
from bilex.numerics.threads import thread_count
from bilex.runs.checkpoints import Checkpoint
from bilex.runs.learning import Learnt, learn
from bilex.runs.readout import build_lexicon, with_confidence
from bilex.runs.run import Run
from bilex.search.engine import Engine
from bilex.search.local import LocalEngine
from bilex.search.space import SharedSpace
from bilex.seeds.seed import IDENTICAL, SEED_NAMES, UNSUPERVISED, SeedLike
from bilex.vectors.embeddings import Embeddings
from bilex.version import __version__

__all__ = ["induce"]


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
        Only entries that are right with at least this probability are listed; see `bilex.confidence.assessment`.
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
    space, around = learnt.with_neighbours(engine)
    reporter.stage("ranking")
    lexicon = build_lexicon(learnt, space, engine, complete=complete)
    reporter.stage("weighing")
    lexicon, confidence = with_confidence(lexicon, learnt, space, around)
    info = {
        **describe_run(learnt, space, engine),
        "seconds": round(time.perf_counter() - started, 3),
        "confidence": confidence,
    }
    info["configuration"] |= {"complete": complete, "min_confidence": min_confidence}
    if resume is not None:
        info["resumed_after"] = resume.iterations
    run = Run(learnt.source, learnt.target, learnt.fit.theta, space, lexicon, info)
    verdict = judge(run)
    info["verdict"] = verdict.summary()
    if not min_confidence:
        return run
    info["confidence"] = {**confidence, "listed_of": len(lexicon), "matched": verdict.figures.matched}
    return replace(run, lexicon=lexicon.confident(min_confidence))


def describe_run(learnt: Learnt, space: SharedSpace, engine: Engine) -> dict[str, Any]:
    """Say what was learnt from what and how, for ``run.json``."""
    about: dict[str, Any] = {
        "version": __version__,
        "versions": {"python": platform.python_version(), **{name: version(name) for name in ("numpy", "numba")}},
        "configuration": {
            "method": asdict(learnt.method),
            "seed": describe_seed(learnt, space, engine),
            "kept": len(learnt.seed.kept),
            "forbidden": len(learnt.seed.forbidden),
            "engine": type(engine).__name__,
        },
        "inputs": {"source": describe(learnt.source), "target": describe(learnt.target)},
        "threads": getattr(engine, "threads", thread_count()),
        "choices": learnt.chosen.summary(),
        "stopped": learnt.fit.stopped,
        "pairs": len(learnt.fit.matching),
        "iterations": [asdict(iteration) for iteration in learnt.fit.iterations],
    }
    if learnt.seed.settled:  # so that the review of this run can go on from there
        about["reviewed"] = {name: list(map(list, getattr(learnt.seed, name))) for name in ("kept", "forbidden")}
    return about


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

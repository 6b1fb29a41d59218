"""The content of ``run.json``: what was learnt from what, how, and how it went."""

import platform
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from bilex.confidence.figures import seed_agreement
from bilex.files.ownership import file_sha256
from bilex.matching.graph import RowPairs
from bilex.model.candidates import CandidatePairs
from bilex.numerics.threads import thread_count
from bilex.runs.entries import Learnt
from bilex.search.engine import Engine
from bilex.search.space import SharedSpace
from bilex.seeds.dictionaries import find_lines
from bilex.seeds.pairs import DictionaryName
from bilex.seeds.seed import SEED_NAMES, UNSUPERVISED
from bilex.vectors.embeddings import Embeddings
from bilex.version import __version__

MAX_DENIED_PROBABILITY = 0.01
MAX_CONTRADICTED = 10


def summarise_run(
    learnt: Learnt, pairs: RowPairs, candidates: CandidatePairs, space: SharedSpace, engine: Engine
) -> dict[str, Any]:
    """Describe what was learnt from what and how; `pairs` are those of the lexicon."""
    prepared, fit = learnt.prepared, learnt.fit
    summary: dict[str, Any] = {
        "version": __version__,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in ("numpy", "numba")}},
        "configuration": {
            "method": asdict(learnt.method),
            "seed": summarise_seed(learnt, pairs, candidates, space, engine),
            "kept": len(prepared.seed.kept),
            "forbidden": len(prepared.seed.forbidden),
            "engine": type(engine).__name__,
        },
        "inputs": {"source": summarise_vectors(prepared.source), "target": summarise_vectors(prepared.target)},
        "threads": getattr(engine, "threads", thread_count()),
        "choices": [asdict(choice) for choice in learnt.choices],
        "stopped": fit.stopped,
        "pairs": len(pairs),
        "iterations": [asdict(iteration) for iteration in fit.iterations],
    }
    if prepared.seed.settled:  # so that the review of this run can go on from there
        settled = {name: getattr(prepared.seed, name) for name in ("kept", "forbidden")}
        summary["reviewed"] = {name: list(map(list, pairs)) for name, pairs in settled.items()}
    return summary


def summarise_vectors(side: Embeddings) -> dict[str, Any]:
    """Describe a language's vectors; the checksum of what came through a pipe is unknown."""
    files = [{"path": path, "sha256": file_sha256(path) if Path(path).is_file() else None} for path in side.paths]
    return {"name": side.name, "words": len(side), "dimension": side.dimension, "files": files}


def summarise_seed(
    learnt: Learnt, pairs: RowPairs, candidates: CandidatePairs, space: SharedSpace, engine: Engine
) -> dict[str, Any]:
    """Describe the seed, count how much of it the run agrees with, and name the pairs that it contradicts most."""
    seed, method = learnt.prepared.seed, learnt.method
    file = DictionaryName.of(seed.name).file
    is_file = seed.name not in SEED_NAMES and Path(file).is_file()
    max_rank = method.e_step.max_rank if method.self_learning else None
    # A coupling of the vectors alone is mostly wrong, so agreement with it means nothing; and a lexicon of bilex
    # itself is not evidence for another.
    agreement = None
    if seed.name != UNSUPERVISED and not seed.reviewed:
        agreement = seed_agreement(seed.pairs, pairs, max_rank, space, engine)
    denied: list[list[str]] = []  # pairs of frequent words that the run finds least probable, if it denies them
    if seed.is_dictionary:
        probable = np.zeros(len(learnt.source))  # of any of the word's translations
        np.add.at(probable, seed.source, candidates.probabilities(seed.pairs))
        rows = [row for row in np.unique(seed.source).tolist() if probable[row] < MAX_DENIED_PROBABILITY]
        first = dict(zip(seed.source[::-1].tolist(), seed.target[::-1].tolist(), strict=True))
        words, others = learnt.source.words, learnt.target.words
        denied = [[words[row], others[first[row]]] for row in rows[:MAX_CONTRADICTED]]
    return {
        "name": seed.name,
        "given": seed.given,
        "used": len(seed),
        **({"sha256": file_sha256(file)} if is_file else {}),
        "agreement": agreement,
        **({"contradicted": denied} if seed.is_dictionary else {}),
        **({"contradicted_lines": find_lines(file, denied)} if denied and is_file else {}),
    }

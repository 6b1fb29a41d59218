"""One cell of an experiment: learn a map from one seed by one method, and measure it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bilex.errors import BilexError, BilexWarning
from bilex.evaluation.compare import first_answers
from bilex.evaluation.hubness import evaluate_hubness
from bilex.evaluation.similarity import evaluate_similarity
from bilex.evaluation.translation import NotCovered, evaluate_translation
from bilex.experiments.layouts import PairFiles
from bilex.experiments.seeds import TooFew, needs_train, seed_pairs, test_pairs
from bilex.experiments.sources import Dictionary, Sources
from bilex.methods import Method
from bilex.runs.learning import check, learn
from bilex.search.engine import Engine
from bilex.search.space import RETRIEVALS, SharedSpace
from bilex.vectors.embeddings import Embeddings
from bilex.version import __version__

__all__ = ["HUB_NEIGHBOURS", "Cell", "run_cell"]

HUB_NEIGHBOURS = 20  # the k of N_k, section 7 of the paper
HUBS_KEPT = 50


@dataclass(frozen=True)
class Cell:
    """What is learnt and how it is measured.

    Parameters
    ----------
    measure
        ``translation``, ``similarity``, ``hubs`` or ``answers`` (first answers, from the target to the source).
    files
        The pair of languages and its files.
    method
        The full configuration of the method.
    seed, draw
        The name of the seed, and which draw of it.
    size
        How many of the most frequent words of both languages there are at all; None for all.
    held_out
        Every which source word of the train dictionary is asked for instead of being part of the seed.
    sources
        Reads the files.
    """

    measure: str
    files: PairFiles
    method: Method
    seed: str
    sources: Sources
    draw: int = 0
    size: int | None = None
    held_out: int | None = None

    @property
    def label(self) -> str:
        """What it is called on a terminal."""
        parts = [self.files.name, self.method.name]
        parts += [f"prior {self.method.prior}"] if self.measure == "translation" and self.size else []
        parts += [f"seed {self.seed}" + (f" (draw {self.draw})" if self.draw else "")]
        return ", ".join(parts + ([f"{self.size:,} words"] if self.size else []))

    @property
    def inputs(self) -> dict[str, Path]:
        """The files it is computed from."""
        files, needs = self.files, {"source": self.files.source, "target": self.files.target}
        if files.train and (needs_train(self.seed) or self.held_out):
            needs["train"] = files.train
        if self.measure == "similarity":
            needs |= {f"similarity {name}": path for name, path in files.similarity.items()}
        elif files.test:
            needs["test"] = files.test
        return needs

    @property
    def configuration(self) -> dict[str, Any]:
        """Everything the result depends on: the inputs by their content, not by their names."""
        configuration = {
            "version": __version__,
            "measure": self.measure,
            "pair": self.files.name,
            "method": asdict(self.method),
            "seed": self.seed,
            "draw": self.draw,
            "size": self.size,
            "limit": self.sources.limit,
            "held_out": self.held_out,
            "inputs": {name: self.sources.sha256(path) for name, path in self.inputs.items()},
        }
        if self.measure == "similarity":
            configuration["fold"] = self.files.fold
        return configuration


@dataclass(frozen=True, eq=False)
class Mapped:
    """Two languages in one space, and how they got there."""

    source: Embeddings
    target: Embeddings
    space: SharedSpace
    figures: dict[str, Any]


def run_cell(cell: Cell, engine: Engine) -> dict[str, Any]:
    """Learn and measure. A seed that cannot start, or nothing to ask for, is a result with a ``reason``."""
    files, sources = cell.files, cell.sources
    source = sources.vectors(files.source).top(cell.size)
    target = sources.vectors(files.target).top(cell.size)
    train = sources.pairs(files.train) if files.train and needs_train(cell.seed) else ()
    with warnings.catch_warnings(record=True) as caught:  # in a grid they belong to their cell
        warnings.simplefilter("always", BilexWarning)
        check(source, target, cell.method)  # what does not fit together is a mistake, not a result
        try:
            seed = seed_pairs(cell.seed, source, target, train, draw=cell.draw, held_out=cell.held_out)
        except TooFew as error:
            return {"reason": str(error)}
        mapped = learn_map(source, target, seed, cell.method, engine)
        measured = MEASURES[cell.measure](cell, mapped, engine)
    notes = [str(warning.message) for warning in caught if issubclass(warning.category, BilexWarning)]
    return {**measured, **mapped.figures, "notes": list(dict.fromkeys(notes))}


def learn_map(source: Embeddings, target: Embeddings, seed: Dictionary, method: Method, engine: Engine) -> Mapped:
    """Learn the map: the one place that knows how."""
    learnt = learn(source, target, seed, method, engine=engine)
    iterations = learnt.fit.iterations
    return Mapped(
        learnt.source,
        learnt.target,
        learnt.space(engine),
        {
            "source_words": len(source),
            "target_words": len(target),
            "seed_pairs": len(seed),
            "pairs": len(learnt.fit.matching),
            "iterations": len(iterations),
            "mean_cosine": iterations[-1].mean_cosine if iterations else None,
            "stopped": learnt.fit.stopped,
        },
    )


def measure_translation(cell: Cell, mapped: Mapped, engine: Engine) -> dict[str, Any]:
    """Score the translations of the test words, by nearest neighbour and by CSLS."""
    gold = gold_of(cell)
    try:
        return {
            retrieval: evaluate_translation(
                mapped.space, mapped.source, mapped.target, gold, retrieval, engine
            ).figures()
            for retrieval in RETRIEVALS
        }
    except NotCovered:
        return {"reason": f"none of the {len({s for s, _ in gold})} test words is in the vocabulary"}


def measure_similarity(cell: Cell, mapped: Mapped, engine: Engine) -> dict[str, Any]:
    """Correlate cosines with what people say, on every similarity set of the pair."""
    del engine
    sets: dict[str, dict[str, Any]] = {}
    for name, path in cell.files.similarity.items():
        score = evaluate_similarity(mapped.space, mapped.source, mapped.target, path, fold_case=cell.files.fold)
        try:
            sets[name] = score.figures()
        except BilexError as error:
            sets[name] = {"reason": str(error)}
    return {"sets": sets}


def measure_hubs(cell: Cell, mapped: Mapped, engine: Engine) -> dict[str, Any]:
    """Count how often each target word is near a test word."""
    k = min(HUB_NEIGHBOURS, len(mapped.target))
    found = {
        retrieval: evaluate_hubness(mapped.space, mapped.source, mapped.target, gold_of(cell), k, retrieval, engine)
        for retrieval in RETRIEVALS
    }
    return {retrieval: hubness.figures(HUBS_KEPT) for retrieval, hubness in found.items()}


def measure_answers(cell: Cell, mapped: Mapped, engine: Engine) -> dict[str, Any]:
    """Ask for the target words of the test dictionary in the source language, and keep the first answers."""
    space = mapped.space.mirrored()
    gold = gold_of(cell)
    queries = {t for s, t in gold if s in mapped.source and t in mapped.target}
    ordered = sorted(queries, key=mapped.target.index.__getitem__)
    if not ordered:
        return {"reason": f"none of the {len({t for _, t in gold})} test words is in the vocabulary"}
    answers = first_answers((space, mapped.target, mapped.source), ordered, "nn", engine)
    return {"answers": [list(pair) for pair in zip(ordered, answers, strict=True)]}


def gold_of(cell: Cell) -> Dictionary:
    """Give the pairs that are asked for."""
    assert cell.files.test is not None
    return test_pairs(cell.sources, cell.files.test, cell.files.train, cell.held_out)


Measure = Callable[[Cell, Mapped, Engine], dict[str, Any]]
MEASURES: dict[str, Measure] = {
    "translation": measure_translation,
    "similarity": measure_similarity,
    "hubs": measure_hubs,
    "answers": measure_answers,
}

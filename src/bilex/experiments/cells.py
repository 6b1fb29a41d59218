"""One cell of an experiment: learn a map from one seed by one method, and measure it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bilex.em.context import Context
from bilex.errors import BilexError, BilexWarning
from bilex.evaluation.compare import Side, first_answers
from bilex.evaluation.hubness import evaluate_hubness
from bilex.evaluation.similarity import evaluate_similarity
from bilex.evaluation.translation import NotCovered, evaluate_translation
from bilex.experiments.inputs import FileCache, TooFewPairs, needs_train, query_pairs, seed_pairs
from bilex.experiments.layouts import PairFiles
from bilex.induction import learn
from bilex.methods import Method
from bilex.runs.prepared import check_input, prepare
from bilex.search.engine import Engine
from bilex.search.space import RETRIEVALS
from bilex.version import __version__

HUB_NEIGHBOURS = 20  # the k of N_k, section 7 of the paper
MAX_HUBS = 50


@dataclass(frozen=True)
class Cell:
    """What is learnt and how it is measured."""

    measure: str  # translation, similarity, hubs, or answers: first answers from the target to the source
    files: PairFiles
    system: Method
    seed: str
    cache: FileCache
    draw: int = 0  # of the seed
    size: int | None = None  # of the vocabularies, the most frequent words; None for all
    held_out: int | None = None  # N: every Nth source word of the train dictionary is a query, not part of the seed

    @property
    def pair(self) -> str:
        """The name of the pair of languages."""
        return self.files.name

    @property
    def method(self) -> str:
        """The name of the method."""
        return self.system.name

    @property
    def prior(self) -> str:
        """The name of the prior."""
        return self.system.prior.kind

    @property
    def max_rank(self) -> int | None:
        """The frequency constraint."""
        return self.system.e_step.max_rank

    @property
    def label(self) -> str:
        """The name on a terminal."""
        parts = [self.pair, self.method]
        parts += [f"prior {self.prior}"] if self.measure == "translation" and self.size else []
        parts += [f"seed {self.seed}" + (f" (draw {self.draw})" if self.draw else "")]
        return ", ".join(parts + ([f"{self.size:,} words"] if self.size else []))

    @property
    def inputs(self) -> dict[str, Path]:
        """The files that the result depends on."""
        files, inputs = self.files, {"source": self.files.source, "target": self.files.target}
        if files.train and (needs_train(self.seed) or self.held_out):
            inputs["train"] = files.train
        if self.measure == "similarity":
            inputs |= {f"similarity {name}": path for name, path in files.similarity.items()}
        elif files.test:
            inputs["test"] = files.test
        return inputs

    @property
    def configuration(self) -> dict[str, Any]:
        """Everything the result depends on: the inputs by their content, not by their names."""
        configuration = {
            "version": __version__,
            "measure": self.measure,
            "pair": self.pair,
            "method": asdict(self.system),
            "seed": self.seed,
            "draw": self.draw,
            "size": self.size,
            "limit": self.cache.limit,
            "held_out": self.held_out,
            "inputs": {name: self.cache.sha256(path) for name, path in self.inputs.items()},
        }
        if self.measure == "similarity":
            configuration["fold"] = self.files.fold
        return configuration

    def gold(self) -> tuple[tuple[str, str], ...]:
        """Return the gold pairs of the queries."""
        return query_pairs(self.cache, self.files.test, self.files.train, self.held_out)


def run_cell(cell: Cell, engine: Engine) -> dict[str, Any]:
    """Learn and measure. A seed with too few pairs, or no covered query, is a result with a ``reason``."""
    source, target = (cell.cache.vectors(path).top(cell.size) for path in (cell.files.source, cell.files.target))
    train = cell.cache.pairs(cell.files.train) if needs_train(cell.seed) else ()
    with warnings.catch_warnings(record=True) as caught:  # they are part of the result
        warnings.simplefilter("always", BilexWarning)
        check_input(source, target, cell.system)  # vectors that do not fit together are an error, not a result
        try:
            seed = seed_pairs(cell.seed, source, target, train, draw=cell.draw, held_out=cell.held_out)
        except TooFewPairs as error:
            return {"reason": str(error)}
        learnt = learn(prepare(source, target, seed, cell.system), Context(engine))
        measured = MEASURES[cell.measure](cell, (learnt.shared_space(engine)[0], learnt.source, learnt.target), engine)
    notes = [str(warning.message) for warning in caught if issubclass(warning.category, BilexWarning)]
    iterations = learnt.fit.iterations
    return {
        **measured,
        "source_words": len(source),
        "target_words": len(target),
        "seed_pairs": len(seed),
        "pairs": len(learnt.fit.matching),
        "iterations": len(iterations),
        "mean_cosine": iterations[-1].mean_cosine if iterations else None,
        "stopped": learnt.fit.stopped,
        "notes": list(dict.fromkeys(notes)),
    }


def measure_translation(cell: Cell, side: Side, engine: Engine) -> dict[str, Any]:
    """Score the translations of the test words, by nearest neighbour and by CSLS."""
    gold = cell.gold()
    try:
        return {name: evaluate_translation(*side, gold, name, engine).figures() for name in RETRIEVALS}
    except NotCovered:
        return {"reason": f"none of the {len({s for s, _ in gold})} test words is in the vocabulary"}


def measure_similarity(cell: Cell, side: Side, engine: Engine) -> dict[str, Any]:
    """Correlate cosines with human scores, on every similarity set of the pair."""
    del engine
    sets: dict[str, dict[str, Any]] = {}
    for name, path in cell.files.similarity.items():
        score = evaluate_similarity(*side, path, fold_case=cell.files.fold)
        try:
            sets[name] = score.figures()
        except BilexError as error:
            sets[name] = {"reason": str(error)}
    return {"sets": sets}


def measure_hubs(cell: Cell, side: Side, engine: Engine) -> dict[str, Any]:
    """Count how often each target word is a neighbour of a test word."""
    k = min(HUB_NEIGHBOURS, len(side[2]))
    return {name: evaluate_hubness(*side, cell.gold(), k, name, engine).figures(MAX_HUBS) for name in RETRIEVALS}


def measure_answers(cell: Cell, side: Side, engine: Engine) -> dict[str, Any]:
    """Translate the target words of the test dictionary into the source language, and keep the first answers."""
    space, source, target = side
    gold = cell.gold()
    queries = sorted({t for s, t in gold if s in source and t in target}, key=target.index.__getitem__)
    if not queries:
        return {"reason": f"none of the {len({t for _, t in gold})} test words is in the vocabulary"}
    answers = first_answers((space.mirrored(), target, source), queries, "nn", engine)
    return {"answers": [list(pair) for pair in zip(queries, answers, strict=True)]}


MEASURES: dict[str, Callable[[Cell, Side, Engine], dict[str, Any]]] = {
    "translation": measure_translation,
    "similarity": measure_similarity,
    "hubs": measure_hubs,
    "answers": measure_answers,
}

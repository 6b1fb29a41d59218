"""One cell of an experiment: learn a map from one of the paper's seeds (section 6.1) by one method, and measure it.

The seed ``5000`` (or ``train``) is the train dictionary, another number N a draw of N of its pairs; ``numerals`` and
``identical`` are found in the vocabularies. Only pairs that both vocabularies know are drawn, so that N are used. The
number of the draw is the seed of the random generator.
"""

import random
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bilex.em.context import Context
from bilex.errors import BilexError, BilexWarning, CoverageWarning
from bilex.evaluation.compare import first_answers
from bilex.evaluation.hubness import evaluate_hubness
from bilex.evaluation.similarity import evaluate_similarity
from bilex.evaluation.translation import Direction, NotCovered, evaluate_translation
from bilex.experiments.layouts import PairFiles
from bilex.files.ownership import file_sha256
from bilex.induction import learn
from bilex.methods import Method
from bilex.runs.prepared import check_input, prepare
from bilex.search.engine import Engine
from bilex.seeds.dictionaries import read_pairs
from bilex.seeds.seed import IDENTICAL, NUMERALS, find_seed
from bilex.vectors.embeddings import Embeddings, load
from bilex.version import __version__

TRAIN_SEEDS = ("5000", "train")
PAPER_SEEDS = ("5000", "25", NUMERALS, IDENTICAL)
REPORTED_RETRIEVALS = ("nn", "csls")
Dictionary = tuple[tuple[str, str], ...]
Measure = Callable[["Cell", Direction, Engine], dict[str, Any]]


class FileCache:
    """Reads each file once; `limit` is the number of words read from each file of vectors."""

    def __init__(self, limit: int | None = 200_000) -> None:
        self.limit = limit
        self.vectors: Callable[[Path], Embeddings] = cache(lambda path: load(path, limit))
        self.pairs: Callable[[Path | None], Dictionary] = cache(lambda path: tuple(read_pairs(path)) if path else ())
        self.sha256: Callable[[Path], str] = cache(file_sha256)


class TooFewPairs(BilexError):  # noqa: N818 (it reads as what it says)
    """The seed has too few pairs that both vocabularies know: a result, not a failure."""


def check_seed_name(name: str) -> None:
    """Raise if there is no such seed."""
    if name not in (*TRAIN_SEEDS, NUMERALS, IDENTICAL) and not is_drawn(name):
        known = ", ".join(PAPER_SEEDS)
        raise BilexError(f"no seed is called {name!r}; choose among {known}, or give a number of pairs")


def is_drawn(name: str) -> bool:
    """Return whether the seed is a random draw from the train dictionary, of which there can be several."""
    return name not in TRAIN_SEEDS and name.isascii() and name.isdigit() and int(name) > 0


def needs_train(name: str) -> bool:
    """Return whether the seed comes from the train dictionary."""
    return name in TRAIN_SEEDS or is_drawn(name)


def seed_pairs(
    name: str, source: Embeddings, target: Embeddings, train: Dictionary, *, draw: int = 0, held_out: int | None = None
) -> Dictionary:
    """Return the pairs of a seed that both vocabularies know; raise `TooFewPairs` if there are not enough."""
    if not needs_train(name):
        try:
            found = find_seed(name, source, target)
        except BilexError:
            shared = "words spelt the same" if name == IDENTICAL else name
            raise TooFewPairs(f"the two vocabularies share no {shared}") from None
        rows = zip(found.source.tolist(), found.target.tolist(), strict=True)
        return tuple((source.words[row], target.words[column]) for row, column in rows)
    left_out = held_out_words(train, held_out)
    known = tuple((s, t) for s, t in train if s in source and t in target and s not in left_out)
    wanted = int(name) if is_drawn(name) else 1
    if len(known) < wanted:
        raise TooFewPairs(f"only {len(known)} pairs of the train dictionary are in both vocabularies")
    return tuple(random.Random(draw).sample(known, wanted)) if is_drawn(name) else known


def held_out_words(train: Dictionary, every: int | None) -> set[str]:
    """Return every Nth source word of the train dictionary; no word without N."""
    return set(list(dict.fromkeys(s for s, _ in train))[every - 1 :: every]) if every else set()


HUB_NEIGHBOURS = 20  # the k of N_k, section 7 of the paper
MAX_HUBS = 50


@dataclass(frozen=True)
class Cell:
    """What is learnt and how it is measured."""

    measure: str  # translation, similarity, hubs, or answers: first answers from the target to the source
    files: PairFiles
    method: Method
    seed: str
    cache: FileCache
    draw: int = 0  # of the seed
    size: int | None = None  # of the vocabularies, the most frequent words; None for all
    held_out: int | None = None  # N: every Nth source word of the train dictionary is a query, not part of the seed

    @property
    def key(self) -> dict[str, Any]:
        """The columns of a table that tell the cell from others."""
        return {
            "pair": self.files.name,
            "seed": self.seed,
            "draw": self.draw,
            "method": self.method.name,
            "prior": self.method.prior.kind,
            "max_rank": self.method.e_step.max_rank,
            "size": self.size,
        }

    @property
    def label(self) -> str:
        """The name on a terminal."""
        parts = [self.files.name, self.method.name]
        parts += [f"prior {self.method.prior.kind}"] if self.measure == "translation" and self.size else []
        parts += [f"seed {self.seed}" + (f" (draw {self.draw})" if self.draw else "")]
        return ", ".join(parts + ([f"{self.size:,} words"] if self.size else []))

    @property
    def configuration(self) -> dict[str, Any]:
        """Everything the result depends on: the inputs by their content, not by their names."""
        files, inputs = self.files, {"source": self.files.source, "target": self.files.target}
        if files.train and (needs_train(self.seed) or self.held_out):
            inputs["train"] = files.train
        if self.measure == "similarity":
            inputs |= {f"similarity {name}": path for name, path in files.similarity.items()}
        elif files.test:
            inputs["test"] = files.test
        return {
            "version": __version__,
            "measure": self.measure,
            "pair": files.name,
            "method": asdict(self.method),
            "seed": self.seed,
            "draw": self.draw,
            "size": self.size,
            "limit": self.cache.limit,
            "held_out": self.held_out,
            "inputs": {name: self.cache.sha256(path) for name, path in inputs.items()},
            **({"fold": files.fold} if self.measure == "similarity" else {}),
        }

    def gold(self) -> Dictionary:
        """Return the gold pairs of the queries: the test dictionary, and what was held out of the train dictionary."""
        train = self.cache.pairs(self.files.train) if self.held_out else ()
        left_out = held_out_words(train, self.held_out)
        return (*self.cache.pairs(self.files.test), *(pair for pair in train if pair[0] in left_out))

    def run(self, engine: Engine, measure: Measure | None = None) -> dict[str, Any]:
        """Learn and measure. A seed with too few pairs, or no covered query, is a result with a ``reason``."""
        source, target = (self.cache.vectors(path).top(self.size) for path in (self.files.source, self.files.target))
        train = self.cache.pairs(self.files.train) if needs_train(self.seed) else ()
        with warnings.catch_warnings(record=True) as caught:  # they are part of the result
            warnings.simplefilter("always", BilexWarning)
            warnings.simplefilter("ignore", CoverageWarning)  # vocabularies of a figure are small on purpose
            check_input(source, target, self.method)  # vectors that do not fit together are an error, not a result
            try:
                seed = seed_pairs(self.seed, source, target, train, draw=self.draw, held_out=self.held_out)
            except TooFewPairs as error:
                return {"reason": str(error)}
            learnt = learn(prepare(source, target, seed, self.method), Context(engine))
            measure = measure or MEASURES[self.measure]
            measured = measure(self, (learnt.shared_space(engine)[0], learnt.source, learnt.target), engine)
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

    def rows(self, result: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the row of its result in a table of all cells."""
        return [{**self.key, **result, "cell": self}]


def measure_translation(cell: Cell, side: Direction, engine: Engine) -> dict[str, Any]:
    """Score the translations of the test words, by nearest neighbour and by CSLS."""
    gold = cell.gold()
    try:
        return {name: evaluate_translation(side, gold, name, engine).figures() for name in REPORTED_RETRIEVALS}
    except NotCovered:
        return {"reason": f"none of the {len({s for s, _ in gold})} test words is in the vocabulary"}


def measure_similarity(cell: Cell, side: Direction, _: Engine) -> dict[str, Any]:
    """Correlate cosines with human scores, on every similarity set of the pair."""
    sets: dict[str, dict[str, Any]] = {}
    for name, path in cell.files.similarity.items():
        score = evaluate_similarity(side, path, fold_case=cell.files.fold)
        try:
            sets[name] = score.figures()
        except BilexError as error:
            sets[name] = {"reason": str(error)}
    return {"sets": sets}


def measure_hubs(cell: Cell, side: Direction, engine: Engine) -> dict[str, Any]:
    """Count how often each target word is a neighbour of a test word."""
    k = min(HUB_NEIGHBOURS, len(side[2]))
    return {
        name: evaluate_hubness(side, cell.gold(), k, name, engine).figures(MAX_HUBS) for name in REPORTED_RETRIEVALS
    }


def measure_answers(cell: Cell, side: Direction, engine: Engine) -> dict[str, Any]:
    """Translate the target words of the test dictionary into the source language, and keep the first answers."""
    space, source, target = side
    gold = cell.gold()
    queries = sorted({t for s, t in gold if s in source and t in target}, key=target.index.__getitem__)
    if not queries:
        return {"reason": f"none of the {len({t for _, t in gold})} test words is in the vocabulary"}
    answers = first_answers((space.mirrored(), target, source), queries, "nn", engine)
    return {"answers": [list(pair) for pair in zip(queries, answers, strict=True)]}


MEASURES: dict[str, Measure] = {
    "translation": measure_translation,
    "similarity": measure_similarity,
    "hubs": measure_hubs,
    "answers": measure_answers,
}

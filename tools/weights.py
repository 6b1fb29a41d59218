"""Measure the weight of a pair, its parts with and without: ``python -m tools.weights DATA``.

Writes the section between the marks "weights" of docs/results.md. EM runs once for each pair of languages and seed; a
line then takes the last round, the lexicon and the translations with one part changed. Runs are kept in a file of JSON
lines, so that an interrupted measurement can be continued. With ``--dev`` the queries are the words of the *train* file
that are not in the seed; the parts were chosen on these alone.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any
from unittest.mock import patch

import numpy as np

from bilex import load
from bilex.confidence.calibration import calibration_error
from bilex.em.context import Context
from bilex.em.held_out import FittedMethod, Training, fit_method
from bilex.induction import read_out, use_evidence
from bilex.methods import find_method
from bilex.model.evidence import FrequencyEvidence, SpellingEvidence
from bilex.model.theta import PairStatistics
from bilex.runs.prepared import Prepared, prepare
from bilex.runs.run import Run
from bilex.search.local import LocalEngine
from bilex.seeds.dictionaries import read_pairs
from bilex.vectors.spelling import SpellingComparison
from tools.accuracy import spread, write_section

FILES = {"de": "de-books-law"}
BEGIN, END = "<!-- begin: weights -->", "<!-- end: weights -->"
DRAWS = 5
SMALL, WHOLE = tuple(f"25.{draw}" for draw in range(DRAWS)), "5000"
SEEDS = {
    "en-fr": (*SMALL, "identical", WHOLE, "unsupervised"),
    "en-fi": (*SMALL, "identical", WHOLE, "unsupervised"),
    "en-de": (*SMALL, "identical", WHOLE, "numerals", "unsupervised"),
}
NO_FAMILIES = "no families in the confidence"
ONLY_SELF_TAUGHT = (
    "no last round",
    "all pairs count alike in the last round",
    NO_FAMILIES,
)  # the maps of a whole dictionary stay
ONLY_WEAK = "no other start"
LEMMAS = {"--lemmas of the target": (False, True), "--lemmas of both": (True, True)}
ONLY_TAUGHT = ("no dictionary teaches", "no families", "no margin", *LEMMAS)
FIGURES = ("model", "csls", "nn", "back", "entries", "precision", "expected")
WordPairs = list[tuple[str, str]]


@contextlib.contextmanager
def changed(part: str) -> Iterator[None]:
    """Run the block without a part of the model."""

    def spelling_only(source: Any, target: Any) -> Any:
        return (SpellingEvidence(SpellingComparison(source, target)),)

    patches: dict[str, tuple[str, Any]] = {
        ONLY_SELF_TAUGHT[0]: ("bilex.induction.refine", lambda fit, *_: fit),
        ONLY_SELF_TAUGHT[1]: (
            "bilex.model.theta.PairStatistics.weighted",
            lambda self, probability: PairStatistics(self.source, self.target, self.free),
        ),
        ONLY_WEAK: ("bilex.induction.leads_astray", lambda *_: False),
        "no spelling": ("bilex.runs.entries.kinds_between", lambda source, target: (FrequencyEvidence(),)),
        "no frequency": ("bilex.runs.entries.kinds_between", spelling_only),
        "no dictionary teaches": ("bilex.model.pair_weights.MIN_LESSONS", 10**9),
        "no endings": ("bilex.model.endings.EndingRatios.read", lambda self, levels: np.zeros(len(levels[0]))),
        NO_FAMILIES: ("bilex.confidence.assessment.confidence_of_forms", lambda posterior, *_: posterior),
        "no families": (
            "bilex.model.pair_weights.compare_families",
            lambda scores, rows, columns, vocabularies: np.zeros((len(rows), 4)),
        ),
        "no margin": ("bilex.model.pair_weights.MARGIN_KNOTS", (8.0, 8.1, 8.2, 8.3, 8.4, 8.5, 8.6, 8.7)),
    }
    if part == "the default" or part in LEMMAS:
        yield
        return
    with patch(*patches[part]):
        yield


PARTS = (
    "the default",
    *ONLY_SELF_TAUGHT,
    "no spelling",
    "no frequency",
    "no endings",
    *ONLY_TAUGHT,
)


def seed_of(name: str, train: WordPairs, prepared_words: Callable[[str, str], bool]) -> str | WordPairs:
    """Return a named seed, the whole train file, or a draw of 25 of its pairs that have vectors."""
    if name == WHOLE:
        return train
    if not name.startswith("25."):
        return name
    return random.Random(int(name[3:])).sample([pair for pair in train if prepared_words(*pair)], 25)


Judged = dict[str, list[tuple[str, str, float]]]
"""Words, the translation of each and its confidence: (m)atched or (a)ll, and those that are (c)overed."""


def judged_words(run: Run, gold: dict[str, set[str]]) -> Judged:
    """Return the test words' entries in the lexicon, and their best translations."""
    covered = {source for source, targets in gold.items() if any(target in run.target for target in targets)}
    asked = [word for word in gold if word in run.source]
    first = [found[0] for found in run.translate_many(asked, 1)]
    entries = {entry.source: (entry.target, float(entry.confidence or 0)) for entry in run.lexicon}
    answers = {word: (best.word, float(best.probability or 0)) for word, best in zip(asked, first, strict=True)}
    return {
        "m": [(word, *entries[word]) for word in asked if word in entries],
        "mc": [(word, *entries[word]) for word in asked if word in entries and word in covered],
        "a": [(word, *answers[word]) for word in asked],
        "ac": [(word, *answers[word]) for word in asked if word in covered],
    }


def translations_of(test: WordPairs) -> dict[str, set[str]]:
    """Return the listed translations of each word."""
    gold: dict[str, set[str]] = {}
    for source, target in test:
        gold.setdefault(source, set()).add(target)
    return gold


def measure(run: Run, test: WordPairs, back: WordPairs) -> dict[str, Any]:
    """Score a run on test words: translations, the lexicon's precision, and how true its confidence is."""
    gold = translations_of(test)
    sets = judged_words(run, gold)
    errors = {}
    for name, listed in sets.items():
        confidence = np.array([each[2] for each in listed])
        right = np.array([each[1] in gold[each[0]] for each in listed], bool)
        errors[name] = above_chance(confidence, right) if len(listed) else None
    matched = sets["mc"]
    return {
        "model": run.evaluate(test).precision_at(1),
        "csls": run.evaluate(test, retrieval="csls").precision_at(1),
        "nn": run.evaluate(test, retrieval="nn").precision_at(1),
        "back": run.evaluate(back, reverse=True).precision_at(1),
        "entries": len(run.lexicon),
        "precision": mean([target in gold[word] for word, target, _ in matched]) if matched else None,
        "expected": mean([confidence for _, _, confidence in matched]) if matched else None,
        "errors": errors,
        "purity": run.info["weights"]["purity"],
        "verdict": run.verdict.level,
    }


def above_chance(confidence: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> float:
    """Return the calibration error less what a perfect confidence would show by chance."""
    draw = np.random.default_rng(0)
    chance = [calibration_error(confidence, draw.random(len(right)) < confidence) for _ in range(50)]
    return calibration_error(confidence, right) - float(np.mean(chance))


def with_lemmas(prepared: Prepared, languages: tuple[str, str], wanted: tuple[bool, bool]) -> Prepared:
    """Return it with the lemmas of the languages that are wanted; EM does not look at them."""
    source, target = (language * want for language, want in zip(languages, wanted, strict=True))
    return replace(prepared, source=prepared.source.lemmatised(source), target=prepared.target.lemmatised(target))


def last_steps(training: Training, prepared: Prepared, fitted: FittedMethod) -> Run:
    """Take the last round, and read the run out."""
    learnt = use_evidence(training, fitted, prepared)
    return read_out(learnt, replace(training.context))


def measure_all(data: Path, kept: Path, *, dev: bool) -> list[dict[str, Any]]:
    """Measure every line that is not in the file yet."""
    done = [json.loads(line) for line in kept.read_text("utf-8").splitlines()] if kept.exists() else []
    context = Context(LocalEngine())
    for pair, seeds in SEEDS.items():
        first, second = pair.split("-")
        names = ("en-books-law" if second == "de" else first, FILES.get(second, second))
        source, target = (load(data / f"{name}.vec.gz") for name in names)
        words = data / "dictionaries"
        train, test = (list(read_pairs(words / f"{pair}.{part}.txt")) for part in ("0-5000", "5000-6500"))
        back = list(read_pairs(words / f"{second}-{first}.5000-6500.txt"))
        for name in seeds:
            parts = [part for part in PARTS if part not in (ONLY_SELF_TAUGHT if name == WHOLE else ONLY_TAUGHT)]
            if pair == "en-de" or name not in (*SMALL, WHOLE):
                parts = ["the default", ONLY_WEAK] if pair == "en-de" and name in SMALL else ["the default"]
            missing = [part for part in parts if not any((pair, name, part) == key(each) for each in done)]
            if not missing:
                continue
            seed = seed_of(name, train, lambda s, t: s in source and t in target)  # noqa: B023
            known = {word for word, _ in seed} if isinstance(seed, list) else set()
            queries = [each for each in train if each[0] not in known] if dev and name != WHOLE else test
            prepared = prepare(source, target, seed, find_method("bilex"))
            training = Training(prepared.source.vectors, prepared.target.vectors, prepared.prior, context)
            fitted = fit_method(training, prepared.seed, prepared.method)
            for part in missing:
                with changed(part):
                    lemmatised = with_lemmas(prepared, (first, second), LEMMAS.get(part, (False, False)))
                    run = last_steps(training, lemmatised, fitted)
                done.append({"pair": pair, "seed": name, "part": part, **measure(run, queries, back)})
                with kept.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(done[-1]) + "\n")
                print({name: value for name, value in done[-1].items() if name != "errors"}, flush=True)
    return done


def key(record: dict[str, Any]) -> tuple[str, str, str]:
    """Return what a record is about."""
    return record["pair"], record["seed"], record["part"]


def page(records: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of the section."""
    yield "## The weight of a pair, and its parts with and without\n"
    yield "Made by `python -m tools.weights` with **the present version**. MUSE test words; mean (lowest to highest)"
    yield "over the draws of 25 pairs. P@1 by `--retrieval model`, `csls` and `nn`, and by `model` in the other"
    yield "direction; the entries of the lexicon, the share that is right of those whose source word is covered, and"
    yield "their mean confidence. Errors are the calibration error less what a perfect one would show by chance: of"
    yield "matched entries, matched and covered, the best translations of all words, and of covered words.\n"
    yield "| pair, seed | part | model | CSLS | NN | back | entries | precision | confidence | errors | verdicts |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for each in records:
        groups.setdefault((each["pair"], each["seed"].split(".")[0], each["part"]), []).append(each)
    for (pair, seed, part), mine in groups.items():
        columns = []
        for name in FIGURES:
            values = [each[name] for each in mine if each[name] is not None]
            whole = f"{mean(values):,.0f}" if name == "entries" else (spread(values) if values else "-")
            columns.append(whole)
        errors = [mean([each["errors"][name] or 0 for each in mine]) for name in ("m", "mc", "a", "ac")]
        levels = ", ".join(sorted({each["verdict"] for each in mine}))
        shown = " ".join(f"{error:+.3f}" for error in errors)
        yield f"| {pair}, {seed} | {part} | {' | '.join(columns)} | {shown} | {levels} |"


def main() -> None:
    """Measure, and write the section."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--dev", action="store_true", help="the words of the train file in place of the test words")
    parser.add_argument("--kept", type=Path, default=Path("build/weights.jsonl"))
    options = parser.parse_args()
    options.kept.parent.mkdir(exist_ok=True, parents=True)
    warnings.simplefilter("ignore")
    records = measure_all(options.data, options.kept, dev=options.dev)
    if not options.dev:
        write_section(Path("docs/results.md"), page(records), BEGIN, END)


if __name__ == "__main__":
    main()

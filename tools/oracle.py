"""Show the best that a recalibration could do: ``python -m tools.oracle DATA``.

The confidence of runs from 25 pairs is recalibrated by the monotone curve that fits the *test words themselves* best
(isotonic regression). Words whose listed translations all lack a vector count as wrong, and may count less; what
weighs best is taken. A calibration without labels that keeps the order of the entries can hardly do better; the true
optimum, which is not searched for beyond these weights, may be a little lower.
"""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path

import numpy as np

from bilex import Run, induce, load
from bilex.model.counting import never_falling
from bilex.numerics.types import Floats
from bilex.seeds.dictionaries import read_pairs
from tools.weights import WordPairs, above_chance, judged_words, seed_of, translations_of

PAIRS, DRAWS = ("en-fr", "en-fi"), ("25.0", "25.1")
UNCOVERED_WEIGHTS, MATCHED_WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0), (0.25, 1.0, 4.0)


def judge_words(run: Run, test: WordPairs) -> Floats:
    """Return a row for each entry and each best translation: is it matched, covered, its confidence, is it right."""
    gold = translations_of(test)
    sets = judged_words(run, gold)
    covered = {word for word, _, _ in sets["ac"]}
    rows = [(name == "m", *judged) for name in ("m", "a") for judged in sets[name]]
    return np.array([(m, word in covered, sure, found in gold[word]) for m, word, found, sure in rows], float)


def errors_of(words: Floats, confidence: Floats) -> list[float]:
    """Return the error above chance of matched, matched and covered, all, and all covered words."""
    matched, covered = words[:, 0] > 0, words[:, 1] > 0
    sets = (matched, matched & covered, ~matched, ~matched & covered)
    return [above_chance(confidence[chosen], words[chosen, 3] > 0) for chosen in sets]


def recalibrate(words: Floats, weights: Floats) -> Floats:
    """Fit the monotone curve, and read it at every word."""
    used = np.flatnonzero(weights)
    order = used[np.argsort(words[used, 2], kind="stable")]
    return np.interp(words[:, 2], words[order, 2], never_falling(words[order, 3], weights[order]))


def main(data: Path) -> None:
    """Print the errors of each run as they are, and after the best recalibration."""
    for pair, draw in product(PAIRS, DRAWS):
        source, target = (load(str(data / f"{language}.vec.gz")) for language in pair.split("-"))
        train, test = (list(read_pairs(data / f"dictionaries/{pair}.{part}.txt")) for part in ("0-5000", "5000-6500"))
        seed = seed_of(draw, train, lambda one, other: one in source and other in target)  # noqa: B023
        words = judge_words(induce(source, target, seed), test)
        weights = (
            np.where(words[:, 1], 1.0, uncovered) * np.where(words[:, 0], matched, 1.0)
            for uncovered, matched in product(UNCOVERED_WEIGHTS, MATCHED_WEIGHTS)
        )
        best = min((errors_of(words, recalibrate(words, each)) for each in weights), key=max)
        print(pair, draw, *(f"{error:+.3f}" for error in errors_of(words, words[:, 2])), end=" at best ")
        print(*(f"{error:+.3f}" for error in best), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Measure how well the verdict tells good runs from bad ones: ``python -m tools.verdicts DATA``.

Prints P@1, which the verdict does not know, beside the verdict and its signs: the table in `bilex.report.verdict`.
DATA is a folder with ``en.vec.gz``, ``fr.vec.gz``, ``fi.vec.gz``, ``en-books-law.vec.gz``, ``de-books-law.vec.gz`` and
MUSE's ``dictionaries/``. It takes some minutes.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bilex.embeddings import Embeddings, load
from bilex.formats.pairs import read_pairs
from bilex.induction import induce
from bilex.report import judge
from bilex.seeds import SeedLike

LIMIT, MAX_RANK = 6000, 3000
FILES = {"en-fr": ("en", "fr"), "en-fi": ("en", "fi"), "books": ("en-books-law", "de-books-law")}
DICTIONARIES = {"en-fr": "en-fr", "en-fi": "en-fi", "books": "en-de"}
SEEDS = ("identical", "numerals", "5000", "25", "10", "5", "wrong")
OTHERS: list[tuple[str, str, dict[str, Any]]] = [
    *(("en-fr", seed, {"method": name}) for seed in ("5000", "25") for name in ("xing2015", "mutual", "sinkhorn")),
    *(("en-fr", seed, {"method": name}) for seed in ("5000", "25") for name in ("ibm1-em", "haghighi2008")),
    *((pair, "25", {"method": name}) for pair in FILES for name in ("ibm1", "artetxe2017", "ruder2018-2:2")),
    *((pair, seed, {"log_odds": 0.5}) for pair in FILES for seed in ("identical", "25", "10", "5", "wrong")),
]


def runs() -> Iterator[tuple[str, str, dict[str, Any], str]]:
    """Give languages, seed, what is changed in the method, and what is done to the target's vectors."""
    yield from ((pair, seed, {}, "") for pair in FILES for seed in SEEDS)
    yield from ((*one, "") for one in OTHERS)
    for pair in ("en-fr", "en-fi"):
        for harm in ("shuffled", "random"):
            yield from ((pair, "identical", changes, harm) for changes in ({}, {"log_odds": 0.5}))


def make_seed(name: str, pairs: list[tuple[str, str]], source: Embeddings, target: Embeddings) -> SeedLike:
    """Give a seed by its name: so many pairs of the dictionary, or all of them with the wrong translations."""
    if name in ("identical", "numerals"):
        return name
    if name == "wrong":
        others = np.random.default_rng(0).permutation([word for _, word in pairs]).tolist()
        return list(zip((word for word, _ in pairs), others, strict=True))
    first = {s: t for s, t in reversed(pairs) if s in source and t in target}
    known = [(s, first[s]) for s in dict.fromkeys(s for s, _ in pairs) if s in first]
    return pairs if name == "5000" else known[: int(name)]


def main(data: Path) -> None:
    """Print the table."""
    read = cache(lambda name: load(data / f"{name}.vec.gz", LIMIT))
    words = cache(lambda name: read_pairs(data / "dictionaries" / name))
    warnings.simplefilter("ignore")
    print(f"{'run':44} verdict    P@1 match mutual cos  round freq  hubs seed")
    for pair, seed, changes, harm in runs():
        source, target = (read(name) for name in FILES[pair])
        if harm == "shuffled":
            target = replace(target, vectors=np.random.default_rng(0).permutation(target.vectors))
        elif harm:
            noise = np.random.default_rng(0).normal(size=target.vectors.shape)
            target = replace(target, vectors=noise.astype(np.float32))
        given = make_seed(seed, words(f"{DICTIONARIES[pair]}.0-5000.txt"), source, target)
        run = induce(source, target, given, max_rank=MAX_RANK, **changes)
        gold = words(f"{DICTIONARIES[pair]}.5000-6500.txt")
        precision = run.evaluate(gold, retrieval="csls").figures()["p@1"]
        verdict = judge(run)
        found = verdict.figures
        signs = (found.matched, found.mutual, found.cosine, found.returning, found.frequency)
        row = " ".join("    -" if sign is None else f"{sign:5.2f}" for sign in signs)
        near = " -" if found.seed_near is None else f"{found.seed_near:.2f}"
        name = " ".join([pair, seed, *(f"{key}={value}" for key, value in changes.items()), harm])
        print(f"{name:44} {verdict.level:8} {precision:5.3f} {row} {found.hubness:5.1f} {near}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

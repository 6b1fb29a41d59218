"""Measure how well the verdict separates good runs from bad ones.

``python -m tools.verdicts DATA [chosen|fresh|later]`` prints P@1, which the verdict does not know, beside
the verdict and its signs, and then a summary. ``chosen`` are runs that the limits in `bilex.confidence.signs` were set
on. ``fresh`` are runs that had no part in that: the opposite directions, seeds drawn at random, other sizes and other
pairs of languages. ``later`` are more runs from weak seeds, made after the fresh ones had moved one limit. Each takes
some minutes.

DATA is a folder with ``en.vec.gz``, ``fr.vec.gz``, ``fi.vec.gz``, ``en-books-law.vec.gz``, ``de-books-law.vec.gz`` and
MUSE's ``dictionaries/``.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bilex.induction import induce
from bilex.seeds.dictionaries import read_pairs
from bilex.seeds.seed import SeedLike
from bilex.vectors.embeddings import Embeddings, load

WordPairs = list[tuple[str, str]]

FILES = {"en": "en", "fr": "fr", "fi": "fi", "en-books": "en-books-law", "de-books": "de-books-law"}
MAX_SEED_RANK = 1000  # seeds are drawn from so many words of the dictionary
SEEDS = ("identical", "numerals", "5000", "25", "10", "5", "wrong")


@dataclass(frozen=True)
class Case:
    """Two languages, a seed, what is changed in the method, and what is done to the target's vectors."""

    source: str
    target: str
    seed: str
    changes: dict[str, Any] = field(default_factory=dict)
    harm: str = ""
    limit: int = 6000
    max_rank: int | None = 3000

    def __str__(self) -> str:
        size = [] if (self.limit, self.max_rank) == (6000, 3000) else [f"{self.limit}/{self.max_rank or 'all'}"]
        changes = [f"{key}={value}" for key, value in self.changes.items()]
        return " ".join(filter(None, [f"{self.source}>{self.target}", self.seed, *changes, self.harm, *size]))


CHOSEN = (("en", "fr"), ("en", "fi"), ("en-books", "de-books"))
FRESH = (("fr", "en"), ("fi", "en"), ("de-books", "en-books"), ("en", "de-books"), ("fr", "fi"), ("fi", "fr"))


def chosen() -> Iterator[Case]:
    """Return runs that the limits were set on."""
    yield from (Case(*pair, seed) for pair in CHOSEN for seed in SEEDS)
    for seed in ("5000", "25"):
        for name in ("xing2015", "mutual", "sinkhorn", "ibm1-em", "haghighi2008"):
            yield Case("en", "fr", seed, {"method": name})
    for pair in CHOSEN:
        yield from (Case(*pair, "25", {"method": name}) for name in ("ibm1", "artetxe2017", "ruder2018-2:2"))
        yield from (Case(*pair, seed, {"log_odds": 0.5}) for seed in ("identical", "25", "10", "5", "wrong"))
    yield from harmed(CHOSEN[:2], ("shuffled", "random"))


def fresh() -> Iterator[Case]:
    """Return runs that the limits were not set on."""
    yield from (Case(*pair, seed) for pair in FRESH for seed in SEEDS)
    for pair in (*CHOSEN, *FRESH[:2]):
        yield from (Case(*pair, f"{size} at random, {draw}") for size in (25, 100) for draw in (1, 2, 3))
    for pair in FRESH[:2]:
        yield from (Case(*pair, "25", {"method": name}) for name in ("ibm1", "artetxe2017", "xing2015", "mutual"))
        yield from (Case(*pair, seed, {"log_odds": 0.5}) for seed in ("identical", "25", "wrong"))
    for pair in (("en", "fr"), ("en", "fi"), ("fr", "fi"), ("en-books", "de-books")):
        yield from (Case(*pair, seed, limit=12_000, max_rank=10_000) for seed in ("identical", "25"))
        yield Case(*pair, "100 at random, 4", limit=1500, max_rank=None)
    yield from harmed(FRESH[:2], ("shuffled", "random"))
    yield from (Case(*pair, seed, harm="reversed") for pair in CHOSEN[:2] for seed in ("identical", "5000"))


def later() -> Iterator[Case]:
    """Return runs from weak seeds, of which many fail, that no limit was set on."""
    for pair in (("en", "fi"), ("fi", "en"), ("fr", "fi"), ("fi", "fr")):
        yield from (Case(*pair, f"{size} at random, {draw}") for size in (15, 25) for draw in (11, 12))
        yield Case(*pair, "25 at random, 13", {"method": "mutual"})


def harmed(pairs: tuple[tuple[str, str], ...], harms: tuple[str, ...]) -> Iterator[Case]:
    """Return runs on vectors that cannot work."""
    for pair in pairs:
        for harm in harms:
            yield from (Case(*pair, "identical", changes, harm) for changes in ({}, {"log_odds": 0.5}))


def make_seed(name: str, pairs: WordPairs, source: Embeddings, target: Embeddings) -> SeedLike:
    """Return a seed by its name: pairs of the dictionary, the first or at random, or all with wrong translations."""
    if name in ("identical", "numerals"):
        return name
    if name == "wrong":
        others = np.random.default_rng(0).permutation([word for _, word in pairs]).tolist()
        return list(zip((word for word, _ in pairs), others, strict=True))
    if name == "5000":
        return pairs
    first = {s: t for s, t in reversed(pairs) if s in source and t in target}
    known = [(s, first[s]) for s in dict.fromkeys(s for s, _ in pairs) if s in first]
    size, _, draw = name.partition(" at random, ")
    if draw:
        places = np.random.default_rng(int(draw)).permutation(min(MAX_SEED_RANK, len(known)))[: int(size)]
        return [known[place] for place in places.tolist()]
    return known[: int(size)]


def harm(target: Embeddings, kind: str) -> Embeddings:
    """Exchange the vectors of the words, or reverse their order."""
    draw = np.random.default_rng(0)
    if kind == "shuffled":
        return replace(target, vectors=draw.permutation(target.vectors))
    if kind == "random":
        return replace(target, vectors=draw.normal(size=target.vectors.shape).astype(np.float32))
    if kind == "reversed":
        return replace(target, words=target.words[::-1], vectors=target.vectors[::-1].copy())
    return target


class Data:
    """The vectors and dictionaries, each read once."""

    def __init__(self, folder: Path) -> None:
        self.vectors = cache(lambda name, limit: load(folder / f"{FILES[name]}.vec.gz", limit))
        self.read = cache(lambda name: read_pairs(folder / "dictionaries" / name))

    def dictionary(self, source: str, target: str, part: str) -> WordPairs:
        """Return MUSE's dictionary of two languages; where there is none, one by way of English."""
        source, target = source.partition("-")[0], target.partition("-")[0]
        if "en" in (source, target):
            return list(self.read(f"{source}-{target}.{part}.txt"))
        meanings: dict[str, list[str]] = {}
        for piece in ("0-5000", "5000-6500"):
            for english, word in self.read(f"en-{target}.{piece}.txt"):
                meanings.setdefault(english, []).append(word)
        found = [(word, other) for word, via in self.read(f"{source}-en.{part}.txt") for other in meanings.get(via, ())]
        return list(dict.fromkeys(found))


def measure(case: Case, data: Data) -> tuple[str, float]:
    """Make a run, print its line, and return its verdict and P@1."""
    source, target = (data.vectors(name, case.limit) for name in (case.source, case.target))
    target = harm(target, case.harm)
    seed = make_seed(case.seed, data.dictionary(case.source, case.target, "0-5000"), source, target)
    run = induce(source, target, seed, **{"method": "ruder2018", "max_rank": case.max_rank, **case.changes})
    gold = data.dictionary(case.source, case.target, "5000-6500")
    precision = float(run.evaluate(gold, retrieval="csls").figures()["p@1"])
    verdict = run.verdict
    found = verdict.figures
    signs = (found.expected, found.evidence)
    row = " ".join("    -" if sign is None else f"{sign:5.2f}" for sign in signs)
    near = " -" if found.seed_near is None else f"{found.seed_near:.2f}"
    print(f"{case!s:44} {verdict.level:8} {precision:5.3f} {row} {found.hubness:5.1f} {near}", flush=True)
    return verdict.level, precision


def main(folder: Path, which: str) -> None:
    """Print the table and the summary."""
    warnings.simplefilter("ignore")
    data = Data(folder)
    print(f"{'run':44} verdict    P@1 expected evidence  hubs seed")
    found: dict[str, list[float]] = {"sound": [], "doubtful": [], "failed": []}
    for case in {"chosen": chosen, "fresh": fresh, "later": later}[which]():
        level, precision = measure(case, data)
        found[level].append(precision)
    for level, values in found.items():
        spread = f"P@1 {min(values):.3f} to {max(values):.3f}, median {np.median(values):.3f}" if values else ""
        print(f"{level:8} {len(values):3} runs  {spread}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "chosen")

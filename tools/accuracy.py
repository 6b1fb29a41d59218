"""Measure the parts of the default method, each with and without: ``python -m tools.accuracy``.

Writes the section between the marks "accuracy" of docs/results.md. Runs are kept in a file of JSON lines, so that an
interrupted measurement can be continued.

With ``--dev`` the queries are the words of the *train* file that are not in the seed; the parts of the default method
and their constants were chosen on these alone. Without it they are the test words.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import statistics
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bilex import load
from bilex.em.context import Context
from bilex.evaluation.translation import evaluate_translation
from bilex.induction import learn
from bilex.methods import find_method
from bilex.runs.prepared import prepare
from bilex.search.local import LocalEngine
from bilex.seeds.dictionaries import read_pairs
from bilex.version import __version__

DEFAULT = "bilex"
PROCRUSTES = "Procrustes (the seed alone)"
CASES: dict[str, tuple[str, dict[str, Any]]] = {  # label: (method, changes)
    "the default": (DEFAULT, {}),
    "orthogonal maps": (DEFAULT, {"map": "orthogonal"}),
    "no annealing of the ridge": (DEFAULT, {"annealing": 0.0}),
    "with de-whitening": (DEFAULT, {"dewhiten": True}),
    "200 of 300 directions": (DEFAULT, {"dimensions": 200}),
    "no re-weighting": (DEFAULT, {"reweight": 0.0}),
    "iterative normalisation": (DEFAULT, {"normalise": "iterative"}),
    "seed as a start": (DEFAULT, {"supervision": "start"}),
    "seed softly": (DEFAULT, {"supervision": "soft"}),
    "seed fixed": (DEFAULT, {"supervision": "fixed"}),
    "the paper (ruder2018)": ("ruder2018", {}),
    PROCRUSTES: ("artetxe2016", {}),
    "artetxe2018 (the seed alone)": ("artetxe2018", {}),
}
RANK = {"fr": 6000}  # of ruder2018, as in the rest of the page; 10,000 for other languages
BRIEF = ("the default", "the paper (ruder2018)", PROCRUSTES)
PAIRS = {"en-fr": tuple(CASES), "en-fi": tuple(CASES), **dict.fromkeys(("en-de", "de-en", "fr-en", "fi-en"), BRIEF)}
SMALL = "books-law"  # the corpora of the German pairs
WHOLE = "5,000 words"
NAMED = ("identical", "unsupervised")
DRAWS, MAX_DRAWS = 5, 20
BEGIN, END = "<!-- begin: accuracy -->", "<!-- end: accuracy -->"


@dataclass(frozen=True)
class Figures:
    """One run and how it did."""

    case: str
    pair: str
    seed: str
    draw: int
    dev: bool
    forth: list[float]
    back: list[float]
    seconds: float
    iterations: int
    choices: list[str]


class Bench:
    """Vectors and dictionaries of one pair of languages."""

    def __init__(self, data: Path, name: str, dev: bool) -> None:
        self.name, self.dev, self.data = name, dev, data
        source, target = self.languages = tuple(name.split("-"))
        corpus = f"-{SMALL}" if "de" in self.languages else ""
        self.source, self.target = (load(data / f"{language}{corpus}.vec.gz") for language in (source, target))
        train = read_pairs(data / "dictionaries" / f"{self.name}.0-5000.txt")
        self.train = [pair for pair in train if pair[0] in self.source and pair[1] in self.target]

    def seed(self, kind: str, draw: int) -> list[tuple[str, str]] | str:
        """Return the pairs of a draw; with --dev, four fifths of the whole dictionary."""
        if kind in NAMED:
            return kind
        if kind != WHOLE:
            return random.Random(draw).sample(self.train, 25)
        words = sorted({source for source, _ in self.train})
        held = set(random.Random(draw).sample(words, len(words) // 5)) if self.dev else set()
        return [pair for pair in self.train if pair[0] not in held]

    def gold(self, seed: list[tuple[str, str]] | str) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """Return the gold pairs of both directions."""
        if self.dev:
            known = {source for source, _ in seed} if not isinstance(seed, str) else set()
            forth = [pair for pair in self.train if pair[0] not in known]
            return forth, [(target, source) for source, target in forth]
        one, other = self.languages
        names = (f"{one}-{other}", f"{other}-{one}")
        forth, back = (list(read_pairs(self.data / "dictionaries" / f"{name}.5000-6500.txt")) for name in names)
        return forth, back

    def measure(self, case: str, kind: str, draw: int) -> Figures:
        """Run a case."""
        name, changes = CASES[case]
        if name == "ruder2018":
            ranks = [RANK[language] for language in self.languages if language in RANK]
            changes = {"max_rank": min([10_000, *ranks]), **changes}
        seed = self.seed(kind, draw)
        started = time.perf_counter()
        engine, method = LocalEngine(), find_method(name).with_changes(changes)
        learnt = learn(prepare(self.source, self.target, seed, method), Context(engine))
        seconds = time.perf_counter() - started
        space, gold = learnt.shared_space(engine)[0], self.gold(seed)
        directions = ((space, learnt.source, learnt.target), (space.mirrored(), learnt.target, learnt.source))
        forth, back = (
            [evaluate_translation(sides, pairs, "csls", engine).precision_at(k) for k in (1, 5, 10)]
            for sides, pairs in zip(directions, gold, strict=True)
        )
        return Figures(
            case,
            self.name,
            kind,
            draw,
            self.dev,
            forth,
            back,
            seconds,
            len(learnt.fit.iterations),
            [f"{choice.about}: {choice.chosen}" for choice in learnt.choices],
        )


def plan(pair: str, names: Iterable[str] | None) -> Iterator[tuple[str, str, int]]:
    """Yield what is measured for a pair: its cases on five draws and the whole dictionary, the default on more."""
    for case in names or PAIRS[pair]:
        for draw in range(DRAWS):
            yield case, "25 pairs", draw
        yield case, WHOLE, 0
    for draw in range(DRAWS, MAX_DRAWS if len(PAIRS[pair]) > len(BRIEF) else DRAWS):
        yield "the default", "25 pairs", draw
    yield from ((case, "identical", 0) for case in BRIEF)
    yield "the default", "unsupervised", 0


def measure_all(options: argparse.Namespace) -> list[Figures]:
    """Measure what is not in the file yet."""
    done = (
        [Figures(**json.loads(line)) for line in options.runs.read_text().splitlines()] if options.runs.exists() else []
    )
    known = {(each.case, each.pair, each.seed, each.draw, each.dev) for each in done}
    for pair in options.pairs:
        bench = None
        for case, kind, draw in plan(pair, options.cases):
            if draw >= options.draws or (case, pair, kind, draw, options.dev) in known:
                continue
            bench = bench or Bench(options.data, pair, options.dev)
            done.append(bench.measure(case, kind, draw))
            with options.runs.open("a") as file:
                file.write(json.dumps(asdict(done[-1])) + "\n")
    return [each for each in done if each.dev == options.dev]


def spread(values: list[float]) -> str:
    """Format the mean and, of several values, the lowest and the highest."""
    if not values:
        return ""
    mean = f"{statistics.mean(values):.3f}"
    return mean if len(values) == 1 else f"{mean} ({min(values):.3f} to {max(values):.3f})"


def page(figures: list[Figures]) -> Iterator[str]:
    """Yield the lines of the tables."""
    yield "## The maps, with and without their parts\n"
    machine = f"({platform.machine()}, Python {platform.python_version()}) with **bilex {__version__}**"
    yield f"Made by `python -m tools.accuracy` {machine}. P@1 by CSLS on the MUSE test words, over the covered"
    yield "queries; mean (lowest to highest) of five draws of 25 pairs. Each line is the default with one part changed,"
    yield "unless it names a method. [Accuracy](accuracy.md) describes the default and how its parts were chosen.\n"
    known = {each.pair for each in figures}
    pairs = [pair for pair in PAIRS if pair in known and len(PAIRS[pair]) > len(BRIEF)]
    heads = [f"{pair}, {kind}" for pair in pairs for kind in ("25 pairs", WHOLE)]
    yield f"| | {' | '.join(heads)} |"
    yield f"|---|{'---|' * len(heads)}"
    for case in CASES:
        cells = []
        for pair in pairs:
            for kind in ("25 pairs", WHOLE):
                mine = [e for e in figures if (e.case, e.pair, e.seed) == (case, pair, kind) and e.draw < DRAWS]
                fewer = f", {len(mine)} draws" if kind == "25 pairs" and 0 < len(mine) < DRAWS else ""
                cells.append(spread([each.forth[0] for each in mine]) + fewer)
        if any(cells):
            yield f"| {case} | {' | '.join(cells)} |"
    yield from beside_procrustes(figures)


def beside_procrustes(figures: list[Figures]) -> Iterator[str]:
    """Yield the table that compares the default with the orthogonal map of the same seed, draw by draw."""
    yield "\n### Is it ever worse than Procrustes?\n"
    yield "P@1 by CSLS of the default and of the orthogonal map of the same seed, and the smallest difference of them"
    yield "on one draw. The German vectors are those of the small corpora.\n"
    heads = ("the default", "Procrustes", "smallest gain")
    yield f"| pair | seed | draws | {' | '.join(heads)} | back: {' | '.join(heads)} |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for pair, kind in ((pair, kind) for pair in PAIRS for kind in ("25 pairs", WHOLE, "identical")):
        ours, theirs = (
            {e.draw: e for e in figures if (e.case, e.pair, e.seed) == (case, pair, kind)}
            for case in ("the default", PROCRUSTES)
        )
        draws = sorted(ours.keys() & theirs.keys())
        if draws:
            cells = list[str]()
            for side in ("forth", "back"):
                values = [(getattr(ours[draw], side)[0], getattr(theirs[draw], side)[0]) for draw in draws]
                cells += [spread([value[place] for value in values]) for place in (0, 1)]
                cells.append(f"{min(a - b for a, b in values):+.3f}")
            yield f"| {pair} | {kind} | {len(draws)} | {' | '.join(cells)} |"


def write_section(path: Path, lines: Iterable[str], begin: str = BEGIN, end: str = END) -> None:
    """Put the lines between the marks of the page, or at its end."""
    text = path.read_text("utf-8")
    before, _, rest = text.partition(begin)
    after = rest.partition(end)[2] or "\n"
    path.write_text(f"{before.rstrip()}\n\n{begin}\n" + "\n".join(lines) + f"\n{end}{after}", "utf-8")


def main() -> None:
    """Measure, and write the section."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--output", type=Path, default=Path("docs/results.md"))
    parser.add_argument("--runs", type=Path, default=Path("build/accuracy.jsonl"))
    parser.add_argument("--dev", action="store_true", help="queries from the train file")
    parser.add_argument("--pairs", nargs="*", choices=tuple(PAIRS), default=tuple(PAIRS))
    parser.add_argument("--cases", nargs="*", choices=tuple(CASES), help="which lines; all by default")
    parser.add_argument("--draws", type=int, default=MAX_DRAWS, help="how many draws at most")
    options = parser.parse_args()
    options.runs.parent.mkdir(parents=True, exist_ok=True)
    figures = measure_all(options)
    if options.dev:
        for each in figures:
            print(f"{each.pair} {each.seed} {each.draw}: {each.case}: {each.forth} {each.back} {each.seconds:.0f} s")
    else:
        write_section(options.output, page(figures))


if __name__ == "__main__":
    main()

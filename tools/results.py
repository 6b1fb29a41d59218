"""Measure the paper's method on the shared data and write its section of docs/results.md: ``make results``.

Every figure comes from the command line, `bilex induce` and then `bilex evaluate --json`, as a user would run it.
The 25 pairs of a draw come from the train file, from those whose words both have vectors, so that 25 pairs are
used; draws differ only in the seed of the random generator.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bilex import load
from bilex.seeds.dictionaries import read_pairs
from bilex.version import __version__
from tools.accuracy import spread, write_section

BEGIN, END = "<!-- begin: paper -->", "<!-- end: paper -->"
DRAWS = 5
PRIORS = ("1:1", "one-to-many", "many-to-one-no-null")
METHOD = ("--method", "ruder2018")
MAX_RANK = {"fr": 6000, "fi": 10000}


@dataclass(frozen=True)
class Result:
    """One run on one pair of languages."""

    pair: str
    seed: str
    prior: str
    nn: float
    csls: float
    reverse_csls: float


def bilex(*arguments: str | Path) -> dict[str, object]:
    """Run the command line and read its JSON."""
    command = [sys.executable, "-m", "bilex", *map(str, arguments), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    result: dict[str, object] = json.loads(done.stdout)
    return result


def draw_seeds(data: Path, source: str, target: str, folder: Path) -> Iterator[tuple[str, Path]]:
    """Write the files of the 25-pair draws, and yield their labels and paths."""
    known = [load(data / f"{language}.vec.gz") for language in (source, target)]
    pairs = read_pairs(data / "dictionaries" / f"{source}-{target}.0-5000.txt")
    covered = [pair for pair in pairs if pair[0] in known[0] and pair[1] in known[1]]
    for number in range(DRAWS):
        path = folder / f"{source}-{target}.25.{number}.txt"
        drawn = random.Random(number).sample(covered, 25)
        path.write_text("".join(f"{s}\t{t}\n" for s, t in drawn), "utf-8")
        yield f"25 pairs, draw {number}", path


def measure(data: Path, source: str, target: str, seed: str | Path, label: str, prior: str) -> Result:
    """Induce a lexicon and score it in both directions."""
    test = data / "dictionaries" / f"{source}-{target}.5000-6500.txt"
    back = data / "dictionaries" / f"{target}-{source}.5000-6500.txt"
    rank = str(MAX_RANK[target if source == "en" else source])
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        vectors = [data / f"{language}.vec.gz" for language in (source, target)]
        bilex("induce", *vectors, "-o", run, "--seed", seed, *METHOD, "--prior", prior, "--max-rank", rank)
        figures = [
            bilex("evaluate", run, test, "--retrieval", "nn"),
            bilex("evaluate", run, test, "--retrieval", "csls"),
            bilex("evaluate", run, back, "--retrieval", "csls", "--reverse"),
        ]
    nn, csls, reverse = (float(str(figure["p@1"])) for figure in figures)
    return Result(f"{source}-{target}", label, prior, nn, csls, reverse)


def all_results(data: Path) -> Iterator[Result]:
    """Measure all languages, seeds and priors."""
    with tempfile.TemporaryDirectory() as folder:
        for target in ("fr", "fi"):
            seeds: list[tuple[str, str | Path]] = [*draw_seeds(data, "en", target, Path(folder))]
            if target == "fr":
                seeds.insert(0, ("identical strings", "identical"))
            for prior in PRIORS:
                for label, seed in seeds:
                    yield measure(data, "en", target, seed, label, prior)
        yield measure(data, "fr", "en", "identical", "identical strings", "1:1")
        for label, seed in draw_seeds(data, "fi", "en", Path(folder)):
            yield measure(data, "fi", "en", seed, label, "1:1")


def report(results: Iterable[Result]) -> Iterator[str]:
    """Yield the lines of the section, with the spread over draws."""
    machine = f"({platform.machine()}, Python {platform.python_version()}) with **bilex {__version__}**"
    yield "## The paper's method\n"
    yield f"Made by `make results` {machine}. P@1 on the MUSE test words (`XX-YY.5000-6500.txt`), over the"
    yield "covered queries. The E-step sees the 6,000 (fr) or 10,000 (fi) most frequent words; k = 3; all other"
    yield "settings are the paper's (`--method ruder2018`). Mean (lowest to highest) over the draws."
    yield '"Reverse" asks the same map for the other direction.'
    yield "`one-to-many` is the paper's reading of Artetxe et al. (2017), each target takes its best source or none;"
    yield "`many-to-one-no-null` is their published system, each source takes its nearest target.\n"
    yield "| pair | seed | prior | runs | P@1 NN | P@1 CSLS | P@1 CSLS, reverse |"
    yield "|---|---|---|---|---|---|---|"
    groups: dict[tuple[str, str, str], list[Result]] = {}
    for result in results:
        groups.setdefault((result.pair, result.seed.split(",")[0], result.prior), []).append(result)
    for key, group in groups.items():
        columns = [[r.nn for r in group], [r.csls for r in group], [r.reverse_csls for r in group]]
        yield f"| {' | '.join(key)} | {len(group)} | {' | '.join(map(spread, columns))} |"


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--output", type=Path, default=Path("docs/results.md"))
    options = parser.parse_args()
    write_section(options.output, report(all_results(options.data)), BEGIN, END)


if __name__ == "__main__":
    main()

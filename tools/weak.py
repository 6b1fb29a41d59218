"""Two scripts, weak vectors and no seed: ``python -m tools.weak``.

Writes the section between the marks "weak" of docs/accuracy.md. The shared data has no such pair, so one is made: the
vectors are cut to their first 100 principal components, noise is added, the order of the words is disturbed, and the
letters of the target language are exchanged for others, so that no spelling helps.
"""

import argparse
import random
import time
import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import patch

import numpy as np

import bilex
from bilex.seeds.dictionaries import read_pairs
from bilex.vectors.embeddings import Embeddings
from tools.accuracy import write_section

DIMENSION = 100
DISTURBANCE = 1.0  # of the logarithm of the ranks, in standard deviations
CASES = (("en-fi", 0.3), ("en-fi", 0.4), ("en-fr", 0.8), ("fi-en", 0.3))  # the noise, in norms of the vectors
SEEDS = ("no seed, no other start", "no seed", "25 pairs")
FIRST_LETTER, LETTERS = 0x1200, 300  # of the Ethiopic script, in place of the target's letters
BEGIN, END = "<!-- begin: weak -->", "<!-- end: weak -->"


def weaken(vectors: Embeddings, noise: float, rng: np.random.Generator, *, other_script: bool) -> Embeddings:
    """Return the words with fewer dimensions, noise, in a disturbed order and, if asked for, in other letters."""
    centred = vectors.vectors - vectors.vectors.mean(axis=0, dtype=np.float64)
    left, values, _ = np.linalg.svd(centred, full_matrices=False)
    found = left[:, :DIMENSION] * values[:DIMENSION]
    norms = np.linalg.norm(found, axis=1, keepdims=True)
    found += noise * norms / DIMENSION**0.5 * rng.normal(size=found.shape)
    order = np.argsort(np.log(np.arange(len(found)) + 10) + DISTURBANCE * rng.normal(size=len(found)))
    words = [encipher(vectors.words[row]) if other_script else vectors.words[row] for row in order.tolist()]
    return Embeddings(tuple(words), found[order].astype(np.float32), name="xx" if other_script else "yy")


def encipher(word: str) -> str:
    """Write a word in other letters, each letter in two, so that no two words become the same."""
    return "".join(chr(FIRST_LETTER + part) for letter in word for part in divmod(ord(letter), LETTERS))


def measure(data: Path, pair: str, noise: float) -> Iterator[str]:
    """Yield the lines of one pair."""
    rng = np.random.default_rng(0)
    one, two = pair.split("-")
    source = weaken(bilex.load(data / f"{one}.vec.gz"), noise, rng, other_script=False)
    target = weaken(bilex.load(data / f"{two}.vec.gz"), noise, rng, other_script=True)
    train, test = (
        [(word, encipher(other)) for word, other in read_pairs(data / "dictionaries" / f"{pair}.{part}.txt")]
        for part in ("0-5000", "5000-6500")
    )
    known = [each for each in train if each[0] in source and each[1] in target]
    for name in SEEDS:
        seed = random.Random(0).sample(known, 25) if name == SEEDS[2] else "unsupervised"
        started = time.process_time()
        with patch("bilex.induction.leads_astray", lambda *_: False) if name == SEEDS[0] else nullcontext():
            run = bilex.induce(source, target, seed)
        seconds = time.process_time() - started
        figures = [run.evaluate(test, retrieval=retrieval).precision_at(1) for retrieval in ("model", "csls")]
        shown = " | ".join(f"{figure:.3f}" for figure in (*figures, run.expected_precision))
        yield f"| {pair}, noise {noise} | {name} | {shown} | {run.verdict.level} | {seconds:.0f} |"


def page(data: Path) -> Iterator[str]:
    """Yield the lines of the table."""
    yield "| pair | seed | P@1 | P@1, CSLS | expected precision | verdict | CPU seconds |"
    yield "|---|---|---|---|---|---|---|"
    for pair, noise in CASES:
        yield from measure(data, pair, noise)


def main() -> None:
    """Measure, and write the section."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--output", type=Path, default=Path("docs/accuracy.md"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    write_section(options.output, page(options.data), BEGIN, END)


if __name__ == "__main__":
    main()

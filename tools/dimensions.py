"""Measure what a language of fewer dimensions costs: ``python -m tools.dimensions DATA``.

French is cut to its 100 principal components and learnt against English of 300, from several seeds, beside the uncut
one. DATA is a folder with ``en.vec.gz``, ``fr.vec.gz`` and MUSE's ``dictionaries/``.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from bilex.experiments.cells import seed_pairs
from bilex.induction import induce
from bilex.seeds.dictionaries import read_pairs
from bilex.vectors.embeddings import Embeddings, load

COMPONENTS = 100


def principal_components(words: Embeddings) -> Embeddings:
    """Return the vectors in their first principal components."""
    rows = words.normalise("unit,centre").vectors.astype(np.float64)
    axes = np.linalg.svd(rows, full_matrices=False)[2][:COMPONENTS]
    return replace(words, vectors=(rows @ axes.T).astype(np.float32))


def main(data: Path) -> None:
    """Print P@1 by the model's own ranking for each seed."""
    english, french = load(data / "en.vec.gz"), load(data / "fr.vec.gz")
    train, gold = (tuple(read_pairs(data / "dictionaries" / f"en-fr.{part}.txt")) for part in ("0-5000", "5000-6500"))
    print("| seed | 300 | 100 |\n|---|---:|---:|")
    for name in ("25", "5000", "identical"):
        seed = seed_pairs(name, english, french, train) if name != "identical" else name
        sides = (french, principal_components(french))
        found = [induce(english, side, seed).evaluate(gold).figures()["p@1"] for side in sides]
        print(f"| {name} | {found[0]:.3f} | {found[1]:.3f} |", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

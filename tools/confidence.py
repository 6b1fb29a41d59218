"""Measure how well calibrated lexicons are.

``python -m tools.confidence measure DATA`` writes the figures of docs/confidence.md: English-French and English-Finnish
from 5,000 and from 25 pairs of MUSE's train file, with the default method. Entries of the lexicon whose source word is
a test word are right if the test file has the pair. Nothing in bilex was chosen by these words.

DATA is a folder with ``en.vec.gz``, ``fr.vec.gz``, ``fi.vec.gz`` and MUSE's ``dictionaries/``.
"""

from __future__ import annotations

import argparse
import json
import random
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilex import Lexicon, induce, load
from bilex.confidence.calibration import calibration_error, reliability_bins
from bilex.numerics.types import Floats
from bilex.seeds.dictionaries import read_pairs
from bilex.vectors.embeddings import Embeddings

DOCS = Path(__file__).parent.parent / "docs"
BEGIN, END = "<!-- begin: python -m tools.confidence measure -->", "<!-- end -->"
THRESHOLDS = (0.5, 0.7, 0.8, 0.9, 0.95)
CASES = (("en-fr", 5000), ("en-fr", 25), ("en-fi", 5000), ("en-fi", 25))
LEARNING_PAIRS = ("en-fr", "fr-en", "en-fi", "fi-en")
SMALL_SEED = 25
WordPairs = Sequence[tuple[str, str]]


def read(data: Path, pair: str) -> tuple[Embeddings, Embeddings]:
    """Load the vectors of two languages."""
    first, second = (load(str(data / f"{name}.vec.gz")) for name in pair.split("-"))
    return first, second


def labels(lexicon: Lexicon, words: WordPairs) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return for each entry whether the list has its source word, and whether it has the pair."""
    asked, right = {source for source, _ in words}, set(words)
    pairs = list(zip(lexicon.source, lexicon.target, strict=True))
    return np.array([pair[0] in asked for pair in pairs]), np.array([pair in right for pair in pairs])


def measure(data: Path) -> None:
    """Measure the runs on the test words and write the figures into the documentation."""
    records = [measured(data, pair, size) for pair, size in CASES]
    (DOCS / "confidence.json").write_text(json.dumps(records, indent=1) + "\n", "utf-8")
    draw(records, DOCS / "confidence.svg")
    write_page(records)


def measured(data: Path, pair: str, size: int) -> dict[str, Any]:
    """Make one run, and compare the confidence of its entries with the test words."""
    source, target = read(data, pair)
    train, test = (read_pairs(str(data / "dictionaries" / f"{pair}.{part}.txt")) for part in ("0-5000", "5000-6500"))
    run = induce(
        source,
        target,
        train if size == 5000 else sample_pairs(train, size, source, target),
        complete=True,
        min_confidence=0,
    )
    covered = {s for s, t in test if t in target}
    known, right = labels(run.lexicon, test)
    matched = np.array([origin != "retrieval" for origin in run.lexicon.origin])
    answered = np.array([word in covered for word in run.lexicon.source])
    sets = {"matched": known & matched, "matched, covered": known & matched & answered, "all": known}
    sets["all, covered"] = known & answered
    confidence = run.lexicon.confidence
    return {
        "pair": pair,
        "seed": size,
        "calibration": run.info["confidence"],
        "sets": {name: figures(confidence[chosen], right[chosen]) for name, chosen in sets.items()},
    }


def sample_pairs(train: WordPairs, size: int, source: Embeddings, target: Embeddings) -> WordPairs:
    """Sample pairs of the train file with different source words, both of whose words have vectors."""
    usable = {s: (s, t) for s, t in reversed(train) if s in source and t in target}
    return random.Random(0).sample(sorted(usable.values()), size)


def figures(confidence: Floats, right: NDArray[np.bool_]) -> dict[str, Any]:
    """Return the calibration of a set of entries, and what is left of it from each confidence on."""
    asked = {
        str(least): {"entries": int((confidence >= least).sum()), "precision": float(right[confidence >= least].mean())}
        for least in THRESHOLDS
        if (confidence >= least).any()
    }
    return {
        "entries": len(right),
        "precision": float(right.mean()),
        "confidence": float(confidence.mean()),
        "error": calibration_error(confidence, right),
        "bins": [vars(each) for each in reliability_bins(confidence, right)],
        "asked": asked,
    }


def noise_error(found: dict[str, Any]) -> float:
    """Return the calibration error that a perfect confidence is expected to show on so few entries."""
    noise = [each["entries"] * each["confidence"] * (1 - each["confidence"]) for each in found["bins"]]
    return float(np.sqrt(2 / np.pi * np.array(noise)).sum() / found["entries"])


def draw(records: list[dict[str, Any]], path: Path) -> None:
    """Plot the reliability of the matched entries: precision against confidence, a dot for each bin."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    style: Any = {"svg.hashsalt": "bilex", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
    with mpl.rc_context(style):
        figure = Figure(figsize=(8, 8), layout="constrained")
        FigureCanvasSVG(figure)
        for axes, record in zip(figure.subplots(2, 2, sharex=True, sharey=True).flat, records, strict=True):
            found = record["sets"]["matched"]
            axes.plot([0, 1], [0, 1], color="0.7", linewidth=1)
            points = [(each["confidence"], each["precision"], each["entries"]) for each in found["bins"]]
            x, y, size = zip(*points, strict=True)
            axes.scatter(x, y, [8 + 300 * count / found["entries"] for count in size], alpha=0.8)
            axes.set_title(f"{record['pair']}, {record['seed']:,} pairs: error {found['error']:.3f}")
            axes.set_xlabel("confidence")
            axes.set_ylabel("precision on test words")
        figure.savefig(path, metadata={"Date": None})


def write_page(records: list[dict[str, Any]]) -> None:
    """Write the tables into docs/confidence.md."""
    titles = ("pair, seed", "entries", "n", "right", "mean confidence", "calibration error", "by chance alone")
    lines = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    for record in records:
        for name, found in record["sets"].items():
            lines.append(
                f"| {record['pair']}, {record['seed']:,} | {name} | {found['entries']:,} | {found['precision']:.3f} | "
                f"{found['confidence']:.3f} | {found['error']:.3f} | {noise_error(found):.3f} |"
            )
    lines += ["", f"| pair, seed | {' | '.join(f'at least {least:g}' for least in THRESHOLDS)} |", "|---" * 6 + "|"]
    for record in records:
        asked = record["sets"]["matched"]["asked"]
        cells = [asked.get(str(least)) for least in THRESHOLDS]
        shown = [f"{cell['precision']:.3f} of {cell['entries']:,}" if cell else "none" for cell in cells]
        lines.append(f"| {record['pair']}, {record['seed']:,} | {' | '.join(shown)} |")
    page = (DOCS / "confidence.md").read_text("utf-8")
    head, _, rest = page.partition(BEGIN)
    (DOCS / "confidence.md").write_text(head + "\n".join([BEGIN, *lines, ""]) + END + rest.partition(END)[2], "utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    actions = parser.add_subparsers(dest="action", required=True)
    work = {"measure": measure}
    for action in work:
        actions.add_parser(action).add_argument("data", type=Path)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    work[options.action](options.data)


if __name__ == "__main__":
    main()

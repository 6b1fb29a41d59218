"""The contents of the report besides the verdict: charts, hubs, sample entries and their competitors.

Everything is a bounded sample, so the page of 200,000 entries is no longer than that of 2,000.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bilex.confidence.figures import InducedPairs
from bilex.evaluation.alignment import Alignment
from bilex.matching.graph import RowPairs
from bilex.model.candidates import MODEL_RETRIEVAL
from bilex.numerics.formatting import format_number, format_percent
from bilex.numerics.types import Indices
from bilex.report.charts import Chart, Series
from bilex.runs.run import Run
from bilex.search.engine import Engine

MAX_SAMPLE = 10
MAX_HUB_WORDS = 8
MAX_HUB_EXAMPLES = 3
COMPETITORS = 5
RANK_BANDS = 20
CONFIDENCE_BIN = COSINE_BIN = 0.05
DOUBTFUL_SHARE = 10  # the doubtful entries are a sample of the least probable tenth
BANDS = (
    ("High confidence", "90% or more", 0.9),
    ("Middle confidence", "50% to 90%", 0.5),
    ("Low confidence", "below 50%", 0.0),
)
ITERATION_TITLES = {
    "pairs": "pairs",
    "mean_cosine": "mean cosine of the pairs",
    "log_likelihood": "log-likelihood, above the first",
}


def iteration_charts(iterations: Sequence[dict[str, Any]]) -> list[Chart]:
    """Draw pairs, mean cosine and log-likelihood over the iterations, each on its own axis."""
    charts = []
    for key, title in ITERATION_TITLES.items() if iterations else ():
        base = float(iterations[0][key]) if key == "log_likelihood" else 0.0
        points = tuple((float(place), float(each[key]) - base) for place, each in enumerate(iterations, 1))
        digits = 3 if key == "mean_cosine" else 0
        first, last = (format_number(points[place][1], digits) for place in (0, -1))
        alt = f"Line: {title} over {len(points)} iterations, from {first} to {last}."
        charts.append(Chart(title, "iteration", (Series(title, points),), alt))
    return charts


def confidence_chart(pairs: InducedPairs) -> Chart:
    """Draw the distribution of the confidence."""
    confidence = pairs.lexicon.confidence
    count = round(1 / CONFIDENCE_BIN)
    bins = np.clip((confidence / CONFIDENCE_BIN + 1e-9).astype(int), 0, count - 1)
    heights = np.bincount(bins, minlength=count).tolist()
    points = tuple((round(place * CONFIDENCE_BIN, 10), float(height)) for place, height in enumerate(heights))
    half = format_percent(float(np.median(confidence)))
    alt = f"Histogram: confidence of the {len(pairs):,} entries, half of them above {half}."
    return Chart("entries", "confidence", (Series("entries", points),), alt, bar=CONFIDENCE_BIN, whole=False)


def cosine_chart(aligned: Alignment) -> Chart:
    """Draw the distribution of the words' cosines across the models."""
    first = int(np.floor(aligned.cosine.min() / COSINE_BIN))
    heights = np.bincount(np.floor(aligned.cosine / COSINE_BIN).astype(int) - first).tolist()
    points = tuple((round((first + place) * COSINE_BIN, 10), float(height)) for place, height in enumerate(heights))
    alt = f"Histogram: cosines of {len(aligned.words):,} words, half of them above {np.median(aligned.cosine):.2f}."
    return Chart("words", "cosine of a word with itself", (Series("words", points),), alt, bar=COSINE_BIN, whole=False)


def matched_chart(pairs: InducedPairs, seen: tuple[int, int], names: tuple[str, str]) -> Chart:
    """Draw the share of words that have an entry, in bands of equal width of the frequency ranks."""
    series, parts = [], []
    for hue, (rows, words, name) in enumerate(zip((pairs.rows.source, pairs.rows.target), seen, names, strict=True), 1):
        edges = np.unique(np.linspace(0, words, min(RANK_BANDS, words) + 1).astype(int))
        matched = np.zeros(words, bool)
        matched[rows[(rows >= 0) & (rows < words)]] = True
        shares = [float(matched[a:b].mean()) for a, b in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)]
        middles = ((edges[:-1] + edges[1:]) / 2).tolist()
        series.append(Series(name, tuple(zip(middles, shares, strict=True)), hue))
        parts.append(f"{name} from {format_percent(shares[0])} among the most frequent to {format_percent(shares[-1])}")
    alt = f"Lines: share of words with an entry, by frequency rank; {', '.join(parts)} among the rarest."
    return Chart("share with an entry", "frequency rank (1 is the most frequent)", tuple(series), alt, percent=True)


def hub_words(nearest: Indices, words: Sequence[str], others: Sequence[str]) -> list[dict[str, Any]]:
    """Return the words that are most often the nearest neighbour (`nearest`, one row for each of the others)."""
    counts = np.bincount(nearest, minlength=len(words))
    rows = np.argsort(-counts, kind="stable")[:MAX_HUB_WORDS]
    found = []
    for row in rows[counts[rows] > 1].tolist():
        examples = [others[other] for other in np.flatnonzero(nearest == row)[:MAX_HUB_EXAMPLES].tolist()]
        found.append({"word": words[row], "count": int(counts[row]), "examples": examples})
    return found


def entry_samples(pairs: InducedPairs) -> list[dict[str, Any]]:
    """Return entries of each band of confidence, spread over all frequencies."""
    confidence, samples, below = pairs.lexicon.confidence, [], np.inf
    for name, meaning, least in BANDS:
        places = np.flatnonzero((confidence >= least) & (confidence < below))
        below, count = least, len(places)
        share, right = count / max(1, len(pairs)), float(confidence[places].mean()) if count else 0.0
        entries = [pairs.lexicon[place] for place in choose_evenly(pairs, places)]
        samples.append({"name": name, "meaning": meaning, "count": count, "share": share, "right": right})
        samples[-1]["entries"] = entries
    return samples


def doubtful_entries(run: Run, pairs: InducedPairs, engine: Engine) -> list[dict[str, Any]]:
    """Return a sample of the least probable entries, each with the candidates of its word and their probabilities."""
    known = np.flatnonzero(pairs.known)
    order = known[np.argsort(pairs.lexicon.confidence[known], kind="stable")]
    chosen = choose_evenly(pairs, np.sort(order[: max(MAX_SAMPLE, len(known) // DOUBTFUL_SHARE)]))
    rows = pairs.rows.source[chosen]
    found = run.weighted_space.search(rows, COMPETITORS, MODEL_RETRIEVAL, engine)
    doubts = []
    for place, row, near in zip(chosen, rows.tolist(), found.indices, strict=True):
        likely = run.candidates.probabilities(RowPairs(np.full(len(near), row), near)).tolist()
        words = [run.target.words[column] for column in near.tolist()]
        doubts.append({"entry": pairs.lexicon[place], "candidates": list(zip(words, likely, strict=True))})
    return doubts


def choose_evenly(pairs: InducedPairs, places: Indices) -> list[int]:
    """Choose at most `MAX_SAMPLE` places evenly, without pairs spelt the same if there are enough others."""
    source, target = pairs.lexicon.source, pairs.lexicon.target
    different = [place for place in places.tolist() if source[place] != target[place]]
    pool = different if len(different) >= min(MAX_SAMPLE, len(places)) else places.tolist()
    if len(pool) <= MAX_SAMPLE:
        return pool
    return [pool[(2 * step + 1) * len(pool) // (2 * MAX_SAMPLE)] for step in range(MAX_SAMPLE)]

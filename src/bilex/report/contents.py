"""The contents of the report besides the verdict: charts, hubs, sample entries and their competitors.

Everything is a bounded sample, so the page of 200,000 entries is no longer than that of 2,000.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bilex.confidence.figures import InducedPairs
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
SCORE_BIN = 0.05
ITERATION_TITLES = {"pairs": "pairs", "mean_cosine": "mean cosine", "log_likelihood": "log-likelihood, above the first"}


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


def score_chart(pairs: InducedPairs) -> Chart:
    """Draw the distribution of the cosines, of mutual neighbours and of the other pairs."""
    scores, mutual = pairs.lexicon.score, pairs.lexicon.mutual
    low, high = float(scores.min()), float(scores.max())
    first = int(np.floor(low / SCORE_BIN + 1e-9))
    count = max(1, int(np.ceil(high / SCORE_BIN - 1e-9)) - first)
    bins = np.clip((scores / SCORE_BIN - first + 1e-9).astype(int), 0, count - 1)
    series = []
    for hue, (label, chosen) in enumerate((("mutual", mutual), ("not mutual", ~mutual)), 1):
        heights = np.bincount(bins[chosen], minlength=count).tolist()
        points = tuple((round((first + place) * SCORE_BIN, 10), float(height)) for place, height in enumerate(heights))
        series.append(Series(label, points, hue))
    alt = (
        f"Histogram: cosines of the {len(pairs):,} pairs from {low:.2f} to {high:.2f}, "
        f"half of them above {float(np.median(scores)):.2f}."
    )
    return Chart("pairs", "cosine of the pair", tuple(series), alt, bar=SCORE_BIN, whole=False)


def matched_chart(pairs: InducedPairs, seen: tuple[int, int], names: tuple[str, str]) -> Chart:
    """Draw the share of words that were matched, in bands of equal width of the frequency ranks."""
    series, parts = [], []
    for hue, (rows, words, name) in enumerate(zip((pairs.rows.source, pairs.rows.target), seen, names, strict=True), 1):
        edges = np.unique(np.linspace(0, words, min(RANK_BANDS, words) + 1).astype(int))
        matched = np.zeros(words, bool)
        matched[rows[(rows >= 0) & (rows < words)]] = True
        shares = [float(matched[a:b].mean()) for a, b in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)]
        middles = ((edges[:-1] + edges[1:]) / 2).tolist()
        series.append(Series(name, tuple(zip(middles, shares, strict=True)), hue))
        parts.append(f"{name} from {format_percent(shares[0])} among the most frequent to {format_percent(shares[-1])}")
    alt = f"Lines: share of words matched by frequency rank; {', '.join(parts)} among the rarest."
    return Chart("share matched", "frequency rank (1 is the most frequent)", tuple(series), alt, percent=True)


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
    """Return entries that both, one or none of the signs of `count_signs` support, spread over all frequencies."""
    signs, samples = count_signs(pairs), []
    for name, meaning, count in (
        ("High confidence", "mutual nearest neighbours, and first by CSLS", 2),
        ("Middle confidence", "only one of the two", 1),
        ("Low confidence", "neither", 0),
    ):
        places = np.flatnonzero(signs == count)
        chosen = [pairs.lexicon[place] for place in choose_evenly(pairs, places)]
        share = len(places) / max(1, len(pairs))
        samples.append({"name": name, "meaning": meaning, "count": len(places), "share": share, "entries": chosen})
    return samples


def doubtful_entries(run: Run, pairs: InducedPairs, engine: Engine) -> list[dict[str, Any]]:
    """Return a sample of the entries that the fewest signs support, with the words that CSLS prefers."""
    signs = np.where(pairs.known, count_signs(pairs), 2)
    fewest = signs.min(initial=2)
    if fewest == 2:
        return []
    chosen = choose_evenly(pairs, np.flatnonzero(signs == fewest))
    rows, columns = pairs.rows.source[chosen], pairs.rows.target[chosen]
    found = run.space.search(rows, COMPETITORS, "csls", engine)
    own = run.space.scores(rows, columns, "csls").tolist()
    doubts = []
    for place, score, near, scores in zip(chosen, own, found.indices.tolist(), found.scores.tolist(), strict=True):
        nearest = [(run.target.words[row], csls) for row, csls in zip(near, scores, strict=True)]
        doubts.append({"entry": pairs.lexicon[place], "score": score, "nearest": nearest})
    return doubts


def count_signs(pairs: InducedPairs) -> Indices:
    """Count the signs that support each entry: mutual nearest neighbours, and rank 1 by CSLS."""
    return np.asarray(pairs.lexicon.mutual.astype(np.int64) + (pairs.lexicon.rank == 1))


def choose_evenly(pairs: InducedPairs, places: Indices) -> list[int]:
    """Choose at most `MAX_SAMPLE` places evenly, without pairs spelt the same if there are enough others."""
    source, target = pairs.lexicon.source, pairs.lexicon.target
    different = [place for place in places.tolist() if source[place] != target[place]]
    pool = different if len(different) >= min(MAX_SAMPLE, len(places)) else places.tolist()
    if len(pool) <= MAX_SAMPLE:
        return pool
    return [pool[(2 * step + 1) * len(pool) // (2 * MAX_SAMPLE)] for step in range(MAX_SAMPLE)]

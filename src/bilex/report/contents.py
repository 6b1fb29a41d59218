"""What the report shows of a run besides its verdict: charts, hubs, sample entries and their competitors.

Everything is a bounded sample, so the page of 200,000 entries is no longer than that of 2,000.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bilex.confidence.signs import Pairs
from bilex.confidence.wording import number, percent
from bilex.lexicon.lexicon import Entry
from bilex.numerics.types import Indices
from bilex.report.charts import Chart, Series
from bilex.runs.run import Run
from bilex.search.engine import Engine

__all__ = ["Doubt", "Hub", "Sample", "competitors", "hubs", "iteration_charts", "samples", "score_chart", "share_chart"]

SAMPLE = 10
HUBS = 8
COMPETITORS = 5
STRETCHES = 20  # of the frequency ranks
BIN = 0.05


@dataclass(frozen=True)
class Sample:
    """Some entries of one degree of confidence, and how many there are of it."""

    name: str
    meaning: str
    count: int
    share: float
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Hub:
    """A word, the number of words of the other language whose nearest neighbour it is, and some of them."""

    word: str
    place: int
    count: int
    examples: tuple[str, ...]


@dataclass(frozen=True)
class Doubt:
    """A doubtful entry, its CSLS score, and the words that were nearest by CSLS."""

    entry: Entry
    score: float
    nearest: tuple[tuple[str, float], ...]


def iteration_charts(iterations: Sequence[dict[str, Any]]) -> list[Chart]:
    """Draw pairs, mean cosine and log-likelihood over the iterations, each on its own axis."""
    charts = list[Chart]()
    if not iterations:
        return charts
    titles = {"pairs": "pairs", "mean_cosine": "mean cosine", "log_likelihood": "log-likelihood, above the first"}
    for key, title in titles.items():
        level = float(iterations[0][key]) if key == "log_likelihood" else 0.0
        points = tuple((float(place), float(each[key]) - level) for place, each in enumerate(iterations, 1))
        digits = 3 if key == "mean_cosine" else 0
        first, last = (number(points[place][1], digits) for place in (0, -1))
        alt = f"Line: {title} over {len(points)} iterations, from {first} to {last}."
        charts.append(Chart(title, "iteration", (Series(title, points),), alt))
    return charts


def score_chart(pairs: Pairs) -> Chart:
    """Draw how the cosines of the pairs are distributed, mutual neighbours apart from the others."""
    low, high = float(pairs.score.min()), float(pairs.score.max())
    first = int(np.floor(low / BIN + 1e-9))
    count = max(1, int(np.ceil(high / BIN - 1e-9)) - first)
    bins = np.clip((pairs.score / BIN - first + 1e-9).astype(int), 0, count - 1)
    series = []
    for hue, (label, chosen) in enumerate((("mutual", pairs.mutual), ("not mutual", ~pairs.mutual)), 1):
        heights = np.bincount(bins[chosen], minlength=count).tolist()
        points = tuple((round((first + place) * BIN, 10), float(height)) for place, height in enumerate(heights))
        series.append(Series(label, points, hue))
    middle = float(np.median(pairs.score))
    alt = (
        f"Histogram: cosines of the {len(pairs):,} pairs from {low:.2f} to {high:.2f}, half of them above {middle:.2f}."
    )
    return Chart("pairs", "cosine of the pair", tuple(series), alt, bar=BIN, whole=False)


def share_chart(pairs: Pairs, seen: tuple[int, int], names: tuple[str, str]) -> Chart:
    """Draw which share of the words was matched, in stretches of equal length of the frequency ranks."""
    series, told = [], []
    for hue, (rows, words, name) in enumerate(zip((pairs.rows, pairs.columns), seen, names, strict=True), 1):
        edges = np.unique(np.linspace(0, words, min(STRETCHES, words) + 1).astype(int))
        matched = np.zeros(words, bool)
        matched[rows[(rows >= 0) & (rows < words)]] = True
        shares = [float(matched[a:b].mean()) for a, b in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)]
        middles = ((edges[:-1] + edges[1:]) / 2).tolist()
        series.append(Series(name, tuple(zip(middles, shares, strict=True)), hue))
        told.append(f"{name} from {percent(shares[0])} among the most frequent to {percent(shares[-1])}")
    alt = f"Lines: share of words matched by frequency rank; {', '.join(told)} among the rarest."
    return Chart("share matched", "frequency rank (1 is the most frequent)", tuple(series), alt, percent=True)


def hubs(run: Run, reverse: bool = False) -> list[Hub]:
    """Give the words that are the nearest neighbour of most words of the other language."""
    space, own, other = (run.space.mirrored() if reverse else run.space), run.target, run.source
    if reverse:
        own, other = other, own
    nearest = space.source_nearest
    counts = np.bincount(nearest, minlength=len(own))
    found = []
    for row in np.argsort(-counts, kind="stable")[:HUBS].tolist():
        near = np.flatnonzero(nearest == row)[:3].tolist()
        if counts[row] > 1:
            found.append(Hub(own.words[row], row + 1, int(counts[row]), tuple(other.words[each] for each in near)))
    return found


def samples(pairs: Pairs) -> list[Sample]:
    """Give entries of high, middle and low confidence, spread over all frequencies.

    The two signs are that the words are each other's nearest neighbours, and that the target is the source's first by
    CSLS. In the run of `bilex demo`, 97% of the entries with both are right, 70% of those with one, 42% of those with
    none (1,938 entries that the gold list knows and that are not spelt the same).
    """
    degrees = confidence(pairs)
    kinds = (
        ("High confidence", "mutual nearest neighbours, and first by CSLS", 2),
        ("Middle confidence", "only one of the two", 1),
        ("Low confidence", "neither", 0),
    )
    found = []
    for name, meaning, degree in kinds:
        places = np.flatnonzero(degrees == degree)
        share = len(places) / len(pairs) if len(pairs) else 0.0
        chosen = tuple(pairs.entries[place] for place in spread(pairs, places, SAMPLE))
        found.append(Sample(name, meaning, len(places), share, chosen))
    return found


def confidence(pairs: Pairs) -> Indices:
    """Count the signs that speak for each entry: 0, 1 or 2."""
    signs: Indices = pairs.mutual.astype(np.int64) + (pairs.rank == 1)
    return signs


def spread(pairs: Pairs, places: Indices, most: int) -> list[int]:
    """Choose at most so many of the places, evenly; pairs spelt the same tell little and come last."""
    telling = [place for place in places.tolist() if pairs.entries[place].source != pairs.entries[place].target]
    pool = telling if len(telling) >= min(most, len(places)) else places.tolist()
    if len(pool) <= most:
        return pool
    return [pool[(2 * step + 1) * len(pool) // (2 * most)] for step in range(most)]


def competitors(run: Run, pairs: Pairs, engine: Engine) -> list[Doubt]:
    """Give doubtful entries with the words that CSLS prefers."""
    degrees = confidence(pairs)
    places = np.flatnonzero((degrees == 0) & pairs.known)
    if not len(places):
        places = np.flatnonzero((degrees == 1) & pairs.known)
    chosen = np.array(spread(pairs, places, SAMPLE), np.int64)
    if not len(chosen):
        return []
    rows, columns = pairs.rows[chosen], pairs.columns[chosen]
    found = run.space.search(rows, COMPETITORS, "csls", engine)
    own = run.space.scores(rows, columns, "csls").tolist()
    listed = zip(chosen.tolist(), own, found.indices.tolist(), found.scores.tolist(), strict=True)
    return [
        Doubt(pairs.entries[place], score, tuple((run.target.words[i], s) for i, s in zip(near, scores, strict=True)))
        for place, score, near, scores in listed
    ]

"""Everything there is to know about one word: its translations, its neighbours, whether it is a hub, a picture."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from bilex.numerics.threads import thread_count
from bilex.numerics.types import Floats, Indices, Vectors
from bilex.runs.run import Run
from bilex.search.space import CROWDING_NEIGHBOURS, SharedSpace
from bilex.vectors.embeddings import Embeddings

__all__ = ["SIDES", "Direction", "Lookup", "Rounded", "best"]

SIDES = ("source", "target")
SLACK = 1e-4  # far more than the float32 arithmetic of a bound is ever off, for unit vectors
PART = 25_000  # rows at the least for a thread


class Rounded:
    """The vectors of a language in bytes, to bound all its cosines with a word in a few milliseconds."""

    def __init__(self, vectors: Vectors) -> None:
        from bilex.search.int8_kernel import quantise

        self.codes, self.facts = np.empty(vectors.shape, np.int8), np.empty((4, len(vectors)), np.float32)
        quantise(vectors, self.codes, self.facts, np.empty(len(vectors), np.int32))

    def bounds(self, word: Rounded, row: int, pool: Executor, threads: int) -> Vectors:
        """Give a number for each word that its cosine with one of a language does not exceed."""
        from bilex.search.bounds_kernel import bound_rows

        codes, facts = word.codes[row : row + 1], np.ascontiguousarray(word.facts[:, row : row + 1])
        bounds = np.empty(len(self.codes), np.float32)
        step = max(PART, -(-len(bounds) // threads))
        parts = [slice(first, first + step) for first in range(0, len(bounds), step)]
        work = [
            pool.submit(bound_rows, self.codes[part], self.facts[:, part], codes, facts, bounds[part]) for part in parts
        ]
        for each in work:
            each.result()
        return bounds


@dataclass(frozen=True, eq=False)
class Direction:
    """The shared space as seen from one of the languages."""

    space: SharedSpace
    own: Embeddings
    other: Embeddings
    half_crowding: Vectors  # of the other language, in float32
    nearest_to: Indices  # of how many words of the other language each word is the nearest neighbour
    usual: float  # the mean of these
    hub_from: float  # two standard deviations above it: from there on a word is a hub (Radovanović et al. 2010)

    @classmethod
    def of(cls, run: Run, side: str) -> Direction:
        """Look from the source or from the target language."""
        space = run.space if side == "source" else run.space.mirrored()
        own, other = (run.source, run.target) if side == "source" else (run.target, run.source)
        counts = np.bincount(space.target_nearest, minlength=len(own))
        usual = float(counts.mean())
        halves = (space.target_crowding / 2).astype(np.float32)
        return cls(space, own, other, halves, counts, usual, usual + 2 * float(counts.std()))


@dataclass(frozen=True, eq=False)
class Query:
    """What is looked up: its name, and the row of its vector, as floats and in bytes."""

    word: str
    vectors: Vectors
    rounded: Rounded
    row: int


class Lookup:
    """Answers for single words: bytes choose who comes into question, float64 decides."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.directions = {side: Direction.of(run, side) for side in SIDES}
        self.rounded = {side: Rounded(seen.space.source) for side, seen in self.directions.items()}
        self.threads = thread_count()
        self.pool = ThreadPoolExecutor(self.threads, "lookup")

    def word(self, side: str, row: int, k: int) -> dict[str, Any]:
        """Describe a word of one language."""
        seen = self.directions[side]
        query = Query(seen.own.words[row], seen.space.source, self.rounded[side], row)
        count = int(seen.nearest_to[row])
        return {
            **self.around(side, query, k, float(seen.space.source_crowding[row]), row),
            "frequency": row + 1,
            "hub": {
                "count": count,
                "mean": round(seen.usual, 3),
                "hub": count > seen.hub_from,
                "place": int((seen.nearest_to > count).sum()) + 1,
                "of": len(seen.nearest_to),
                "others": len(seen.other),
            },
        }

    def term(self, side: str, term: str, vector: Vectors, k: int) -> dict[str, Any]:
        """Describe what is no word of a language but has a unit vector in the space; it is nobody's neighbour."""
        space, vectors = self.directions[side].space, np.ascontiguousarray(vector[None], np.float32)
        query = Query(term, vectors, Rounded(vectors), 0)
        cosines = self.rounded[SIDES[1 - SIDES.index(side)]].bounds(query.rounded, 0, self.pool, self.threads)
        crowd = best(cosines, CROWDING_NEIGHBOURS, lambda rows: exact(vectors, 0, space.target, rows))
        crowding = sum(score for _, score in crowd) / len(crowd)
        return {**self.around(side, query, k, crowding, None), "frequency": None, "hub": None}

    def around(self, side: str, query: Query, k: int, crowding: float, itself: int | None) -> dict[str, Any]:
        """Give what is near in both languages; a word is not its own neighbour."""
        seen = self.directions[side]
        space, mine, others = seen.space, self.rounded[side], self.rounded[SIDES[1 - SIDES.index(side)]]
        vectors, rounded, row = query.vectors, query.rounded, query.row
        cosines = others.bounds(rounded, row, self.pool, self.threads)
        nn = best(cosines, k, lambda rows: exact(vectors, row, space.target, rows))
        cosines -= seen.half_crowding
        halves = space.target_crowding / 2
        csls = best(cosines, k, lambda rows: exact(vectors, row, space.target, rows) - halves[rows])
        own = mine.bounds(rounded, row, self.pool, self.threads)
        if itself is not None:
            own[itself] = -np.inf
        most = min(k, len(own) - (itself is not None))
        near = best(own, most, lambda rows: exact(vectors, row, space.source, rows))
        return {
            "side": side,
            "word": query.word,
            "nn": named(seen.other, nn),
            "csls": named(seen.other, [(r, 2 * score - crowding) for r, score in csls]),
            "neighbours": named(seen.own, near),
            "picture": self.picture(side, query, [r for r, _ in near[:7]], [r for r, _ in csls[:8]]),
        }

    def picture(self, side: str, query: Query, own: list[int], other: list[int]) -> list[dict[str, Any]]:
        """Lay both neighbourhoods out in the plane: the two principal components of their vectors in the space."""
        seen = self.directions[side]
        vectors = np.vstack([query.vectors[[query.row]], seen.space.source[own], seen.space.target[other]])
        otherwise = SIDES[1 - SIDES.index(side)]
        points = [(side, query.word), *((side, seen.own.words[r]) for r in own)]
        points += [(otherwise, seen.other.words[r]) for r in other]
        return [
            {"side": which, "word": word, "x": round(float(x), 4), "y": round(float(y), 4), "self": not i}
            for i, ((which, word), (x, y)) in enumerate(zip(points, plane(vectors), strict=True))
        ]


def exact(queries: Vectors, row: int, vectors: Vectors, rows: Indices) -> Floats:
    """Give the cosines of a word with some others, as the engines have them."""
    from bilex.search.topk_kernel import edge_scores

    return np.asarray(edge_scores(queries[row : row + 1], vectors, np.zeros(len(rows), np.int64), rows))


def best(bounds: Vectors, k: int, score: Callable[[Indices], Floats]) -> list[tuple[int, float]]:
    """Give the k best rows by `score`, which `bounds` are not below: only rows that may be among them are scored."""
    k = min(k, len(bounds))
    if k <= 0:
        return []
    likely = np.argpartition(bounds, len(bounds) - k)[len(bounds) - k :]
    rows = np.flatnonzero(bounds >= score(likely).min() - SLACK)
    found = score(rows)
    order = np.lexsort((rows, -found))[:k]
    return [(int(rows[i]), float(found[i])) for i in order]


def named(language: Embeddings, found: list[tuple[int, float]]) -> list[dict[str, Any]]:
    """Put words in the place of rows."""
    return [{"word": language.words[row], "score": round(score, 4), "frequency": row + 1} for row, score in found]


def plane(vectors: Vectors) -> Floats:
    """Project onto the first two principal components, scaled into [-1, 1]; the signs are settled."""
    centred = vectors.astype(float) - vectors.mean(axis=0)
    left, singular, _ = np.linalg.svd(centred, full_matrices=False)
    flat = np.zeros((len(vectors), 2))
    flat[:, : min(2, len(singular))] = (left * singular)[:, :2]
    flat *= np.where(flat[np.argmax(np.abs(flat), axis=0), [0, 1]] < 0, -1, 1)
    largest = np.abs(flat).max()
    return flat / largest if largest > 0 else flat

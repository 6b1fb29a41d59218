"""Everything there is to know about one word: its translations, its neighbours, whether it is a hub, a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bilex.arrays import Floats, Indices, Vectors
from bilex.embeddings import Embeddings
from bilex.retrieval import SharedSpace
from bilex.runs import Run

__all__ = ["SIDES", "Direction", "Lookup"]

SIDES = ("source", "target")
SLACK = 1e-4  # far more than float32 products of unit vectors are ever off


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


class Lookup:
    """Answers for single words, each by two products of a matrix and a vector."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.directions = {side: Direction.of(run, side) for side in SIDES}

    def word(self, side: str, row: int, k: int) -> dict[str, Any]:
        """Describe a word of one language."""
        seen = self.directions[side]
        space, vector = seen.space, seen.space.source[row]
        cosines, own = space.target @ vector, space.source @ vector
        halves = cosines - seen.half_crowding
        csls = best(halves, k, lambda rows: exact(space, row, rows) - space.target_crowding[rows] / 2)
        crowding = space.source_crowding[row]
        nn = best(cosines, k, lambda rows: exact(space, row, rows))
        own[row] = -np.inf
        around = best(
            own, k, lambda rows: space.source[rows].astype(float) @ vector.astype(float), at_most=len(own) - 1
        )
        count = int(seen.nearest_to[row])
        return {
            "side": side,
            "word": seen.own.words[row],
            "frequency": row + 1,
            "nn": named(seen.other, nn),
            "csls": named(seen.other, [(r, 2 * score - crowding) for r, score in csls]),
            "neighbours": named(seen.own, around),
            "hub": {
                "count": count,
                "mean": round(seen.usual, 3),
                "hub": count > seen.hub_from,
                "place": int((seen.nearest_to > count).sum()) + 1,
                "of": len(seen.nearest_to),
                "others": len(seen.other),
            },
            "picture": self.picture(side, row, [r for r, _ in around[:7]], [r for r, _ in csls[:8]]),
        }

    def picture(self, side: str, row: int, own: list[int], other: list[int]) -> list[dict[str, Any]]:
        """Lay both neighbourhoods out in the plane: the two principal components of their vectors in the space."""
        seen = self.directions[side]
        vectors = np.vstack([seen.space.source[[row, *own]], seen.space.target[other]])
        otherwise = SIDES[1 - SIDES.index(side)]
        points = [(side, r, seen.own) for r in (row, *own)] + [(otherwise, r, seen.other) for r in other]
        return [
            {"side": which, "word": language.words[r], "x": round(float(x), 4), "y": round(float(y), 4), "self": not i}
            for i, ((which, r, language), (x, y)) in enumerate(zip(points, plane(vectors), strict=True))
        ]


def exact(space: SharedSpace, row: int, rows: Indices) -> Floats:
    """Give the cosines of a word with some of the other language, as `SharedSpace.search` has them."""
    return space.scores(np.full(len(rows), row), rows, "nn")


def best(scores: Vectors, k: int, again: Any, at_most: int | None = None) -> list[tuple[int, float]]:
    """Give the k best rows: float32 scores choose who comes into question, `again` scores these exactly."""
    k = min(k, len(scores) if at_most is None else at_most)
    if k <= 0:
        return []
    level = np.partition(scores, len(scores) - k)[len(scores) - k]
    rows = np.flatnonzero(scores >= level - SLACK)
    found = again(rows)
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

"""Single words: their translations, their neighbours, whether they are hubs, and a picture of the neighbourhood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bilex.numerics.types import Floats, Indices, Vectors
from bilex.runs.run import Run
from bilex.search.space import CROWDING_NEIGHBOURS, SharedSpace
from bilex.vectors.embeddings import Embeddings

SIDES = ("source", "target")
MAX_ROUNDING_ERROR = 1e-4  # far more than a float32 cosine of unit vectors is ever off
MAX_OWN_POINTS, MAX_OTHER_POINTS = 7, 8  # of a picture


def other_side(side: str) -> str:
    """Return the other language's side."""
    return SIDES[1 - SIDES.index(side)]


@dataclass(frozen=True, eq=False)
class Direction:
    """The shared space as seen from one of the languages."""

    space: SharedSpace
    own: Embeddings
    other: Embeddings
    nearest_counts: Indices  # of how many words of the other language each word is the nearest neighbour
    mean_count: float
    hub_count: float  # two standard deviations above the mean: words above it are hubs (Radovanović et al. 2010)

    @classmethod
    def of(cls, run: Run, side: str) -> Direction:
        """Look from the source or from the target language."""
        space = run.space if side == "source" else run.space.mirrored()
        own, other = (run.source, run.target) if side == "source" else (run.target, run.source)
        counts = np.bincount(space.target_nearest, minlength=len(own))
        mean = float(counts.mean())
        return cls(space, own, other, counts, mean, mean + 2 * float(counts.std()))


class Lookup:
    """Answers for single words: float32 products find the candidates, float64 scores decide."""

    def __init__(self, run: Run) -> None:
        self.directions = {side: Direction.of(run, side) for side in SIDES}

    def word(self, side: str, row: int, k: int) -> dict[str, Any]:
        """Describe a word of one language."""
        seen = self.directions[side]
        count = int(seen.nearest_counts[row])
        vector, crowding = seen.space.source[row], float(seen.space.source_crowding[row])
        return {
            **self._surroundings(side, seen.own.words[row], vector, k, crowding, row),
            "frequency": row + 1,
            "hub": {
                "count": count,
                "mean": round(seen.mean_count, 3),
                "hub": count > seen.hub_count,
                "place": int((seen.nearest_counts > count).sum()) + 1,
                "of": len(seen.nearest_counts),
                "others": len(seen.other),
            },
        }

    def term(self, side: str, term: str, vector: Vectors, k: int) -> dict[str, Any]:
        """Describe a term outside the vocabulary by its unit vector in the shared space."""
        others = self.directions[side].space.target
        crowd = best_rows(vector, others, others @ vector, CROWDING_NEIGHBOURS)
        crowding = sum(score for _, score in crowd) / len(crowd)
        return {**self._surroundings(side, term, vector, k, crowding, None), "frequency": None, "hub": None}

    def _surroundings(
        self, side: str, word: str, vector: Vectors, k: int, crowding: float, row: int | None
    ) -> dict[str, Any]:
        """Find what is near in both languages; `row` is the word's own, which is not its own neighbour."""
        seen = self.directions[side]
        space = seen.space
        cosines = space.target @ vector
        nearest = best_rows(vector, space.target, cosines, k)
        csls = best_rows(vector, space.target, cosines, k, space.target_crowding / 2)
        around = best_rows(vector, space.source, space.source @ vector, k + 1)
        neighbours = [item for item in around if item[0] != row][:k]
        return {
            "side": side,
            "word": word,
            "nn": named(seen.other, nearest),
            "csls": named(seen.other, [(r, 2 * score - crowding) for r, score in csls]),
            "neighbours": named(seen.own, neighbours),
            "picture": self._picture(side, word, vector, [r for r, _ in neighbours], [r for r, _ in csls]),
        }

    def _picture(self, side: str, word: str, vector: Vectors, own: list[int], other: list[int]) -> list[dict[str, Any]]:
        """Lay both neighbourhoods out in the plane: the two principal components of their vectors in the space."""
        seen = self.directions[side]
        own, other = own[:MAX_OWN_POINTS], other[:MAX_OTHER_POINTS]
        vectors = np.vstack([vector[None], seen.space.source[own], seen.space.target[other]])
        points = [(side, word), *((side, seen.own.words[r]) for r in own)]
        points += [(other_side(side), seen.other.words[r]) for r in other]
        return [
            {"side": which, "word": spelt, "x": round(float(x), 4), "y": round(float(y), 4), "self": not i}
            for i, ((which, spelt), (x, y)) in enumerate(zip(points, project_to_plane(vectors), strict=True))
        ]


def best_rows(
    vector: Vectors, vectors: Vectors, cosines: Vectors, k: int, penalty: Floats | None = None
) -> list[tuple[int, float]]:
    """Return the k rows with the best cosine minus penalty, and their scores, as the engines compute them.

    Only the rows that the float32 `cosines` cannot rule out are scored in float64.
    """
    from bilex.search.topk_kernel import edge_scores

    k = min(k, len(vectors))
    if k <= 0:
        return []
    penalty = np.zeros(len(vectors)) if penalty is None else penalty
    rough = cosines - penalty.astype(np.float32)
    worst = np.partition(rough, len(rough) - k)[len(rough) - k]
    rows = np.flatnonzero(rough >= worst - 2 * MAX_ROUNDING_ERROR)
    query = np.ascontiguousarray(vector[None], np.float32)
    scores = np.asarray(edge_scores(query, vectors, np.zeros(len(rows), np.int64), rows)) - penalty[rows]
    order = np.lexsort((rows, -scores))[:k]
    return [(int(rows[i]), float(scores[i])) for i in order]


def named(language: Embeddings, found: list[tuple[int, float]]) -> list[dict[str, Any]]:
    """Replace rows by words, under the names of the page's JSON."""
    return [{"word": language.words[row], "score": round(score, 4), "frequency": row + 1} for row, score in found]


def project_to_plane(vectors: Vectors) -> Floats:
    """Project onto the first two principal components, scaled into [-1, 1], with reproducible signs."""
    centred = vectors.astype(float) - vectors.mean(axis=0)
    left, singular, _ = np.linalg.svd(centred, full_matrices=False)
    flat = np.zeros((len(vectors), 2))
    flat[:, : min(2, len(singular))] = (left * singular)[:, :2]
    flat *= np.where(flat[np.argmax(np.abs(flat), axis=0), [0, 1]] < 0, -1, 1)
    largest = np.abs(flat).max()
    return flat / largest if largest > 0 else flat

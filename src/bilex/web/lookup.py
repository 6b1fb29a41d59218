"""Single words: their translations, their neighbours, whether they are hubs, and a picture of the neighbourhood."""

from __future__ import annotations

from typing import Any

import numpy as np

from bilex.numerics.types import Floats, Vectors
from bilex.runs.run import Run
from bilex.search.space import CROWDING_NEIGHBOURS
from bilex.vectors.embeddings import Embeddings

OTHER_SIDE = {"source": "target", "target": "source"}
MAX_ROUNDING_ERROR = 1e-4  # far more than a float32 cosine of unit vectors is ever off
MAX_OWN_POINTS, MAX_OTHER_POINTS = 7, 8  # of a picture


class Lookup:
    """Answers for single words of one language: float32 products find the candidates, float64 scores decide."""

    def __init__(self, run: Run, side: str) -> None:
        self.side = side
        self.space, self.own, self.other = run.direction(reverse=side == "target")
        # Of how many words of the other language each word is the nearest neighbour. Words more than two standard
        # deviations above the mean are hubs (Radovanović et al. 2010).
        self.nearest_counts = np.bincount(self.space.target_nearest, minlength=len(self.own))
        self.mean_count = float(self.nearest_counts.mean())
        self.hub_count = self.mean_count + 2 * float(self.nearest_counts.std())

    def word(self, row: int, k: int) -> dict[str, Any]:
        """Describe a word of the vocabulary."""
        count = int(self.nearest_counts[row])
        vector, crowding = self.space.source[row], float(self.space.source_crowding[row])
        return {
            **self._surroundings(self.own.words[row], vector, k, crowding, row),
            "frequency": row + 1,
            "hub": {
                "count": count,
                "mean": round(self.mean_count, 3),
                "hub": count > self.hub_count,
                "place": int((self.nearest_counts > count).sum()) + 1,
                "of": len(self.own),
                "others": len(self.other),
            },
        }

    def term(self, term: str, vector: Vectors, k: int) -> dict[str, Any]:
        """Describe a term outside the vocabulary by its unit vector in the shared space."""
        others = self.space.target
        crowd = best_rows(vector, others, others @ vector, CROWDING_NEIGHBOURS)
        crowding = sum(score for _, score in crowd) / len(crowd)
        return {**self._surroundings(term, vector, k, crowding, None), "frequency": None, "hub": None}

    def _surroundings(self, word: str, vector: Vectors, k: int, crowding: float, row: int | None) -> dict[str, Any]:
        """Find what is near in both languages; `row` is the word's own, which is not its own neighbour."""
        space = self.space
        cosines = space.target @ vector
        nearest = best_rows(vector, space.target, cosines, k)
        csls = best_rows(vector, space.target, cosines, k, space.target_crowding / 2)
        around = best_rows(vector, space.source, space.source @ vector, k + 1)
        neighbours = [item for item in around if item[0] != row][:k]
        return {
            "side": self.side,
            "word": word,
            "nn": named_rows(self.other, nearest),
            "csls": named_rows(self.other, [(r, 2 * score - crowding) for r, score in csls]),
            "neighbours": named_rows(self.own, neighbours),
            "picture": self._picture(word, vector, [r for r, _ in neighbours], [r for r, _ in csls]),
        }

    def _picture(self, word: str, vector: Vectors, own: list[int], other: list[int]) -> list[dict[str, Any]]:
        """Lay both neighbourhoods out in the plane: the two principal components of their vectors in the space."""
        own, other = own[:MAX_OWN_POINTS], other[:MAX_OTHER_POINTS]
        vectors = np.vstack([vector[None], self.space.source[own], self.space.target[other]])
        points = [(self.side, word), *((self.side, self.own.words[r]) for r in own)]
        points += [(OTHER_SIDE[self.side], self.other.words[r]) for r in other]
        return [
            {"side": side, "word": spelt, "x": round(float(x), 4), "y": round(float(y), 4), "self": not i}
            for i, ((side, spelt), (x, y)) in enumerate(zip(points, project_to_plane(vectors), strict=True))
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


def named_rows(language: Embeddings, found: list[tuple[int, float]]) -> list[dict[str, Any]]:
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

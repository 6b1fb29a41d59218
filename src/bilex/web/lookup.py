"""Single words: their translations, their neighbours, whether they are hubs, and a picture of the neighbourhood."""

from typing import Any

import numpy as np

from bilex.matching.graph import RowPairs
from bilex.model.candidates import MODEL_RETRIEVAL
from bilex.numerics.types import Floats, Vectors
from bilex.runs.run import Run
from bilex.search.engine import Neighbours
from bilex.search.index import Index
from bilex.search.local import LocalEngine
from bilex.vectors.embeddings import Embeddings

OTHER_SIDE = {"source": "target", "target": "source"}
MIN_HUB_COUNT = 10  # a word that is nearest to fewer does no harm
MAX_OWN_POINTS, MAX_OTHER_POINTS = 7, 8  # of a picture


class Lookup:
    """Answers questions about single words of one language, from the index of the shared space."""

    def __init__(self, run: Run, side: str) -> None:
        self.side = side
        self.space, self.own, self.other = run.direction(reverse=side == "target")
        self.own_index = Index(self.space.source)
        # Of how many words of the other language each word is the nearest neighbour. Words more than two standard
        # deviations above the mean are hubs (Radovanović et al. 2010).
        self.nearest_counts = np.bincount(self.space.target_nearest, minlength=len(self.own))
        self.mean_count = float(self.nearest_counts.mean())
        self.hub_count = self.mean_count + 2 * float(self.nearest_counts.std())

    def word(self, row: int, k: int) -> dict[str, Any]:
        """Describe a word of the vocabulary."""
        count = int(self.nearest_counts[row])
        return {
            **self._surroundings(self.own.words[row], self.space.source[row], k, row),
            "frequency": row + 1,
            "hub": {
                "count": count,
                "mean": round(self.mean_count, 3),
                "hub": count > max(self.hub_count, MIN_HUB_COUNT),
                "place": int((self.nearest_counts > count).sum()) + 1,
                "of": len(self.own),
                "others": len(self.other),
            },
        }

    def term(self, term: str, vector: Vectors, k: int) -> dict[str, Any]:
        """Describe a term outside the vocabulary by its unit vector in the shared space."""
        return {**self._surroundings(term, vector, k, None), "frequency": None, "hub": None}

    def _surroundings(self, word: str, vector: Vectors, k: int, row: int | None) -> dict[str, Any]:
        """Find what is near in both languages; `row` is the word's own, which is not its own neighbour."""
        engine = LocalEngine()
        if row is None:
            nearest, csls = (self.space.search_vectors(vector[None], k, how, engine) for how in ("nn", "csls"))
        else:
            nearest, csls = (self.space.search(np.array([row]), k, how, engine) for how in ("nn", "csls"))
        around = listed(self.own_index.top_k(vector[None], min(k + 1, len(self.own))))
        neighbours = [item for item in around if item[0] != row][:k]
        return {
            "side": self.side,
            "word": word,
            "nn": named_rows(self.other, listed(nearest)),
            "best": self._translations(row, k) or named_rows(self.other, listed(csls)),
            "neighbours": named_rows(self.own, neighbours),
            "picture": self._picture(word, vector, [r for r, _ in neighbours], csls.indices[0].tolist()),
        }

    def _translations(self, row: int | None, k: int) -> list[dict[str, Any]]:
        """Return a word's best translations by the model, with their confidence; none for a term."""
        if row is None:
            return []
        found = self.space.search(np.array([row]), k, MODEL_RETRIEVAL, LocalEngine())
        columns = found.indices[0]
        likely = self.space.candidates.probabilities(RowPairs(np.full(len(columns), row), columns)).tolist()
        named = named_rows(self.other, listed(found))
        return [{**item, "confidence": round(p, 4)} for item, p in zip(named, likely, strict=True)]

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


def listed(found: Neighbours) -> list[tuple[int, float]]:
    """Return the rows and scores that were found for a single query."""
    return list(zip(found.indices[0].tolist(), found.scores[0].tolist(), strict=True))


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

"""Two models of one language, or of two periods: one space mapped onto the other, and the words that moved.

The map is the orthogonal one of the words that both have (`bilex.model.maps.procrustes`), so all distances within a
space stay as they are. Each word is judged by a map that was learnt without it: the words are dealt into five parts,
and the map of a part is that of the other four. Vectors of rare words are noisy and differ more between any two models,
so a word's change is measured against the words of about its frequency: how far its cosine is below their median, in
units of their spread.
"""

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from bilex.errors import BilexError
from bilex.model.maps import procrustes
from bilex.numerics.rows import apply, unit
from bilex.numerics.types import Floats, Indices, Vectors
from bilex.search.engine import Engine
from bilex.search.local import LocalEngine
from bilex.vectors.embeddings import Embeddings, load
from bilex.vectors.hints import shared_words_hint

PARTS = 5
MIN_SHARED = 2 * PARTS
BAND_WORDS = 500
MAX_QUERIES = 1500  # held-out words that are looked up among all words
MIN_HELD_OUT = 0.2  # of the held-out words must find themselves, or the moved words mean little
SPREAD_OF_NORMAL = 1.4826  # the standard deviation of normal numbers, in medians of their absolute deviation


@dataclass(frozen=True)
class MovedWord:
    """A word of both models: its change, its cosine across them, and its nearest words in each."""

    word: str
    change: float
    cosine: float
    old_neighbours: tuple[str, ...]
    new_neighbours: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Alignment:
    """What `align` returns."""

    source: Embeddings  #: The first model, mapped into the space of the second.
    target: Embeddings  #: The second model, normalised.
    omega: Floats  #: The map.
    words: tuple[str, ...]  #: The words of both models, by frequency in the first.
    cosine: Floats  #: Of each word across the models, by a map that was learnt without it.
    change: Floats  #: How far the cosine is below those of words of about the same frequency.
    held_out: float  #: Share of the held-out words that are their own nearest neighbour across the models.

    @property
    def fits(self) -> bool:
        """Whether enough held-out words find themselves for the changes to mean something."""
        return self.held_out >= MIN_HELD_OUT

    def figures(self) -> dict[str, Any]:
        """Return the figures under the names of the command line's JSON."""
        return {
            "words": len(self.source),
            "other_words": len(self.target),
            "shared": len(self.words),
            "held_out_p@1": self.held_out,
            "median_cosine": float(np.median(self.cosine)),
            "fits": self.fits,
        }

    def moved(self, count: int = 20, neighbours: int = 5, engine: Engine | None = None) -> list[MovedWord]:
        """Return the words that changed most, with their nearest words in the two models."""
        chosen = np.argsort(-self.change, kind="stable")[:count]
        words = [self.words[place] for place in chosen.tolist()]
        near = [nearest_words(side, words, neighbours, engine or LocalEngine()) for side in (self.source, self.target)]
        return [
            MovedWord(word, float(self.change[place]), float(self.cosine[place]), old, new)
            for word, place, old, new in zip(words, chosen, *near, strict=True)
        ]


def align(
    source: Embeddings | str | os.PathLike[str],
    target: Embeddings | str | os.PathLike[str],
    *,
    normalise: str = "unit,centre,unit",
    engine: Engine | None = None,
) -> Alignment:
    """Map a model onto another one of the same language, and measure how far each word moved.

    Parameters
    ----------
    source, target
        The word vectors of two models or periods, most frequent word first, or their files. Their dimensions may
        differ.
    normalise
        The steps of `Embeddings.normalise`, applied to both.
    engine
        Where the searches run; by default on this machine, on all cores.

    Returns
    -------
    Alignment
        The mapped vectors, the map, how well it fits, and the words that moved.
    """
    source, target = load(source).normalise(normalise), load(target).normalise(normalise)
    words = tuple(word for word in source.words if word in target)
    if len(words) < MIN_SHARED:
        problem = f"the two models share {len(words)} words{shared_words_hint(source.words, target.words)}"
        raise BilexError(f"{problem}, too few to align them; give two models of the same language")
    rows = np.array([source.index[word] for word in words], np.int64)
    columns = np.array([target.index[word] for word in words], np.int64)
    cosine, held_out = _judge(source.vectors, target.vectors, rows, columns, engine or LocalEngine())
    omega = _fit(source.vectors[rows], target.vectors[columns])
    mapped = Embeddings(source.words, unit(apply(omega, source.vectors)), source.paths, source.name)
    change = _surprise(cosine, np.maximum(rows, columns))
    return Alignment(mapped, target, omega, words, cosine, change, held_out)


def _fit(source: Vectors, target: Vectors) -> Floats:
    """Fit an orthogonal map; between different dimensions, one that keeps or drops directions and turns the rest."""
    width = max(source.shape[1], target.shape[1])
    padded = (np.pad(side, ((0, 0), (0, width - side.shape[1]))) for side in (source, target))
    return procrustes(*padded)[: target.shape[1], : source.shape[1]]


def _judge(source: Vectors, target: Vectors, rows: Indices, columns: Indices, engine: Engine) -> tuple[Floats, float]:
    """Return the cosine of each shared word by the map of the other parts, and how many find themselves by it."""
    cosine, right, asked = np.empty(len(rows)), 0, 0
    part = np.arange(len(rows)) % PARTS
    for held_out in range(PARTS):
        kept, own = part != held_out, np.flatnonzero(part == held_out)
        mapped = unit(apply(_fit(source[rows[kept]], target[columns[kept]]), source[rows[own]]))
        cosine[own] = np.einsum("ij,ij->i", mapped.astype(np.float64), unit(target[columns[own]]))
        sample = np.unique(np.linspace(0, len(own) - 1, min(len(own), MAX_QUERIES // PARTS)).astype(np.int64))
        nearest = engine.top_k(mapped[sample], unit(target), 1).indices[:, 0]
        right, asked = right + int(np.sum(nearest == columns[own[sample]])), asked + len(sample)
    return cosine, right / asked


def _surprise(cosine: Floats, ranks: Indices) -> Floats:
    """Return how far each cosine is below the median of its band of frequency, in units of the band's spread."""
    found = np.empty(len(cosine))
    for band in np.array_split(np.argsort(ranks, kind="stable"), max(1, len(cosine) // BAND_WORDS)):
        below = np.median(cosine[band]) - cosine[band]
        spread = SPREAD_OF_NORMAL * np.median(np.abs(below))
        found[band] = below / max(spread, np.finfo(np.float32).eps)
    return found


def nearest_words(side: Embeddings, words: list[str], count: int, engine: Engine) -> list[tuple[str, ...]]:
    """Return the nearest other words of each word within its own model."""
    rows = np.array([side.index[word] for word in words], np.int64)
    vectors = unit(side.vectors)
    found = engine.top_k(vectors[rows], vectors, min(count + 1, len(side))).indices
    others = [near[near != row][:count] for near, row in zip(found, rows, strict=True)]
    return [tuple(side.words[other] for other in near.tolist()) for near in others]

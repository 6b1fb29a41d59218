"""Realistic input: two made-up languages, and the candidate graphs of a good and of a poor map between them.

A word's meaning lies in a cluster and clusters lie in topics, both of very different sizes. Each language adds noise
that grows with the word's rank, a rotation and a frequency order of its own, and has a quarter of its words to itself.
The constants were chosen so that at 20,000 words the cosines of the nearest neighbours, their margins and their hubs
(the most frequent neighbour belongs to more than a hundred sources) are close to those of real English and French.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bilex.matching.graph import Graph
from bilex.model.theta import MappedWords, Theta
from bilex.numerics.types import Floats, Indices, Vectors
from bilex.search.local import LocalEngine

__all__ = ["MAPS", "Languages", "candidate_graph", "languages", "map_words", "unit_vectors"]

DIMENSION = 100
MAPS = {"good": 5_000, "poor": 100}  # the seed pairs that Procrustes gets: the most frequent ones, or random ones
NEIGHBOURS = 10
OWN_WORDS = 0.25
VERSION = 1  # of the recipe, in the name of the cached file


@dataclass(frozen=True, eq=False)
class Languages:
    """Unit vectors of two languages in frequency order, and their true pairs, the most frequent first."""

    source: Vectors
    target: Vectors
    pairs: tuple[Indices, Indices]


def languages(words: int, dimension: int = DIMENSION, seed: int = 0) -> Languages:
    """Generate two languages of that many words."""
    generator = np.random.default_rng(seed)
    spectrum = np.arange(1, dimension + 1) ** -0.2

    def normal(rows: int) -> Floats:
        return generator.standard_normal((rows, dimension)) * spectrum

    topics = normal(max(4, words // 2_000))
    clusters = topics[generator.integers(len(topics), size=max(4, words // 20))] + normal(max(4, words // 20))
    sizes = (np.arange(len(clusters)) + 3.0) ** -0.7
    meaning = clusters[generator.choice(len(clusters), words, p=sizes / sizes.sum())] + normal(words)
    sides, places, shared = [], [], np.ones(words, np.bool_)
    for _ in range(2):
        order = np.argsort(np.arange(words) * np.exp(0.3 * generator.standard_normal(words)))
        own = generator.random(words) < OWN_WORDS
        vectors = meaning[order]
        vectors[own] += normal(int(own.sum()))
        noise = 0.7 + 1.3 * np.sqrt(np.arange(words) / words)  # rare words are known less well
        clarity = 1 + 0.5 * generator.standard_exponential(words)  # and some words better than others
        vectors += (noise / clarity)[:, None] * normal(words)
        rotation = np.linalg.qr(generator.standard_normal((dimension, dimension)))[0]
        sides.append(normalised(vectors @ rotation))
        shared[order[own]] = False
        places.append(np.argsort(order))
    both = np.flatnonzero(shared)
    return Languages(sides[0], sides[1], (places[0][both], places[1][both]))


def normalised(vectors: Floats) -> Vectors:
    """Apply unit, centre, unit: the default of bilex."""
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors -= vectors.mean(axis=0)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def unit_vectors(words: int, dimension: int, seed: int) -> Vectors:
    """Return random unit vectors, made in place: for measuring memory, not quality."""
    vectors = np.random.default_rng(seed).standard_normal((words, dimension), np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def map_words(made: Languages, map_name: str) -> MappedWords:
    """Map the words by Ω from the seed of a good or of a poor map."""
    rows, columns = made.pairs
    size = min(MAPS[map_name], len(rows))
    poor = map_name == "poor"
    seed = np.random.default_rng(1).choice(len(rows), size, replace=False) if poor else np.arange(size)
    theta = Theta.from_pairs(made.source[rows[seed]], made.target[columns[seed]])
    return MappedWords(theta, made.source, made.target)


def candidate_graph(words: int, map_name: str, k: int, log_odds: float = 0.0) -> Graph:
    """Return the graph of each source's k best targets under that map, with the weights of the model."""
    indices, weights = neighbours(words, map_name)
    rows = np.repeat(np.arange(words), k)
    return Graph.from_edges(rows, indices[:, :k].ravel(), weights[:, :k].ravel() + log_odds, (words, words))


def neighbours(words: int, map_name: str) -> tuple[Indices, Floats]:
    """Search for the nearest targets of every source, or read them from the temporary file of an earlier run."""
    cached = Path(tempfile.gettempdir()) / f"bilex-benchmark-{VERSION}-{map_name}-{words}.npz"
    if cached.exists():
        with np.load(cached) as arrays:
            return arrays["indices"], arrays["weights"]
    mapped = map_words(languages(words), map_name)
    found = LocalEngine().top_k(mapped.queries, mapped.targets, NEIGHBOURS)
    weights = found.scores + mapped.offsets[:, None]
    partial = cached.with_suffix(f".{os.getpid()}.npz")  # so that no other process reads half a file
    np.savez(partial, indices=found.indices, weights=weights)
    partial.replace(cached)
    return found.indices, weights

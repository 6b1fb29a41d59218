"""A real fastText model, small and quickly trained."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from bilex.vectors.embeddings import Embeddings

__all__ = ["Family", "family", "needs_gensim", "train"]

# It takes seconds to import, so only the tests that use it do that.
needs_gensim = pytest.mark.skipif(find_spec("gensim") is None, reason="gensim is missing; pip install 'bilex[dev]'")

ENDINGS = ("", "a", "os", "imo", "elle")
LEFT_OUT = 7  # every so many words are kept from the model


@dataclass(frozen=True)
class Family:
    """The stems of the corpus, and words that the model has not seen."""

    stems: tuple[str, ...]
    unseen: tuple[str, ...]


@cache
def family() -> Family:
    rng = np.random.default_rng(5)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyzéß"))
    stems = tuple("".join(rng.choice(letters, 7)) for _ in range(40))
    words = [stem + ending for stem in stems for ending in ENDINGS]
    return Family(stems, tuple(words[LEFT_OUT - 1 :: LEFT_OUT]))


def train(path: Path, random: int = 0, **options: object) -> Embeddings:
    """Train a model with gensim on a corpus where words of one stem occur together, and save it like fastText.

    Return the words and vectors of gensim.
    """
    from gensim.models import FastText
    from gensim.models.fasttext import save_facebook_model

    rng, made = np.random.default_rng(random), family()
    sentences = []
    for stem in made.stems * 12:
        words = [word for ending in ENDINGS if (word := stem + ending) not in made.unseen]
        sentences.append(rng.permutation(words).tolist())
    settings = {"vector_size": 16, "min_count": 1, "bucket": 3000, "epochs": 5, "min_n": 3, "max_n": 5, **options}
    model = FastText(sentences, workers=1, seed=random, **settings)
    save_facebook_model(model, str(path))
    return Embeddings(tuple(model.wv.index_to_key), model.wv.vectors, name=path.stem)

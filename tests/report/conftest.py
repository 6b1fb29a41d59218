"""Runs that went well and runs that did not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bilex.induction import induce
from bilex.runs.run import Run
from bilex.vectors.embeddings import Embeddings
from tests.languages import Languages, make_languages


@pytest.fixture(scope="session")
def languages() -> Languages:
    """Two languages of 600 words."""
    return make_languages(600, 60, noise=0.6)


@pytest.fixture(scope="session")
def shuffled(languages: Languages) -> Embeddings:
    """The target language with its vectors dealt to the wrong words: nothing can be learnt."""
    target = languages.target
    return replace(target, vectors=np.random.default_rng(0).permutation(target.vectors))


@pytest.fixture(scope="session")
def good(languages: Languages) -> Run:
    """A run that went well."""
    return induce(languages.source, languages.target, "identical")

"""A run to report on."""

from __future__ import annotations

import pytest

from bilex.induction import induce
from bilex.runs.run import Run
from tests.languages import Languages, make_languages


@pytest.fixture(scope="session")
def languages() -> Languages:
    """Two languages of 300 words."""
    return make_languages(300, 40, noise=0.6)


@pytest.fixture(scope="session")
def good_run(languages: Languages) -> Run:
    """A run whose lexicon is right."""
    return induce(languages.source, languages.target, "identical")

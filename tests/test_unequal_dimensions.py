"""Languages of different dimensions: the two-sided maps of the default meet in a space of the smaller one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bilex
from bilex.em.held_out import PROCRUSTES
from bilex.runs.checkpoints import Checkpoint
from tests.languages import Languages, make_languages


@pytest.fixture(scope="module")
def languages() -> Languages:
    """A target of 12 dimensions: the principal components of one of 16."""
    found = make_languages(180, 16, 40, noise=0.1)
    centred = found.target.vectors - found.target.vectors.mean(axis=0)
    components = np.linalg.svd(centred, full_matrices=False)[2][:12]
    return replace(found, target=replace(found.target, vectors=centred @ components.T))


def right(run: bilex.Run, languages: Languages) -> float:
    return float(np.mean([pair in run.lexicon for pair in languages.gold]))


@pytest.mark.parametrize(
    "options", [{}, {"seed": "unsupervised"}, {"prior": "many-to-one"}, {"orthography": 0.1}], ids=str
)
@pytest.mark.usefixtures("short_spellings")
def test_both_directions_are_learnt_and_saved(languages: Languages, options: dict[str, Any], tmp_path: Path) -> None:
    run = bilex.induce(languages.source, languages.target, max_iterations=5, **options)
    run.save(tmp_path / "run")
    loaded = bilex.Run.load(tmp_path / "run")
    other = bilex.induce(languages.target, languages.source, max_iterations=5, **options)
    assert right(run, languages) > 0.6
    assert np.mean([(t, s) in other.lexicon for s, t in languages.gold]) > 0.6
    assert loaded.theta.omega.shape[0] == 12 + (run.source.dimension - 16)
    word = run.source.words[7]
    assert loaded.translate(word) == run.translate(word)
    assert run.info["inputs"]["source"]["dimension"] != run.info["inputs"]["target"]["dimension"]


def test_a_large_seed_is_used_without_the_map_that_cannot_be(
    languages: Languages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bilex.em.held_out.MIN_WORDS_TO_SPLIT", 25)
    run = bilex.induce(languages.source, languages.target, languages.gold[:60], max_iterations=3)
    assert PROCRUSTES not in run.info["choices"][0]["measured"]
    assert len(run.info["choices"][0]["measured"]) == 3
    assert right(run, languages) > 0.6


@pytest.mark.parametrize("prior", ["1:1", "many-to-one"])
def test_an_interrupted_run_goes_on(languages: Languages, prior: str) -> None:
    kept: list[Checkpoint] = []
    options: dict[str, Any] = {"prior": prior, "max_iterations": 3, "tolerance": 0.0}
    whole = bilex.induce(languages.source, languages.target, checkpoint=kept.append, **options)
    resumed = bilex.induce(languages.source, languages.target, resume=kept[0], **options)
    assert resumed.lexicon.to_tsv() == whole.lexicon.to_tsv()

"""New vectors in the shared space of a run: arrays, words, files, and fastText models with their n-grams."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bilex
from bilex.cli import run as run_command
from bilex.errors import BilexError
from bilex.runs.run import Run
from bilex.runs.transforming import transform_model
from bilex.vectors.embeddings import Embeddings
from bilex.vectors.fasttext import open_fasttext
from tests.languages import make_languages
from tests.vectors.fasttext_models import family, train


@pytest.fixture(scope="module", params=["bilex", "ruder2018"])
def learnt(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Run, dict[str, Embeddings]]:
    """A run that was saved and loaded, and the raw vectors of each side, with other words behind the run's."""
    languages = make_languages(120)
    place = tmp_path_factory.mktemp("run") / "run"
    raw = {"source": languages.source, "target": languages.target}
    bilex.induce(raw["source"].top(100), raw["target"].top(110), seed=languages.gold[:40], method=request.param).save(
        place
    )
    return Run.load(place), raw


@pytest.mark.parametrize("side", ["source", "target"])
def test_words_of_the_run_get_the_vectors_they_have_there(learnt: tuple[Run, dict[str, Embeddings]], side: str) -> None:
    run, raw = learnt
    count = len(run.sides[side])
    mapped = run.transform(raw[side], side)
    assert mapped.words == raw[side].words
    np.testing.assert_allclose(mapped.vectors[:count], getattr(run.space, side), atol=1e-6)
    np.testing.assert_allclose(run.transform(7 * raw[side].vectors[count:], side), mapped.vectors[count:], atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(mapped.vectors, axis=1), 1, atol=1e-5)


def test_wrong_input_is_refused(learnt: tuple[Run, dict[str, Embeddings]]) -> None:
    run, raw = learnt
    cases: list[tuple[Any, str]] = [
        (raw["source"], "middle"),
        (raw["source"].vectors[:, 1:], "source"),
        (np.zeros(3), "target"),
        *((np.full_like(raw["source"].vectors, number, np.float64), "source") for number in (np.nan, 1e300)),
    ]
    for vectors, side in cases:
        with pytest.raises(BilexError):
            run.transform(vectors, side)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Path]:
    """A run of two fastText models, and the folder they are in."""
    pytest.importorskip("gensim")
    folder = tmp_path_factory.mktemp("models")
    words = [train(folder / f"{name}.bin", random) for random, name in enumerate(("one", "two"))]
    return bilex.induce(words[0], words[1], max_iterations=3), folder


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_mapped_model_keeps_its_words_exactly_and_its_subwords_nearly(models: tuple[Run, Path], side: str) -> None:
    run, folder = models
    path = folder / ("one.bin" if side == "source" else "two.bin")
    model, place = open_fasttext(path), folder / f"mapped-{side}.bin"
    transform_model(run, model, place, side)
    mapped, unseen = open_fasttext(place), family().unseen
    np.testing.assert_allclose(bilex.load(place).vectors, run.transform(bilex.load(path), side).vectors, atol=2e-5)
    raw = np.stack([vector for word in unseen if (vector := model.vector(word)) is not None])
    ours = np.stack([vector for word in unseen if (vector := mapped.vector(word)) is not None])
    cosines = (ours * run.transform(raw, side)).sum(axis=1) / np.linalg.norm(ours, axis=1)
    assert len(ours) == len(unseen) and cosines.mean() > 0.75  # lengths vary widely in so small a model


def test_gensim_and_fasttext_read_the_mapped_model(models: tuple[Run, Path]) -> None:
    from gensim.models.fasttext import load_facebook_vectors

    run, folder = models
    place = folder / "read.bin"
    transform_model(run, open_fasttext(folder / "one.bin"), place, "source")
    ours, theirs = open_fasttext(place), load_facebook_vectors(str(place))
    for word in (*run.source.words[:5], *family().unseen[:5]):
        expected = ours.vector(word)
        assert expected is not None
        np.testing.assert_allclose(theirs[word], expected, atol=1e-5)
    fasttext = pytest.importorskip("fasttext")
    loaded = fasttext.load_model(str(place))
    assert loaded.get_word_vector(family().unseen[0]).tolist() == np.asarray(ours.vector(family().unseen[0])).tolist()


def test_spacy_takes_mapped_vectors(learnt: tuple[Run, dict[str, Embeddings]], tmp_path: Path) -> None:
    """The recipe of docs/export.md."""
    spacy = pytest.importorskip("spacy")
    run, raw = learnt
    pipeline = spacy.blank("xx")
    mapped = run.transform(raw["source"], "source")
    pipeline.vocab.reset_vectors(width=mapped.dimension)
    for word, vector in zip(mapped.words, mapped.vectors, strict=True):
        pipeline.vocab.set_vector(word, vector)
    pipeline.to_disk(tmp_path / "pipeline")
    loaded = spacy.load(tmp_path / "pipeline")
    np.testing.assert_allclose(loaded(mapped.words[3])[0].vector, mapped.vectors[3], atol=1e-6)


def test_the_command_maps_files(models: tuple[Run, Path], tmp_path: Path) -> None:
    run, folder = models
    run.save(tmp_path / "run")
    start = ["export", str(tmp_path / "run"), "--vectors", str(folder / "two.bin"), "--side", "target", "--quiet"]
    for form in ("vec", "safetensors", "bin"):
        place = tmp_path / f"new.{form}"
        assert run_command([*start, "--format", form, "-o", str(place)]) == 0
        np.testing.assert_allclose(bilex.load(place).vectors, run.space.target, atol=2e-5)
    assert open_fasttext(tmp_path / "new.bin").vector(family().unseen[0]) is not None
    assert run_command([*start[:-2], "both", "--format", "vec", "-o", str(tmp_path / "x.vec")]) == 2
    assert run_command([*start, "--format", "tsv"]) == 2

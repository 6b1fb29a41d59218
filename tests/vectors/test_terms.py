"""Words and terms without a vector: against numpy by hand, on a real fastText model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import bilex
from bilex import cli
from bilex.errors import BilexWarning, InputError
from bilex.vectors.embeddings import Embeddings
from bilex.vectors.fasttext import open_fasttext
from bilex.vectors.terms import compose
from bilex.web.explorer import Explorer
from tests.cli.helpers import Bilex, Outcome, assert_error_line
from tests.languages import write_vec
from tests.vectors.fasttext_models import family, needs_gensim, train

pytestmark = needs_gensim


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model en.bin, a language xx.vec that is its vectors turned, a run of both, and a model of something else."""
    place = tmp_path_factory.mktemp("terms")
    source = train(place / "en.bin")
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(16, 16)))[0]
    target = Embeddings(tuple(f"x{word}" for word in source.words), source.vectors @ turn.T)
    write_vec(place / "xx.vec", target)
    (place / "seed.txt").write_text("".join(f"{word}\tx{word}\n" for word in source.words[::3]), "utf-8")
    train(place / "other.bin", random=3)
    arguments = ["--seed", "seed.txt", "--quiet", "--no-report", "-o", "run", "--method", "ruder2018"]
    paths = {"seed.txt": str(place / "seed.txt"), "run": str(place / "run")}
    files = [str(place / name) for name in ("en.bin", "xx.vec")]
    assert cli.run(["induce", *files, *(paths.get(one, one) for one in arguments)]) == 0
    return place


@pytest.fixture
def run_bilex(capsys: pytest.CaptureFixture[str]) -> Bilex:
    def run(*arguments: object) -> Outcome:
        capsys.readouterr()
        return Outcome(cli.run([str(argument) for argument in arguments]), *capsys.readouterr())

    return run


def by_hand(run: bilex.Run, raw: np.ndarray, vocabulary: np.ndarray) -> np.ndarray:
    """unit, centre by the vocabulary's mean, unit, map: for one word outside."""
    units = vocabulary / np.linalg.norm(vocabulary, axis=1, keepdims=True)
    moved = raw / np.linalg.norm(raw) - units.mean(axis=0)
    return np.asarray(run.theta.omega @ (moved / np.linalg.norm(moved)))


def csls(run: bilex.Run, query: np.ndarray) -> np.ndarray:
    cosines = run.space.target.astype(float) @ query
    return np.asarray(2 * cosines - np.sort(cosines)[-10:].mean() - run.space.target_crowding)


def test_words_outside_are_found_as_by_hand_and_near_their_stem(folder: Path) -> None:
    run = bilex.Run.load(folder / "run")
    subwords, model = run.subwords(folder / "en.bin"), open_fasttext(folder / "en.bin")
    right = 0
    for word in family().unseen:
        with pytest.warns(BilexWarning, match=word):
            assert word not in run.source and run.translate(word) == []
        raw = model.vector(word)
        assert raw is not None
        query = by_hand(run, raw.astype(float), model.vectors(range(len(model.starts))).astype(float))
        np.testing.assert_allclose(np.asarray(run.vector(word, subwords=subwords)), query, atol=1e-5)
        for retrieval, scores in (("nn", run.space.target.astype(float) @ query), ("csls", csls(run, query))):
            answers = run.translate(word, 3, retrieval=retrieval, subwords=subwords)
            best = np.argsort(-scores)[:3]
            assert [answer.score for answer in answers] == pytest.approx(scores[best].tolist(), abs=1e-5)
        stem = next(stem for stem in family().stems if word.startswith(stem))
        right += answers[0].word.removeprefix("x").startswith(stem)
    assert right >= 0.8 * len(family().unseen)  # by chance one in forty


def test_words_of_the_vocabulary_are_answered_as_before(folder: Path) -> None:
    run = bilex.Run.load(folder / "run")
    subwords = run.subwords(folder / "en.bin")
    words = [*run.source.words[:5], family().unseen[0], run.source.words[0]]
    together = run.translate_many(words, subwords=subwords)
    with pytest.warns(BilexWarning, match="no vector"):
        alone = run.translate_many(words)
    assert alone[5] == [] and together[5]
    assert [alone[i] for i in (0, 1, 2, 3, 4, 6)] == [together[i] for i in (0, 1, 2, 3, 4, 6)]


@pytest.mark.parametrize("reverse", [False, True])
def test_a_term_is_the_normalised_mean_of_its_words(folder: Path, reverse: bool) -> None:
    run = bilex.Run.load(folder / "run")
    space, words = (run.space.target, run.target) if reverse else (run.space.source, run.source)
    first, second = words.words[4], words.words[30]
    total = space[4].astype(float) + space[30].astype(float)
    expected = total / np.linalg.norm(total)
    for term in (f"{first} {second}", f" {second}\t{first} "):
        np.testing.assert_allclose(np.asarray(run.vector(term, reverse=reverse)), expected, atol=1e-6)
    others = run.space.source if reverse else run.space.target
    best = int(np.argmax(others.astype(float) @ expected))
    answer = run.translate(f"{first} {second}", 1, retrieval="nn", reverse=reverse)[0]
    assert answer.word == (run.source if reverse else run.target).words[best]
    assert run.vector(f"{first} nonesuch", reverse=reverse) is None


def test_a_vector_is_the_callers_own(folder: Path) -> None:
    run = bilex.Run.load(folder / "run")
    word = run.source.words[4]
    before = run.translate(word, 3, retrieval="csls")
    vector = run.vector(word)
    assert vector is not None
    vector -= 1
    assert run.translate(word, 3, retrieval="csls") == before


def test_terms_may_have_words_outside(folder: Path) -> None:
    run = bilex.Run.load(folder / "run")
    subwords = run.subwords(folder / "en.bin")
    known, outside = run.source.words[0], family().unseen[1]
    assert run.vector(f"{known} {outside}") is None
    made = run.vector(f"{known} {outside}", subwords=subwords)
    parts = [run.vector(word, subwords=subwords) for word in (known, outside)]
    assert made is not None and parts[0] is not None and parts[1] is not None
    total = parts[0].astype(float) + parts[1]
    np.testing.assert_allclose(made, total / np.linalg.norm(total), atol=1e-6)


def test_nothing_is_made_of_nothing() -> None:
    unit = np.array([1, 0], np.float32)
    assert compose("", lambda _: unit) is None
    assert compose("a b", lambda word: unit if word == "a" else -unit) is None


@pytest.mark.parametrize("steps", ["none", "center,unit", "iterative"])
def test_every_normalisation_is_followed(folder: Path, steps: str) -> None:
    source, target = bilex.load(folder / "en.bin"), bilex.load(folder / "xx.vec")
    run = bilex.induce(source, target, [(w, f"x{w}") for w in source.words[::3]], "ruder2018", normalise=steps)
    subwords = run.subwords(folder / "en.bin")
    known = source.words[7]
    np.testing.assert_allclose(np.asarray(subwords(known)), np.asarray(run.source[known]), atol=1e-5)


def test_spelling_beside_the_vectors_is_followed(folder: Path) -> None:
    source, target = bilex.load(folder / "en.bin"), bilex.load(folder / "xx.vec")
    run = bilex.induce(source, target, [(w, f"x{w}") for w in source.words], "haghighi2008-orthographic")
    np.testing.assert_allclose(
        np.asarray(run.subwords(folder / "en.bin")(source.words[7])), np.asarray(run.source[source.words[7]]), atol=1e-5
    )


def test_a_model_of_other_vectors_is_refused(folder: Path, tmp_path: Path) -> None:
    run = bilex.Run.load(folder / "run")
    with pytest.raises(InputError, match=r"of en are not from this model \(its vectors differ .*; give the model"):
        run.subwords(folder / "other.bin")
    with pytest.raises(InputError, match=r"of xx are not from this model \(it does not know 'x"):
        run.subwords(folder / "en.bin", reverse=True)
    train(tmp_path / "wide.bin", vector_size=8)
    with pytest.raises(InputError, match="its vectors have 8 dimensions"):
        run.subwords(tmp_path / "wide.bin")


def test_translate_on_the_command_line(folder: Path, run_bilex: Bilex) -> None:
    word, known = family().unseen[0], bilex.Run.load(folder / "run").source.words[0]
    outcome = run_bilex("translate", folder / "run", word, f"{known} {word}", "--subwords", folder / "en.bin", "-k", 2)
    assert (outcome.code, outcome.err) == (0, "")
    assert [line.split("\t")[0] for line in outcome.out.splitlines()] == [word] * 2 + [f"{known} {word}"] * 2
    printed = run_bilex("translate", folder / "run", word, "--subwords", folder / "en.bin", "--json")
    assert len(json.loads(printed.out)["translations"][word]) == 5
    assert_error_line(run_bilex("translate", folder / "run", word), "or give their fastText model with --subwords")
    assert_error_line(
        run_bilex("translate", folder / "run", word, "--subwords", folder / "xx.vec"), "xx.vec: this is not a fast"
    )
    assert_error_line(run_bilex("translate", folder / "run", word, "--subwords", folder / "none.bin"), "none.bin")
    assert_error_line(
        run_bilex("translate", folder / "run", word, "--subwords", folder / "other.bin"), "are not from this model"
    )


def test_the_explorer_finds_words_and_terms_outside(folder: Path) -> None:
    word, run = family().unseen[0], bilex.Run.load(folder / "run")
    term = f"{run.source.words[0]} {word}"
    explorer = Explorer.open(folder / "run", [str(folder / "en.bin")])
    try:
        subwords = run.subwords(folder / "en.bin")
        for asked in (word, term):
            assert explorer.outside(asked) == ["source"]
            found = explorer.word("source", asked)
            for key, retrieval in (("nn", "nn"), ("best", "csls")):
                expected = run.translate(asked, 10, retrieval=retrieval, subwords=subwords)
                assert [item["word"] for item in found[key]] == [item.word for item in expected]
                scores = [item["score"] for item in found[key]]
                assert scores == pytest.approx([item.score for item in expected], abs=1e-4)
            assert (found["word"], found["frequency"], found["hub"], found["entries"]) == (asked, None, None, [])
            assert found["picture"][0]["word"] == asked and found["picture"][0]["self"]
            assert len(found["neighbours"]) == 10
        assert explorer.outside("nonesuch") == ["source"]  # of its n-grams, whatever they are worth
        assert explorer.outside(" ".join(run.target.words[:2])) == ["source", "target"]
        assert explorer.outside(run.target.words[0]) == ["source"]
    finally:
        explorer.close()


def test_the_explorer_says_which_model_does_not_fit(folder: Path, run_bilex: Bilex) -> None:
    outcome = run_bilex("explore", folder / "run", "--no-browser", "--port", 0, "--subwords", folder / "other.bin")
    assert_error_line(outcome, "other.bin", "vectors of en are not from this model", "and", "of xx are not")


def test_without_a_model_the_explorer_composes_only(folder: Path) -> None:
    explorer = Explorer.open(folder / "run")
    try:
        first, second = explorer.run.target.words[:2]
        assert explorer.outside(f"{first} {second}") == ["target"]
        assert explorer.outside(family().unseen[0]) == []
        assert explorer.outside("") == []
    finally:
        explorer.close()

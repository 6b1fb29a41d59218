"""One suite for every method by its name: it learns, survives odd input, and can be saved."""

from __future__ import annotations

import json
import warnings
from functools import cache
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bilex
from bilex.errors import BilexWarning
from bilex.methods import METHODS
from bilex.vectors.embeddings import Embeddings
from tests.languages import Languages, make_languages

SELF_LEARNING = [name for name, method in METHODS.items() if method.self_learning]
# Methods that cannot leave every word unmatched: they look at no null option.
ALWAYS_MATCH = {name for name, method in METHODS.items() if not method.self_learning} | {"artetxe2017", "mutual"}

pytestmark = pytest.mark.usefixtures("short_spellings")
every_method = pytest.mark.parametrize("name", METHODS)
# One method of each kind: those with the same parts do the same to odd input.
KINDS = {
    (method.map.kind, method.e_step.kind, method.self_learning, method.prior.kind[:3], method.evidence): name
    for name, method in METHODS.items()
}
every_kind = pytest.mark.parametrize("name", KINDS.values())


@cache
def languages() -> Languages:
    return make_languages(words=150, dimension=16, shared=20)


@cache
def split() -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Shuffle the gold pairs: 75 to learn from, and the rest."""
    gold = languages().gold
    order = [gold[place] for place in np.random.default_rng(0).permutation(len(gold))]
    return order[:75], order[75:]


@cache
def learnt(name: str) -> bilex.Run:
    """Run the method from the generous seed."""
    return induce(name)


def induce(name: str, pairs: int = 75, **changes: Any) -> bilex.Run:
    data = languages()
    return bilex.induce(data.source, data.target, split()[0][:pairs], name, **{"max_iterations": 10, **changes})


def precision(run: bilex.Run) -> float:
    value = run.evaluate(split()[1]).figures()["p@1"]
    assert isinstance(value, float)
    return value


def whole(run: bilex.Run) -> None:
    """Check that nothing is NaN or infinite, the record can be written, and its end is explained."""
    theta, space = run.theta, run.space
    for array in (theta.omega, theta.mu, theta.target_map, space.source, space.target, run.lexicon.score):
        assert array is None or np.isfinite(array).all()
    assert np.isfinite(space.source_crowding).all()
    assert np.isfinite(space.target_crowding).all()
    json.dumps(run.info, allow_nan=False)
    assert run.info["stopped"].split(":")[0] in {
        "converged",
        "failed",
        "the limit of iterations was reached",
        "this method learns from the seed alone",
    }
    assert len(run.info["iterations"]) >= 1


# It learns


@every_method
def test_finds_a_planted_rotation_from_a_generous_seed(name: str) -> None:
    run = learnt(name)
    assert precision(run) > 0.85  # by chance it is below .01
    whole(run)
    assert run.info["configuration"]["method"]["name"] == name
    pairs = {(entry.source, entry.target) for entry in run.lexicon}
    right = pairs & set(languages().gold)
    assert len(right) > (0.45 if name == "ruder2018-2:2" else 0.8) * len(pairs)  # 2:2 takes a second one for all


@pytest.mark.parametrize("name", SELF_LEARNING)
def test_self_learning_makes_more_of_a_small_seed(name: str) -> None:
    start = precision(induce(name, pairs=8, self_learning=False))
    end = precision(induce(name, pairs=8))
    assert end > min(start + 0.15, 0.9)


@every_kind
def test_without_self_learning_theta_is_the_map_of_the_seed(name: str) -> None:
    run = induce(name, self_learning=False)
    assert run.info["stopped"] == "this method learns from the seed alone"
    assert not run.theta.mu.any()
    assert len(run.info["iterations"]) == 1
    if name != "bilex":  # whose lexicon is a matching all the same
        assert run.lexicon.source == run.source.words
    left, right = run.source, run.target
    pairs = sorted((left.index[s], right.index[t]) for s, t in split()[0])
    source, target = left.vectors[[j for j, _ in pairs]], right.vectors[[i for _, i in pairs]]
    maps = METHODS[name].map.kind
    if maps == "orthogonal":
        u, _, v = np.linalg.svd(target.T.astype(float) @ source)
        np.testing.assert_allclose(run.theta.omega, u @ v, atol=1e-5)
    elif maps == "least-squares":
        expected = np.linalg.lstsq(source.astype(float), target.astype(float), rcond=None)[0].T
        np.testing.assert_allclose(run.theta.omega, expected, atol=1e-9)
    assert (run.theta.target_map is not None) == (maps == "cca")


# Odd input


def cut(side: Embeddings, words: int, keep: set[str]) -> Embeddings:
    """Keep so many words, among them the given ones."""
    rows = [row for row, word in enumerate(side.words) if word in keep]
    rows += [row for row, word in enumerate(side.words) if word not in keep]
    rows = rows[:words]
    return Embeddings(tuple(side.words[row] for row in rows), side.vectors[rows])


@pytest.mark.parametrize(
    ("name", "sizes"), list(zip(METHODS, cycle([(150, 30), (30, 150), (1, 40), (40, 1), (1, 1), (2, 3)]))), ids=str
)
def test_survives_vocabularies_of_any_size(name: str, sizes: tuple[int, int], tmp_path: Path) -> None:
    seed = split()[0][: min(20, *sizes)]
    source = cut(languages().source, sizes[0], {s for s, _ in seed})
    target = cut(languages().target, sizes[1], {t for _, t in seed})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BilexWarning)  # about few targets, or nothing matched
        run = bilex.induce(source, target, seed, name, complete=True)
    whole(run)
    assert {entry.source for entry in run.lexicon} == set(source.words)
    assert len(run.translate(source.words[0], k=1000)) == len(target)
    if sizes == (1, 40):
        run.save(tmp_path / "run")
        assert bilex.Run.load(tmp_path / "run").lexicon.to_tsv() == run.lexicon.to_tsv()


@every_kind
def test_survives_an_empty_match_and_says_so(name: str, tmp_path: Path) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", BilexWarning)
        run = induce(name, log_odds=-1e3)
    messages = [str(warning.message) for warning in caught if issubclass(warning.category, BilexWarning)]
    whole(run)
    if name in ALWAYS_MATCH:
        assert len(run.lexicon)
        assert not messages
        return
    assert len(run.lexicon) == run.info["pairs"] == run.info["iterations"][-1]["pairs"] == 0
    assert run.info["stopped"] == "failed: no pair of words is a better explanation than none"
    assert len(messages) == 1
    assert messages[0].startswith("nothing was matched from the 75 seed pairs; give more pairs, or try")
    # With no pair, Ω is what the seed made it.
    assert (run.theta.omega == induce(name, self_learning=False).theta.omega).all()
    run.save(tmp_path / "run")
    assert len(bilex.Run.load(tmp_path / "run").lexicon) == 0


@every_kind
def test_a_word_without_a_direction_does_no_harm(name: str) -> None:
    data = languages()
    source, target = (
        Embeddings(("nowhere", *side.words), np.vstack([np.zeros((1, 16), np.float32), side.vectors]))
        for side in (data.source, data.target)
    )
    run = bilex.induce(source, target, [("nowhere", "nowhere"), *split()[0]], name, max_iterations=10)
    whole(run)
    assert precision(run) > 0.8


# Saved and loaded


@every_method
def test_a_saved_run_is_the_same_run(name: str, tmp_path: Path) -> None:
    run = learnt(name)
    run.save(tmp_path / "run")
    again = bilex.Run.load(tmp_path / "run")
    assert again.lexicon.to_tsv() == run.lexicon.to_tsv()
    assert again.theta.omega.tobytes() == run.theta.omega.tobytes()
    assert again.theta.mu.tobytes() == run.theta.mu.tobytes()
    assert (again.theta.target_map is None) == (run.theta.target_map is None) == (METHODS[name].map.kind != "cca")
    if run.theta.target_map is not None:
        assert again.theta.target_map is not None
        assert again.theta.target_map.tobytes() == run.theta.target_map.tobytes()
    for retrieval in ("nn", "csls"):
        for reverse in (False, True):
            words = (run.target if reverse else run.source).words
            answers = [r.translate_many(words, 5, retrieval=retrieval, reverse=reverse) for r in (run, again)]
            assert answers[0] == answers[1]
    assert again.evaluate(split()[1]).figures() == run.evaluate(split()[1]).figures()
    method = bilex.Method.from_manifest(again.info["configuration"]["method"])
    decided = {choice["about"]: choice["chosen"] for choice in again.info["choices"]}
    assert {option: method.options()[option] for option in decided} == decided
    changed = {option: METHODS[name].options()[option] for option in (*decided, "max_iterations")}
    assert method.with_changes(changed) == METHODS[name]

"""From vectors to a run: what is in the lexicon is what the maths says, whatever the number of threads."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bilex
from bilex.em.context import Iteration, Reporter
from bilex.errors import BilexError, BilexWarning
from bilex.induction import leave_out_improbable
from bilex.model.counting import MIN_PURITY
from bilex.model.prior import PRIOR_NAMES, Prior
from bilex.search.space import CROWDING_NEIGHBOURS
from bilex.vectors.embeddings import Embeddings
from tests import oracles
from tests.languages import Languages, make_languages, write_vec


@pytest.fixture(scope="module")
def languages() -> Languages:
    return make_languages()


@pytest.fixture(scope="module")
def run(languages: Languages) -> bilex.Run:
    return bilex.induce(languages.source, languages.target, method="ruder2018", max_rank=200, complete=True)


def accuracy(run: bilex.Run, languages: Languages) -> float:
    """Compute the share of the matched pairs that are right."""
    pairs = [(entry.source, entry.target) for entry in run.lexicon if entry.origin != "retrieval"]
    return len(set(pairs) & set(languages.gold)) / len(pairs)


def test_the_planted_translations_are_found(run: bilex.Run, languages: Languages) -> None:
    assert accuracy(run, languages) > 0.95
    assert run.evaluate(languages.gold).figures()["p@1"] > 0.95  # type: ignore[operator]
    assert run.info["pairs"] > 150


def test_score_rank_and_mutual_agree_with_brute_force(run: bilex.Run) -> None:
    """Recomputed from the model's parameters in float64: the normalised vectors, Ω, all pairs."""
    mapped = run.source.vectors.astype(np.float64) @ run.theta.omega.T
    mapped /= np.linalg.norm(mapped, axis=1, keepdims=True)
    cosines = oracles.score_matrix(mapped, run.target.vectors)
    csls = oracles.csls(mapped, run.target.vectors, CROWDING_NEIGHBOURS)
    for entry in run.lexicon:
        row, column = run.source.index[entry.source], run.target.index[entry.target]
        assert entry.score == pytest.approx(cosines[row, column], abs=1e-5)
        assert entry.rank == 1 + np.sum(csls[row] > csls[row, column] + 1e-9)
        assert entry.mutual == (cosines[row].argmax() == column and cosines[:, column].argmax() == row)
    assert {entry.mutual for entry in run.lexicon} == {True, False}
    assert max(entry.rank for entry in run.lexicon) > 1


def test_pairs_come_in_the_sources_order_and_the_rest_after_them(run: bilex.Run) -> None:
    rows = [run.source.index[entry.source] for entry in run.lexicon]
    induced = [row for row, entry in zip(rows, run.lexicon, strict=True) if entry.origin != "retrieval"]
    rest = rows[len(induced) :]
    assert induced == sorted(set(induced))
    assert rest == sorted(set(range(len(run.source))) - set(induced))
    assert len(induced) == run.info["pairs"]


def test_origin_tells_seed_from_matching_from_retrieval(run: bilex.Run) -> None:
    for entry in run.lexicon:
        frequent = run.source.index[entry.source] < 200 and run.target.index[entry.target] < 200
        if entry.origin == "seed":
            assert entry.source == entry.target
        elif entry.origin == "matching":
            assert entry.source != entry.target
        else:
            assert entry.origin == "retrieval"
            assert entry.target == run.translate(entry.source, 1)[0].word
        assert frequent or entry.origin == "retrieval"
    assert {entry.origin for entry in run.lexicon} == {"seed", "matching", "retrieval"}


def test_without_complete_only_the_matching_is_listed(run: bilex.Run, languages: Languages) -> None:
    plain = bilex.induce(languages.source, languages.target, method="ruder2018", max_rank=200)
    assert list(plain.lexicon) == [entry for entry in run.lexicon if entry.origin != "retrieval"]


def test_the_input_is_left_as_it_was(languages: Languages) -> None:
    before = languages.source.vectors.copy()
    bilex.induce(languages.source, languages.target)
    np.testing.assert_array_equal(languages.source.vectors, before)


@pytest.mark.parametrize("prior", PRIOR_NAMES)
def test_every_prior_finds_the_planted_translations_within_its_limits(languages: Languages, prior: str) -> None:
    run = bilex.induce(languages.source, languages.target, method="ruder2018", prior=prior, log_odds=0.2)
    limits = Prior.named(prior).capacities
    for words, limit in ((run.lexicon.source, limits.source), (run.lexicon.target, limits.target)):
        most = max(words.count(word) for word in words)
        assert limit is None or most <= limit
        assert limit == 1 or most > 1  # the limits that are there are used
    assert len(set(zip(run.lexicon.source, run.lexicon.target, strict=True))) == len(run.lexicon)
    if prior == "1:1":
        assert accuracy(run, languages) > 0.9
    likelihoods = [iteration["log_likelihood"] for iteration in run.info["iterations"]]
    assert all(later >= earlier - 1e-6 for earlier, later in pairwise(likelihoods))
    assert run.evaluate(languages.gold).figures()["p@1"] > 0.9  # type: ignore[operator]


def test_max_rank_none_means_all_words(languages: Languages) -> None:
    run = bilex.induce(languages.source, languages.target, max_rank=None)
    assert run.info["configuration"]["method"]["e_step"]["max_rank"] is None


def test_the_record_says_what_was_done(tmp_path: Path, languages: Languages) -> None:
    path = write_vec(tmp_path / "en.vec", languages.source)
    method = bilex.METHODS["ruder2018"].with_changes(
        {"name": "mine", "max_rank": 150, "tolerance": 0, "max_iterations": 2}
    )
    run = bilex.induce(bilex.load(path), languages.target, languages.gold[:30], method)
    info = json.loads(json.dumps(run.info, allow_nan=False))
    assert info["version"] == bilex.__version__
    assert info["configuration"]["method"]["e_step"]["max_rank"] == 150
    seed = info["configuration"]["seed"]
    assert {key: seed[key] for key in ("name", "given", "used")} == {"name": "pairs", "given": 30, "used": 30}
    assert info["inputs"]["source"]["files"][0]["path"] == str(path)
    assert info["inputs"]["target"] == {
        "name": "trg",
        "words": len(languages.target),
        "dimension": 24,
        "files": [],
    }
    assert info["stopped"] == "the limit of iterations was reached"
    assert len(info["iterations"]) == 2
    assert set(info["iterations"][0]["seconds"]) == {"candidates", "matching", "mapping"}
    assert all(iteration["certificate_gap"] < 1e-9 for iteration in info["iterations"])


def test_a_reporter_hears_of_every_stage_row_and_iteration(languages: Languages) -> None:
    class Listener(Reporter):
        def __init__(self) -> None:
            self.stages, self.last, self.iterations = list[str](), (0, 0), list[Iteration]()

        def stage(self, name: str) -> None:
            self.stages.append(name)

        def rows(self, done: int, total: int) -> None:
            assert done <= total
            self.last = (done, total)

        def iteration(self, iteration: Iteration) -> None:
            self.iterations.append(iteration)

    listener = Listener()
    run = bilex.induce(languages.source, languages.target, method="ruder2018", reporter=listener)
    assert listener.stages == ["learning", "measuring", "comparing candidates", "scoring", "ranking"]
    assert listener.last[0] == listener.last[1] > 0
    assert [iteration.pairs for iteration in listener.iterations] == [i["pairs"] for i in run.info["iterations"]]


# Small and odd input


def tiny(words: int, dimension: int) -> Embeddings:
    vectors = np.random.default_rng(0).normal(size=(words, dimension)).astype(np.float32)
    return Embeddings(tuple(f"w{row}" for row in range(words)), vectors)


@pytest.mark.parametrize(
    ("words", "dimension", "prior"),
    [
        (1, 3, "1:1"),
        (2, 2, "2:2"),
        (3, 5, "many-to-one-no-null"),
        (3, 60, "1:1"),
        (40, 1, "2:2"),
        (1, 1, "many-to-one-no-null"),
    ],
)
def test_tiny_input_gives_a_whole_run(tmp_path: Path, words: int, dimension: int, prior: str) -> None:
    side = tiny(words, dimension)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BilexWarning)
        run = bilex.induce(side, side, prior=prior, complete=True)
    run.save(tmp_path / "run")
    assert {entry.source for entry in run.lexicon} == set(side.words)
    assert np.isfinite(run.lexicon.score).all()
    assert len(bilex.Run.load(tmp_path / "run").translate("w0", k=100)) == words


def test_more_candidates_than_targets_are_counted_and_all_used() -> None:
    with pytest.warns(BilexWarning, match="7 candidates asked for, but there are only 5 target words; all are used"):
        run = bilex.induce(tiny(9, 3), tiny(5, 3), candidates=7)
    assert len(run.lexicon) == 5


def test_more_candidates_than_max_rank_allows_are_counted() -> None:
    with pytest.warns(BilexWarning, match="only 4 target words"):
        bilex.induce(tiny(9, 3), tiny(9, 3), candidates=5, max_rank=4)


def test_when_nothing_is_matched_that_is_said() -> None:
    with pytest.warns(BilexWarning, match="nothing was matched from the 9 seed pairs; give more pairs, or try"):
        run = bilex.induce(tiny(9, 3), tiny(9, 3), log_odds=-10)
    assert len(run.lexicon) == 0
    assert run.info["stopped"].startswith("failed")
    assert "failed" in repr(run)


@pytest.mark.parametrize(
    ("source", "target", "changes", "message"),
    [
        (tiny(0, 3), tiny(3, 3), {}, "the vocabulary is empty; give at least one word"),
        (tiny(3, 3), tiny(0, 3), {}, "the vocabulary is empty"),
        (tiny(3, 3), tiny(3, 4), {"method": "ruder2018"}, "has 3 dimensions and .* has 4, and ruder2018 needs"),
        (tiny(3, 3), tiny(3, 4), {"method": "mikolov2013"}, "mikolov2013 needs a square map"),
        (tiny(3, 3), tiny(3, 3), {"prior": "1:3"}, "prior is '1:3'"),
        (tiny(3, 3), tiny(3, 3), {"method": "rudder"}, "did you mean 'ruder2018'"),
        (tiny(3, 3), tiny(3, 3), {"kandidates": 3}, "'candidates'"),
        (
            Embeddings(("a\nb",), np.ones((1, 2), np.float32)),
            tiny(2, 2),
            {},
            r"the word 'a\\nb' has a line feed.*; rename it",
        ),
        (tiny(2, 2), Embeddings(("a", "\ud83d"), tiny(2, 2).vectors), {}, r"the word '\\ud83d' .*not Unicode"),
    ],
)
def test_input_that_cannot_be_used_is_explained(
    source: Embeddings, target: Embeddings, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(BilexError, match=message):
        bilex.induce(source, target, **changes)


def unrelated(seed: int) -> Embeddings:
    """600 words, rarer ones longer, and vectors that have nothing to do with those of another seed."""
    draw = np.random.default_rng(seed)
    words = dict.fromkeys("".join(draw.choice(list("aeioklmnrst"), 5 + (n > 500))) for n in range(800))
    return Embeddings(tuple(words)[:600], draw.standard_normal((600, 20)).astype(np.float32))


def test_a_run_that_the_evidence_calls_failed_lists_nothing_as_likely(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bilex.seeds.coupling.COUPLINGS", 2)  # of which it tries to start, in vain
    source, target = unrelated(3), unrelated(4)
    seed = list(zip(source.words[:25], target.words[:25], strict=True))
    whole = bilex.induce(source, target, seed, min_confidence=0.0, max_iterations=5)
    assert whole.verdict.level == "failed"
    assert len(whole.lexicon)
    assert whole.lexicon.confidence.max() <= MIN_PURITY
    usual = bilex.METHODS["bilex"]
    assert len(leave_out_improbable(whole, usual).lexicon) == len(whole.lexicon)  # the usual floor would leave nothing
    assert len(leave_out_improbable(whole, usual.with_changes({"min_confidence": 0.3})).lexicon) == 0
    shuffled = Embeddings(tuple(np.random.default_rng(0).permutation(source.words).tolist()), source.vectors)
    # Out of order, the evidence cannot tell.
    whole = bilex.induce(shuffled, target, seed, min_confidence=0.0, max_iterations=5)
    assert whole.lexicon.confidence.max() > MIN_PURITY


@pytest.mark.parametrize("same", [False, True])
def test_vectors_may_be_normalised_in_their_place(languages: Languages, same: bool) -> None:
    source = Embeddings(languages.source.words, 3 * languages.source.vectors)
    target = source if same else Embeddings(languages.target.words, 3 * languages.target.vectors)
    before, seed = source.vectors.copy(), languages.source.words[:50]
    pairs = list(zip(seed, seed, strict=True)) if same else languages.gold[:50]
    kept = bilex.induce(source, target, pairs, "ruder2018", max_rank=100)
    assert (source.vectors == before).all()
    run = bilex.induce(source, target, pairs, "ruder2018", max_rank=100, overwrite=True)
    assert run.lexicon.to_tsv() == kept.lexicon.to_tsv()
    assert (run.source.vectors is source.vectors) is not same


untyped: Any = bilex


@pytest.mark.parametrize(
    "use",
    [
        lambda run: untyped.induce(run.source, run.target, method=5),
        lambda run: untyped.induce(run.source, run.target, engine="torch"),
        lambda run: untyped.induce_many([run.source, run.target, run.source]),
        lambda run: untyped.align(run.source, 5),
        lambda run: run.evaluate([("house",)]),
        lambda run: run.evaluate({"house": "maison"}),
        lambda run: run.similarity([("house", "maison")]),
        lambda run: run.similarity([("house", "maison", "3.5")]),
    ],
)
def test_arguments_of_another_type_are_explained(run: bilex.Run, use: Callable[[Any], object]) -> None:
    with pytest.raises(BilexError):
        use(run)


def test_files_can_be_aligned_and_learnt_together(tmp_path: Path, languages: Languages) -> None:
    paths = [tmp_path / f"{name}.vec" for name in "abc"]
    for path in paths:
        languages.source.save(path)
    assert len(bilex.align(paths[0], str(paths[1])).source) == len(languages.source)
    assert bilex.induce_many({path.stem: path for path in paths}, max_iterations=1).runs

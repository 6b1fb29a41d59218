"""Retraining from a review: accepted pairs stay, rejected pairs go, and the review is inherited."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

import bilex
from bilex.errors import BilexError, InputError
from bilex.lexicon.lexicon import Lexicon
from bilex.lexicon.reviewed import read_reviewed
from bilex.lexicon.reviews import Decision
from bilex.web.explorer import Explorer
from bilex.web.retraining import changed_pairs, claim_next_run, retrain
from bilex.web.table import TableQuery
from tests.languages import make_languages


def induced(run: bilex.Run) -> set[tuple[str, str]]:
    return {(entry.source, entry.target) for entry in run.lexicon if entry.origin != "retrieval"}


def review_three(explorer: Explorer) -> dict[str, tuple[str, str]]:
    """Accept, reject and correct one matched pair each; the correction takes the accepted one's neighbour."""
    table = explorer.table
    rows = [row for row in range(table.entries) if table.row(row)["origin"] == "matching"]
    accept, reject, correct = rows[:3]
    taken = table.target[rows[10]]
    explorer.decide(accept, "accepted", None, 0)
    explorer.decide(reject, "rejected", None, 0)
    explorer.decide(correct, "corrected", taken, 0)
    return {
        "accepted": (table.source[accept], table.target[accept]),
        "rejected": (table.source[reject], table.target[reject]),
        "wrong": (table.source[correct], table.target[correct]),
        "corrected": (table.source[correct], taken),
    }


def test_retraining_follows_the_decisions(explorer: Explorer, folder: Path) -> None:
    asked = review_three(explorer)
    again = retrain(folder, folder.with_name("run-2"))
    pairs = induced(again)
    assert asked["accepted"] in pairs
    assert asked["corrected"] in pairs
    assert asked["rejected"] not in pairs
    assert asked["wrong"] not in pairs
    saved = bilex.Run.load(folder.with_name("run-2"))
    assert induced(saved) == pairs
    assert np.array_equal(saved.source.vectors, explorer.run.source.vectors)  # not normalised twice
    configuration = saved.info["configuration"]
    assert configuration["method"] == explorer.run.info["configuration"]["method"]
    assert configuration["learnt_again_from"] == "run"
    assert saved.info["inputs"] == explorer.run.info["inputs"]
    origins = {(entry.source, entry.target): entry.origin for entry in saved.lexicon}
    assert origins[asked["accepted"]] == origins[asked["corrected"]] == "review"
    assert (folder.with_name("run-2") / "report.html").is_file()
    assert "matching" in origins.values()  # undecided pairs are not taken as given
    # The seed was pairs in memory, so it was learnt again from the lexicon itself, which is no evidence.
    assert configuration["seed"]["agreement"] is None
    assert not [sign for sign in again.verdict.signs if sign.key == "seed"]


def test_translated_unmatched_words_become_entries(sparse: Explorer) -> None:
    """One of the two is beyond the frequency constraint."""
    table, again = sparse.table, sparse.folder.with_name("again")
    inside, beyond = table.entries, len(table) - 1
    assert table.row(inside)["frequency"] <= 200 < table.row(beyond)["frequency"]
    given = {table.source[inside]: table.target[0], table.source[beyond]: table.target[1]}
    for row in (inside, beyond):
        sparse.decide(row, "corrected", given[table.source[row]], 0)
    progress = sparse.progress()
    assert (progress["reviewed"], progress["added"], progress["precision"]) == (0, 2, None)
    header, *lines = sparse.export(decided=True).splitlines()
    assert header.endswith("\torigin\tconfidence\tdecision\tcorrection")
    assert lines == [f"{word}\t\t\t\t\tunmatched\t\tcorrected\t{given[word]}" for word in given]
    retrain(sparse.folder, again)
    entries = {entry.source: entry for entry in bilex.Run.load(again).lexicon}
    for word, translation in given.items():
        assert (entries[word].target, entries[word].origin) == (translation, "review")


def test_a_rejected_pair_does_not_return_as_the_best_neighbour(explorer: Explorer, folder: Path) -> None:
    table = explorer.table
    row = next(row for row in range(table.entries) if table.row(row)["origin"] == "retrieval")
    explorer.decide(row, "rejected", None, 0)
    again = retrain(folder, folder.with_name("run-2"))
    found = [entry for entry in again.lexicon if entry.source == table.source[row]]
    assert [entry.target == table.target[row] for entry in found] == [False]


def test_decisions_are_inherited(explorer: Explorer, folder: Path) -> None:
    asked = review_three(explorer)
    second = folder.with_name("run-2")
    retrain(folder, second)
    other = Explorer.open(second)
    free = next(r for r in range(other.table.entries) if other.table.row(r)["origin"] == "matching")
    rejected = other.table.source[free], other.table.target[free]
    other.decide(free, "rejected", None, 0)
    other.close()
    reviewed = read_reviewed(second / "reviewed")
    assert {asked["accepted"], asked["corrected"]} <= set(reviewed.kept)
    assert {asked["rejected"], asked["wrong"], rejected} <= set(reviewed.forbidden)
    pairs = induced(retrain(second, folder.with_name("run-3")))
    assert {asked["accepted"], asked["corrected"]} <= pairs
    assert not pairs & {asked["rejected"], asked["wrong"], rejected}


def test_learning_again_starts_from_the_same_seed_and_knows_the_review(tmp_path: Path) -> None:
    """One accepted pair that the model was sure of changes nothing else, and is no evidence for itself."""
    languages = make_languages(240, 16, 60)
    first, second = tmp_path / "run", tmp_path / "run-2"
    bilex.induce(languages.source, languages.target, "identical", max_rank=200).save(first)
    opened = Explorer.open(first)
    table = opened.table
    row = int(np.nanargmax(np.where(table.origin == 0, table.confidence, np.nan)))
    opened.decide(row, "accepted", None, 0)
    again = retrain(first, second)
    assert changed_pairs(opened.run.lexicon, again.lexicon, opened.reviews.current())["counts"]["drift"] == 0
    opened.close()
    seed = again.info["configuration"]["seed"]
    assert (seed["name"], again.info["configuration"]["learnt_again_from"]) == ("identical", "run")
    other = Explorer.open(second)
    settled = other.table.number[table.source[row], table.target[row]]
    assert (other.table.row(settled)["origin"], other.table.row(settled)["confidence"]) == ("review", 1.0)
    queue = other.entries(TableQuery(decision="undecided", limit=500))
    assert queue["total"] == other.table.entries - 1
    assert settled not in [each["entry"] for each in queue["rows"]]
    assert (other.progress()["settled"], other.progress()["precision"]) == (1, None)
    other.close()
    assert read_reviewed(second / "reviewed").kept == [(table.source[row], table.target[row])]


def test_words_spelt_the_same_that_are_rejected_still_start_it(tmp_path: Path) -> None:
    """Without them EM would end elsewhere, and words would change that nobody decided about."""
    languages = make_languages(240, 16, 60)
    first = bilex.induce(languages.source, languages.target, "identical", max_rank=200)
    first.save(tmp_path / "run")
    opened = Explorer.open(tmp_path / "run")
    wrong = next(entry for entry in first.lexicon if entry.origin == "seed")
    opened.decide(opened.table.number[wrong.source, wrong.target], "rejected", None, 0)
    opened.close()
    again = retrain(tmp_path / "run", tmp_path / "run-2")
    assert again.info["configuration"]["seed"]["used"] == first.info["configuration"]["seed"]["used"]
    assert (wrong.source, wrong.target) not in induced(again)


def test_a_reviewed_run_is_a_seed_in_python(explorer: Explorer, folder: Path) -> None:
    asked = review_three(explorer)
    run = bilex.induce(explorer.run.source, explorer.run.target, folder / "reviewed", normalise="none", max_rank=200)
    assert {asked["accepted"], asked["corrected"]} <= induced(run)
    assert not {asked["rejected"], asked["wrong"]} & induced(run)
    assert run.info["configuration"]["kept"] == run.info["configuration"]["forbidden"] == 2


def test_a_run_without_a_review(folder: Path, explorer: Explorer) -> None:
    with pytest.raises(InputError):
        bilex.induce(explorer.run.source, explorer.run.target, folder / "reviewed")


def wait(client: TestClient) -> Any:
    for _ in range(600):
        state = client.get("/api/retrain").json()
        if state["state"] != "running":
            return state
        time.sleep(0.1)
    raise AssertionError(state)


def test_retraining_in_the_background(
    client: TestClient, explorer: Explorer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by the code of the folder that the explorer was started in, which may be a stranger's."""
    monkeypatch.chdir(folder.parent)
    Path("numpy.py").write_text("open('ran', 'x')")
    assert client.get("/api/retrain").json() == {"state": "idle"}
    assert client.post("/api/retrain/start", json={}).status_code == 400  # nothing is reviewed yet
    asked = review_three(explorer)
    started = client.post("/api/retrain/start", json={}).json()
    assert (started["state"], started["run"]) == ("running", "run-2")
    assert client.post("/api/retrain/start", json={}).json()["run"] == "run-2"  # not twice
    state = wait(client)
    assert state["state"] == "done", state
    assert {kind: len(changes) for kind, changes in state["changes"].items()}.items() <= state["counts"].items()
    changes = {change["source"]: change for kind in state["changes"].values() for change in kind}
    assert changes[asked["corrected"][0]]["after"] == [asked["corrected"][1]]
    assert changes[asked["corrected"][0]] in state["changes"]["decided"]
    assert len(state["expected"]) == 2
    assert (folder.with_name("run-2") / "lexicon.tsv").is_file()
    assert client.post("/api/retrain/open", json={}).json()["address"].startswith("http://127.0.0.1:")
    assert not Path("ran").exists()
    assert not list(folder.parent.glob(".*"))


def test_a_failure_is_reported(client: TestClient, explorer: Explorer, folder: Path) -> None:
    review_three(explorer)
    (folder / "model.safetensors").write_bytes(b"x")
    client.post("/api/retrain/start", json={})
    state = wait(client)
    assert state["state"] == "failed"
    assert "damaged" in state["error"]


def test_a_system_without_room_for_a_process(
    client: TestClient, explorer: Explorer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container with a limit; the name of the next run stays free."""

    def refuse(*_: object, **__: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    review_three(explorer)
    monkeypatch.setattr("bilex.web.retraining.Popen", refuse)
    answer = client.post("/api/retrain/start", json={})
    assert (answer.status_code, client.get("/api/retrain").json()) == (400, {"state": "idle"})
    assert "temporarily unavailable" in answer.json()["error"]
    assert not folder.with_name("run-2").exists()


def test_closing_the_server_stops_it(client: TestClient, explorer: Explorer, folder: Path) -> None:
    review_three(explorer)
    client.post("/api/retrain/start", json={})
    client.__exit__()
    time.sleep(0.2)
    assert not (folder.with_name("run-2")).exists()
    assert not list(folder.parent.glob(".*"))


def test_the_next_run_has_the_next_free_number(tmp_path: Path) -> None:
    for name in ("en-fr", "en-fr-2", "en-fr-3", "wiki-2020"):
        (tmp_path / name).mkdir()
    assert claim_next_run(tmp_path / "en-fr").name == "en-fr-4"
    assert claim_next_run(tmp_path / "en-fr-2").name == "en-fr-5"  # another explorer has en-fr-4 now
    assert claim_next_run(tmp_path / "wiki-2020").name == "wiki-2020-2"


def test_changed_pairs() -> None:
    def lexicon(*pairs: tuple[str, str, str]) -> Lexicon:
        source, target, origin = zip(*pairs, strict=True)
        count = len(pairs)
        numbers = np.zeros(count), np.ones(count, int), np.zeros(count, bool)
        return Lexicon(source, target, *numbers, origin, np.ones(count))

    m, r = "matching", "retrieval"
    before = lexicon(("a", "1", m), ("b", "2", m), ("c", "3", m), ("d", "4", r), ("e", "5", m), ("e", "6", m))
    after = lexicon(("a", "1", m), ("b", "9", m), ("c", "3", r), ("d", "4", m), ("e", "6", m), ("e", "5", m))
    changed = {"source": "b", "before": ["2"], "after": ["9"]}
    gained, lost = {"source": "d", "before": [], "after": ["4"]}, {"source": "c", "before": ["3"], "after": []}
    decisions = {("x", "7"): Decision("corrected", "9"), ("c", "3"): Decision("rejected"), ("d", "8"): Decision()}
    found = changed_pairs(before, after, decisions)
    assert found["counts"] == {"decided": 2, "drift": 1, "replaced": 0, "same": 2}
    assert sorted(each["source"] for each in found["changes"]["decided"]) == ["b", "c"]
    assert all(each in (changed, lost) for each in found["changes"]["decided"])
    assert found["changes"]["drift"] == [gained]


def test_a_method_that_cannot_keep_pairs(explorer: Explorer, folder: Path) -> None:
    review_three(explorer)
    with pytest.raises(BilexError, match="Viterbi"):
        bilex.induce(explorer.run.source, explorer.run.target, folder / "reviewed", "mutual")

"""The JSON interface: words, tables, decisions, the export."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from bilex.lexicon.lexicon import Lexicon
from bilex.lexicon.reviews import Reviews
from bilex.runs.run import Run
from bilex.web.explorer import Explorer
from tests.web.helpers import HOSTILE, TOKEN


def get(client: TestClient, path: str, status: int = 200, **parameters: Any) -> Any:
    answer = client.get(f"/api/{path}", params=parameters)
    assert answer.status_code == status, answer.text
    return answer.json()


def post(client: TestClient, path: str, status: int = 200, **body: Any) -> Any:
    answer = client.post(f"/api/{path}", json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_word_is_translated_as_the_run_does(client: TestClient, explorer: Explorer, side: str) -> None:
    run = explorer.run
    reverse = side == "target"
    language = run.target if reverse else run.source
    for word in language.words[::13]:
        found = get(client, "word", side=side, word=word)
        for retrieval, name in (("nn", "nn"), ("model", "best")):
            expected = run.translate(word, 10, retrieval=retrieval, reverse=reverse)
            assert [item["word"] for item in found[name]] == [item.word for item in expected]
            assert [item["score"] for item in found[name]] == pytest.approx([item.score for item in expected], abs=1e-4)
        assert [item["confidence"] for item in found["best"]] == pytest.approx(
            [item.probability for item in expected], abs=1e-4
        )
        assert found["frequency"] == language.index[word] + 1
        assert word not in [item["word"] for item in found["neighbours"]]
        entries = [e for e in run.lexicon if (e.target if reverse else e.source) == word]
        assert [(e["source"], e["target"]) for e in found["entries"]] == [(e.source, e.target) for e in entries]


def test_hubs_are_counted_as_hubness_does(client: TestClient, explorer: Explorer) -> None:
    expected = explorer.run.hubness(k=1)
    for word, count in expected.hubs(5):
        found = get(client, "word", side="target", word=word)["hub"]
        assert found["count"] == count
        assert found["place"] <= 5
        assert found["hub"] is (count > 10)  # a word that is near to few misleads nobody


def test_the_picture_holds_both_neighbourhoods(client: TestClient) -> None:
    found = get(client, "word", side="source", word="{{7*7}}")
    points = found["picture"]
    assert points[0]["word"] == "{{7*7}}" and points[0]["self"]
    assert {point["side"] for point in points} == {"source", "target"}
    assert all(-1 <= point[axis] <= 1 for point in points for axis in "xy")
    words = {(point["side"], point["word"]) for point in points}
    assert all(("source", s) in words and ("target", t) in words for s, t in found["pairs"])


def test_completion(client: TestClient, explorer: Explorer) -> None:
    both = get(client, "complete", prefix="TAXI1")["words"]
    assert {item["side"] for item in both} == {"source", "target"}
    assert all(item["word"].startswith("taxi1") for item in both)
    one = get(client, "complete", prefix="s1", side="source")["words"]
    expected = [word for word in explorer.run.source.words if word.startswith("s1")][:10]
    assert [item["word"] for item in one] == expected
    assert get(client, "complete", prefix="s13", side="source")["words"][0]["word"] == "s13"
    assert get(client, "complete", prefix="")["words"] == []
    assert get(client, "complete", prefix="nothing begins so")["words"] == []


def test_unknown_words_and_wrong_questions(client: TestClient) -> None:
    assert get(client, "word", 404, side="source", word="nowhere")["error"]
    assert "side" in get(client, "word", 400, side="middle", word="s1")["error"]
    assert "sort" in get(client, "entries", 400, sort="__class__")["error"]
    assert "colour" in get(client, "entries", 400, colour="red")["error"]
    for name in ("limit", "offset", "min_confidence", "max_frequency"):
        for value in ("x", "nan", "inf", "9" * 30, "-9999999999999999999"):
            assert "error" in get(client, "entries", 400, **{name: value})
    assert "error" in get(client, "entries", 400, limit=100_000)
    assert "error" in get(client, "entries", 400, mutual="yes")
    assert "error" in get(client, "entry", 400, entry=-1)


def test_review_and_undo(client: TestClient, explorer: Explorer) -> None:
    row = get(client, "entries", limit=1, decision="undecided")["rows"][0]
    answer = post(client, "decide", entry=row["entry"], version=0, decision="rejected")
    assert answer["row"]["decision"] == "rejected"
    assert answer["progress"]["reviewed"] == 1
    assert get(client, "entries", decision="rejected")["rows"][0]["source"] == row["source"]
    assert get(client, "word", side="source", word=row["source"])["entries"][0]["decision"] == "rejected"
    version = answer["row"]["version"]
    answer = post(client, "decide", entry=row["entry"], version=version, decision="corrected", correction="neu")
    assert answer["row"]["correction"] == "neu"
    assert answer["row"]["known"] is False
    answer = post(client, "undo", entry=row["entry"], version=answer["row"]["version"])
    assert answer["row"]["decision"] == "rejected"
    answer = post(client, "undo", entry=row["entry"], version=answer["row"]["version"])
    assert answer["row"]["decision"] == "undecided"
    assert answer["progress"]["last"] is None
    post(client, "undo", 400, entry=row["entry"], version=answer["row"]["version"])


def test_two_tabs_do_not_overwrite_each_other(client: TestClient) -> None:
    first = post(client, "decide", entry=3, version=0, decision="accepted")
    refused = post(client, "decide", 409, entry=3, version=0, decision="rejected")
    assert refused["current"] == {"decision": "accepted", "correction": None, "version": first["row"]["version"]}
    assert get(client, "entry", entry=3)["decision"] == "accepted"
    post(client, "decide", entry=3, version=refused["current"]["version"], decision="rejected")
    assert get(client, "entry", entry=3)["decision"] == "rejected"


def test_decisions_of_another_process_are_seen(client: TestClient, folder: Path) -> None:
    row = get(client, "entry", entry=2)
    with Reviews(folder) as other:
        other.decide((row["source"], row["target"]), "accepted", version=0)
    assert get(client, "entry", entry=2)["decision"] == "accepted"
    assert get(client, "progress")["reviewed"] == 1


def test_wrong_decisions_are_refused(client: TestClient, folder: Path) -> None:
    right = {"entry": 1, "version": 0, "decision": "accepted"}
    changes: list[dict[str, Any]] = [
        {"entry": "1"},
        {"entry": True},
        {"entry": 1.5},
        {"version": -1},
        {"version": 10**400},
        {"decision": "perhaps"},
        {"decision": ["accepted"]},
        {"decision": "corrected"},
        {"decision": "corrected", "correction": 5},
        {"decision": "corrected", "correction": "a\nb"},
        {"correction": "x"},
    ]
    for body in ({}, *(right | change for change in changes)):
        assert post(client, "decide", 400, **body)["error"]
    for content in (b"{", b"[1]", b"\xff", b"null", b"[" * 20_000, b'{"entry": "\\ud800"}'):
        answer = client.post("/api/decide", content=content, headers={"content-type": "application/json"})
        assert answer.status_code == 400
        assert answer.json()["error"]
    assert not (folder / "review.sqlite").exists()


def test_an_entry_that_does_not_exist(client: TestClient, explorer: Explorer) -> None:
    for entry in (explorer.table.entries, 10**9):
        post(client, "decide", 404, entry=entry, version=0, decision="accepted")


def test_precision_among_the_reviewed(client: TestClient) -> None:
    assert get(client, "progress")["precision"] is None
    for entry in range(10):
        post(client, "decide", entry=entry, version=0, decision="rejected" if entry < 5 else "accepted")
    found = get(client, "progress")
    assert (found["precision"], found["low"], found["high"]) == pytest.approx((0.5, 0.2366, 0.7634), abs=1e-4)


def test_the_export_is_the_lexicon_with_decisions(client: TestClient, explorer: Explorer, tmp_path: Path) -> None:
    post(client, "decide", entry=0, version=0, decision="accepted")
    post(client, "decide", entry=1, version=0, decision="corrected", correction="mieux")
    answer = client.get("/api/reviewed.tsv")
    assert answer.headers["content-disposition"] == 'attachment; filename="reviewed.tsv"'
    lines = [line.split("\t") for line in answer.content.decode().split("\n")]
    assert lines[0][-2:] == ["decision", "correction"]
    assert lines[1][-2:] == ["accepted", ""]
    assert lines[2][-2:] == ["corrected", "mieux"]
    assert lines[3][-2:] == ["undecided", ""]
    (tmp_path / "reviewed.tsv").write_bytes(answer.content)
    back = Lexicon.load(tmp_path / "reviewed.tsv")
    assert back.source == explorer.run.lexicon.source
    assert len(client.get("/api/reviewed.tsv?decided=1").text.splitlines()) == 3


def test_hostile_words_are_found(client: TestClient) -> None:
    for word in HOSTILE:
        for side in ("source", "target"):
            assert get(client, "word", side=side, word=word)["word"] == word
        assert get(client, "complete", prefix=word)["words"][0]["word"] == word
        rows = get(client, "entries", text=word)["rows"]
        assert any(word in (row["source"], row["target"]) for row in rows)


def test_the_page_escapes_the_names_of_the_languages(folder: Path) -> None:
    from dataclasses import replace

    from bilex.web.app import create_app

    run = Run.load(folder)
    run = replace(run, source=replace(run.source, name=HOSTILE[0]), target=replace(run.target, name="{{7*7}}"))
    explorer = Explorer(folder, run)
    app = create_app(explorer, 80, TOKEN)
    page = TestClient(app, base_url="http://127.0.0.1", cookies={"bilex-80": TOKEN}).get("/").text
    explorer.close()
    assert "<img" not in page
    assert "&lt;/script&gt;&lt;img" in page
    assert 'content="{{7*7}}"' in page and 'content="49"' not in page  # a checksum on the page may hold a 49


def test_a_run_that_was_replaced_gets_no_review(client: TestClient, folder: Path, explorer: Explorer) -> None:
    import bilex
    from tests.languages import make_languages

    languages = make_languages(60, 8, 30)
    bilex.induce(languages.source, languages.target).save(folder, force=True)
    assert "replaced" in post(client, "decide", 400, entry=0, version=0, decision="accepted")["error"]
    assert not (folder / "review.sqlite").exists()

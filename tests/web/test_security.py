"""Nobody but our own page gets anything, and the page runs nothing but our files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from bilex.web.app import create_app, static_files
from bilex.web.explorer import Explorer
from tests.web.helpers import ADDRESS, PORT, TOKEN

DECISION = {"entry": 0, "version": 0, "verdict": "accepted"}
STATIC = Path(__file__).parents[2] / "src" / "bilex" / "web" / "static"


@pytest.fixture
def stranger(explorer: Explorer) -> Iterator[TestClient]:
    """Requests without token and origin."""
    yield TestClient(create_app(explorer, PORT, TOKEN), base_url=ADDRESS, raise_server_exceptions=False)


@pytest.mark.parametrize("path", ["/", "/api/run", "/static/page.css", "/nothing", "/api/word", "/api/decide"])
def test_headers_on_every_answer(stranger: TestClient, path: str) -> None:
    headers = stranger.get(path).headers
    assert headers["content-security-policy"] == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-frame-options"] == "DENY"
    assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8765",
        "127.0.0.1",
        "127.0.0.1:8766",
        "localhost.evil.example:8765",
        "",
        "[::1]:8765",
    ],
)
@pytest.mark.parametrize("path", ["/", "/api/run", "/static/main.js"])
def test_other_hosts_get_nothing(stranger: TestClient, host: str, path: str) -> None:
    answer = stranger.get(path, headers={"host": host})
    assert answer.status_code == 403
    assert TOKEN not in answer.text
    assert set(answer.json()) == {"error"}


def test_both_names_of_this_machine(stranger: TestClient) -> None:
    for host in (f"127.0.0.1:{PORT}", f"localhost:{PORT}", f"LOCALHOST:{PORT}"):
        assert stranger.get("/api/run", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"x-bilex-token": TOKEN},
        {"origin": ADDRESS},
        {"origin": ADDRESS, "x-bilex-token": "wrong"},
        {"origin": ADDRESS, "x-bilex-token": ""},
        {"origin": "http://evil.example", "x-bilex-token": TOKEN},
        {"origin": "null", "x-bilex-token": TOKEN},
        {"origin": "http://127.0.0.1:9999", "x-bilex-token": TOKEN},
        {"origin": ADDRESS.replace("http", "https"), "x-bilex-token": TOKEN},
        {"origin": ADDRESS, "x-bilex-token": TOKEN, "sec-fetch-site": "cross-site"},
    ],
)
@pytest.mark.parametrize("path", ["decide", "undo", "retrain/start"])
def test_changes_need_our_origin_and_the_token(
    stranger: TestClient, folder: Path, headers: dict[str, str], path: str
) -> None:
    assert stranger.post(f"/api/{path}", json=DECISION, headers=headers).status_code == 403
    assert not (folder / "review.sqlite").exists()


def test_changes_need_json(client: TestClient, folder: Path) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        answer = client.post("/api/decide", content=b'{"entry": 0}', headers={"content-type": kind})
        assert answer.status_code == 415
    assert not (folder / "review.sqlite").exists()


def test_changes_need_the_right_verb(client: TestClient) -> None:
    assert client.get("/api/decide").status_code == 405
    assert client.get("/api/retrain/start").status_code == 405
    assert client.put("/api/decide", json=DECISION).status_code == 405
    assert client.post("/api/run", json={}).status_code == 405


def test_other_sites_may_not_fetch(stranger: TestClient) -> None:
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
    assert stranger.get("/api/run", headers=headers).status_code == 403
    headers["sec-fetch-mode"] = "navigate"  # following a link is allowed
    assert stranger.get("/", headers=headers).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/static/..%5c..%5capp.py",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/page.css%00.js",
        "/../../run.json",
        "/run.json",
        "/review.sqlite",
        "/static/",
        "/templates/page.html",
        "/%c0%ae%c0%ae/etc/passwd",
    ],
)
def test_paths_lead_nowhere(stranger: TestClient, path: str) -> None:
    answer = stranger.get(path)
    assert answer.status_code == 404
    assert set(answer.json()) == {"error"}


def test_large_requests_are_cut_off(client: TestClient) -> None:
    large = b'{"correction": "' + b"x" * 70_000 + b'"}'
    assert client.post("/api/decide", content=large, headers={"content-type": "application/json"}).status_code == 413

    def pieces() -> Iterator[bytes]:  # without a length
        for _ in range(100):
            yield b" " * 1000

    answer = client.post("/api/decide", content=pieces(), headers={"content-type": "application/json"})
    assert answer.status_code == 413
    assert answer.json() == {"error": "the request is too large"}
    for length in ("-1", "1e3", "x"):
        headers = {"content-type": "application/json", "content-length": length}
        assert client.post("/api/decide", content=b"{}", headers=headers).status_code == 413


def test_a_bug_tells_the_page_nothing(
    client: TestClient, explorer: Explorer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise RuntimeError("the secret place")

    monkeypatch.setattr(explorer.table, "find", lambda _: fail())
    answer = client.get("/api/entries")
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert "secret place" in capsys.readouterr().err


def test_every_process_has_its_own_token(explorer: Explorer) -> None:
    pages = [TestClient(create_app(explorer, PORT), base_url=ADDRESS).get("/").text for _ in range(2)]
    tokens = [re.search(r'bilex-token" content="([\w-]+)"', page) for page in pages]
    assert tokens[0] and tokens[1]
    assert len(tokens[0][1]) >= 40
    assert tokens[0][1] != tokens[1][1]


def test_the_page_has_nothing_inline_and_nothing_from_elsewhere(stranger: TestClient) -> None:
    page = stranger.get("/").text
    assert not re.search(r"<script(?![^>]*\bsrc=)", page)
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", page)
    assert not re.search(r"(?:src|href)=\"(?!/static/|/api/|#)", page)
    for name in re.findall(r"/static/([\w.]+)", page):
        assert stranger.get(f"/static/{name}").status_code == 200


def test_scripts_put_words_into_text_only() -> None:
    assert {path.name for path in STATIC.iterdir()} == set(static_files())
    for path in STATIC.glob("*.js"):
        text = path.read_text("utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text), (
            path
        )
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text), path
        for name in re.findall(r'from "\./([\w.]+)"', text):
            assert (STATIC / name).is_file()

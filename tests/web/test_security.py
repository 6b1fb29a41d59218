"""Nobody but our own page gets anything, and the page runs nothing but our files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from bilex.web.app import create_app, static_files
from bilex.web.explorer import Explorer
from bilex.web.security import cookie_of
from tests.web.helpers import ADDRESS, PORT, TOKEN

ONCE = "the-key-that-works-once"
DECISION = {"entry": 0, "version": 0, "verdict": "accepted"}
STATIC = Path(__file__).parents[2] / "src" / "bilex" / "web" / "static"


@pytest.fixture
def stranger(explorer: Explorer) -> TestClient:
    """Another user of this machine: requests without cookie, token and origin."""
    app = create_app(explorer, PORT, TOKEN, ONCE)
    return TestClient(app, base_url=ADDRESS, raise_server_exceptions=False, follow_redirects=False)


@pytest.fixture
def visitor(stranger: TestClient) -> TestClient:
    """A browser that was let in, on some other page: it has the cookie, but neither token nor origin."""
    stranger.cookies.set(cookie_of(PORT), TOKEN)
    return stranger


@pytest.mark.parametrize("path", ["/", "/api/run", "/static/page.css", "/api/reviewed.tsv", "/nothing", "/?key=wrong"])
@pytest.mark.parametrize(
    "cookie", ["", "bilex-8765=wrong", "bilex-8766=" + TOKEN, "bilex-8765", ";=\x7f", "bilex-8765="]
)
def test_without_the_key_there_is_nothing(stranger: TestClient, path: str, cookie: str) -> None:
    answer = stranger.get(path, headers={"cookie": cookie})
    assert answer.status_code == 403
    assert TOKEN not in answer.text
    assert "set-cookie" not in answer.headers
    assert "terminal" in answer.text


def test_the_printed_key_lets_in_as_often_as_one_likes(stranger: TestClient) -> None:
    for _ in range(2):
        answer = stranger.get(f"/?key={TOKEN}")
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        assert "HttpOnly" in answer.headers["set-cookie"]
        stranger.cookies.clear()
        assert stranger.get("/", headers={"cookie": answer.headers["set-cookie"].partition(";")[0]}).status_code == 200


def test_the_key_that_the_browser_is_started_with_works_once(stranger: TestClient) -> None:
    assert stranger.get(f"/?key={ONCE}").status_code == 303
    stranger.cookies.clear()
    again = stranger.get(f"/?key={ONCE}")
    assert again.status_code == 403
    assert "used before" in again.text
    assert again.headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize("path", ["/", "/api/run", "/static/page.css", "/nothing", "/api/word", "/api/decide"])
def test_headers_on_every_answer(visitor: TestClient, path: str) -> None:
    headers = visitor.get(path).headers
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
def test_other_hosts_get_nothing(visitor: TestClient, host: str, path: str) -> None:
    answer = visitor.get(path, headers={"host": host})
    assert answer.status_code == 403
    assert TOKEN not in answer.text


def test_both_names_of_this_machine(visitor: TestClient) -> None:
    for host in (f"127.0.0.1:{PORT}", f"localhost:{PORT}", f"LOCALHOST:{PORT}"):
        assert visitor.get("/api/run", headers={"host": host}).status_code == 200


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
    visitor: TestClient, folder: Path, headers: dict[str, str], path: str
) -> None:
    assert visitor.post(f"/api/{path}", json=DECISION, headers=headers).status_code == 403
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


def test_other_sites_may_not_fetch(visitor: TestClient) -> None:
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
    assert visitor.get("/api/run", headers=headers).status_code == 403
    headers["sec-fetch-mode"] = "navigate"  # following a link is allowed
    assert visitor.get("/", headers=headers).status_code == 200


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
def test_paths_lead_nowhere(visitor: TestClient, path: str) -> None:
    answer = visitor.get(path)
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


def test_the_page_has_nothing_inline_and_nothing_from_elsewhere(visitor: TestClient) -> None:
    page = visitor.get("/").text
    assert not re.search(r"<script(?![^>]*\bsrc=)", page)
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", page)
    assert not re.search(r"(?:src|href)=\"(?!/static/|/api/|#)", page)
    for name in re.findall(r"/static/([\w.]+)", page):
        assert visitor.get(f"/static/{name}").status_code == 200


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

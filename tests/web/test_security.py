"""Only our own page gets answers, and it runs only our own scripts."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import starlette
from starlette.testclient import TestClient

from bilex.web.app import create_app, static_files
from bilex.web.explorer import Explorer
from bilex.web.security import cookie_name
from tests.web.helpers import ADDRESS, PORT, TOKEN

ONE_TIME_KEY = "the-key-that-works-once"
DECISION = {"entry": 0, "version": 0, "decision": "accepted"}
STARLETTE = tuple(map(int, starlette.__version__.split(".")[:2]))
STATIC = Path(__file__).parents[2] / "src" / "bilex" / "web" / "static"


@pytest.fixture
def stranger(explorer: Explorer) -> TestClient:
    """A client without cookie, token and origin, such as another user of this machine."""
    app = create_app(explorer, PORT, TOKEN, ONE_TIME_KEY)
    return TestClient(app, base_url=ADDRESS, raise_server_exceptions=False, follow_redirects=False)


@pytest.fixture
def visitor(stranger: TestClient) -> TestClient:
    """A client with the cookie, but neither token nor origin, such as another page in the same browser."""
    stranger.cookies.set(cookie_name(PORT), TOKEN)
    return stranger


@pytest.mark.parametrize(
    ("path", "cookie"),
    [
        ("/", ""),
        ("/?key=wrong", ""),
        ("/api/run", "bilex-8765=wrong"),
        ("/api/reviewed.tsv", "bilex-8766=" + TOKEN),
        ("/static/page.css", "bilex-8765"),
        ("/nothing", ";=\x7f"),
        ("/", "bilex-8765="),
    ],
)
def test_without_the_key_everything_is_refused(stranger: TestClient, path: str, cookie: str) -> None:
    answer = stranger.get(path, headers={"cookie": cookie})
    assert answer.status_code == 403
    assert TOKEN not in answer.text
    assert "set-cookie" not in answer.headers
    assert answer.headers["content-type"].startswith("text/plain" if path[:2] in ("/", "/?") else "application/json")


def test_the_printed_key_works_as_often_as_one_likes(stranger: TestClient) -> None:
    for _ in range(2):
        answer = stranger.get(f"/?key={TOKEN}")
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        assert "HttpOnly" in answer.headers["set-cookie"]
        stranger.cookies.clear()
        assert stranger.get("/", headers={"cookie": answer.headers["set-cookie"].partition(";")[0]}).status_code == 200


@pytest.mark.parametrize(
    "cookie",
    [
        "bilex-8765={}; bilex-8765=of-another-program",
        "bilex-8765=of-another-program; bilex-8765={}",
        'a={{"b": 1, "c": [}}; x="; bilex-8765={}; =;;y="\\"',
        "é\x01\x7f; bilex-8765={}",
    ],
)
def test_cookies_of_other_programs_do_not_lock_the_user_out(
    stranger: TestClient, cookie: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some versions of the standard parser raise at cookies that they dislike."""
    monkeypatch.setattr("http.cookies._unquote", lambda text: 1 / 0)
    headers = [(b"cookie", cookie.format(TOKEN).encode("latin-1"))]
    assert stranger.get("/api/run", headers=headers).status_code == 200


def test_the_key_of_the_started_browser_works_once(stranger: TestClient) -> None:
    assert stranger.get(f"/?key={ONE_TIME_KEY}").status_code == 303
    stranger.cookies.clear()
    assert stranger.get(f"/?key={ONE_TIME_KEY}").status_code == 403


@pytest.mark.parametrize("host", [f"127.0.0.1:{PORT}", "evil.example"])
@pytest.mark.parametrize("path", ["/", "/static/page.css", "/nothing", "/api/decide"])
def test_every_answer_has_the_security_headers(visitor: TestClient, path: str, host: str) -> None:
    headers = visitor.get(path, headers={"host": host}).headers
    assert headers["content-security-policy"] == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-frame-options"] == "DENY"
    assert "access-control-allow-origin" not in headers


def test_other_hosts_are_refused(visitor: TestClient) -> None:
    for host in ("evil.example", f"evil.example:{PORT}", f"localhost.evil.example:{PORT}", "", f"[::1]:{PORT}"):
        for path in ("/", "/api/run", f"/?key={TOKEN}"):
            answer = visitor.get(path, headers={"host": host})
            assert answer.status_code == 400
            assert TOKEN not in answer.text
    for host in (f"127.0.0.1:{PORT}", f"localhost:{PORT}"):
        assert visitor.get("/api/run", headers={"host": host}).status_code == 200


@pytest.mark.skipif(STARLETTE < (1, 9), reason="older versions of Starlette refuse a host in capitals")
def test_a_host_in_capitals_is_the_same(visitor: TestClient) -> None:
    assert visitor.get("/api/run", headers={"host": f"LOCALHOST:{PORT}"}).status_code == 200


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("decide", {}),
        ("undo", {"x-bilex-token": TOKEN}),
        ("retrain/start", {"origin": ADDRESS}),
        ("decide", {"origin": ADDRESS, "x-bilex-token": "wrong"}),
        ("decide", {"origin": ADDRESS, "x-bilex-token": ""}),
        ("decide", {"origin": "http://evil.example", "x-bilex-token": TOKEN}),
        ("decide", {"origin": "null", "x-bilex-token": TOKEN}),
        ("undo", {"origin": "http://127.0.0.1:9999", "x-bilex-token": TOKEN}),
        ("undo", {"origin": ADDRESS.replace("http", "https"), "x-bilex-token": TOKEN}),
        ("retrain/start", {"origin": ADDRESS, "x-bilex-token": TOKEN, "sec-fetch-site": "cross-site"}),
    ],
)
def test_changes_need_our_origin_and_the_token(
    visitor: TestClient, folder: Path, headers: dict[str, str], path: str
) -> None:
    assert visitor.post(f"/api/{path}", json=DECISION, headers=headers).status_code == 403
    assert not (folder / "review.sqlite").exists()


def test_changes_need_json_and_post(client: TestClient, folder: Path) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        answer = client.post("/api/decide", content=b'{"entry": 0}', headers={"content-type": kind})
        assert answer.status_code == 415
    assert client.get("/api/decide").status_code == 405
    assert client.get("/api/retrain/start").status_code == 405
    assert client.put("/api/decide", json=DECISION).status_code == 405
    assert client.post("/api/run", json={}).status_code == 405
    assert not (folder / "review.sqlite").exists()


def test_other_sites_may_link_but_not_fetch(visitor: TestClient) -> None:
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
    assert visitor.get("/api/run", headers=headers).status_code == 403
    headers["sec-fetch-mode"] = "navigate"
    assert visitor.get("/", headers=headers).status_code == 200


def test_no_path_leads_to_another_file(visitor: TestClient) -> None:
    for path in (
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/static/..%5c..%5capp.py",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/page.css%00.js",
        "/../../run.json",
        "/review.sqlite",
        "/static/",
        "/templates/page.html",
        "/%c0%ae%c0%ae/etc/passwd",
    ):
        answer = visitor.get(path)
        assert (path, answer.status_code) == (path, 404)
        assert set(answer.json()) == {"error"}


def test_large_bodies_are_refused(client: TestClient) -> None:
    def pieces() -> Iterator[bytes]:  # without a length
        for _ in range(100):
            yield b" " * 1000

    for content in (b'{"correction": "' + b"x" * 70_000 + b'"}', pieces()):
        answer = client.post("/api/decide", content=content, headers={"content-type": "application/json"})
        assert answer.status_code == 413


def test_a_page_that_is_closed_in_the_middle_of_a_request_is_no_bug(
    explorer: Explorer, capsys: pytest.CaptureFixture[str]
) -> None:
    headers = {
        "host": f"127.0.0.1:{PORT}",
        "cookie": f"{cookie_name(PORT)}={TOKEN}",
        "origin": ADDRESS,
        "x-bilex-token": TOKEN,
        "content-type": "application/json",
    }
    path, encoded = "/api/decide", [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": encoded}

    async def receive() -> dict[str, str]:
        return {"type": "http.disconnect"}

    async def send(_: object) -> None:
        pass

    asyncio.run(create_app(explorer, PORT, TOKEN)(scope, receive, send))
    assert not capsys.readouterr().err


def test_a_bug_is_described_in_the_terminal_only(
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


def test_scripts_write_words_as_text_only() -> None:
    assert {path.name for path in STATIC.iterdir()} == set(static_files())
    for path in STATIC.glob("*.js"):
        text = path.read_text("utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text), (
            path
        )
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text), path
        for name in re.findall(r'from "\./([\w.]+)"', text):
            assert (STATIC / name).is_file()

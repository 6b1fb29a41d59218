"""Who may ask the server what: nobody but a page that it served itself, to the browser of whoever started it.

- The Host header has to be ours, so that a name that an attacker points at 127.0.0.1 (DNS rebinding) gets nothing.
- Everybody on this machine can reach the port, so every request needs this process's token, in a cookie. A browser
  gets the cookie from the address that `bilex explore` prints, ``/?key=TOKEN``. The address that it opens itself
  is seen in the list of processes for a moment, so the key in that one is another and works once.
- What changes something needs the token from our page too, and our own origin.
- No other site may embed, frame or fetch anything, and our page runs no script but our files.
- A request has a largest size.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["HEADERS", "LARGEST_REQUEST", "TOKEN_HEADER", "Guard", "cookie_of"]

LARGEST_REQUEST = 64 * 1024
TOKEN_HEADER = "x-bilex-token"
SAFE = ("GET", "HEAD")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


def cookie_of(port: int) -> str:
    """Name the cookie: browsers keep cookies by machine, and another run may be served at another port."""
    return f"bilex-{port}"


class TooLarge(Exception):  # noqa: N818 (never seen outside)
    """The body has passed its largest size."""


class Guard:
    """Stands before the application: lets through what may pass, and puts the headers on every answer."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str], token: str, cookie: str, once: str | None = None) -> None:
        self.app, self.hosts, self.token, self.cookie, self.once = app, hosts, token, cookie, once

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # no web sockets: the connection is closed

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message.get("headers", []),
                    *((name.encode(), value.encode()) for name, value in HEADERS.items()),
                ]
            await send(message)

        refusal = self.refuse(scope)
        if refusal is None and scope["method"] in SAFE and scope["path"] == "/" and b"key=" in scope["query_string"]:
            if self.is_key(scope["query_string"]):
                await let_in(with_headers, f"{self.cookie}={self.token}; Path=/; HttpOnly; SameSite=Lax")
                return
            refusal = 403, "this address was used before, or is of an earlier session; open the one in the terminal"
        elif refusal is None and not self.has_cookie(scope):
            refusal = 403, "open the address that bilex explore has printed in the terminal, with its key"
        if refusal is not None:
            await answer(with_headers, *refusal, plain=scope["path"] == "/")
            return
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await with_headers(message)

        try:
            await self.app(scope, limited(receive), watched)
        except TooLarge:
            if not started:
                await answer(with_headers, 413, "the request is too large")

    def is_key(self, query: bytes) -> bool:
        """Say whether the address holds a key of ours; the one for the browser is used up by this."""
        key = parse_qs(query.decode("latin-1")).get("key", [""])[0]
        if self.once is not None and same(key, self.once):
            self.once = None
            return True
        return same(key, self.token)

    def has_cookie(self, scope: Scope) -> bool:
        """Say whether the browser was let in."""
        for name, value in scope["headers"]:
            if name.lower() == b"cookie":
                try:
                    morsel = SimpleCookie(value.decode("latin-1")).get(self.cookie)
                except CookieError:
                    continue
                if morsel is not None and same(morsel.value, self.token):
                    return True
        return False

    def refuse(self, scope: Scope) -> tuple[int, str] | None:
        """Say with which status and why a request may not pass; None if it may."""
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        hosts = [value for name, value in scope["headers"] if name.lower() == b"host"]
        if len(hosts) != 1 or headers["host"].lower() not in self.hosts:
            return 403, "this address is not served here; use the one that bilex explore has printed"
        if headers.get("sec-fetch-site") in {"cross-site", "same-site"} and headers.get("sec-fetch-mode") != "navigate":
            return 403, "other sites may not ask"
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > LARGEST_REQUEST:
            return 413, "the request is too large"
        if scope["method"] in SAFE:
            return None
        if headers.get("origin") not in {f"http://{host}" for host in self.hosts}:
            return 403, "the request does not come from our page"
        if not same(headers.get(TOKEN_HEADER, ""), self.token):
            return 403, "the page belongs to an earlier session of bilex explore; reload it"
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return 415, "send JSON"
        return None


def limited(receive: Receive) -> Receive:
    """Stop reading a body that is larger than it may be, also if it did not say so."""
    size = 0

    async def counting() -> MutableMapping[str, Any]:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > LARGEST_REQUEST:
            raise TooLarge
        return message

    return counting


def same(given: str, secret: str) -> bool:
    """Compare with a secret without telling by the time how much of it was right."""
    return secrets.compare_digest(given.encode("utf-8", "surrogatepass"), secret.encode())


async def let_in(send: Send, cookie: str) -> None:
    """Give the browser its cookie and send it to the page, under an address that holds no key."""
    headers = [(b"location", b"/"), (b"set-cookie", cookie.encode()), (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 303, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


async def answer(send: Send, status: int, error: str, *, plain: bool = False) -> None:
    """Send an error, to a person as text and to the page as JSON."""
    body = f"bilex: {error}\n".encode() if plain else json.dumps({"error": error}).encode()
    kind = b"text/plain; charset=utf-8" if plain else b"application/json"
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})

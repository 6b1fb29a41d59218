"""Who may ask the server what: nobody but a page that it served itself, to a browser on this machine.

- The Host header has to be ours, so that a name that an attacker points at 127.0.0.1 (DNS rebinding) gets nothing.
- What changes something needs this process's token, which only our page holds, and our own origin.
- No other site may embed, frame or fetch anything, and our page runs no script but our files.
- A request has a largest size.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import MutableMapping
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["HEADERS", "LARGEST_REQUEST", "TOKEN_HEADER", "Guard"]

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


class TooLarge(Exception):  # noqa: N818 (never seen outside)
    """The body has passed its largest size."""


class Guard:
    """Stands before the application: lets through what may pass, and puts the headers on every answer."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str], token: str) -> None:
        self.app, self.hosts, self.token = app, hosts, token

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
        if refusal is not None:
            await answer(with_headers, *refusal)
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
        if not secrets.compare_digest(headers.get(TOKEN_HEADER, "").encode(), self.token.encode()):
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


async def answer(send: Send, status: int, error: str) -> None:
    """Send an error as JSON."""
    body = json.dumps({"error": error}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})

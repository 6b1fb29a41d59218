"""Access to the explorer: only a page that it served itself, in the browser of the person who started it.

- Only our own host name is served (`TrustedHostMiddleware`, in `bilex.web.app`), so that a name that an attacker points
  at 127.0.0.1 (DNS rebinding) gets nothing.
- Everybody on this machine can reach the port, so every request needs this process's token, in a cookie. A browser
  gets the cookie from the address that `bilex explore` prints, ``/?key=TOKEN``. The address that it opens itself
  is visible in the list of processes for a moment, so the key in that one is another and works once.
- A change also needs the token from our page in a header, and our own origin.
- No other site may embed, frame or fetch anything, and our page runs no script but our files.
"""

import secrets
from collections.abc import Collection

from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp

TOKEN_HEADER = "x-bilex-token"
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


def cookie_name(port: int) -> str:
    """Return the cookie's name: browsers keep cookies by machine, and another run may be served at another port."""
    return f"bilex-{port}"


async def add_security_headers(request: Request, call_next: RequestResponseEndpoint) -> Response:
    """Put the headers on every answer, also on those of the other middleware."""
    answer = await call_next(request)
    answer.headers.update(HEADERS)
    return answer


class AccessGuard(BaseHTTPMiddleware):
    """Lets only requests with the token through."""

    def __init__(
        self, app: ASGIApp, origins: Collection[str], token: str, cookie: str, one_time_key: str | None = None
    ) -> None:
        super().__init__(app)
        self.origins, self.token, self.cookie, self.one_time_key = origins, token, cookie, one_time_key

    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        """Serve one request."""
        return self.intercept(request) or await call_next(request)

    def intercept(self, request: Request) -> Response | None:
        """Return the answer to a login or to a refused request; None to pass the request on."""
        headers, home = request.headers, request.url.path == "/"
        fetched = headers.get("sec-fetch-mode") != "navigate"
        if headers.get("sec-fetch-site") in {"cross-site", "same-site"} and fetched:
            return refusal(403, "other sites may not ask")
        if home and "key" in request.query_params:
            return self.login(request.query_params["key"])
        if not any(same_secret(value, self.token) for value in cookie_values(request, self.cookie)):
            return refusal(403, "open the address that bilex explore has printed in the terminal, with its key", home)
        if request.method in {"GET", "HEAD"}:
            return None
        if headers.get("origin") not in self.origins:
            return refusal(403, "the request does not come from our page")
        if not same_secret(headers.get(TOKEN_HEADER, ""), self.token):
            return refusal(403, "the page belongs to an earlier session of bilex explore; reload it")
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return refusal(415, "send JSON")
        return None

    def login(self, key: str) -> Response:
        """Set the browser's cookie and redirect it to the page, under an address without the key."""
        if self.one_time_key is not None and same_secret(key, self.one_time_key):
            self.one_time_key = None
        elif not same_secret(key, self.token):
            problem = "this address was used before, or is of an earlier session; open the one in the terminal"
            return refusal(403, problem, home=True)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(self.cookie, self.token, httponly=True, samesite="lax")
        return answer


def cookie_values(request: Request, name: str) -> list[str]:
    """Return every value of a cookie.

    All programs on this machine share the browser's cookies for it, so neither a strange one nor another of the same
    name may hide ours, as it may from a parser that reads all of them.
    """
    pairs = [pair.partition("=") for header in request.headers.getlist("cookie") for pair in header.split(";")]
    return [value.strip(' "') for key, _, value in pairs if key.strip() == name]


def same_secret(given: str, secret: str) -> bool:
    """Compare with a secret in constant time."""
    return secrets.compare_digest(given.encode("utf-8", "surrogatepass"), secret.encode())


def refusal(status: int, error: str, home: bool = False) -> Response:
    """Return an error, as text for a person who opens the page, as JSON for the page's own requests."""
    return PlainTextResponse(f"bilex: {error}\n", status) if home else JSONResponse({"error": error}, status)

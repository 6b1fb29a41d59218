"""The explorer over HTTP: one page, its files, and a small JSON interface that `static/api.js` uses.

No part of a request is ever used as a file name: the page's files are read once into a dictionary.
"""

import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import cache
from importlib.resources import files
from typing import Any, Literal, TypeVar

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from bilex.errors import BilexError
from bilex.lexicon.reviews import Conflict
from bilex.version import __version__
from bilex.web.explorer import Explorer, NotInRun
from bilex.web.retraining import Retraining
from bilex.web.security import AccessGuard, add_security_headers, cookie_name
from bilex.web.table import TableQuery, Whole

MEDIA_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
HOSTS = ["127.0.0.1", "localhost"]
MAX_BODY_BYTES = 64 * 1024

Side = Literal["source", "target"]
Question = TypeVar("Question")


class WordPrefix(msgspec.Struct):
    """The beginning of a word, in one language or in both."""

    prefix: str = ""
    side: Side | None = None


class Word(msgspec.Struct):
    """A word of one language."""

    word: str = ""
    side: Side = "source"


class EntryNumber(msgspec.Struct):
    """An entry by its number in the table."""

    entry: Whole


class EntryVersion(EntryNumber):
    """An entry with the version that the page shows."""

    version: Whole


class NewDecision(EntryVersion):
    """A decision about an entry."""

    decision: Literal["accepted", "rejected", "corrected"]
    correction: str | None = None


def create_app(explorer: Explorer, port: int, token: str, one_time_key: str | None = None) -> Starlette:
    """Return the application for one run, to be served on 127.0.0.1 at that port.

    The `token` admits a browser, and `one_time_key` does so once (`bilex.web.security`).
    """
    retraining = Retraining(explorer)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        retraining.stop()
        explorer.close()

    async def page(_: Request) -> Response:
        return HTMLResponse(template().render(token=token, version=__version__, **explorer.about()))

    def with_progress(row: Any) -> Any:
        return {"row": row, "progress": explorer.progress()}

    def decide(asked: NewDecision) -> Any:
        return with_progress(explorer.decide(asked.entry, asked.decision, asked.correction, asked.version))

    def export(question: Mapping[str, str]) -> Response:
        text = explorer.export(decided=question.get("decided") == "1")
        disposition = {"content-disposition": 'attachment; filename="reviewed.tsv"'}
        return Response(text, media_type="text/tab-separated-values", headers=disposition)

    routes = [
        Route("/", page),
        Route("/static/{name}", static),
        query("/api/run", dict, lambda _: explorer.about()),
        query("/api/complete", WordPrefix, lambda asked: {"words": explorer.complete(asked.prefix, asked.side)}),
        query("/api/word", Word, lambda asked: explorer.word(asked.side, asked.word)),
        query("/api/outside", Word, lambda asked: {"sides": explorer.outside(asked.word)}),
        query("/api/entries", TableQuery, explorer.entries),
        query("/api/entry", EntryNumber, lambda asked: explorer.row(asked.entry)),
        query("/api/progress", dict, lambda _: explorer.progress()),
        query("/api/reviewed.tsv", dict, export),
        query("/api/retrain", dict, lambda _: retraining.state()),
        change("/api/decide", NewDecision, decide),
        change("/api/undo", EntryVersion, lambda asked: with_progress(explorer.undo(asked.entry, asked.version))),
        change("/api/retrain/start", dict, lambda _: retraining.start()),
        change("/api/retrain/open", dict, lambda _: {"address": retraining.open_run()}),
    ]
    origins = {f"http://{host}" if port == 80 else f"http://{host}:{port}" for host in HOSTS}
    return Starlette(
        routes=routes,
        middleware=[
            Middleware(BaseHTTPMiddleware, dispatch=add_security_headers),
            Middleware(TrustedHostMiddleware, allowed_hosts=HOSTS),
            Middleware(AccessGuard, origins=origins, token=token, cookie=cookie_name(port), one_time_key=one_time_key),
        ],
        exception_handlers={HTTPException: on_http_error, Exception: on_bug},
        lifespan=lifespan,
    )


def query(path: str, kind: type[Question], answer: Callable[[Question], Any]) -> Route:
    """Return the route of a question whose parameters are in the address; empty ones are left out."""

    async def endpoint(request: Request) -> Response:
        given = {name: value for name, value in request.query_params.items() if value}
        return await respond(lambda: msgspec.convert(given, kind, strict=False), answer)

    return Route(path, endpoint)


def change(path: str, kind: type[Question], answer: Callable[[Question], Any]) -> Route:
    """Return the route of a change, described by the JSON of the body."""

    async def endpoint(request: Request) -> Response:
        body = b""
        try:
            async for chunk in request.stream():
                body += chunk
                if len(body) > MAX_BODY_BYTES:
                    return JSONResponse({"error": "the request is too large"}, 413)
        except ClientDisconnect:  # the page was closed; nobody reads the answer
            return Response(status_code=400)
        return await respond(lambda: msgspec.json.decode(body, type=kind), answer)

    return Route(path, endpoint, methods=["POST"])


async def respond(read: Callable[[], Question], answer: Callable[[Question], Any]) -> Response:
    """Read the question, answer it in a thread, and return the answer or the error as JSON."""
    try:
        found = await run_in_threadpool(answer, read())
        return found if isinstance(found, Response) else JSONResponse(found)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return JSONResponse({"error": f"the request makes no sense: {error}"}, 400)
    except Conflict as error:
        newer = error.current
        current = {"decision": newer.kind, "correction": newer.correction, "version": newer.version}
        return JSONResponse({"error": str(error), "current": current}, 409)
    except BilexError as error:
        return JSONResponse({"error": str(error)}, 404 if isinstance(error, NotInRun) else 400)


async def static(request: Request) -> Response:
    """Serve one of the page's files."""
    name = request.path_params["name"]
    if name not in static_files():
        raise HTTPException(404)
    return Response(static_files()[name], media_type=MEDIA_TYPES[name.rpartition(".")[2]])


async def on_http_error(_: Request, error: Exception) -> Response:
    """Answer an unknown address or a wrong method."""
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, headers=error.headers)


async def on_bug(_: Request, error: Exception) -> Response:
    """Answer after a bug of ours: the details go to the terminal, not to the page."""
    print(f"bilex: error: this is a bug in bilex ({type(error).__name__}: {error})", file=sys.stderr)
    return JSONResponse({"error": "something went wrong in bilex; see the terminal"}, 500)


@cache
def static_files() -> Mapping[str, bytes]:
    """Read the page's files."""
    folder = files("bilex.web") / "static"
    return {item.name: item.read_bytes() for item in folder.iterdir() if item.name.rpartition(".")[2] in MEDIA_TYPES}


@cache
def template() -> Any:
    """Read the page's template; everything that is put into it is escaped."""
    from jinja2 import Environment, StrictUndefined

    text = (files("bilex.web") / "templates" / "page.html").read_text("utf-8")
    return Environment(autoescape=True, undefined=StrictUndefined).from_string(text)

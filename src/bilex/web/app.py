"""The explorer over HTTP: one page, its files, and a small JSON interface that `static/api.js` uses.

Nothing in a request is ever taken for the name of a file: the page's files are read once into a dictionary.
"""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import fields
from functools import cache
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from bilex.errors import BilexError
from bilex.lexicon.reviews import Conflict
from bilex.version import __version__
from bilex.web.explorer import Explorer, Unknown
from bilex.web.lookup import SIDES
from bilex.web.retraining import Retraining
from bilex.web.security import Guard, cookie_of
from bilex.web.table import Query

__all__ = ["create_app", "hosts_of"]

KINDS = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml; charset=utf-8",
}
SAID = {
    "sound": "looks sound",
    "doubtful": "looks doubtful, see its report",
    "failed": "this run failed: do not use its lexicon, see its report",
}
COMPLETIONS = 10
LONGEST_WORD = 1000
LARGEST_INTEGER = 2**53


class BadRequest(BilexError):  # noqa: N818 (as HTTP calls it)
    """The request makes no sense."""


def hosts_of(port: int) -> frozenset[str]:
    """Give the Host headers that mean us."""
    names = ("127.0.0.1", "localhost")
    return frozenset(f"{name}:{port}" for name in names) | (frozenset(names) if port == 80 else frozenset())


def create_app(explorer: Explorer, port: int, token: str, once: str | None = None) -> Starlette:
    """Make the application for one run, to be served on 127.0.0.1 at that port.

    Who knows the `token` is let in, and who knows `once` is so one time (`bilex.web.security`).
    """
    service = Service(explorer, token)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        service.retraining.stop()
        explorer.close()

    routes = [
        Route("/", service.page),
        Route("/static/{name}", service.static),
        Route("/api/run", service.answer(lambda _: explorer.about())),
        Route("/api/complete", service.answer(service.complete)),
        Route("/api/word", service.answer(service.word)),
        Route("/api/outside", service.answer(service.outside)),
        Route("/api/entries", service.answer(service.entries)),
        Route(
            "/api/entry", service.answer(lambda asked: explorer.row(read_number("entry", asked.get("entry", ""), int)))
        ),
        Route("/api/progress", service.answer(lambda _: explorer.progress())),
        Route("/api/decide", service.change(service.decide), methods=["POST"]),
        Route("/api/undo", service.change(service.undo), methods=["POST"]),
        Route("/api/reviewed.tsv", service.export),
        Route("/api/retrain", service.answer(lambda _: service.retraining.state())),
        Route("/api/retrain/start", service.change(lambda _: service.retraining.start()), methods=["POST"]),
    ]
    return Starlette(
        routes=routes,
        middleware=[Middleware(Guard, hosts=hosts_of(port), token=token, cookie=cookie_of(port), once=once)],
        exception_handlers={HTTPException: on_http_error, Exception: on_bug},
        lifespan=lifespan,
    )


class Service:
    """The requests, each turned into a question to the explorer."""

    def __init__(self, explorer: Explorer, token: str) -> None:
        self.explorer, self.token = explorer, token
        self.retraining = Retraining(explorer)

    def answer(self, ask: Callable[[Any], Any]) -> Callable[[Request], Any]:
        """Make a handler of a question that has the query as its argument."""

        async def handler(request: Request) -> Response:
            return await respond(ask, request.query_params)

        return handler

    def change(self, ask: Callable[[dict[str, Any]], Any]) -> Callable[[Request], Any]:
        """Make a handler of a change that has the JSON of the body as its argument."""

        async def handler(request: Request) -> Response:
            try:
                body = json.loads(await request.body() or b"{}", parse_constant=lambda _: None)
                if not isinstance(body, dict):
                    raise ValueError
            except (ValueError, RecursionError):
                return JSONResponse({"error": "the body is not a JSON object"}, 400)
            return await respond(ask, body)

        return handler

    async def page(self, _: Request) -> Response:
        """Serve the page."""
        about = self.explorer.about()
        return HTMLResponse(template().render(token=self.token, version=__version__, said=SAID, **about))

    async def static(self, request: Request) -> Response:
        """Serve one of the page's files."""
        name = request.path_params["name"]
        if name not in static_files():
            raise HTTPException(404)
        kind, content = static_files()[name]
        return Response(content, media_type=kind)

    async def export(self, request: Request) -> Response:
        """Serve the reviewed lexicon as a file."""
        decided = request.query_params.get("decided") == "1"
        text = await run_in_threadpool(self.explorer.export, decided=decided)
        disposition = {"content-disposition": 'attachment; filename="reviewed.tsv"'}
        return Response(text.encode(), media_type="text/tab-separated-values; charset=utf-8", headers=disposition)

    def complete(self, asked: Any) -> Any:
        """Complete a word."""
        sides = SIDES if "side" not in asked else (side_of(asked),)
        prefix = asked.get("prefix", "")
        return {"words": self.explorer.complete(prefix[:LONGEST_WORD], sides, COMPLETIONS)}

    def word(self, asked: Any) -> Any:
        """Describe a word."""
        return self.explorer.word(side_of(asked), asked.get("word", "")[:LONGEST_WORD])

    def outside(self, asked: Any) -> Any:
        """Say in which languages a term that is no word can be looked up."""
        return {"sides": self.explorer.outside(asked.get("word", "")[:LONGEST_WORD])}

    def entries(self, asked: Any) -> Any:
        """Give a page of the table."""
        return self.explorer.entries(query_of(asked))

    def decide(self, body: dict[str, Any]) -> Any:
        """Decide about an entry."""
        verdict, correction = body.get("verdict"), body.get("correction")
        if not isinstance(verdict, str) or not isinstance(correction, str | None):
            raise BadRequest("give a verdict, and a correction that is a text or none")
        entry, version = whole(body, "entry"), whole(body, "version")
        row = self.explorer.decide(entry, verdict, correction, version)
        return {"row": row, "progress": self.explorer.progress()}

    def undo(self, body: dict[str, Any]) -> Any:
        """Take a decision back."""
        row = self.explorer.undo(whole(body, "entry"), whole(body, "version"))
        return {"row": row, "progress": self.explorer.progress()}


async def respond(ask: Callable[[Any], Any], asked: Any) -> Response:
    """Ask, in a thread, and make JSON of the answer or of what was wrong."""
    try:
        return JSONResponse(await run_in_threadpool(ask, asked))
    except Conflict as error:
        current = error.current
        newer = {"decision": current.verdict, "correction": current.correction, "version": current.version}
        return JSONResponse({"error": str(error), "current": newer}, 409)
    except Unknown as error:
        return JSONResponse({"error": str(error)}, 404)
    except BilexError as error:
        return JSONResponse({"error": str(error)}, 400)


def side_of(asked: Any) -> str:
    """Read which language is meant."""
    side = asked.get("side")
    if side not in SIDES:
        raise BadRequest("side is source or target")
    return str(side)


def whole(body: dict[str, Any], name: str) -> int:
    """Read a whole number."""
    value = body.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < LARGEST_INTEGER:
        raise BadRequest(f"{name} is a whole number")
    return value


def query_of(asked: Any) -> Query:
    """Read which part of the table is wanted."""
    known = {field.name: str(field.type).partition(" ")[0] for field in fields(Query)}
    values: dict[str, Any] = {}
    for name, text in asked.items():
        if name not in known:
            raise BadRequest(f"there is no filter called {name!r}")
        if text == "":
            continue
        values[name] = READERS[known[name]](name, text)
    return Query(**values)


def read_number(name: str, text: str, kind: type[int] | type[float]) -> Any:
    """Read a number that numpy can compare with."""
    try:
        value = kind(text)
    except ValueError:
        raise BadRequest(f"{name} is a number") from None
    if not -LARGEST_INTEGER < value < LARGEST_INTEGER:
        raise BadRequest(f"{name} is out of range")
    return value


def read_flag(name: str, text: str) -> bool:
    """Read yes or no."""
    if text not in {"0", "1"}:
        raise BadRequest(f"{name} is 0 or 1")
    return text == "1"


READERS: dict[str, Callable[[str, str], Any]] = {
    "str": lambda _, text: text[:LONGEST_WORD],
    "int": lambda name, text: read_number(name, text, int),
    "float": lambda name, text: read_number(name, text, float),
    "bool": read_flag,
}


async def on_http_error(_: Request, error: Exception) -> Response:
    """Answer an unknown address or a wrong verb."""
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, headers=error.headers)


async def on_bug(_: Request, error: Exception) -> Response:
    """Answer when we are at fault: the page gets no details, the terminal does."""
    print(f"bilex: error: this is a bug in bilex ({type(error).__name__}: {error})", file=sys.stderr)
    return JSONResponse({"error": "something went wrong in bilex; see the terminal"}, 500)


@cache
def static_files() -> dict[str, tuple[str, bytes]]:
    """Read the page's files: name, kind and content."""
    folder = files("bilex.web") / "static"
    return {
        item.name: (KINDS["." + item.name.rpartition(".")[2]], item.read_bytes())
        for item in folder.iterdir()
        if "." + item.name.rpartition(".")[2] in KINDS
    }


@cache
def template() -> Any:
    """Read the page's template; whatever is put into it is escaped."""
    from jinja2 import Environment, StrictUndefined

    text = (files("bilex.web") / "templates" / "page.html").read_text("utf-8")
    return Environment(autoescape=True, undefined=StrictUndefined).from_string(text)

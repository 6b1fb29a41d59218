"""``bilex explore``: a local page to search a run, browse its lexicon and review it."""

from __future__ import annotations

import contextlib
import errno
import logging
import secrets
import socket
import threading
import webbrowser
from typing import TYPE_CHECKING

import click

from bilex.cli.options import quiet_option, run_argument
from bilex.errors import BilexError

if TYPE_CHECKING:
    from bilex.web.explorer import Explorer

HOST = "127.0.0.1"  # never another: the page has no password
DEFAULT_PORT, PORTS_TRIED = 8765, 20


@click.command()
@run_argument
@click.option(
    "--port", type=click.IntRange(0, 65535), metavar="N", help=f"The port.  [default: {DEFAULT_PORT}, or the next free]"
)
@click.option("--no-browser", is_flag=True, help="Do not open the page in a browser.")
@click.option(
    "--subwords",
    type=click.Path(),
    multiple=True,
    metavar="MODEL",
    help="A fastText model of either language, for words that have no vector; may be given twice.",
)
@quiet_option
def explore(run: str, port: int | None, no_browser: bool, subwords: tuple[str, ...], quiet: bool) -> None:
    """Open a page in the browser to search, browse and correct the lexicon of RUN.

    Decisions are saved in RUN/review.sqlite as they are made. Only this machine can reach the page, and only with the
    key in the address that is printed. Ctrl-C stops it.
    """
    from bilex.runs.progress import show_progress
    from bilex.web.explorer import Explorer

    with bind(port) as listening:
        with show_progress(quiet) as reporter:
            reporter.stage(f"reading {run}")
            explorer = Explorer.open(run, subwords)
        token = secrets.token_urlsafe(32)
        with contextlib.suppress(KeyboardInterrupt):  # the usual way to stop it
            click.echo(f"http://{HOST}:{listening.getsockname()[1]}/?key={token}")
            if not quiet:
                click.echo("Press Ctrl-C to stop", err=True)
            serve(explorer, listening, token, browser=not no_browser)


def bind(port: int | None) -> socket.socket:
    """Listen on the port, 0 for any; by default on the usual one or the next that is free."""
    ports = [port] if port is not None else [*range(DEFAULT_PORT, DEFAULT_PORT + PORTS_TRIED), 0]
    for number in ports:
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, number))
            listening.listen(128)
        except OSError as error:
            listening.close()
            reason = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be used ({error.strerror})"
            problem = f"port {number} {reason}; choose another with --port, or leave it out"
        else:
            return listening
    raise BilexError(problem)


def serve(explorer: Explorer, listening: socket.socket, token: str, *, browser: bool) -> None:
    """Serve the page until Ctrl-C, and open it in a browser if asked to.

    Other users can see the arguments of a browser that is started, so its address has a key that works once.
    """
    import uvicorn

    from bilex.web.app import create_app

    port, one_time_key = listening.getsockname()[1], secrets.token_urlsafe(32) if browser else None

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if one_time_key is not None:
                address = f"http://{HOST}:{port}/?key={one_time_key}"
                threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            logging.getLogger("uvicorn.error").setLevel(
                logging.CRITICAL
            )  # a request that is cut off now is not an error
            await super().shutdown(sockets)

    app = create_app(explorer, port, token, one_time_key)
    config = uvicorn.Config(
        app,
        log_level="error",
        access_log=False,
        ws="none",
        server_header=False,
        timeout_graceful_shutdown=1,
        timeout_keep_alive=30,
    )
    Server(config).run([listening])

"""Fifty clients at once request pages, words and entries from `bilex explore` and decide about entries, without pause.

Every request has to be answered with status 200, a decision that was confirmed has to be in the review afterwards,
and the server's memory has to stay flat: the median of the last third of the time at most 2% above the middle third's.
Then the server is killed with SIGKILL in the middle of the review, again and again: no confirmed decision may be
missing.
"""

from __future__ import annotations

import random
import re
import statistics
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

import bilex
from bilex.lexicon.lexicon import Lexicon
from bilex.lexicon.reviews import Decision, Reviews, WordPair
from tests.languages import make_languages
from tests.web.helpers import logged_in, serving

__all__ = ["load", "run"]

TITLE = "The server under load"
CLIENTS = 50
DECISIONS = ("accepted", "rejected")
MAX_GROWTH = 0.02  # a share of the memory


@dataclass
class Tally:
    """The answers that the clients got, and the server's memory in MB."""

    requests: int = 0
    failures: list[str] = field(default_factory=list)
    confirmed: dict[int, str] = field(default_factory=dict)
    memory: list[float] = field(default_factory=list)


def page_requests(dice: random.Random, pairs: list[WordPair]) -> tuple[str, ...]:
    """Return some requests that a page would make."""
    side, word = dice.choice([*zip(("source", "target"), dice.choice(pairs), strict=True)])
    sort = dice.choice(("score", "frequency", "source"))
    return (
        f"/api/complete?prefix={quote(word[:3])}",
        f"/api/entries?offset={dice.randrange(len(pairs))}&sort={sort}",
        f"/api/word?side={side}&word={quote(word)}",
        "/api/progress",
        "/",
    )


def visit(address: str, number: int, clients: int, pairs: list[WordPair], rounds: int, tally: Tally) -> None:
    """Act as one client, which decides about entries of its own, for so many rounds of six requests."""
    dice = random.Random(number)
    versions = dict.fromkeys(range(number, len(pairs), clients), 0)
    try:
        with logged_in(address) as client:
            for _ in range(rounds):
                for path in page_requests(dice, pairs):
                    answer = client.get(path)
                    tally.requests += 1
                    if answer.status_code != 200:
                        tally.failures.append(f"{path}: {answer.status_code} {answer.text[:100]}")
                entry, decision = dice.choice(list(versions)), dice.choice(DECISIONS)
                body = {"entry": entry, "version": versions[entry], "decision": decision}
                answer = client.post("/api/decide", json=body)
                tally.requests += 1
                if answer.status_code == 200:
                    tally.confirmed[entry] = decision
                    versions[entry] = answer.json()["row"]["version"]
                else:
                    tally.failures.append(f"decide: {answer.status_code} {answer.text[:100]}")
    except httpx.TransportError as error:
        tally.failures.append(f"{type(error).__name__}: {error}")


def resident(process: int) -> float:
    """Return a process's memory in MB."""
    status = Path(f"/proc/{process}/status").read_text("ascii")
    return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024


def load(folder: Path, rounds: int, clients: int = CLIENTS) -> Tally:
    """Serve a run to many clients, so many rounds each, and watch the server's memory."""
    tally = Tally()
    pairs = pairs_of(folder)
    with serving(folder) as (server, address):
        arguments = (clients, pairs, rounds, tally)
        threads = [threading.Thread(target=visit, args=(address, number, *arguments)) for number in range(clients)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            tally.memory.append(resident(server.pid))
            time.sleep(0.2)
    tally.failures += missing(folder, tally.confirmed)
    return tally


def pairs_of(folder: Path) -> list[WordPair]:
    """Read the pairs of a run's lexicon in their order."""
    lexicon = Lexicon.load(folder / "lexicon.tsv")
    return [*zip(lexicon.source, lexicon.target, strict=True)]


def missing(folder: Path, confirmed: dict[int, str]) -> list[str]:
    """List the confirmed decisions that the review does not hold."""
    pairs = pairs_of(folder)
    with Reviews(folder) as reviews:
        decisions = reviews.current()
    held = {entry: decisions.get(pairs[entry], Decision()).kind for entry in confirmed}
    lost = [entry for entry, decision in confirmed.items() if held[entry] != decision]
    return [f"entry {entry}: {held[entry]}, not {confirmed[entry]}" for entry in lost]


def growth(memory: list[float]) -> float:
    """Return by how much the last third is above the middle third, in MB."""
    third = len(memory) // 3
    return statistics.median(memory[-third:]) - statistics.median(memory[third:-third])


def review_and_kill(folder: Path, dice: random.Random, confirmed: dict[int, str]) -> int:
    """Decide as fast as the server confirms, kill the server in between, and return how often it confirmed."""
    decisions = 0
    with serving(folder) as (server, address), logged_in(address) as client:
        before = dice.randrange(3, 30)
        try:
            while True:
                if decisions == before:
                    threading.Timer(dice.random() / 20, server.kill).start()
                entry, decision = dice.randrange(100), dice.choice(DECISIONS)
                row = client.get(f"/api/entry?entry={entry}").json()
                body = {"entry": entry, "version": row["version"], "decision": decision}
                confirmed.pop(entry, None)  # until it is confirmed, either is right
                if client.post("/api/decide", json=body).status_code == 200:
                    confirmed[entry] = decision
                    decisions += 1
        except httpx.TransportError:
            return decisions


def make_run(folder: Path) -> Path:
    """Induce a small run to serve."""
    languages = make_languages(3000, 50, 400)
    bilex.induce(languages.source, languages.target).save(folder / "run")
    return folder / "run"


def run(short: bool) -> dict[str, Any]:
    """Run both trials."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = make_run(Path(temporary))
        tally = load(folder, 2 if short else 35)
        dice, confirmed = random.Random(0), dict[int, str]()
        kills, decisions, lost = 3 if short else 50, 0, list[str]()
        for _ in range(kills):
            decisions += review_and_kill(folder, dice, confirmed)
            lost += missing(folder, confirmed)
    grown = growth(tally.memory)
    flat = short or grown <= MAX_GROWTH * statistics.median(tally.memory)  # the first requests fill its caches
    return {
        "ok": flat and not tally.failures and not lost,
        "figures": {
            "clients at once": CLIENTS,
            "requests": tally.requests,
            "requests that failed": len(tally.failures),
            "entries with a confirmed decision, which the review holds": len(tally.confirmed),
            "memory of the server, MB": round(statistics.median(tally.memory)),
            "its growth from the middle third of the time to the last, MB": round(grown, 1),
            "SIGKILL in the middle of a review": kills,
            "decisions confirmed before a kill": decisions,
            "of these lost": len(lost),
        },
        "tables": [
            {"title": title, "columns": ["what"], "rows": [[line] for line in lines[:20]]}
            for title, lines in (("Failed requests", tally.failures), ("Lost decisions", lost))
            if lines
        ],
    }

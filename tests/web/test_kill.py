"""A server that is killed in the middle of a review has lost no decision that it had confirmed."""

from __future__ import annotations

import itertools
import random
import re
import subprocess
import threading
import time
from pathlib import Path

import httpx

from bilex.reviews import Reviews
from tests.web.helpers import serving


def kill_after(server: subprocess.Popen[str], confirmed: dict[int, str], count: int, seed: int) -> None:
    while len(confirmed) < count:
        time.sleep(0.001)
    time.sleep(random.Random(seed).random() / 20)
    server.kill()


def test_sigkill_loses_no_confirmed_decision(folder: Path) -> None:
    confirmed: dict[int, str] = {}
    numbers = itertools.count()
    for seed in range(2):
        with serving(folder) as (server, address), httpx.Client(base_url=address) as client:
            token = re.search(r'bilex-token" content="([\w-]+)"', client.get("/").text)
            assert token is not None
            headers = {"x-bilex-token": token[1], "origin": address.rstrip("/")}
            killer = threading.Thread(target=kill_after, args=(server, confirmed, len(confirmed) + 3, seed))
            killer.start()
            try:
                for entry in numbers:
                    verdict = "accepted" if entry % 2 else "rejected"
                    body = {"entry": entry, "version": 0, "verdict": verdict}
                    answer = client.post("/api/decide", json=body, headers=headers)
                    if answer.status_code == 200:
                        confirmed[entry] = verdict
            except httpx.TransportError:
                pass
            killer.join()
    assert len(confirmed) >= 6
    with Reviews(folder) as reviews:
        lexicon = (folder / "lexicon.tsv").read_text("utf-8").split("\n")[1:]
        for entry, verdict in confirmed.items():
            source, target = lexicon[entry].split("\t")[:2]
            assert reviews[source, target].verdict == verdict
        assert len(confirmed) <= len(reviews.log()) <= len(confirmed) + 2  # one may be written and not yet confirmed


def test_many_clients_at_once(folder: Path) -> None:
    with serving(folder) as (_, address):
        failures: list[object] = []

        def ask(number: int) -> None:
            with httpx.Client(base_url=address, timeout=60) as client:
                until = time.monotonic() + 2
                while time.monotonic() < until:
                    for path in (f"/api/complete?prefix=s{number}", f"/api/entries?offset={number}", "/api/progress"):
                        answer = client.get(path)
                        if answer.status_code != 200:
                            failures.append(answer)

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures

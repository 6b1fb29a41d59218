"""The explorer's response times at 200,000 words a side: ``python -m benchmarks.explorer [DIMENSIONS]``.

The vectors are random, since only their number matters. There is no peer; the promise is 100 ms for a search. The CPU
time of all threads tells a slow answer from a busy machine.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from typing import Any

import numpy as np
from starlette.testclient import TestClient

from bilex.lexicon.lexicon import Lexicon
from bilex.matching.graph import Graph
from bilex.model.candidates import CandidatePairs
from bilex.model.theta import Theta
from bilex.numerics.rows import unit
from bilex.runs.run import Run
from bilex.search.space import SharedSpace
from bilex.vectors.embeddings import Embeddings
from bilex.web.app import create_app
from bilex.web.explorer import Explorer
from bilex.web.security import cookie_name

WORDS, QUESTIONS, PORT = 200_000, 60, 8765


def make_run(dimensions: int) -> Run:
    rng = np.random.default_rng(0)
    source = unit(rng.normal(size=(WORDS, dimensions)).astype(np.float32))
    target = unit(source + 0.3 * rng.normal(size=source.shape).astype(np.float32))
    letters = np.array(list("abcdefghijklmnopqrstuvwxyzéü"))
    spelt = ["".join(word) for word in rng.choice(letters, (2 * WORDS, 7))]
    words = tuple(f"{word}{row}" for row, word in enumerate(spelt[:WORDS]))
    others = tuple(f"{word}{row}" for row, word in enumerate(spelt[WORDS:]))
    rows, crowding = np.arange(WORDS), np.full(WORDS, 0.3)
    space = SharedSpace(source, target, crowding, crowding, rows, rows)
    mutual, ranks = rng.random(WORDS) < 0.5, rng.integers(1, 50, WORDS)
    lexicon = Lexicon(words, others, rng.random(WORDS), ranks, mutual, ("matching",) * WORDS, rng.random(WORDS))
    sides = Embeddings(words, source, name="en"), Embeddings(others, target, name="fr")
    none = CandidatePairs(Graph(np.zeros(WORDS + 1, np.int64), rows[:0], crowding[:0], WORDS), crowding[:0])
    info = {"files": {}, "weights": {"slopes": {"csls": 1.0}, "log_odds": 0.0}}
    return Run(*sides, Theta(np.eye(dimensions), np.zeros(dimensions)), space, lexicon, info, none)


def main() -> None:
    dimensions = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    run = make_run(dimensions)
    started = time.perf_counter()
    explorer = Explorer(tempfile.mkdtemp(), run)
    print(f"{WORDS:,} words a side, {dimensions} dimensions; ready after {time.perf_counter() - started:.1f} s")
    picked = np.random.default_rng(1).integers(0, WORDS, QUESTIONS).tolist()
    words = [run.source.words[row] for row in picked]
    questions: dict[str, list[tuple[str, dict[str, Any]]]] = {
        "search": [("word", {"side": "source", "word": word}) for word in words],
        "complete one letter": [("complete", {"prefix": word[0]}) for word in words],
        "complete three letters": [("complete", {"prefix": word[:3]}) for word in words],
        "a page": [("entries", {"offset": row}) for row in picked],
        "a page, filtered and sorted": [
            ("entries", {"sort": "score", "min_score": 0.2, "mutual": 1, "offset": row // 9}) for row in picked
        ],
        "a page with a text": [("entries", {"sort": "source", "text": word[:2]}) for word in words],
    }
    cookies = {cookie_name(PORT): "token"}
    app = create_app(explorer, PORT, "token")
    with TestClient(app, base_url=f"http://127.0.0.1:{PORT}", cookies=cookies) as client:
        for name, asked in questions.items():
            times, worked = [], []
            for path, parameters in asked:
                began, used = time.perf_counter(), time.process_time()
                client.get(f"/api/{path}", params=parameters).raise_for_status()
                times.append(1000 * (time.perf_counter() - began))
                worked.append(1000 * (time.process_time() - used))
            print(
                f"{name:28} median {statistics.median(times):6.1f} ms, at most {max(times):6.1f} ms; "
                f"CPU {statistics.median(worked):6.1f} ms"
            )


if __name__ == "__main__":
    main()

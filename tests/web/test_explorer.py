"""The explorer while others decide."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from bilex.lexicon.lexicon import Lexicon
from bilex.lexicon.reviews import Decision
from bilex.matching.graph import Graph
from bilex.model.candidates import CandidatePairs
from bilex.model.theta import Theta
from bilex.numerics.rows import unit
from bilex.runs.run import Run
from bilex.search.space import SharedSpace
from bilex.vectors.embeddings import Embeddings
from bilex.web.explorer import Explorer

WORDS = 2000


@pytest.fixture
def explorer(tmp_path: Path) -> Iterator[Explorer]:
    """A run that was not learnt, with many entries."""
    words = tuple(f"w{row}" for row in range(WORDS))
    vectors = unit(np.random.default_rng(0).normal(size=(WORDS, 4)).astype(np.float32))
    language, rows, crowding = Embeddings(words, vectors), np.arange(WORDS), np.zeros(WORDS)
    space = SharedSpace(vectors, vectors, crowding, crowding, rows, rows)
    half = WORDS // 2  # the other half is unmatched
    columns = crowding[:half], rows[1 : half + 1], rows[:half] > 0, ("seed",) * half, np.ones(half)
    lexicon = Lexicon(words[:half], words[:half], *columns)
    theta = Theta(np.eye(4), np.zeros(4))
    none = CandidatePairs(Graph(np.zeros(WORDS + 1, np.int64), rows[:0], crowding[:0], WORDS), crowding[:0])
    info = {"files": {}, "weights": {"slopes": {"csls": 1.0}, "log_odds": 0.0}}
    opened = Explorer(tmp_path, Run(language, language, theta, space, lexicon, info, none))
    yield opened
    opened.close()


@pytest.mark.parametrize("name", ["progress", "export"])
def test_answers_are_safe_while_decisions_arrive(explorer: Explorer, name: str) -> None:
    """In another thread, as when two requests are answered at once."""
    errors: list[Exception] = []
    done = threading.Event()

    def ask() -> None:
        try:
            while not done.is_set():
                getattr(explorer, name)()
        except Exception as error:
            errors.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        thread = threading.Thread(target=ask)
        thread.start()
        for number, pair in enumerate(explorer.table.number, 1):
            explorer.table.update({pair: Decision("corrected", "x", number)})
            time.sleep(0)  # lets the other thread go on
        done.set()
        thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert errors == []
    assert explorer.progress()["corrected"] == len(explorer.run.lexicon)
    assert len(explorer.export(decided=True).splitlines()) == len(explorer.table) + 1

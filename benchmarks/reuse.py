"""The paper's EM with and without exact reuse of its searches; and what a bound would prove if both sides moved.

Two-sided maps move the targets as well. For a query q and a target t that moved to q' and t',

    q'·t'  <=  q·t + ‖q' - q‖ ‖t‖ + ‖q'‖ ‖t' - t‖

so with the longest target and the longest move of any target the same argument as in `search/reuse.py` holds. Here its
answers are counted on the searches of the default method, after the rotation of the new space that lays its targets
nearest to the old ones, which changes no product.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.graphs import languages
from benchmarks.results import Result, cpu_of, promise, single, taking_turns
from bilex.em.context import Context
from bilex.em.em import fit
from bilex.matching.graph import RowPairs
from bilex.methods import METHODS
from bilex.model.maps import procrustes
from bilex.model.prior import Prior
from bilex.numerics.types import Vectors
from bilex.search.engine import Engine, Neighbours
from bilex.search.local import LocalEngine
from bilex.search.reuse import ReusingEngine
from bilex.search.rounding_kernel import has_instruction
from bilex.seeds.seed import find_seed
from bilex.vectors.embeddings import load

__all__ = ["benchmark"]

WORDS, DIMENSION, QUICK_WORDS, QUICK_DIMENSION = 20_000, 300, 2_000, 50
SEED_PAIRS, KEPT, K = 5_000, 16, 3
MOST_TIME = 0.8  # of EM without reuse


@dataclass(frozen=True)
class Recorder(LocalEngine):
    """Remembers what was searched."""

    searches: list[tuple[Vectors, Vectors]] = field(default_factory=list)

    def top_k(self, queries: Vectors, targets: Vectors, k: int) -> Neighbours:
        """Search, and remember it."""
        self.searches.append((queries, targets))
        return super().top_k(queries, targets, k)


def benchmark(quick: bool) -> Iterator[Result]:
    """Measure on made-up languages, and on real ones where they are available."""
    words, dimension = (QUICK_WORDS, QUICK_DIMENSION) if quick else (WORDS, DIMENSION)
    made = languages(words, dimension)
    seed = RowPairs(made.pairs[0][:SEED_PAIRS], made.pairs[1][:SEED_PAIRS])
    yield from measure("made-up languages", made.source, made.target, seed, quick)
    data = Path(os.environ.get("BILEX_SHARED_DATA", "../shared/data"))
    if data.is_dir() and not quick:
        source, target = (load(data / f"{name}.vec.gz", WORDS).normalise() for name in ("en", "fr"))
        pairs = find_seed(str(data / "dictionaries" / "en-fr.0-5000.txt"), source, target)
        yield from measure("English and French", source.vectors, target.vectors, pairs.pairs, quick)


def measure(name: str, source: Vectors, target: Vectors, seed: RowPairs, quick: bool) -> Iterator[Result]:
    """Time the paper's EM, and count what two moving sides would prove under the default's maps."""
    case = f"{len(source):,} x {len(target):,} x {source.shape[1]}, {name}"

    def learn(method_name: str, engine: Engine) -> None:
        fit(source, target, seed, METHODS[method_name].with_changes({"supervision": "start"}), Prior(), Context(engine))

    for engine in (ReusingEngine(LocalEngine()), LocalEngine()):
        engine.top_k(source[:100], target[:1000], K)  # compiles
    taken = taking_turns(
        {
            "ours": lambda: cpu_of(lambda: learn("ruder2018", ReusingEngine(LocalEngine()))),
            "peer": lambda: cpu_of(lambda: learn("ruder2018", LocalEngine())),
        },
        quick,
    )
    ours, peer = taken["ours"], taken["peer"]
    yield Result(
        name="reuse",
        case=f"{case}, EM of ruder2018",
        unit="CPU s",
        ours=ours,
        peer_name="without reuse",
        peer=peer,
        # Where the CPU multiplies bytes in one instruction, a search costs little more than the bound.
        **promise(f"at most {MOST_TIME:g} of it", ours.median <= MOST_TIME * peer.median, quick or has_instruction()),
    )
    recorder = Recorder()
    learn("bilex", recorder)
    open_queries, all_queries = count_open(recorder.searches)
    yield Result(
        name="reuse",
        case=f"{case}, queries of the default's EM that two moving sides leave open",
        unit="queries",
        ours=single(open_queries),
        peer_name="all from the second search on",
        peer=single(all_queries),
    )


def count_open(searches: list[tuple[Vectors, Vectors]]) -> tuple[int, int]:
    """Count the queries whose answers the bound does not prove, search by search, and all of them."""
    engine, found, total = LocalEngine(), 0, 0
    for (queries, targets), following in pairwise(searches):
        turn = procrustes(following[1], targets).T.astype(np.float32)
        moved_queries, moved_targets = (side @ turn for side in following)
        kept = engine.top_k(queries, targets, KEPT)
        scores = np.einsum("nd,nkd->nk", moved_queries, moved_targets[kept.indices])
        limit = kept.scores[:, -1]
        limit = limit + lengths(moved_queries - queries) * lengths(targets).max()
        limit = limit + lengths(moved_queries) * lengths(moved_targets - targets).max()
        found += int((np.sort(scores, axis=1)[:, -K] <= limit).sum())
        total += len(queries)
    return found, total


def lengths(rows: Vectors) -> Vectors:
    """Return the norm of each row."""
    return np.asarray(np.linalg.norm(rows, axis=1))

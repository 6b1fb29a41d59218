"""The search of an EM iteration once the map has settled, with exact reuse, beside a full search by the same engine."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from benchmarks.graphs import languages
from benchmarks.results import Result, cpu_time, promise
from bilex.em.context import Context
from bilex.em.em import fit
from bilex.matching.graph import RowPairs
from bilex.methods import METHODS
from bilex.model.prior import Prior
from bilex.numerics.types import Indices, Vectors
from bilex.search.engine import Neighbours
from bilex.search.local import LocalEngine
from bilex.search.reuse import ReusingEngine
from bilex.seeds.seed import find_seed
from bilex.vectors.embeddings import load

__all__ = ["benchmark"]

WORDS, DIMENSION, QUICK_WORDS, QUICK_DIMENSION = 100_000, 300, 2_000, 50
SEED_PAIRS = 5_000
ITERATIONS = 10
CHEAPER = 8  # times, than a full pass, once the map has settled


@dataclass
class TimedEngine:
    """A reusing engine that records the CPU seconds and the searched queries of each search."""

    reusing: ReusingEngine
    seconds: list[float] = field(default_factory=list)
    searched: list[int] = field(default_factory=list)

    def top_k(self, queries: Vectors, targets: Vectors, k: int) -> Neighbours:
        """Search and record the time."""
        started = cpu_time()
        found = self.reusing.top_k(queries, targets, k)
        self.seconds.append(cpu_time() - started)
        self.searched.append(self.reusing.searched)
        return found

    def top_k_both(self, queries: Vectors, targets: Vectors, k: int) -> tuple[Neighbours, Neighbours]:
        """Search without a record."""
        return self.reusing.top_k_both(queries, targets, k)

    def rank(self, queries: Vectors, targets: Vectors, chosen: Indices) -> Indices:
        """Compute ranks without a record."""
        return self.reusing.rank(queries, targets, chosen)


def benchmark(quick: bool) -> Iterator[Result]:
    """Run EM from a large seed on made-up languages, and on real vectors where they are available."""
    words, dimension = (QUICK_WORDS, QUICK_DIMENSION) if quick else (WORDS, DIMENSION)
    made = languages(words, dimension)
    seed = RowPairs(made.pairs[0][:SEED_PAIRS], made.pairs[1][:SEED_PAIRS])
    yield measure("made-up languages", made.source, made.target, seed, quick)
    data = Path(os.environ.get("BILEX_SHARED_DATA", "../shared/data"))
    if data.is_dir() and not quick:
        source, target = (load(data / f"{name}.vec.gz", None).normalise() for name in ("en", "fr"))
        pairs = find_seed(str(data / "dictionaries" / "en-fr.0-5000.txt"), source, target)
        yield measure(
            "real English and French", source.vectors, target.vectors, RowPairs(pairs.source, pairs.target), True
        )


def measure(name: str, source: Vectors, target: Vectors, seed: RowPairs, quick: bool) -> Result:
    """Run EM with reuse, and compare the searches of its last iterations with the first one, which is full."""
    method = METHODS["ruder2018"].with_changes({"tolerance": 0.0, "max_iterations": ITERATIONS})
    engine = TimedEngine(ReusingEngine(LocalEngine()))
    LocalEngine().top_k(source[:100], target[:1000], 3)  # compiles
    started = time.perf_counter()
    fit(source, target, seed, method, Prior(), Context(engine))
    wall = time.perf_counter() - started
    settled = median(engine.seconds[-3:])
    full = engine.seconds[0]
    return Result(
        name="reuse",
        case=f"{len(source):,} x {len(target):,} x {source.shape[1]}, k=3, {name}, search of a settled iteration",
        unit="CPU s",
        ours=settled,
        peer_name="a full search",
        peer=full,
        details={
            "em_wall": wall,
            **{f"iteration_{i}_cpu": seconds for i, seconds in enumerate(engine.seconds, 1)},
            **{f"iteration_{i}_searched": count for i, count in enumerate(engine.searched, 1)},
        },
        **promise(f"at least {CHEAPER}x", full >= CHEAPER * settled, quick),
    )

"""``bilex benchmark``: the published suites (XLING, PanLex-BLI, MUSE), our methods and other programs side by side.

A suite is a layout with its own seeds, further test lists and figures. Every figure is over the covered queries, by
CSLS, for our methods and for peers alike.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bilex.em.context import Reporter
from bilex.errors import BilexError
from bilex.evaluation.translation import Direction, NotCovered, evaluate_translation
from bilex.experiments.cells import Cell, Dictionary, FileCache, TooFewPairs, run_cell, seed_pairs
from bilex.experiments.experiment import Outcome
from bilex.experiments.grid import run_grid
from bilex.experiments.layouts import Layout, PairFiles, find_layout, first_existing
from bilex.experiments.peers import peer_script, run_peer
from bilex.experiments.reporting import Report, Row, grouped, make_report
from bilex.files.atomic import atomic_write_text
from bilex.methods import DEFAULT_METHOD, find_method
from bilex.search.engine import Engine
from bilex.search.local import LocalEngine
from bilex.search.space import SharedSpace

WHOLE = "test"
SUITE_RETRIEVAL = "csls"
HEADER = (
    "pair",
    "system",
    "seed",
    "test",
    "p@1",
    "mrr",
    "map",
    "covered",
    "queries",
    "seed_pairs",
    "seconds",
    "reason",
)


@dataclass(frozen=True)
class Choices:
    """The user's choices; empty where the suite decides. A peer is its name and the folder of its checkout."""

    pairs: tuple[str, ...] = ()
    methods: tuple[str, ...] = (DEFAULT_METHOD,)
    seeds: tuple[str, ...] = ()
    peers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class SuiteJob:
    """A system (one of our methods, or a peer) that learns a pair from a seed and is tested on several lists."""

    cell: Cell
    seed: str
    tests: dict[str, Path]
    peer: tuple[str, Path] | None = None

    @property
    def system(self) -> str:
        """The name in the table."""
        return self.peer[0] if self.peer else self.cell.method.name

    @property
    def label(self) -> str:
        """The name on a terminal."""
        return f"{self.cell.files.name}, {self.system}, seed {self.seed}"

    @property
    def configuration(self) -> dict[str, Any]:
        """Everything that the result depends on."""
        cache, own = self.cell.cache, self.cell.configuration
        tests = {name: cache.sha256(path) for name, path in self.tests.items()}
        peer = {} if self.peer is None else {"peer": self.peer[0], "script": cache.sha256(self.peer[1])}
        return {**own, **({"method": None} if peer else {}), "measure": "benchmark", "tests": tests, **peer}

    def run(self, engine: Engine) -> dict[str, Any]:
        """Learn, and measure on each list."""
        files, cache = self.cell.files, self.cell.cache
        source, target = cache.vectors(files.source), cache.vectors(files.target)  # reading is no part of the time
        started = time.perf_counter()
        if self.peer is None:
            result = run_cell(self.cell, engine, lambda _, direction, __: {"direction": direction})
            if "reason" in result:
                return result
            seed, direction, seconds = result["seed_pairs"], result["direction"], time.perf_counter() - started
        else:
            try:
                pairs = seed_pairs(self.cell.seed, source, target, cache.pairs(files.train))
            except TooFewPairs as error:
                return {"reason": str(error)}
            mapped, other, seconds = run_peer(*self.peer, source, target, pairs)
            space, seed = SharedSpace.from_vectors(mapped.vectors, other.vectors, engine), len(pairs)
            direction = (space, mapped, other)
        tests = {name: score(direction, cache.pairs(path), engine) for name, path in self.tests.items()}
        return {"tests": tests, "seed_pairs": seed, "seconds": round(seconds, 2)}


def score(direction: Direction, gold: Dictionary, engine: Engine) -> dict[str, Any]:
    """Return P@1, MRR and MAP over the covered queries."""
    try:
        found = evaluate_translation(direction, gold, SUITE_RETRIEVAL, engine)
        each = evaluate_translation(direction, gold, SUITE_RETRIEVAL, engine, "pairs")
    except NotCovered:
        return {"reason": "no test word is covered"}
    _, source, target = direction
    queries = [
        row for row, _ in sorted({(source.index[s], target.index[t]) for s, t in gold if s in source and t in target})
    ]
    figures = found.figures()
    kept = {name: figures[name] for name in ("p@1", "mrr", "covered", "queries")}
    return {**kept, "map": average_precision(np.array(queries), each.cases)}


def average_precision(queries: np.ndarray[Any, Any], ranks: np.ndarray[Any, Any]) -> float:
    """Return the mean over the queries of the mean precision at the ranks of their translations."""
    values = []
    for query in np.unique(queries):
        own = np.sort(ranks[queries == query])
        values.append(float(np.mean(np.arange(1, len(own) + 1) / own)))
    return statistics.fmean(values)


def plan(layout: Layout, folder: Path, choices: Choices, limit: int) -> list[SuiteJob]:
    """Return the jobs: every pair from every seed, by each method and each peer."""
    cache, table = FileCache(limit), layout.table
    known = [*(table.seeds or ["train"]), "identical"]
    seeds = choices.seeds or tuple(known[:-1])
    for seed in seeds:
        if seed not in known:
            raise BilexError(f"the suite {layout.name} has no seed {seed!r}; choose among {', '.join(known)}")
    scripts = [(name, peer_script(name, Path(place))) for name, place in choices.peers]
    systems = [(name, None) for name in choices.methods] + [(DEFAULT_METHOD, peer) for peer in scripts]
    jobs = []
    for pair in choices.pairs or pairs_there(layout, folder):
        files = layout.resolve(folder, pair, train=False)
        tests = {WHOLE: files.test, **{name: first_existing(folder, layout.paths(pair, name)) for name in table.tests}}
        there = {name: path for name, path in tests.items() if path is not None}
        for seed in seeds:
            own, kind = with_seed(layout, folder, files, seed), "identical" if seed == "identical" else "train"
            for name, peer in systems:
                jobs.append(SuiteJob(Cell("translation", own, find_method(name), kind, cache), seed, there, peer))
    return jobs


def pairs_there(layout: Layout, folder: Path) -> tuple[str, ...]:
    """Return the pairs of the suite whose files are there, in its order."""
    there = layout.discover(folder)
    listed = layout.table.pairs or there
    return tuple(pair for pair in listed if pair in there) or layout.pairs_of("benchmark", folder)


def with_seed(layout: Layout, folder: Path, files: PairFiles, seed: str) -> PairFiles:
    """Return the files of a pair with the dictionary of a seed."""
    if seed == "identical":
        return files
    return replace(files, train=layout.find(folder, files.name, seed if seed in layout.table.seeds else "train"))


def run_benchmark(
    suite: str,
    folder: str | os.PathLike[str],
    output: str | os.PathLike[str],
    choices: Choices | None = None,
    *,
    limit: int = 200_000,
    engine: Engine | None = None,
    reporter: Reporter | None = None,
) -> Outcome:
    """Run what is not finished yet, and write ``SUITE.jsonl``, ``.tsv`` and ``.md``."""
    layout, output, searches = find_layout(folder, suite), Path(output), engine or LocalEngine()
    jobs = plan(layout, Path(folder), choices or Choices(), limit)
    log = output / f"{layout.name}.jsonl"
    cells = [(job.label, job.configuration) for job in jobs]
    results = run_grid(cells, lambda place: jobs[place].run(searches), log, reporter)
    report = make_table(
        layout, [row for job, result in zip(jobs, results, strict=True) for row in rows_of(job, result)]
    )
    files = [log, output / f"{layout.name}.tsv", output / f"{layout.name}.md"]
    atomic_write_text(files[1], report.tsv)
    atomic_write_text(files[2], report.text)
    return Outcome(report, files)


def rows_of(job: SuiteJob, result: dict[str, Any]) -> list[Row]:
    """Return a row for each test list."""
    key = {"pair": job.cell.files.name, "system": job.system, "seed": job.seed}
    if "reason" in result:
        return [{**key, "test": WHOLE, **result}]
    common = {name: result[name] for name in ("seed_pairs", "seconds")}
    return [{**key, "test": name, **common, **figures} for name, figures in result["tests"].items()]


def make_table(layout: Layout, rows: list[Row]) -> Report:
    """Make a table in Markdown for each figure of the suite: systems and seeds down, pairs across, and their mean."""
    parts = []
    for figure in layout.table.figures:
        for test, some in grouped(rows, lambda row: str(row["test"])).items():
            about = "" if test == WHOLE else f", {test}"
            parts.append(f"{figure.upper()}{about}\n\n{markdown(some, figure)}")
    first = next((row for row in rows if row.get("queries")), None)
    notes = (
        [f"Over the covered queries ({first['covered']:,} of {first['queries']:,} for {first['pair']}), by CSLS."]
        if first
        else []
    )
    reasons = dict.fromkeys(
        f"- {row['pair']}, seed {row['seed']}: {row['reason']}." for row in rows if row.get("reason")
    )
    listed, measured = layout.table.pairs or [], dict.fromkeys(row["pair"] for row in rows)
    if len(measured) < len(listed):
        notes.append(f"{len(measured)} of the suite's {len(listed)} pairs.")
    title = f"{layout.name}: {layout.table.description or 'a suite'}"
    return make_report(title, "\n\n".join(parts), rows, [*notes, *reasons], HEADER)


def markdown(rows: Sequence[Row], figure: str) -> str:
    """Return one table."""
    pairs = list(dict.fromkeys(row["pair"] for row in rows))
    lines = [["system", "seed", *pairs, "mean", "seconds"], ["---", "---", *["---:"] * (len(pairs) + 2)]]
    for (system, seed), own in grouped(rows, lambda row: (row["system"], row["seed"])).items():
        values = {row["pair"]: row.get(figure) for row in own}
        known = [value for value in values.values() if value is not None]
        cells = ["-" if values.get(pair) is None else f"{values[pair]:.3f}" for pair in pairs]
        spent = [row["seconds"] for row in own if row.get("seconds") is not None]
        mean = f"{statistics.fmean(known):.3f}" if known else "-"
        lines.append([system, seed, *cells, mean, f"{sum(spent):.0f}" if spent else "-"])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)

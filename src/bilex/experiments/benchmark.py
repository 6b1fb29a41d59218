"""``bilex benchmark``: the published suites (XLING, PanLex-BLI, MUSE), our methods and other programs side by side.

A suite is a layout with its own seeds, further test lists and figures. Every figure is over the covered queries, by
CSLS, for our methods and for peers alike.

A peer is a checkout that the user has, run as a program of its own. Only the documented command lines are used: vecmap
semi-supervised, as its documentation recommends for a seed, and fastText's alignment with the settings of its example.
They get plain word2vec text and the pairs of the seed that both vocabularies know, and write mapped vectors.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bilex.em.context import Reporter
from bilex.errors import BilexError, InputError
from bilex.evaluation.translation import Direction, NotCovered, evaluate_translation
from bilex.experiments.cells import Cell, Dictionary, FileCache, Measure, TooFewPairs, seed_pairs
from bilex.experiments.experiment import Outcome, run_experiment
from bilex.experiments.layouts import Layout, find_layout, first_existing
from bilex.experiments.reporting import Report, Row, grouped
from bilex.methods import DEFAULT_METHOD, find_method
from bilex.search.engine import Engine
from bilex.search.space import SharedSpace
from bilex.seeds.seed import IDENTICAL
from bilex.vectors.embeddings import Embeddings, load

WHOLE = "test"
SUITE_RETRIEVAL = "csls"
HEADER = (
    "pair", "system", "seed", "test", "p@1", "mrr", "map", "covered", "queries", "seed_pairs", "seconds", "reason",
)  # fmt: skip
PEERS = {  # the script and its arguments; for the test words it gets the seed again, as it must not see them
    "vecmap": ("map_embeddings.py", "--semi_supervised {seed} {source} {target} {mapped_source} {mapped_target}"),
    "rcsls": (
        "align.py",
        "--src_emb {source} --tgt_emb {target} --dico_train {seed} --dico_test {seed} --output {mapped_source} "
        "--lr 25 --niter 10",
    ),
}


@dataclass(frozen=True)
class SuiteCell(Cell):
    """A system (one of our methods, or a peer) that learns a pair from a seed and is tested on several lists."""

    suite_seed: str = ""  # its name in the suite
    tests: dict[str, Path] = field(default_factory=dict)
    peer: tuple[str, Path] | None = None

    @property
    def key(self) -> dict[str, Any]:
        """The columns of a table that tell the cell from others."""
        system = self.peer[0] if self.peer else self.method.name
        return {"pair": self.files.name, "system": system, "seed": self.suite_seed}

    @property
    def label(self) -> str:
        """The name on a terminal."""
        return "{pair}, {system}, seed {seed}".format(**self.key)

    @property
    def configuration(self) -> dict[str, Any]:
        """Everything that the result depends on."""
        tests = {name: self.cache.sha256(path) for name, path in self.tests.items()}
        about = {**super().configuration, "measure": "benchmark", "tests": tests}
        if self.peer is not None:
            about |= {"method": None, "peer": self.peer[0], "script": self.cache.sha256(self.peer[1])}
        return about

    def run(self, engine: Engine, measure: Measure | None = None) -> dict[str, Any]:
        """Learn, and measure on each list."""
        files, cache = self.files, self.cache
        source, target = cache.vectors(files.source), cache.vectors(files.target)  # reading is not timed
        started = time.perf_counter()
        if self.peer is None:
            result = super().run(engine, lambda _, direction, __: {"direction": direction})
            if "reason" in result:
                return result
            seed, direction, seconds = result["seed_pairs"], result["direction"], time.perf_counter() - started
        else:
            try:
                pairs = seed_pairs(self.seed, source, target, cache.pairs(files.train))
            except TooFewPairs as error:
                return {"reason": str(error)}
            mapped, other, seconds = run_peer(*self.peer, source, target, pairs)
            space, seed = SharedSpace.from_vectors(mapped.vectors, other.vectors, engine), len(pairs)
            direction = (space, mapped, other)
        tests = {name: score(direction, cache.pairs(path), engine) for name, path in self.tests.items()}
        return {"tests": tests, "seed_pairs": seed, "seconds": round(seconds, 2)}

    def rows(self, result: dict[str, Any]) -> list[Row]:
        """Return a row for each test list."""
        if "reason" in result:
            return [{**self.key, "test": WHOLE, **result}]
        common = {**self.key, **{name: result[name] for name in ("seed_pairs", "seconds")}}
        return [{**common, "test": name, **figures} for name, figures in result["tests"].items()]


def score(direction: Direction, gold: Dictionary, engine: Engine) -> dict[str, Any]:
    """Return P@1, MRR and MAP over the covered queries."""
    try:
        found = evaluate_translation(direction, gold, SUITE_RETRIEVAL, engine)
        each = evaluate_translation(direction, gold, SUITE_RETRIEVAL, engine, "pairs")
    except NotCovered:
        return {"reason": "no test word is covered"}
    _, source, target = direction
    known = sorted({(source.index[s], target.index[t]) for s, t in gold if s in source and t in target})
    figures = found.figures()
    kept = {name: figures[name] for name in ("p@1", "mrr", "covered", "queries")}
    return {**kept, "map": average_precision(np.array([row for row, _ in known]), each.cases)}


def average_precision(queries: np.ndarray[Any, Any], ranks: np.ndarray[Any, Any]) -> float:
    """Return the mean over the queries of the mean precision at the ranks of their translations."""
    values = []
    for query in np.unique(queries):
        own = np.sort(ranks[queries == query])
        values.append(float(np.mean(np.arange(1, len(own) + 1) / own)))
    return statistics.fmean(values)


def peer_script(name: str, folder: Path) -> Path:
    """Return the script of a peer in its checkout; raise if it is not there."""
    if name not in PEERS:
        raise BilexError(f"no peer is called {name!r}; choose one of {', '.join(PEERS)}")
    for place in (folder / PEERS[name][0], folder / "alignment" / PEERS[name][0]):
        if place.is_file():
            return place.resolve()
    raise InputError(folder, f"there is no {PEERS[name][0]} of {name}", "give the folder of its checkout")


def run_peer(
    name: str, script: Path, source: Embeddings, target: Embeddings, seed: Sequence[tuple[str, str]]
) -> tuple[Embeddings, Embeddings, float]:
    """Run a peer; return the mapped vectors of both languages, and the seconds that it took."""
    with tempfile.TemporaryDirectory(prefix="bilex-") as folder:
        names = ("seed", "source", "target", "mapped_source", "mapped_target")
        files = {each: Path(folder) / f"{each}.txt" for each in names}
        source.save(files["source"])
        target.save(files["target"])
        files["seed"].write_text("".join(f"{one} {other}\n" for one, other in seed), "utf-8", newline="\n")
        started = time.perf_counter()
        command = [sys.executable, str(script), *(part.format(**files) for part in PEERS[name][1].split())]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=script.parent, errors="replace")
        seconds = time.perf_counter() - started
        if done.returncode or not files["mapped_source"].is_file():
            output = " ".join((done.stderr or done.stdout).split())[-150:]
            raise InputError(script, f"{name} ended with code {done.returncode} ({output})", "run it by itself first")
        mapped, other = load(files["mapped_source"], None), files["mapped_target"]
        return mapped, load(other, None) if other.is_file() else target, seconds


def run_benchmark(
    suite: str,
    folder: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    pairs: Sequence[str] = (),
    methods: Sequence[str] = (DEFAULT_METHOD,),
    seeds: Sequence[str] = (),
    peers: Sequence[tuple[str, str]] = (),
    limit: int = 200_000,
    reporter: Reporter | None = None,
) -> Outcome:
    """Run what is not finished yet, and write ``SUITE.jsonl``, ``.tsv`` and ``.md``.

    Where no pairs or seeds are given, the suite decides. A peer is its name and the folder of its checkout.
    """
    layout = find_layout(folder, suite)
    scripts = [(name, peer_script(name, Path(place))) for name, place in peers]
    systems = [*((name, None) for name in methods), *((DEFAULT_METHOD, peer) for peer in scripts)]
    cells = plan(layout, Path(folder), pairs, systems, seeds, FileCache(limit))
    return run_experiment(layout.name, cells, partial(make_table, layout), output, reporter, ending="md")


def plan(
    layout: Layout,
    folder: Path,
    pairs: Sequence[str],
    systems: Sequence[tuple[str, tuple[str, Path] | None]],
    seeds: Sequence[str],
    cache: FileCache,
) -> list[SuiteCell]:
    """Return the cells: every pair from every seed, by each method and each peer."""
    table, known = layout.table, [*(layout.table.seeds or ["train"]), IDENTICAL]
    if unknown := next((seed for seed in seeds if seed not in known), None):
        raise BilexError(f"the suite {layout.name} has no seed {unknown!r}; choose among {', '.join(known)}")
    there = layout.discover(folder)
    of_suite = tuple(pair for pair in table.pairs or there if pair in there)
    cells = []
    for pair in pairs or of_suite or layout.pairs_of("benchmark", folder):
        files = layout.resolve(folder, pair, train=False)
        tests = {WHOLE: files.test, **{name: first_existing(folder, layout.paths(pair, name)) for name in table.tests}}
        lists = {name: path for name, path in tests.items() if path is not None}
        for seed in seeds or known[:-1]:
            kind = IDENTICAL if seed == IDENTICAL else "train"
            own = files if seed == IDENTICAL else replace(files, train=layout.find(folder, pair, seed))
            about: dict[str, Any] = {"suite_seed": seed, "tests": lists}
            for name, peer in systems:
                cells.append(SuiteCell("translation", own, find_method(name), kind, cache, **about, peer=peer))
    return cells


def make_table(layout: Layout, rows: list[Row]) -> Report:
    """Make a table in Markdown for each figure of the suite: systems and seeds down, pairs across, and their mean."""
    parts = []
    for figure in layout.table.figures:
        for test, some in grouped(rows, lambda row: str(row["test"])).items():
            about = "" if test == WHOLE else f", {test}"
            parts.append(f"{figure.upper()}{about}\n\n{markdown(some, figure)}")
    notes = []
    if first := next((row for row in rows if row.get("queries")), None):
        covered = f"{first['covered']:,} of {first['queries']:,} for {first['pair']}"
        notes.append(f"Over the covered queries ({covered}), by CSLS.")
    listed, measured = layout.table.pairs or [], dict.fromkeys(row["pair"] for row in rows)
    if len(measured) < len(listed):
        notes.append(f"{len(measured)} of the suite's {len(listed)} pairs.")
    notes += [f"- {row['pair']}, seed {row['seed']}: {row['reason']}." for row in rows if row.get("reason")]
    title = f"{layout.name}: {layout.table.description or 'a suite'}"
    return Report(title, "\n\n".join(parts), rows, notes, HEADER)


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

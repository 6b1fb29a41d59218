"""What all experiments share: what was asked for, the plan of a grid, and the report that comes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bilex.experiments.cells import Cell, run_cell
from bilex.experiments.grid import Finished, Watch, run_grid
from bilex.experiments.layouts import Layout, PairFiles
from bilex.experiments.plots import Plot, write_plot
from bilex.experiments.seeds import check_seed, is_drawn, needs_train
from bilex.experiments.sources import Sources
from bilex.experiments.tables import notes, tsv
from bilex.files.atomic import atomic_write_text
from bilex.methods import Method, find_method
from bilex.search.engine import Engine

__all__ = ["Cells", "Experiment", "Options", "Outcome", "Report", "Setting", "carry_out"]

Cells = Sequence[Finished[Cell]]


@dataclass(frozen=True)
class Options:
    """What the user asked for; empty where the experiment or the layout decides."""

    pairs: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    seeds: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    draws: int = 1
    max_rank: int | None = None

    def __post_init__(self) -> None:
        for name in self.methods:
            find_method(name)
        for name in self.seeds:
            check_seed(name)


@dataclass(frozen=True)
class Setting:
    """An experiment on a data directory."""

    name: str
    folder: Path
    layout: Layout
    sources: Sources
    options: Options = field(default_factory=Options)

    def files(self, seeds: Sequence[str], *, test: bool = True, similarity: bool = False) -> list[PairFiles]:
        """Find the files of all pairs, before anything is computed."""
        train = any(map(needs_train, seeds))
        return [
            self.layout.resolve(self.folder, pair, train=train, test=test, similarity=similarity)
            for pair in self.options.pairs or self.layout.pairs_of(self.name, self.folder)
        ]

    def methods(self, default: Sequence[str]) -> tuple[str, ...]:
        """Give the names of the methods."""
        return self.options.methods or tuple(default)

    def seeds(self, default: Sequence[str]) -> tuple[str, ...]:
        """Give the names of the seeds."""
        return self.options.seeds or tuple(default)

    def draws(self, seed: str) -> range:
        """Give the numbers of the draws of a seed: one, unless it can be drawn several times."""
        return range(self.options.draws if is_drawn(seed) else 1)

    def method(self, name: str, files: PairFiles, prior: str | None = None) -> Method:
        """Give a method; one with a frequency constraint gets the user's or the layout's in place of its own."""
        method = find_method(name).with_changes({"prior": prior})
        rank = self.options.max_rank or files.max_rank
        return method.with_changes({"max_rank": rank}) if method.max_rank is not None else method


@dataclass(frozen=True)
class Report:
    """What an experiment found: a table to read with its notes, the same to compute with, and a figure."""

    title: str
    table: str
    header: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    notes: tuple[str, ...] = ()
    plot: Plot | None = None

    @property
    def text(self) -> str:
        """What is printed."""
        return f"{self.title}\n\n{self.table}\n\n{notes(self.notes)}".rstrip() + "\n"

    def records(self) -> list[dict[str, Any]]:
        """Give the rows by the names of their columns."""
        return [dict(zip(self.header, row, strict=True)) for row in self.rows]


@dataclass(frozen=True)
class Experiment:
    """A table or figure of the paper: which cells it needs, and how they are reported."""

    name: str
    plan: Callable[[Setting], list[Cell]]
    report: Callable[[Setting, Cells], Report]


@dataclass(frozen=True)
class Outcome:
    """A finished experiment: its report, and the files that were written."""

    report: Report
    files: tuple[Path, ...]


def carry_out(
    name: str,
    cells: Sequence[Cell],
    report: Callable[[Cells], Report],
    output: Path,
    engine: Engine,
    watch: Watch | None = None,
) -> Outcome:
    """Compute the cells, or find them done, and write the report: ``NAME.jsonl``, ``.tsv``, ``.txt``, plots."""
    log = output / f"{name}.jsonl"
    found = report(run_grid(cells, lambda cell: run_cell(cell, engine), log, watch))
    texts = {output / f"{name}.tsv": tsv(found.header, found.rows), output / f"{name}.txt": found.text}
    for path, text in texts.items():
        atomic_write_text(path, text)
    figures = [output / f"{name}.{ending}" for ending in ("svg", "png")] if found.plot else []
    if found.plot:
        write_plot(found.plot, figures)
    return Outcome(found, (log, *texts, *figures))

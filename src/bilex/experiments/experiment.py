"""What all experiments share: the options, the plan of a grid, and the report that is written."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bilex.em.context import Reporter
from bilex.errors import BilexWarning
from bilex.experiments import published
from bilex.experiments.cells import Cell, run_cell
from bilex.experiments.grid import run_grid
from bilex.experiments.inputs import FileCache, check_seed_name, is_drawn, needs_train
from bilex.experiments.layouts import Layout, PairFiles
from bilex.experiments.plots import Plot, PlotsNotInstalled, write_plot
from bilex.experiments.reporting import Measured, constraint_note, reason_notes, tsv, wrapped
from bilex.files.atomic import atomic_write_text
from bilex.methods import Method, find_method
from bilex.search.engine import Engine

PAPERS_LAYOUT = "paper"


@dataclass(frozen=True)
class Options:
    """The user's choices; empty where the experiment or the layout decides."""

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
            check_seed_name(name)


@dataclass(frozen=True)
class Setting:
    """An experiment on a data directory."""

    name: str
    folder: Path
    layout: Layout
    cache: FileCache
    options: Options = field(default_factory=Options)

    def plan(
        self,
        measure: str,
        systems: Sequence[tuple[str, str | None, Sequence[str]]],
        *,
        sizes_of: Callable[[PairFiles], Sequence[int | None]] = lambda files: (None,),
        held_out: bool = False,
    ) -> list[Cell]:
        """Return the cells: every pair of languages, every system from each of its seeds, every size and draw.

        A system is the name of a method, a prior (None for the method's own) and its seeds. With `held_out`, words held
        out of the train dictionary are queries too.
        """
        needs = {
            "train": held_out or any(needs_train(seed) for _, _, seeds in systems for seed in seeds),
            "test": measure != "similarity",
            "similarity": measure == "similarity",
        }
        pairs = self.options.pairs or self.layout.pairs_of(self.name, self.folder)
        every = [self.layout.resolve(self.folder, pair, **needs) for pair in pairs]
        held = {files.name: files.held_out if held_out else None for files in every}
        return [
            Cell(measure, files, self.method(name, files, prior), seed, self.cache, draw, size, held[files.name])
            for files in every
            for name, prior, seeds in systems
            for seed in seeds
            for size in sizes_of(files)
            for draw in range(self.options.draws if is_drawn(seed) else 1)
        ]

    def methods(self, default: Sequence[str]) -> tuple[str, ...]:
        """Return the names of the methods."""
        return self.options.methods or tuple(default)

    def seeds(self, default: Sequence[str]) -> tuple[str, ...]:
        """Return the names of the seeds."""
        return self.options.seeds or tuple(default)

    def method(self, name: str, files: PairFiles, prior: str | None = None) -> Method:
        """Return a method; a frequency constraint is replaced by the user's or the layout's."""
        method = find_method(name)
        changes: dict[str, Any] = {} if prior is None else {"prior": prior}
        rank = self.options.max_rank or files.max_rank
        if method.e_step.max_rank is not None and rank is not None:
            changes["max_rank"] = rank
        return method.with_changes(changes)

    def notes(self, cells: list[Measured], *about: str, after: Sequence[str] = ()) -> tuple[str, ...]:
        """Return the notes below a table: the paper's finding, `about` the figures, and why some are missing."""
        finding = published.FINDINGS.get(self.name, "")
        description = self.layout.table.description
        other_data = f"The data here are not the paper's{f' but {description}' if description else ''}; "
        lines = (
            f"The paper: {finding}" if finding else "",
            *about,
            "" if self.layout.name == PAPERS_LAYOUT else other_data + "do not compare the figures one to one.",
            constraint_note(cells),
            *after,
            *reason_notes(cells),
        )
        return tuple(filter(None, lines))


@dataclass(frozen=True)
class Report:
    """The findings of an experiment: a table to read with its notes, the same as rows to compute with, and a plot."""

    title: str
    table: str
    header: tuple[str, ...]
    rows: list[dict[str, Any]]
    notes: tuple[str, ...] = ()
    plot: Plot | None = None

    @property
    def text(self) -> str:
        """The report as it is printed."""
        return f"{self.title}\n\n{self.table}\n\n{wrapped(self.notes)}".rstrip() + "\n"


@dataclass(frozen=True)
class Experiment:
    """A table or figure of the paper: the cells that it needs, and how they are reported."""

    name: str
    plan: Callable[[Setting], list[Cell]]
    report: Callable[[Setting, list[Measured]], Report]


@dataclass(frozen=True)
class Outcome:
    """A finished experiment: its report, and the files that were written."""

    report: Report
    files: tuple[Path, ...]


def run_experiment(
    name: str,
    cells: Sequence[Cell],
    report: Callable[[list[Measured]], Report],
    output: Path,
    engine: Engine,
    reporter: Reporter | None = None,
) -> Outcome:
    """Compute the cells that are not finished yet, and write ``NAME.jsonl``, ``.tsv``, ``.txt`` and the plots.

    Without matplotlib the plots are left out, with a warning.
    """
    log = output / f"{name}.jsonl"
    results = run_grid(cells, lambda cell: run_cell(cell, engine), log, reporter)
    found = report([Measured(cell, result) for cell, result in zip(cells, results, strict=True)])
    files = [log, output / f"{name}.tsv", output / f"{name}.txt"]
    atomic_write_text(files[1], tsv(found.header, found.rows))
    atomic_write_text(files[2], found.text)
    if found.plot:
        plots = [output / f"{name}.{ending}" for ending in ("svg", "png")]
        try:
            write_plot(found.plot, plots)
            files += plots
        except PlotsNotInstalled as error:
            warnings.warn(f"{plots[0]} is not drawn: {error}", BilexWarning, stacklevel=2)
    return Outcome(found, tuple(files))

"""What all experiments share: the options, the plan of a grid, and the files that are written."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from bilex.em.context import Reporter
from bilex.errors import BilexError
from bilex.experiments.cells import Cell, FileCache, check_seed_name, is_drawn, needs_train
from bilex.experiments.grid import run_grid
from bilex.experiments.layouts import Layout, PairFiles, parse_pair
from bilex.experiments.plots import write_plot
from bilex.experiments.reporting import Report, Row, published_rows, reason_notes
from bilex.files.atomic import atomic_write_text
from bilex.files.ownership import ELSEWHERE
from bilex.methods import Method, find_method
from bilex.search.local import LocalEngine

PAPERS_LAYOUT = "paper"
LARGE_SEED = ("5000",)
DEFAULT_SIZES = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000)


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
        for check, names in ((parse_pair, self.pairs), (find_method, self.methods), (check_seed_name, self.seeds)):
            for name in names:
                check(name)


@dataclass(frozen=True)
class Experiment:
    """A table or figure of the paper: what it measures if the user does not choose, and how it is reported."""

    measure: str
    methods: tuple[str, ...]
    report: Callable[["Setting", list[Row]], Report]
    seeds: tuple[str, ...] = LARGE_SEED
    large_seed_only: tuple[str, ...] = ()  # methods that need it, because they do not learn from themselves
    priors: tuple[str | None, ...] = (None,)  # None is the method's own
    sized: bool = False  # at several sizes of the vocabulary; words held out of the train dictionary are queries too


@dataclass(frozen=True)
class Setting:
    """An experiment on a data directory."""

    name: str
    experiment: Experiment
    folder: Path
    layout: Layout
    cache: FileCache
    options: Options = field(default_factory=Options)

    def plan(self) -> list[Cell]:
        """Return the cells: every pair of languages, every method and prior from each of its seeds, size and draw."""
        options, measure, sized = self.options, self.experiment.measure, self.experiment.sized
        methods = options.methods or self.experiment.methods
        if measure == "answers" and len(methods) != 2:
            raise BilexError(f"{self.name} compares two methods, but {len(methods)} are given; give two with --methods")
        draws = 1 if measure == "answers" else options.draws
        need_train = sized or any(needs_train(seed) for method in methods for seed in self.seeds_of(method))
        on_similarity = measure == "similarity"
        pairs = options.pairs or self.layout.pairs_of(self.name, self.folder)
        every = [self.layout.resolve(self.folder, pair, need_train, not on_similarity, on_similarity) for pair in pairs]
        return [
            Cell(measure, files, method, seed, self.cache, draw, size, files.held_out if sized else None)
            for files in every
            for name in methods
            for method in self.methods_of(name, files)
            for seed in self.seeds_of(name)
            for size in self.sizes_of(files)
            for draw in range(draws if is_drawn(seed) else 1)
        ]

    def seeds_of(self, method: str) -> tuple[str, ...]:
        """Return the seeds of a method."""
        own = LARGE_SEED if method in self.experiment.large_seed_only else self.experiment.seeds
        return self.options.seeds or own

    def methods_of(self, name: str, files: PairFiles) -> list[Method]:
        """Return a method with each prior; a frequency constraint is replaced by the user's or the layout's."""
        method, rank = find_method(name), self.options.max_rank or files.max_rank
        if method.e_step.max_rank is not None and rank is not None:
            method = method.with_changes({"max_rank": rank})
        return [method if prior is None else method.with_changes({"prior": prior}) for prior in self.experiment.priors]

    def sizes_of(self, files: PairFiles) -> tuple[int | None, ...]:
        """Return the sizes that the user chose, the layout's, or steps up to the smaller vocabulary."""
        if not self.experiment.sized:
            return (None,)
        if chosen := self.options.sizes or self.layout.table.sizes:
            return tuple(sorted(set(chosen)))
        smaller = min(len(self.cache.vectors(path)) for path in (files.source, files.target))
        return (*(size for size in DEFAULT_SIZES if size < smaller), smaller)

    def notes(self, rows: list[Row], *about: str, after: Sequence[str] = ()) -> tuple[str, ...]:
        """Return the notes below a table: the paper's finding, `about` the figures, and why some are missing."""
        description = self.layout.table.description
        other_data = f"The data here are not the paper's{f' but {description}' if description else ''}; "
        ranks = {row["pair"]: row["max_rank"] for row in rows if row["max_rank"]}
        listed = ", ".join(f"{rank:,} for {pair}" for pair, rank in ranks.items())
        found = next(row for row in published_rows("findings") if row["name"] == self.name)
        constraint = "Frequency constraint, most frequent words of both languages (the paper's are 40,000): "
        return (
            f"The paper: {found['finding']}",
            *about,
            "" if self.layout.name == PAPERS_LAYOUT else other_data + "do not compare the figures one to one.",
            f"{constraint}{listed}." if ranks else "",
            *after,
            *reason_notes(rows),
        )


class Outcome(NamedTuple):
    """A finished experiment: its report, and the files that were written."""

    report: Report
    files: list[Path]


def run_experiment(
    name: str,
    cells: Sequence[Cell],
    report: Callable[[list[Row]], Report],
    output: str | os.PathLike[str],
    reporter: Reporter | None = None,
    *,
    ending: str = "txt",
) -> Outcome:
    """Compute the cells that are not finished yet, and write ``NAME.jsonl``, ``.tsv``, the text and the plots.

    Files of these names that are not beside a log are somebody else's, and stay. Without matplotlib the plots are left
    out, with a warning.
    """
    output, engine = Path(output), LocalEngine()
    *files, svg, png = [output / f"{name}.{kind}" for kind in ("jsonl", "tsv", ending, "svg", "png")]
    if not files[0].exists() and (other := next(filter(Path.exists, (*files, svg, png)), None)):
        raise BilexError(f"{other}: bilex did not write it, and would replace it; move it, or {ELSEWHERE}")
    jobs = [(cell.label, cell.configuration) for cell in cells]
    results = run_grid(jobs, lambda place: cells[place].run(engine), files[0], reporter)
    found = report([row for cell, result in zip(cells, results, strict=True) for row in cell.rows(result)])
    atomic_write_text(files[1], found.tsv)
    atomic_write_text(files[2], found.text)
    if found.plot:
        files += write_plot(found.plot, [svg, png])
    return Outcome(found, files)

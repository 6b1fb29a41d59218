"""A grid of your own: vocabulary sizes × priors × seeds × methods × pairs, described in a TOML file.

docs/experiments.md lists the keys of the file.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from bilex.errors import BilexError, InputError
from bilex.experiments.cells import Cell, FileCache, check_seed_name, is_drawn, needs_train
from bilex.experiments.layouts import HeldOut, PairFiles, PairName, convert_table, find_layout, is_file
from bilex.experiments.reporting import Report, Row, held_out_notes, reason_notes
from bilex.experiments.tables import RETRIEVAL_NAMES, report_curves
from bilex.files.streams import read_toml
from bilex.methods import Count, Method, find_method
from bilex.seeds.seed import IDENTICAL


class SweepTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of the TOML file."""

    data: str | None = None
    layout: str | None = None
    pairs: list[PairName] = []
    source: str | None = None
    target: str | None = None
    train: str | None = None
    test: str | None = None
    methods: list[str] = []
    priors: list[str] = []
    seeds: Annotated[tuple[int | str, ...], msgspec.Meta(min_length=1)] = (IDENTICAL,)
    sizes: list[Count] = []
    draws: Count = 1
    limit: Count = 200_000
    max_rank: Count | None = None
    held_out: HeldOut | None = None
    retrieval: Literal["nn", "csls"] = "nn"


@dataclass(frozen=True)
class Sweep:
    """A grid that was read and checked."""

    name: str
    table: SweepTable
    files: tuple[PairFiles, ...]
    methods: tuple[Method, ...]

    def cells(self) -> list[Cell]:
        """Return the cells of the grid."""
        table, cache = self.table, FileCache(self.table.limit)
        return [
            Cell("translation", files, method, seed, cache, draw, size, table.held_out)
            for files in self.files
            for seed in dict.fromkeys(map(str, table.seeds))
            for method in self.methods
            for size in sorted(set(table.sizes)) or (None,)
            for draw in range(table.draws if is_drawn(seed) else 1)
        ]

    def report(self, rows: list[Row]) -> Report:
        """Report the results as tables and a plot."""
        table = self.table
        notes = (
            "P@1 is over the covered test words; over all of them, and by the other retrieval: see the TSV file.",
            "A vocabulary of size n is the n most frequent words of both languages." if table.sizes else "",
            f"Mean (lowest to highest) of {table.draws} draws." if table.draws > 1 else "",
            *held_out_notes(rows),
            *reason_notes(rows),
        )
        title = f"{self.name}: P@1 (%), {RETRIEVAL_NAMES[table.retrieval]}"
        return report_curves(title, rows, self.label, notes, table.retrieval)

    def label(self, row: Row) -> str:
        """Return the label of a line of the plot: what differs between lines."""
        parts = [row["method"]] if len({method.name for method in self.methods}) > 1 else []
        if len({method.prior for method in self.methods}) > 1 or not parts:
            parts.append(f"{row['prior']} prior")
        return ", ".join(parts)


def read_sweep(path: str | os.PathLike[str]) -> Sweep:
    """Read and check the description of a grid."""
    path = Path(path)
    table = convert_table(read_toml(path), SweepTable, str(path), SweepTable.__struct_fields__)
    try:
        for seed in table.seeds:
            check_seed_name(str(seed))
        methods = methods_of(table)
    except BilexError as error:
        raise BilexError(f"{path}: {error}") from None
    return Sweep(path.stem, table, files_of(table, path), methods)


def methods_of(table: SweepTable) -> tuple[Method, ...]:
    """Return every method with every prior, each combination once."""
    changes: dict[str, Any] = {} if table.max_rank is None else {"max_rank": table.max_rank}
    priors: list[dict[str, Any]] = [{"prior": prior} for prior in table.priors] or [{}]
    names = table.methods or ["ruder2018"]
    combined = (find_method(name).with_changes({**changes, **prior}) for name in names for prior in priors)
    return tuple(dict.fromkeys(combined))


def files_of(table: SweepTable, path: Path) -> tuple[PairFiles, ...]:
    """Find the files of the grid: a data directory's, or two files of vectors and their dictionaries."""
    train = table.held_out is not None or any(needs_train(str(seed)) for seed in table.seeds)
    given = {key: getattr(table, key) for key in ("source", "target", "train", "test")}
    places = {key: path.parent / name for key, name in given.items() if name is not None}
    if not (table.data or table.layout or table.pairs):
        for key in ("source", "target", "test", *["train"] * train):
            if key not in places:
                raise InputError(path, f"the key {key!r} is missing", "give the file, or a data directory with 'data'")
            if not is_file(places[key]):
                raise InputError(places[key], "no such file", f"correct {key!r} in {path.name}")
        name = "-".join(places[side].name.split(".")[0] for side in ("source", "target"))
        return (PairFiles(name, **places),)
    if places:
        raise InputError(path, f"{min(places)!r} excludes 'data'", "give a data directory or two files")
    if table.data is None:
        raise InputError(path, "the key 'data' is missing", "give the data directory")
    data, layout = path.parent / table.data, table.layout
    if layout and layout.endswith(".toml"):
        layout = str(path.parent / layout)
    found = find_layout(data, layout)
    pairs = tuple(dict.fromkeys(table.pairs)) or found.pairs_of("sweep", data)
    return tuple(found.resolve(data, pair, train=train) for pair in pairs)

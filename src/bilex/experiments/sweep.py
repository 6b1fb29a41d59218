"""A grid of one's own: vocabulary sizes × priors × seeds × methods × pairs, described in a TOML file.

The keys, all but the data optional; paths are relative to the file.

==============  ======================================================================================================
``data``        a data directory, with ``layout`` (as for `bilex reproduce`) and ``pairs``; or instead of it
``source``,     two files of word vectors, with the dictionaries ``train`` (needed by the seeds that come from it)
``target``      and ``test``
``methods``     default ``["ruder2018"]``
``priors``      such as ``["1:1", "2:2"]``; default: each method's own
``seeds``       ``5000`` (the train dictionary), a number of pairs drawn from it, ``numerals``, ``identical`` (default)
``sizes``       vocabulary sizes; default: all words
``draws``       how many draws of seeds that are drawn
``limit``       words read from each file of vectors
``max_rank``    the frequency constraint, for every method
``held_out``    N: every Nth source word of `train` is asked for instead of being part of the seed
``retrieval``   what is shown: ``nn`` (default) or ``csls``; the table file has both
==============  ======================================================================================================
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bilex.errors import BilexError, InputError
from bilex.experiments.cells import Cell
from bilex.experiments.curves import RETRIEVAL_NAMES, Curves, held_out_notes
from bilex.experiments.grid import Watch
from bilex.experiments.layouts import PairFiles, find_layout
from bilex.experiments.seeds import check_seed, is_drawn, needs_train
from bilex.experiments.setting import Cells, Outcome, Report, carry_out
from bilex.experiments.sources import Sources
from bilex.experiments.toml import Expect, check_keys, is_file
from bilex.experiments.translation import HEADER, reasons, tsv_rows
from bilex.files.toml import read_toml
from bilex.methods import Method, find_method
from bilex.search.engine import Engine
from bilex.search.local import LocalEngine
from bilex.search.space import RETRIEVALS
from bilex.seeds.seed import IDENTICAL

__all__ = ["Sweep", "read_sweep", "run_sweep"]

KEYS = (
    "data", "layout", "pairs", "source", "target", "train", "test", "methods", "priors", "seeds", "sizes", "draws",
    "limit", "max_rank", "held_out", "retrieval",
)  # fmt: skip


@dataclass(frozen=True)
class Sweep:
    """A grid that was read and checked."""

    name: str
    files: tuple[PairFiles, ...]
    methods: tuple[Method, ...]
    seeds: tuple[str, ...]
    sizes: tuple[int | None, ...]
    draws: int
    limit: int
    held_out: int | None
    retrieval: str

    def cells(self) -> list[Cell]:
        """Lay the grid out."""
        sources = Sources(self.limit)
        return [
            Cell("translation", files, method, seed, sources, draw, size, self.held_out)
            for files in self.files
            for seed in self.seeds
            for method in self.methods
            for size in self.sizes
            for draw in range(self.draws if is_drawn(seed) else 1)
        ]

    def report(self, cells: Cells) -> Report:
        """Write the results as tables and a plot."""
        curves = Curves(cells, self.label, self.retrieval)
        shown = RETRIEVAL_NAMES[self.retrieval]
        return Report(
            title=f"{self.name}: P@1 (%), {shown}",
            table=curves.table(),
            header=HEADER,
            rows=tuple(tsv_rows(cells)),
            notes=(
                "P@1 is over the covered test words; over all of them, and by the other retrieval: see the TSV file.",
                *(
                    ["A vocabulary of size n is the n most frequent words of both languages."]
                    if any(self.sizes)
                    else []
                ),
                *([f"Mean (lowest to highest) of {self.draws} draws."] if self.draws > 1 else []),
                *held_out_notes(cells),
                *reasons(cells),
            ),
            plot=curves.plot(),
        )

    def label(self, cell: Cell) -> str:
        """Name a line of the plot by what differs between lines."""
        parts = [cell.method.name] if len({method.name for method in self.methods}) > 1 else []
        if len({method.prior for method in self.methods}) > 1 or not parts:
            parts.append(f"{cell.method.prior} prior")
        return ", ".join(parts)


def read_sweep(path: str | os.PathLike[str]) -> Sweep:
    """Read and check the description of a grid."""
    path = Path(path)
    table = read_toml(path)
    origin = str(path)
    check_keys(table, KEYS, origin)
    expect = Expect(origin)
    for key, least in (("draws", 1), ("limit", 1), ("max_rank", 1), ("held_out", 2)):
        expect.number(table, key, least)
    for key in ("data", "layout", "source", "target", "train", "test", "retrieval"):
        expect.kind(table, key, str, "a text")
    seeds = tuple(map(str, table.get("seeds", [IDENTICAL]))) if isinstance(table.get("seeds", []), list) else None
    retrieval = table.get("retrieval", RETRIEVALS[0])
    if retrieval not in RETRIEVALS:
        raise expect.fail("retrieval", retrieval, f"choose one of {', '.join(RETRIEVALS)}")
    if not seeds:
        raise expect.fail("seeds", table["seeds"], "give a list of seeds")
    try:
        for seed in seeds:
            check_seed(seed)
        methods = read_methods(table, expect)
    except InputError:
        raise
    except BilexError as error:
        raise BilexError(f"{path}: {error}") from None
    return Sweep(
        name=path.stem,
        files=tuple(read_files(table, path, seeds)),
        methods=methods,
        seeds=tuple(dict.fromkeys(seeds)),
        sizes=tuple(sorted(set(expect.sizes(table, "sizes")))) or (None,),
        draws=table.get("draws", 1),
        limit=table.get("limit", 200_000),
        held_out=table.get("held_out"),
        retrieval=retrieval,
    )


def read_methods(table: Mapping[str, Any], expect: Expect) -> tuple[Method, ...]:
    """Give every method with every prior, each combination once."""
    names = expect.strings(table, "methods") or ("ruder2018",)
    priors: tuple[str | None, ...] = expect.strings(table, "priors") or (None,)
    changes = {"max_rank": table.get("max_rank")}
    found = [find_method(name).with_changes({**changes, "prior": prior}) for name in names for prior in priors]
    return tuple(dict.fromkeys(found))


def read_files(table: Mapping[str, Any], path: Path, seeds: tuple[str, ...]) -> list[PairFiles]:
    """Find the files of the grid: a data directory's, or two files of vectors and their dictionaries."""
    folder, origin = path.parent, str(path)
    train = any(map(needs_train, seeds)) or "held_out" in table
    alone, shared = {"source", "target", "train", "test"} & table.keys(), {"data", "layout", "pairs"} & table.keys()
    if alone and shared:
        raise InputError(
            origin, f"{min(shared)!r} and {min(alone)!r} exclude each other", "give a data directory or two files"
        )
    if shared:
        if "data" not in table:
            raise InputError(origin, "the key 'data' is missing", "give the data directory")
        data = folder / table["data"]
        layout = find_layout(data, named(table.get("layout"), folder))
        pairs = Expect(origin).pairs(table, "pairs") or layout.pairs_of("sweep", data)
        return [layout.resolve(data, pair, train=train) for pair in pairs]
    for key in ("source", "target", "test", *(["train"] if train else [])):
        if key not in table:
            raise InputError(origin, f"the key {key!r} is missing", "give the file, or a data directory with 'data'")
        if not is_file(folder / table[key]):
            raise InputError(folder / table[key], "no such file", f"correct {key!r} in {path.name}")
    places = {key: folder / table[key] for key in ("source", "target", "train", "test") if key in table}
    name = "-".join(places[side].name.split(".")[0] for side in ("source", "target"))
    return [PairFiles(name, **places)]


def named(layout: str | None, folder: Path) -> str | None:
    """Give the layout as it is meant: a file beside the description, or a name."""
    return str(folder / layout) if layout and layout.endswith(".toml") else layout


def run_sweep(
    sweep: Sweep, output: str | os.PathLike[str], *, engine: Engine | None = None, watch: Watch | None = None
) -> Outcome:
    """Compute the grid, or go on with it, and write its table and plot."""
    return carry_out(sweep.name, sweep.cells(), sweep.report, Path(output), engine or LocalEngine(), watch)

"""The paper's experiments: every table and figure, on the paper's data or on one's own.

`reproduce` runs one of them on a data directory that a layout describes; `bilex.experiments.sweep` runs a grid of
one's own. Both go through one small engine (`grid`) that computes each cell once and goes on where it was
interrupted.
"""

from __future__ import annotations

import os
from pathlib import Path

from bilex.experiments.differences import TABLE5
from bilex.experiments.grid import Watch
from bilex.experiments.hubs import TABLE3
from bilex.experiments.layouts import find_layout
from bilex.experiments.setting import Experiment, Options, Outcome, Report, Setting, carry_out
from bilex.experiments.similarity import TABLE2
from bilex.experiments.sources import Sources
from bilex.experiments.translation import TABLE1, TABLE4
from bilex.experiments.vocabulary import FIG2, FIG3
from bilex.search.engine import Engine
from bilex.search.local import LocalEngine

__all__ = ["EXPERIMENTS", "Experiment", "Options", "Outcome", "Report", "Setting", "reproduce"]

EXPERIMENTS = {experiment.name: experiment for experiment in (TABLE1, TABLE2, TABLE3, TABLE4, TABLE5, FIG2, FIG3)}


def reproduce(
    name: str,
    data: str | os.PathLike[str],
    output: str | os.PathLike[str] = "reproduced",
    *,
    layout: str | None = None,
    options: Options | None = None,
    limit: int | None = 200_000,
    engine: Engine | None = None,
    watch: Watch | None = None,
) -> Outcome:
    """Run a table or figure of the paper, or go on with it.

    Parameters
    ----------
    name
        ``table1`` to ``table5``, ``fig2`` or ``fig3``.
    data
        The data directory.
    output
        Where the results go: ``NAME.jsonl`` (every cell), ``NAME.tsv``, ``NAME.txt`` and for figures SVG and PNG.
    layout
        The name of a shipped layout or a TOML file; by default it is found.
    options
        Which part of the experiment; by default all of it.
    limit
        How many words to read from each file of vectors.
    engine
        Where the searches run.
    watch
        Is told how it goes.
    """
    experiment = EXPERIMENTS[name]
    setting = Setting(name, Path(data), find_layout(data, layout), Sources(limit), options or Options())
    cells = experiment.plan(setting)
    return carry_out(
        name, cells, lambda found: experiment.report(setting, found), Path(output), engine or LocalEngine(), watch
    )

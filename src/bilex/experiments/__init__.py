"""The paper's experiments: every table and figure, on the paper's data or on your own.

`reproduce` runs one of them on a data directory that a layout describes; `bilex.experiments.sweep` runs a grid of
your own. Both use one small engine (`grid`) that computes each cell once and continues an interrupted run.
"""

from __future__ import annotations

import os
from pathlib import Path

from bilex.em.context import Reporter
from bilex.experiments.differences import TABLE5
from bilex.experiments.experiment import Experiment, Options, Outcome, Report, Setting, run_experiment
from bilex.experiments.figures import FIG2, FIG3
from bilex.experiments.hubs import TABLE3
from bilex.experiments.inputs import FileCache
from bilex.experiments.layouts import find_layout
from bilex.experiments.similarity import TABLE2
from bilex.experiments.translation import TABLE1, TABLE4
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
    reporter: Reporter | None = None,
) -> Outcome:
    """Run a table or figure of the paper, or continue an interrupted run.

    Parameters
    ----------
    name
        ``table1`` to ``table5``, ``fig2`` or ``fig3``.
    data
        The data directory.
    output
        The directory of the results: ``NAME.jsonl`` (every cell), ``NAME.tsv``, ``NAME.txt``, for figures SVG and PNG.
    layout
        The name of a shipped layout or a TOML file; by default the one that fits the files.
    options
        Which part of the experiment; by default all of it.
    limit
        The number of words to read from each file of vectors.
    engine
        Where the searches run.
    reporter
        Receives progress callbacks.
    """
    experiment = EXPERIMENTS[name]
    setting = Setting(name, Path(data), find_layout(data, layout), FileCache(limit), options or Options())
    cells = experiment.plan(setting)
    engine = engine or LocalEngine()
    return run_experiment(name, cells, lambda found: experiment.report(setting, found), Path(output), engine, reporter)

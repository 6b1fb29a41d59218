"""The paper's experiments: every table and figure, on the paper's data or on your own.

`reproduce` runs one of them on a data directory that a layout describes; `bilex.experiments.sweep` runs a grid of
your own. Both use one small engine (`grid`) that computes each cell once and continues an interrupted run.
"""

import os
from functools import partial
from pathlib import Path

from bilex.em.context import Reporter
from bilex.experiments import tables
from bilex.experiments.cells import PAPER_SEEDS, FileCache
from bilex.experiments.experiment import Experiment, Options, Outcome, Setting, run_experiment
from bilex.experiments.layouts import find_layout
from bilex.seeds.seed import IDENTICAL

BASELINES = ("mikolov2013", "xing2015", "zhang2016", "artetxe2016", "artetxe2017")
SYSTEMS = (*BASELINES, "ruder2018", "ruder2018-freq")
EXPERIMENTS = {
    "table1": Experiment("translation", SYSTEMS, tables.report_table1, PAPER_SEEDS),
    "table2": Experiment("similarity", SYSTEMS, tables.report_table2, PAPER_SEEDS[:3], large_seed_only=BASELINES[:4]),
    "table3": Experiment("hubs", ("artetxe2017", "ruder2018"), tables.report_table3),
    "table4": Experiment("translation", SYSTEMS[4:], tables.report_table4, (IDENTICAL,)),
    "table5": Experiment("answers", tables.TABLE5_SYSTEMS, tables.report_table5),
    "fig2": Experiment("translation", SYSTEMS[:6], tables.report_fig2, sized=True),
    "fig3": Experiment(
        "translation", ("ruder2018",), tables.report_fig3, priors=("1:1", "1:2", "2:1", "2:2"), sized=True
    ),
}


def reproduce(
    name: str,
    data: str | os.PathLike[str],
    output: str | os.PathLike[str] = "reproduced",
    *,
    layout: str | None = None,
    options: Options | None = None,
    limit: int | None = 200_000,
    reporter: Reporter | None = None,
) -> Outcome:
    """Run a table or figure of the paper (``table1`` to ``table5``, ``fig2`` or ``fig3``), or go on with it.

    `output` gets ``NAME.jsonl`` (every cell), ``NAME.tsv``, ``NAME.txt`` and for figures SVG and PNG. `layout` is the
    name of a shipped layout or a TOML file, by default the one that fits the files in `data`; `limit` is the number of
    words to read from each file of vectors.
    """
    experiment = EXPERIMENTS[name]
    setting = Setting(name, experiment, Path(data), find_layout(data, layout), FileCache(limit), options or Options())
    return run_experiment(name, setting.plan(), partial(experiment.report, setting), output, reporter)

"""The report: one HTML page that shows a run and its verdict (how a run is judged: `bilex.confidence.verdict`)."""

from __future__ import annotations

import os

from bilex.confidence.verdict import FAILED, Verdict, judge
from bilex.files.atomic import atomic_write_text
from bilex.report.page import render_report
from bilex.runs.run import Run
from bilex.search.engine import Engine

__all__ = ["FAILED", "REPORT", "Verdict", "judge", "render_report", "write_report"]

REPORT = "report.html"


def write_report(
    run: Run, path: str | os.PathLike[str], engine: Engine | None = None, verdict: Verdict | None = None
) -> None:
    """Write the report of a run to a file atomically; without a verdict the run is judged first."""
    atomic_write_text(path, render_report(run, verdict or judge(run), engine))

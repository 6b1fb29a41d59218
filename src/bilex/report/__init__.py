"""The report: one HTML page that shows a run and its verdict (how a run is judged: `bilex.confidence.verdict`)."""

from __future__ import annotations

import os

from bilex.files.atomic import atomic_write_text
from bilex.report.page import render_report
from bilex.runs.run import Run
from bilex.search.engine import Engine

__all__ = ["REPORT", "render_report", "write_report"]

REPORT = "report.html"


def write_report(run: Run, path: str | os.PathLike[str], engine: Engine | None = None) -> None:
    """Write the report of a run to a file atomically."""
    atomic_write_text(path, render_report(run, engine))

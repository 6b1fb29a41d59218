"""The report: what a run is worth, on one page that anyone can open (how it is judged: `bilex.confidence.verdict`)."""

from __future__ import annotations

import os

from bilex.confidence.verdict import FAILED, Verdict, judge
from bilex.files.atomic import atomic_write_text
from bilex.report.page import render
from bilex.runs.run import Run
from bilex.search.engine import Engine

__all__ = ["FAILED", "REPORT", "Verdict", "judge", "render", "write_report"]

REPORT = "report.html"


def write_report(run: Run, path: str | os.PathLike[str], engine: Engine | None = None) -> None:
    """Write the report of a run to a file, whole or not at all."""
    atomic_write_text(path, render(run, engine))

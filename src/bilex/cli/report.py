"""``bilex report``: write one page that shows a run and assesses it."""

from dataclasses import asdict
from pathlib import Path

import click

from bilex.cli.options import output_options, print_result, run_argument

REQUIRED_FIELDS = {"version", "configuration", "inputs", "threads", "stopped", "seconds", "iterations"}


@click.command()
@run_argument
@click.option("-o", "--output", metavar="FILE", help="The page to write.  [default: RUN/report.html]")
@output_options
def report(run: str, output: str | None, as_json: bool, quiet: bool) -> None:
    """Write the report of RUN again: how good its lexicon is, and why.

    The report is one HTML file that loads nothing from the network: send it, print it, open it on a phone.
    """
    from bilex.confidence.signs import SOUND
    from bilex.errors import InputError
    from bilex.files.ownership import MANIFEST, REPORT, check_not_input
    from bilex.report.page import write_report
    from bilex.runs.progress import show_progress
    from bilex.runs.run import Run
    from bilex.search.engines import find_engine

    with show_progress(quiet or as_json) as reporter:
        reporter.stage("reading")
        loaded = Run.load(run)
        if missing := sorted(REQUIRED_FIELDS - set(loaded.info)):
            raise InputError(Path(run) / MANIFEST, f"its entry {missing[0]!r} is missing", "run `bilex induce` again")
        reporter.stage("judging")
        verdict = loaded.verdict
        place = output or str(Path(run) / REPORT)
        check_not_input(loaded.info, place)
        write_report(loaded, place, find_engine("local", progress=reporter.rows), run)
    lines = [loaded.headline, f"{verdict.headline}. {' '.join(verdict.reasons)}"]
    lines += [f"next: {' '.join(verdict.advice)}"] if verdict.level != SOUND else []
    about = {"report": place, "verdict": verdict.summary(), "figures": asdict(verdict.figures)}
    print_result(about, [*lines, f"report: {place}"], as_json, quiet)

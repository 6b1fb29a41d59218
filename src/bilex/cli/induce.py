"""``bilex induce``: learn a lexicon from two files of vectors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from bilex.cli.interrupts import exit_message, exit_promptly_on_interrupt
from bilex.cli.jobs import Job, new_job, old_job
from bilex.cli.options import (
    json_option,
    method_options,
    min_confidence_option,
    print_json,
    quiet_option,
    wrong_usage,
)
from bilex.errors import BilexWarning, NothingMatchedWarning
from bilex.methods import DEFAULT_METHOD

if TYPE_CHECKING:
    from bilex.runs.checkpoints import Checkpoint
    from bilex.runs.run import Run


@click.command()
@click.argument("src", type=click.Path(), required=False)
@click.argument("trg", type=click.Path(), required=False)
@click.option("-o", "--output", metavar="RUN", help="The run directory to write.  [default: SRC-TRG]")
@click.option("--resume", metavar="RUN", help="Go on with a run that was interrupted, with its options.")
@click.option(
    "--seed",
    default="identical",
    show_default=True,
    metavar="identical|numerals|unsupervised|FILE|RUN/reviewed",
    help="Where to start: words spelt the same, numerals, nothing, a dictionary file, or a run that was reviewed.",
)
@click.option("--method", default=DEFAULT_METHOD, show_default=True, metavar="NAME", help="A method by its name.")
@method_options
@click.option("--limit", type=int, default=200_000, show_default=True, help="Words to read from each file.")
@click.option("--complete", is_flag=True, help="Also list the best CSLS neighbour of every unmatched word.")
@min_confidence_option
@click.option(
    "--engine",
    default="local",
    show_default=True,
    metavar="local|torch[=DEVICE]|dask[=ADDRESS]",
    help="Where the searches run: on this machine's cores, in torch (cuda, mps or cpu), on a Dask cluster.",
)
@click.option("--report/--no-report", default=True, help="Write report.html, a page that shows and judges the run.")
@click.option("--reuse/--no-reuse", default=True, help="Start searches and matchings from the last ones; same lexicon.")
@click.option("--threads", type=click.IntRange(1), help="Worker threads.  [default: all cores]")
@json_option
@quiet_option
@click.pass_context
def induce(
    context: click.Context, /, output: str | None, resume: str | None, as_json: bool, quiet: bool, **_: object
) -> None:
    """Learn a lexicon from the word vectors SRC and TRG.

    Writes the directory RUN with lexicon.tsv, model.safetensors, run.json and report.html, and says whether the
    lexicon looks sound, doubtful or failed. A run that was interrupted goes on with --resume RUN alone.
    """
    from bilex.cli.estimate import estimate_run
    from bilex.cli.progress import show_progress
    from bilex.confidence.signs import FAILED
    from bilex.files.run_directory import LEXICON, run_directory
    from bilex.induction import induce as learn
    from bilex.report.page import REPORT, write_report
    from bilex.runs.checkpoints import read_checkpoint
    from bilex.search.engines import find_engine, open_engine
    from bilex.seeds.seed import check_seed
    from bilex.vectors.embeddings import load

    interrupted = None if resume is None else read_checkpoint(Path(resume))
    with wrong_usage():
        job = new_job(context) if resume is None or interrupted is None else old_job(context, resume, interrupted)
        find_engine(job.engine, threads=job.threads)
    place = resume or output or f"{stem_of(job.src)}-{stem_of(job.trg)}"
    with (
        run_directory(place) as folder,
        exit_promptly_on_interrupt(folder),
        show_progress(quiet or as_json, job.method.stopping.tolerance, job.method.stopping.max_iterations) as reporter,
        open_engine(job.engine, threads=job.threads, progress=reporter.rows) as engine,
    ):
        warnings.simplefilter("error", NothingMatchedWarning)  # a useless run takes no other's place
        check_seed(job.seed)
        checkpoint = checkpoint_writer(job, place, folder, resumed=resume is not None)
        needed = estimate_run((job.src, job.trg), job.limit, job.method, engine if job.engine == "local" else None)
        if needed:
            reporter.note(f"this needs {needed}")
        reporter.stage(f"reading {job.src}")
        source = load(job.src, job.limit)
        reporter.stage(f"reading {job.trg}")
        target = load(job.trg, job.limit)
        run = learn(
            source,
            target,
            job.seed,
            job.method,
            complete=job.complete,
            min_confidence=job.min_confidence,
            engine=engine,
            reuse=job.reuse,
            reporter=reporter,
            checkpoint=checkpoint,
            resume=interrupted,
        )
        reporter.stage("writing")
        run.info["estimate"] = needed.summary() if needed else None
        run.info["command"] = job.command
        if job.report:
            write_report(run, folder / REPORT, engine)
        run.write(folder)
    exit_message.finished = True
    if as_json:
        print_json({"run": place, **run.info})
    elif not quiet:
        click.echo("\n".join(summary_lines(run)))
        click.echo(f"lexicon: {Path(place) / LEXICON}" + (f", report: {Path(place) / REPORT}" if job.report else ""))
    if run.info["verdict"]["level"] == FAILED and (quiet or as_json):
        warnings.warn(f"{place}: {' '.join(verdict_lines(run))}", BilexWarning, stacklevel=1)


def checkpoint_writer(job: Job, place: str, scratch: Path, *, resumed: bool) -> Callable[[Checkpoint], None]:
    """Return the function that stores the checkpoints of a run; from the first one on, an exit tells how to resume."""
    from bilex.files.run_directory import CHECKPOINT
    from bilex.runs.checkpoints import write_checkpoint

    run, how_to_resume = Path(place).resolve(), f"go on with `bilex induce --resume {quote(place)}`"
    if resumed:
        exit_message.set_checkpoint(run / CHECKPOINT, how_to_resume, written=False)
    elif (run / CHECKPOINT).is_file():
        warnings.warn(
            f"{place}: this starts afresh, and an interrupted run that is there will be lost; "
            f"if you want that one, press Ctrl-C now and {how_to_resume}",
            BilexWarning,
            stacklevel=2,
        )

    def write(checkpoint: Checkpoint) -> None:
        write_checkpoint(replace(checkpoint, command=asdict(job)), run, scratch)
        exit_message.set_checkpoint(run / CHECKPOINT, how_to_resume, written=True)

    return write


def stem_of(path: str) -> str:
    """Name a language after its file."""
    return Path(Path(path).name.removesuffix(".gz")).stem


def summary_lines(run: Run) -> list[str]:
    """Sum the result up for people."""
    iterations, used = run.info["iterations"], run.info["configuration"]["seed"]["used"]
    lines = [
        f"{plural(run.info['pairs'], 'pair')} from {plural(used, 'seed pair')} in "
        f"{plural(len(iterations), 'iteration')}, {run.info['seconds']:.1f} s ({run.info['stopped']})"
    ]
    for choice in run.info["choices"]:
        figures = ", ".join(f"{name} {value:.3f}" for name, value in choice["measured"].items())
        chosen = f"{choice['chosen']} ({figures})" if figures else choice["chosen"]
        lines.append(f"{choice['about']}: {chosen}, because {choice['why']}")
    gap = iterations[-1]["certificate_gap"]
    proof = "" if gap is None else f", certificate gap {gap:.1g}"
    lines += [f"mean cosine {iterations[-1]['mean_cosine']:.4f}{proof}", *verdict_lines(run)]
    if count := len(run.lexicon):
        lines.append(f"{plural(count, 'entry')} listed, about {run.lexicon.expected_precision:.0%} of them right")
    return lines


def verdict_lines(run: Run) -> list[str]:
    """Return the verdict on the run, and unless it is sound the reasons and what to try next."""
    verdict = run.info["verdict"]
    if verdict["level"] == "sound":
        return ["verdict: the lexicon looks sound"]
    said = {"failed": "the run failed, do not use its lexicon", "doubtful": "the lexicon looks doubtful"}
    return [
        f"verdict: {said[verdict['level']]}. {' '.join(verdict['reasons'][:2])}",
        f"next: {' '.join(verdict['advice'][:2])}",
    ]


def plural(count: int, noun: str) -> str:
    """Count things in words."""
    many = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else many}"

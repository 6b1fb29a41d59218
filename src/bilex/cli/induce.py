"""``bilex induce``: learn a lexicon from two files of vectors."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click
import msgspec

from bilex.cli import options as shared
from bilex.cli.interrupts import exit_message, exit_promptly_on_signal
from bilex.errors import BilexError, BilexWarning, InputError, NothingMatchedWarning
from bilex.methods import DEFAULT_METHOD, METHODS, PAPER, Method, find_method

if TYPE_CHECKING:
    from bilex.em.context import Reporter
    from bilex.runs.checkpoints import Checkpoint
    from bilex.runs.run import Run
    from bilex.search.engine import Engine
    from bilex.vectors.embeddings import Embeddings

LARGE_SEED_BYTES = 8000  # about 500 words, from which on several uses of a dictionary are tried
BAD_VERDICT = 3  # the exit code of a run that is complete, but not to be trusted
PATHS = ("src", "trg", "seed", "folder")
CLUSTER = "dask="  # and the address of its scheduler
# With --resume these may be given again; they do not change the lexicon.
REPLACEABLE = ("src", "trg", "seed", "engine", "report", "threads", "strict", "force")


@click.command()
@click.argument("src", type=click.Path(), required=False)
@click.argument("trg", type=click.Path(), required=False)
@click.option("-o", "--output", type=click.Path(), metavar="RUN", help="The directory to write.  [default: SRC-TRG]")
@shared.force_option
@click.option("--resume", type=click.Path(), metavar="RUN", help="Continue an interrupted run, with its options.")
@click.option(
    "--seed",
    type=click.Path(),
    default="identical",
    metavar="identical|numerals|unsupervised|FILE|RUN/reviewed",
    help="Where to start: words spelt the same, numerals, nothing, a dictionary file, or a run that was reviewed.",
)
@click.option(
    "--method",
    default=DEFAULT_METHOD,
    metavar="NAME",
    shell_complete=lambda context, parameter, start: [name for name in METHODS if name.startswith(start)],
    help=f"One of {', '.join(dict.fromkeys([DEFAULT_METHOD, PAPER, *METHODS]))}; or FILE.toml, a method of your own. "
    f"{PAPER} is the paper's.",
)
@shared.method_options
@shared.limit_option
@click.option("--complete", is_flag=True, help="Also list the best candidate of every unmatched word.")
@click.option(
    "--engine",
    default="local",
    metavar="local|torch[=DEVICE]|dask[=ADDRESS]",
    help="Where the searches run: on this machine's cores, in torch (cuda, mps or cpu), on a Dask cluster.",
)
@shared.report_option
@click.option("--threads", type=click.IntRange(1), metavar="N", help="Worker threads.  [default: all cores]")
@shared.strict_option
@shared.output_options
@click.pass_context
def induce(
    context: click.Context,
    /,
    output: str | None,
    resume: str | None,
    force: bool,
    strict: bool,
    as_json: bool,
    quiet: bool,
    **_: object,
) -> None:
    """Learn a lexicon from the word vectors SRC and TRG.

    Writes the directory RUN with lexicon.tsv, model.safetensors, run.json and report.html, and says how much of the
    lexicon should be right and whether it looks sound, doubtful or failed. A failed run is written too, and the exit
    code is then 3. --resume RUN, without other options, continues an interrupted run.

    \b
        bilex induce en.vec fr.vec -o en-fr
        bilex induce en.vec fi.vec -o en-fi --seed seed.txt
        bilex induce en.vec fi.vec -o en-fi-2 --seed en-fi/reviewed
    """  # noqa: D301 (click needs the character, not two of them)
    from bilex.files.ownership import REPORT
    from bilex.files.run_directory import run_directory
    from bilex.report.page import write_report
    from bilex.runs.checkpoints import read_checkpoint
    from bilex.runs.progress import show_progress
    from bilex.search.engines import find_engine, open_engine
    from bilex.vectors.embeddings import short_name

    interrupted = None if resume is None else read_checkpoint(Path(resume))
    with shared.wrong_usage():
        job = new_job(context) if resume is None or interrupted is None else old_job(context, resume, interrupted)
        find_engine(job.engine, threads=job.threads)
    place = resume or output or f"{short_name(job.src)}-{short_name(job.trg)}"
    with (
        run_directory(place, force=force or resume is not None) as folder,
        exit_promptly_on_signal(folder),
        show_progress(quiet or as_json) as reporter,
        open_engine(job.engine, threads=job.threads, progress=reporter.rows) as engine,
    ):
        checkpoint = checkpoint_writer(job, place, folder, resumed=resume is not None)
        run = carry_out(job, engine, reporter, checkpoint, interrupted)
        reporter.stage("writing")
        if job.report:
            write_report(run, folder / REPORT, engine, place)
        run.write(folder)
    exit_message.finished = True
    lines = summary_lines(run, place, report=job.report)
    shared.print_result({"run": place, **run.info}, lines, as_json, quiet)
    level = run.info["verdict"]["level"]
    if level == "failed" and (quiet or as_json):
        warnings.warn(f"{place}: {' '.join(verdict_lines(run))}", BilexWarning, stacklevel=1)
    context.exit(exit_code([level], strict))


@dataclass(frozen=True)
class Job:
    """The options of the same names, the command itself, and the folder that its paths start from."""

    src: str
    trg: str
    seed: str
    method: Method
    limit: int
    complete: bool
    engine: str
    report: bool
    threads: int | None
    command: list[str]
    folder: str


def new_job(context: click.Context) -> Job:
    """Read the options."""
    from bilex.vectors.embeddings import short_name
    from bilex.vectors.lemmas import lemma_languages, lemmatise

    given = context.params
    for name in ("src", "trg"):
        if given[name] is None:
            raise click.MissingParameter(ctx=context, param_hint=f"'{name.upper()}'", param_type="argument")
    method = find_method(given["method"]).with_changes(shared.method_changes(context))
    for language in filter(None, lemma_languages(method.lemmas, (short_name(given["src"]), short_name(given["trg"])))):
        lemmatise(["a"], language)  # an error if there are none, before anything else takes time
    parts: dict[str, Any] = {**given, "method": method, "folder": str(Path.cwd()), "command": context.obj}
    return Job(**{field.name: parts[field.name] for field in fields(Job)})


def old_job(context: click.Context, run: str, checkpoint: Checkpoint) -> Job:
    """Take up the work of a checkpoint; options that would change its outcome are refused."""
    from bilex.files.ownership import real_path
    from bilex.seeds.seed import SEED_NAMES

    given = dict(context.params)
    try:
        stored = checkpoint.command
        paths = {name: os.fsdecode(stored[name]) for name in PATHS}
        job = msgspec.convert({**stored, **paths, "command": list(map(os.fsdecode, stored["command"]))}, Job)
    except (msgspec.ValidationError, BilexError, KeyError, TypeError):
        raise InputError(run, "its checkpoint is of another version of bilex", "start again without --resume") from None
    if (given["src"] is None) != (given["trg"] is None):
        raise click.UsageError("give both SRC and TRG again, or neither", context)
    before = {**asdict(job), **job.method.options(), "method": job.method.name, "output": run}
    if given["output"] is not None and real_path(given["output"]) == real_path(run):
        given["output"] = run
    for parameter in context.command.params:
        name = str(parameter.name)
        if shared.is_given(context, name) and name not in REPLACEABLE and given[name] != before.get(name, given[name]):
            raise click.UsageError(
                f"{parameter.opts[-1]} is {before[name]} in the interrupted run; leave it out", context
            )
    if job.engine.startswith(CLUSTER) and not shared.is_given(context, "engine"):  # whoever runs it could run code here
        problem = f"the interrupted run used --engine {job.engine}; give it again if you trust it, or another"
        raise click.UsageError(problem, context)
    changes: dict[str, Any] = {}
    for name in ("src", "trg", "seed"):  # from here, or as the first command meant it
        path = getattr(job, name)
        if path not in SEED_NAMES and not Path(path).exists() and (Path(job.folder) / path).exists():
            changes[name] = str(Path(job.folder) / path)
    changes |= {name: given[name] for name in REPLACEABLE if shared.is_given(context, name)}
    return replace(job, **changes)


def carry_out(
    job: Job,
    engine: Engine,
    reporter: Reporter,
    checkpoint: Callable[[Checkpoint], None],
    resume: Checkpoint | None,
) -> Run:
    """Check the seed and the memory that is needed, read the vectors, and learn."""
    from bilex.cli.estimate import estimate_run
    from bilex.induction import induce as learn
    from bilex.numerics.compilation import compiled
    from bilex.seeds.seed import UNSUPERVISED, check_seed

    warnings.simplefilter("error", NothingMatchedWarning)  # an empty run must not replace another
    check_seed(job.seed)
    here, path = engine if job.engine == "local" else None, Path(job.seed)
    tries = job.method.supervision == "choose" and path.is_file() and path.stat().st_size > LARGE_SEED_BYTES
    needed = estimate_run(
        (job.src, job.trg), job.limit, job.method, here, seedless=job.seed == UNSUPERVISED, tries=tries
    )
    if needed:
        reporter.expect(needed.stages or {})
        first = "; this first time the kernels are compiled too, which takes a minute more" if compiled else ""
        reporter.note(f"this needs {needed}{first}")
    source, target = (read_side(path, job.limit, reporter) for path in (job.src, job.trg))
    how: dict[str, Any] = {"complete": job.complete, "engine": engine, "reporter": reporter}
    run = learn(source, target, job.seed, job.method, checkpoint=checkpoint, resume=resume, overwrite=True, **how)
    run.info["estimate"] = needed.summary() if needed else None
    run.info["command"] = job.command
    return run


def read_side(path: str, limit: int, reporter: Reporter) -> Embeddings:
    """Read the vectors of one language."""
    from bilex.vectors.embeddings import load

    reporter.stage(f"reading {Path(path).name}")
    return load(path, limit)


def checkpoint_writer(job: Job, place: str, scratch: Path, *, resumed: bool) -> Callable[[Checkpoint], None]:
    """Return the function that stores the checkpoints of a run; where there is one, an exit tells how to resume."""
    from bilex.files.ownership import CHECKPOINT
    from bilex.runs.checkpoints import write_checkpoint

    engine = f" --engine {quote(job.engine)}" if job.engine.startswith(CLUSTER) else ""
    run, how_to_resume = Path(place).resolve(), f"go on with `bilex induce --resume {quote(place)}{engine}`"
    if resumed:
        exit_message.set_checkpoint(run / CHECKPOINT, how_to_resume, written=False)

    paths = {name: os.fsencode(getattr(job, name)) for name in PATHS}  # as bytes: they need not be UTF-8
    command = {**asdict(job), **paths, "command": list(map(os.fsencode, job.command))}

    def write(checkpoint: Checkpoint) -> None:
        if not exit_message.written:  # an interrupt may come when it is there, but before it is recorded
            exit_message.set_checkpoint(run / CHECKPOINT, how_to_resume, written=False)
        write_checkpoint(replace(checkpoint, command=command), run, scratch)
        exit_message.set_checkpoint(run / CHECKPOINT, how_to_resume, written=True)

    return write


def summary_lines(run: Run, place: str, *, report: bool) -> list[str]:
    """Summarise the result: what to expect of it, the verdict, how it was learnt, where it is."""
    from bilex.files.ownership import LEXICON, REPORT
    from bilex.report.reproduce import choice_sentences
    from bilex.seeds.seed import UNSUPERVISED

    seed, seconds = run.info["configuration"]["seed"], run.info["seconds"]
    unknown = seed["given"] - seed["used"]
    known = f" ({unknown:,} more {'has' if unknown == 1 else 'have'} a word without a vector)" if unknown else ""
    pairs = f"{seed['used']:,} pairs found without a seed" if seed["name"] == UNSUPERVISED else ""
    pairs = pairs or f"{plural(seed['used'], 'seed pair')}{known}"
    learnt = f"learnt from {pairs} in {plural(len(run.info['iterations']), 'iteration')}"
    lines = [run.headline, *verdict_lines(run), f"{learnt}, {seconds:.1f} s ({run.info['stopped']})"]
    lines += choice_sentences(run.info)
    written = f"lexicon: {Path(place) / LEXICON}" + (f", report: {Path(place) / REPORT}" if report else "")
    return [*lines, written, f"look at it and correct it: bilex explore {quote(place)}"]


def verdict_lines(run: Run) -> list[str]:
    """Return the verdict on the run with its reasons, and unless it is sound what to try next."""
    verdict = run.info["verdict"]
    failed = verdict["level"] == "failed"
    level = "the run failed, do not use its lexicon" if failed else f"the lexicon looks {verdict['level']}"
    lines = [f"verdict: {level}. {' '.join(verdict['reasons'][:2])}"]
    return lines if verdict["level"] == "sound" else [*lines, f"next: {' '.join(verdict['advice'][:2])}"]


def exit_code(levels: Iterable[str], strict: bool) -> int:
    """Return 3 if a lexicon failed or, with `strict`, is doubtful, so that a pipeline can tell; otherwise 0."""
    bad = ("failed", "doubtful") if strict else ("failed",)
    return BAD_VERDICT if any(level in bad for level in levels) else 0


def plural(count: int, noun: str) -> str:
    """Write a count with its noun."""
    many = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else many}"

"""What ``bilex induce`` is to do: from its options, or from the checkpoint of a run that was interrupted."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bilex.cli.options import command_line, is_given, method_changes
from bilex.errors import BilexError, InputError
from bilex.methods import Method, find_method

if TYPE_CHECKING:
    from bilex.runs.checkpoints import Checkpoint

ANEW = ("src", "trg", "seed", "engine", "report", "reuse", "threads")  # what may be given again: it changes no lexicon


@dataclass(frozen=True)
class Job:
    """The options of the same names, the command itself, and the folder that its paths start from."""

    src: str
    trg: str
    seed: str
    method: Method
    limit: int
    complete: bool
    min_confidence: float
    engine: str
    report: bool
    reuse: bool
    threads: int | None
    command: list[str]
    folder: str


def new_job(context: click.Context) -> Job:
    """Read the options."""
    given = context.params
    for name in ("src", "trg"):
        if given[name] is None:
            raise click.MissingParameter(ctx=context, param_hint=f"'{name.upper()}'", param_type="argument")
    method = find_method(given["method"]).with_changes(method_changes(context))
    parts: dict[str, Any] = {**given, "method": method, "command": command_line(context), "folder": str(Path.cwd())}
    return Job(**{field.name: parts[field.name] for field in fields(Job)})


def old_job(context: click.Context, run: str, checkpoint: Checkpoint) -> Job:
    """Take up the work of a checkpoint; options that would change its outcome are refused."""
    import msgspec

    given = dict(context.params)
    try:
        job = msgspec.convert(checkpoint.command, Job)
    except (msgspec.ValidationError, BilexError):
        raise InputError(run, "its checkpoint is of another version of bilex", "start again without --resume") from None
    if (given["src"] is None) != (given["trg"] is None):
        raise click.UsageError("give both SRC and TRG again, or neither", context)
    before = {**asdict(job), **job.method.options(), "method": job.method.name, "output": run}
    if given["output"] is not None and Path(given["output"]).resolve() == Path(run).resolve():
        given["output"] = run
    for parameter in context.command.params:
        name = str(parameter.name)
        if is_given(context, name) and name not in ANEW and given[name] != before.get(name, given[name]):
            raise click.UsageError(
                f"{parameter.opts[-1]} is {before[name]} in the interrupted run; leave it out", context
            )
    anew = {name: given[name] for name in ANEW if is_given(context, name)}
    return replace(job, **{name: find_path(getattr(job, name), job.folder) for name in ("src", "trg", "seed")} | anew)


def find_path(path: str, folder: str) -> str:
    """Return a path as it is from here if it leads anywhere, or else as it was from the folder of the command."""
    from bilex.seeds.seed import SEED_NAMES

    there = Path(folder) / path
    return path if path in SEED_NAMES or Path(path).exists() or not there.exists() else str(there)

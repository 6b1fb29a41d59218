"""What ``bilex induce`` is to do: from its options, or from the checkpoint of a run that was interrupted."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from bilex.cli.options import command_line, is_given, method_changes
from bilex.errors import BilexError, InputError

if TYPE_CHECKING:
    from bilex.methods import Method
    from bilex.runs.checkpoints import Checkpoint

__all__ = ["Job", "how_to_go_on", "new_job", "old_job"]

ANEW = ("src", "trg", "seed", "engine", "report", "reuse", "threads")  # what may be given again: it changes no lexicon


@dataclass(frozen=True)
class Job:
    """All that the options say about the work, and the command itself."""

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

    def to_json(self) -> dict[str, Any]:
        """Give it as a checkpoint keeps it, with the folder that its paths start from."""
        return {**asdict(self), "folder": os.getcwd()}  # noqa: PTH109 (a text)


def new_job(context: click.Context) -> Job:
    """Read the options."""
    from bilex.methods import find_method

    given = dict(context.params)
    for name in ("src", "trg"):
        if given[name] is None:
            raise click.MissingParameter(ctx=context, param_hint=f"'{name.upper()}'", param_type="argument")
    method = find_method(given["method"]).with_changes(method_changes(context))
    parts = {name: given[name] for name in (*ANEW, "limit", "complete", "min_confidence")}
    return Job(method=method, command=command_line(context), **parts)


def old_job(context: click.Context, run: str, checkpoint: Checkpoint) -> Job:
    """Take up the work of a checkpoint; options that would change its outcome are refused."""
    from bilex.methods import Method

    saved, given = dict(checkpoint.command), context.params
    folder = str(saved.pop("folder", ""))
    try:
        job = Job(**{**saved, "method": Method.from_manifest(saved["method"])})
    except (KeyError, TypeError, BilexError):
        raise InputError(run, "its checkpoint is of another version of bilex", "start again without --resume") from None
    if (given["src"] is None) != (given["trg"] is None):
        raise click.UsageError("give both SRC and TRG again, or neither", context)
    before = {**asdict(job), **job.method.options(), "method": job.method.name}
    for parameter in context.command.params:
        name = str(parameter.name)
        if name == "output":
            clash = given[name] is not None and Path(given[name]).resolve() != Path(run).resolve()
        else:
            clash = name in before and name not in ANEW and is_given(context, name) and given[name] != before[name]
        if clash:
            was = run if name == "output" else before[name]
            raise click.UsageError(f"{parameter.opts[-1]} is {was} in the interrupted run; leave it out", context)
    anew = {name: given[name] for name in ANEW if is_given(context, name)}
    elsewhere = {name: found(getattr(job, name), folder) for name in ("src", "trg", "seed")}
    return replace(job, **{**elsewhere, **anew})


def found(path: str, folder: str) -> str:
    """Give a path as it is from here if it leads anywhere, or else as it was from the folder of the command."""
    from bilex.seeds.seed import SEED_NAMES

    there = Path(folder) / path
    return path if path in SEED_NAMES or Path(path).exists() or not there.exists() else str(there)


def how_to_go_on(run: str) -> str:
    """Say how a run is taken up again."""
    return f"go on with `bilex induce --resume {quote(run)}`"

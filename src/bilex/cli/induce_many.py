"""``bilex induce-many``: the lexicons of several languages, learnt through one of them and checked in cycles."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bilex.cli.induce import exit_code, induce, plural
from bilex.cli.interrupts import exit_promptly_on_signal
from bilex.cli.options import (
    command_line,
    force_option,
    json_option,
    method_changes,
    print_json,
    quiet_option,
    wrong_usage,
)
from bilex.cli.terminal import echo
from bilex.errors import BilexError
from bilex.methods import OPTIONS, find_method

if TYPE_CHECKING:
    from bilex.em.context import Reporter
    from bilex.methods import Method
    from bilex.multilingual.many import Many
    from bilex.runs.run import Run
    from bilex.search.engine import Engine
    from bilex.vectors.embeddings import Embeddings

SUMMARY, TRIPLES = "many.json", "triples.tsv"
LANGUAGE_NAME = re.compile(r"[^\W_][\w.+-]*")
SHARED_OPTIONS = {
    *OPTIONS,
    "method",
    "limit",
    "engine",
    "report",
    "reuse",
    "threads",
    "strict",
}  # they mean the same in `induce`


@click.command("induce-many")
@click.argument("hub", type=click.Path())
@click.argument("languages", nargs=-1, required=True, type=click.Path(), metavar="LANGUAGE LANGUAGE...")
@click.option("-o", "--output", metavar="DIR", help="The directory to write.  [default: the languages' names]")
@force_option
@click.option(
    "--seed",
    "seeds",
    multiple=True,
    metavar="identical|numerals|NAME=SEED",
    help="The seed of the hub with all other languages, or with the one called NAME.  [default: identical]",
)
@click.option(
    "--vectors",
    type=click.Choice(["vec", "bin", "safetensors"]),
    help="Also write the vectors of every language in the hub's space.",
)
@json_option
@quiet_option
@click.pass_context
def induce_many(
    context: click.Context,
    /,
    hub: str,
    languages: tuple[str, ...],
    output: str | None,
    force: bool,
    seeds: tuple[str, ...],
    vectors: str | None,
    method: str,
    limit: int,
    engine: str,
    report: bool,
    reuse: bool,
    threads: int | None,
    strict: bool,
    as_json: bool,
    quiet: bool,
    **_: object,
) -> None:
    """Learn the lexicons of all pairs among the vectors HUB and two or more LANGUAGEs.

    Each language is matched with the hub first; the words of two languages that have the same partner there are the
    seed of their own run. Then cycles are followed, from a language to a second, a third and back: those that close
    support an entry. A language is named after its file, or NAME if NAME=FILE is given.

    Writes DIR with a run directory for each pair (and in it cycles.tsv, the agreement of each entry), many.json and
    triples.tsv. If a lexicon failed, everything is written all the same, and the exit code is 3.
    """
    from bilex.files.ownership import check_listed_replaceable
    from bilex.files.run_directory import run_directory
    from bilex.multilingual.many import induce_many as learn_all
    from bilex.runs.progress import INDUCTION, show_progress
    from bilex.search.engines import find_engine, open_engine

    with wrong_usage():
        chosen = find_method(method).with_changes(method_changes(context))
        find_engine(engine, threads=threads)
        files = named_files((hub, *languages))
        starts = seeds_of(seeds, list(files)[1:])
    place, runs = output or "-".join(files), len(files) * (len(files) - 1) // 2
    limits = chosen.stopping.tolerance, chosen.stopping.max_iterations
    with (
        run_directory(place, partial(check_listed_replaceable, SUMMARY, "induce-many"), force=force) as folder,
        exit_promptly_on_signal(folder),
        show_progress(quiet or as_json, *limits, stages=INDUCTION, runs=runs) as reporter,
        open_engine(engine, threads=threads, progress=reporter.rows) as where,
    ):
        sides, words = read_languages(files, starts, limit, chosen, reporter), command_line(context)

        def write(run: Run) -> None:
            write_run(run, folder, words, where if report else None)
            if vectors and run.source.name == next(iter(files)):
                write_hub_vectors(run, folder, vectors)

        many = learn_all(sides, starts, chosen, each=write, engine=where, reuse=reuse, reporter=reporter)
        reporter.stage("writing")
        summary = {"command": words, **many.summary()}
        write_summary(folder, many, summary)
    if as_json:
        print_json({"directory": place, **summary})
    elif not quiet:
        for line in many_summary_lines(summary, place):
            echo(line)
    context.exit(exit_code([pair["verdict"] for pair in summary["pairs"]], strict))


induce_many.params.extend(parameter for parameter in induce.params if parameter.name in SHARED_OPTIONS)


def read_languages(
    files: Mapping[str, str], seeds: Mapping[str, str], limit: int, method: Method, reporter: Reporter
) -> dict[str, Embeddings]:
    """Check the seeds and the memory that is needed, then read the vectors of each language; the hub comes first."""
    from bilex.cli.estimate import estimate_run
    from bilex.seeds.seed import check_seed
    from bilex.vectors.embeddings import load

    hub, *others = files.values()
    for seed in seeds.values():
        check_seed(seed)
    for path in others:
        estimate_run((hub, path), limit, method, None)
    sides = {}
    for name, path in files.items():
        reporter.stage(f"reading {Path(path).name}")
        sides[name] = replace(load(path, limit), name=name)
    return sides


def named_files(arguments: tuple[str, ...]) -> dict[str, str]:
    """Return the file of each language by its name."""
    from bilex.vectors.embeddings import short_name

    files: dict[str, str] = {}
    for argument in arguments:
        name, equals, path = argument.partition("=")
        if not equals or Path(argument).exists():
            name, path = short_name(argument), argument
        if not LANGUAGE_NAME.fullmatch(name):
            raise BilexError(f"{argument}: {name!r} cannot be the name of a language; give one, NAME={path}")
        if name.casefold() in map(str.casefold, files):  # macOS and Windows do not tell their folders apart
            raise BilexError(f"two languages are called {name!r}; name them, as in {name}2={path}")
        files[name] = path
    if len(files) < 3:
        raise BilexError("two languages make no cycle; give three or more, or use `bilex induce`")
    folders = ["-".join(pair) for pair in combinations(files, 2)]
    if len(set(folders)) < len(folders):
        raise BilexError("two pairs of languages would share a directory; give other names, NAME=FILE")
    return files


def seeds_of(given: tuple[str, ...], names: list[str]) -> dict[str, str]:
    """Return the seed of each language with the hub."""
    general, special = "identical", {}
    for seed in given:
        name, equals, value = seed.partition("=")
        if equals and name in names:
            special[name] = value
        elif equals:
            raise BilexError(
                f"--seed {seed}: no language beside the hub is called {name!r}; there are {', '.join(names)}"
            )
        elif seed in ("identical", "numerals"):
            general = seed
        else:
            raise BilexError(f"--seed {seed}: a dictionary is for one language; name it, as in {names[0]}={seed}")
    return {name: special.get(name, general) for name in names}


def write_run(run: Run, folder: Path, command: list[str], engine: Engine | None) -> None:
    """Write the run of one pair, and with an engine its report."""
    from bilex.files.ownership import REPORT
    from bilex.report.page import write_report

    place = folder / f"{run.source.name}-{run.target.name}"
    place.mkdir()
    run.info["command"] = command
    if engine is not None:
        write_report(run, place / REPORT, engine, place.name)
    run.write(place)


def write_hub_vectors(run: Run, folder: Path, ending: str) -> None:
    """Write the vectors of a run that starts from the hub, in the hub's space."""
    from bilex.multilingual.many import in_hub

    hub = folder / f"{run.source.name}.{ending}"
    if not hub.exists():
        run.source.save(hub)
    in_hub(run).save(folder / f"{run.target.name}.{ending}")


def write_summary(folder: Path, many: Many, summary: dict[str, Any]) -> None:
    """Write the cycles, the triples and the summary, which lists all files."""
    from bilex.files.atomic import atomic_write_text
    from bilex.files.ownership import CYCLES, file_sha256

    for pair, cycles in many.cycles.items():
        cycles.save(folder / "-".join(pair) / CYCLES)
    lines = ["\t".join(("first", "second", "third", "returned", "agreed", "agreement"))]
    for triple in many.triples:
        share = "" if triple.agreement is None else f"{triple.agreement:.6f}"
        lines.append("\t".join((*triple.languages, str(triple.returned), str(triple.agreed), share)))
    atomic_write_text(folder / TRIPLES, "\n".join(lines) + "\n")
    files = sorted({SUMMARY, *(path.name for path in folder.iterdir())})
    checksums = {name: file_sha256(folder / name) for name in files if (folder / name).is_file()}
    text = json.dumps(
        {**summary, "files": files, "checksums": checksums}, indent=2, ensure_ascii=False, allow_nan=False
    )
    atomic_write_text(folder / SUMMARY, text + "\n")


def many_summary_lines(summary: dict[str, Any], place: str) -> list[str]:
    """Return the lines that sum the result up on the terminal."""
    lines = []
    for pair in summary["pairs"]:
        agreed = (
            "" if pair["agreement"] is None else f", {pair['agreement']:.0%} agreement on {pair['tested']:,} of them"
        )
        lines.append(f"{pair['source']}-{pair['target']}: {plural(pair['entries'], 'pair')}, {pair['verdict']}{agreed}")
    for triple in summary["triples"]:
        names = "-".join((*triple["languages"], triple["languages"][0]))
        share = "none" if triple["agreement"] is None else f"{triple['agreement']:.0%}"
        lines.append(f"cycle {names}: {triple['returned']:,} words return, {share} of them to themselves")
    return [*lines, f"summary: {Path(place) / SUMMARY}"]

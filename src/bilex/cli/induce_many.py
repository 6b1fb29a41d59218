"""``bilex induce-many``: the lexicons of several languages, learnt through one of them and checked in cycles."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bilex.cli import options as shared
from bilex.cli.induce import exit_code, induce, plural, read_side
from bilex.cli.interrupts import exit_promptly_on_signal
from bilex.errors import BilexError
from bilex.methods import OPTIONS, find_method

if TYPE_CHECKING:
    from bilex.multilingual.many import Many
    from bilex.runs.run import Run
    from bilex.search.engine import Engine

SUMMARY, TRIPLES = "many.json", "triples.tsv"
LANGUAGE_NAME = re.compile(r"[^\W_][\w.+-]*")
SHARED_OPTIONS = {*OPTIONS, "method", "limit", "engine", "report", "threads", "strict"}  # as in `induce`


@click.command("induce-many")
@click.argument("hub", type=click.Path())
@click.argument("languages", nargs=-1, required=True, type=click.Path(), metavar="LANGUAGE LANGUAGE...")
@click.option("-o", "--output", metavar="DIR", help="The directory to write.  [default: the languages' names]")
@shared.force_option
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
@shared.output_options
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
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Learn a lexicon for every pair of three or more languages, the first of which is the HUB.

    Each language is matched with the hub first; the words of two languages that have the same partner there are the
    seed of their own run. Then cycles are followed, from a language to a second, a third and back: those that close
    support an entry. A language is named after its file, or NAME if NAME=FILE is given.

    Writes DIR with a run directory for each pair (and in it cycles.tsv, the agreement of each entry), many.json and
    triples.tsv. If a lexicon failed, everything is written all the same, and the exit code is 3.
    """
    from bilex.cli.estimate import estimate_run
    from bilex.files.ownership import check_listed_replaceable
    from bilex.files.run_directory import run_directory
    from bilex.multilingual.many import induce_many as learn_all
    from bilex.runs.progress import show_progress
    from bilex.search.engines import find_engine, open_engine
    from bilex.seeds.seed import check_seed

    with shared.wrong_usage():
        method = find_method(given["method"]).with_changes(shared.method_changes(context))
        find_engine(given["engine"], threads=given["threads"])
        files = named_files((hub, *languages))
        starts = seeds_of(seeds, list(files)[1:])
    place, runs = output or "-".join(files), len(files) * (len(files) - 1) // 2
    with (
        run_directory(place, partial(check_listed_replaceable, SUMMARY, "induce-many"), force=force) as folder,
        exit_promptly_on_signal(folder),
        show_progress(quiet or as_json, runs=runs) as reporter,
        open_engine(given["engine"], threads=given["threads"], progress=reporter.rows) as engine,
    ):
        for name, seed in starts.items():
            check_seed(seed)
            estimate_run((next(iter(files.values())), files[name]), given["limit"], method, None)
        sides = {n: replace(read_side(path, given["limit"], reporter), name=n) for n, path in files.items()}

        def write(run: Run) -> None:
            write_run(run, folder, context.obj, engine if given["report"] else None)
            if vectors and run.source.name == next(iter(files)):
                write_hub_vectors(run, folder, vectors)

        many = learn_all(sides, starts, method, each=write, engine=engine, reporter=reporter)
        reporter.stage("writing")
        summary = {"command": context.obj, **many.summary()}
        write_summary(folder, many, summary)
    shared.print_result({"directory": place, **summary}, many_summary_lines(summary, place), as_json, quiet)
    context.exit(exit_code([pair["verdict"] for pair in summary["pairs"]], given["strict"]))


induce_many.params.extend(parameter for parameter in induce.params if parameter.name in SHARED_OPTIONS)


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
    seeds = dict.fromkeys(names, "identical")
    for seed in sorted(given, key=lambda seed: "=" in seed):  # those of one language overrule that of all
        name, equals, value = seed.partition("=")
        if equals and name not in names:
            raise BilexError(
                f"--seed {seed}: no language beside the hub is called {name!r}; there are {', '.join(names)}"
            )
        if not equals and seed not in ("identical", "numerals"):
            raise BilexError(f"--seed {seed}: a dictionary is for one language; name it, as in {names[0]}={seed}")
        seeds |= {name: value} if equals else dict.fromkeys(names, seed)
    return seeds


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
    from bilex.lexicon.text import tsv_table

    for pair, cycles in many.cycles.items():
        cycles.save(folder / "-".join(pair) / CYCLES)
    header = ("first", "second", "third", "returned", "agreed", "agreement")
    rows = [
        (*each.languages, each.returned, each.agreed, "" if each.agreement is None else f"{each.agreement:.6f}")
        for each in many.triples
    ]
    atomic_write_text(folder / TRIPLES, tsv_table(header, rows))
    files = sorted({SUMMARY, *(path.name for path in folder.iterdir())})
    checksums = {name: file_sha256(folder / name) for name in files if (folder / name).is_file()}
    atomic_write_text(folder / SUMMARY, shared.json_text({**summary, "files": files, "checksums": checksums}))


def many_summary_lines(summary: dict[str, Any], place: str) -> Iterator[str]:
    """Yield the lines that sum the result up on the terminal."""
    for pair in summary["pairs"]:
        share = pair["agreement"]
        agreed = "" if share is None else f", {share:.0%} agreement on {pair['tested']:,} of them"
        yield f"{pair['source']}-{pair['target']}: {plural(pair['entries'], 'pair')}, {pair['verdict']}{agreed}"
    for triple in summary["triples"]:
        names = "-".join((*triple["languages"], triple["languages"][0]))
        share = "none" if triple["agreement"] is None else f"{triple['agreement']:.0%}"
        yield f"cycle {names}: {triple['returned']:,} words return, {share} of them to themselves"
    yield f"summary: {Path(place) / SUMMARY}"

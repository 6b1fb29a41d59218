"""``bilex demo``: a whole run on the vectors that are shipped with bilex."""

from __future__ import annotations

import shutil
import sys
import time
from importlib.resources import as_file, files
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from bilex.cli.induce import verdict_lines
from bilex.cli.options import force_option, output_options, print_json, report_option
from bilex.cli.terminal import echo
from bilex.numerics.formatting import format_percent

if TYPE_CHECKING:
    from bilex.lexicon.lexicon import Entry, Lexicon

SURE, SHOWN_SURE, SHOWN_UNSURE = 0.9, 12, 4


@click.command()
@click.option("-o", "--output", default="bilex-demo", metavar="RUN", help="The directory to write.")
@force_option
@report_option
@output_options
def demo(output: str, force: bool, report: bool, as_json: bool, quiet: bool) -> None:
    """Learn an English-French lexicon from the shipped vectors and show it.

    Uses the default method, and starts from the words that both languages spell the same.
    """
    from bilex.files.ownership import LEXICON, REPORT
    from bilex.files.run_directory import run_directory
    from bilex.induction import induce
    from bilex.report.page import write_report
    from bilex.runs.progress import show_progress
    from bilex.seeds.dictionaries import read_pairs
    from bilex.vectors.embeddings import load

    say = (lambda line="": None) if quiet or as_json else echo
    started = time.perf_counter()
    with (
        run_directory(output, force=force or is_demo(Path(output))) as folder,
        as_file(files("bilex") / "data") as data,
    ):
        source, target = load(data / "en.safetensors"), load(data / "fr.safetensors")
        gold = read_pairs(data / "gold.en-fr.txt")
        say(f"English {len(source):,} words, French {len(target):,} words, {source.dimension} dimensions (CC0 vectors)")
        say("learning from the words that both spell the same (the first time, numba compiles the kernels)")
        with show_progress(quiet or as_json) as reporter:
            run = induce(source, target, "identical", reporter=reporter)
        run.info["command"] = click.get_current_context().obj
        if report:
            write_report(run, folder / REPORT, name=output)
        run.write(folder)
    scores = {retrieval: run.evaluate(gold, retrieval=retrieval).figures() for retrieval in ("model", "csls", "nn")}
    say()
    for line in (run.headline, *verdict_lines(run)):
        say(line)
    line = "measured with a gold list of {covered:,} words, not used for learning: "
    say((line + "P@1 {p@1:.3f}, P@5 {p@5:.3f}, P@10 {p@10:.3f}").format(**scores["model"]))
    sure, unsure = choose_examples(run.lexicon)
    for title, entries in (("entries it is sure of, from frequent to rare", sure), ("the least sure ones", unsure)):
        say(f"\n{title}")
        for entry in entries:
            say(f"  {entry.source:16} {entry.target:18} {format_percent(entry.confidence)}")
    seconds = time.perf_counter() - started
    say(f"\n{seconds:.0f} s; lexicon: {Path(output) / LEXICON}" + f", report: {Path(output) / REPORT}" * report)
    say("next:")
    say(f"  {program()} translate {quote(output)} house")
    say(f"  {program()} explore {quote(output)}    (a page to search it and correct it)")
    if as_json:
        print_json({"run": output, "seconds": round(seconds, 2), "scores": scores, **run.info})


def program() -> str:
    """Return how to call bilex from here: by its name if the shell would find it, or as it was called now."""
    called = Path(sys.argv[0])
    if called.name != "bilex":
        return f"{Path(sys.executable).name} -m bilex" if called.name == "__main__.py" else "bilex"
    found = shutil.which("bilex")
    return "bilex" if found and Path(found).resolve() == called.resolve() else quote(str(called))


def is_demo(place: Path) -> bool:
    """Check whether a place holds an earlier demo, which may be replaced without asking."""
    from bilex.errors import InputError
    from bilex.files.manifest import parse_manifest
    from bilex.files.ownership import MANIFEST

    try:
        return list(parse_manifest(place / MANIFEST).get("command", ())[:2]) == ["bilex", "demo"]
    except (InputError, OSError):
        return False


def choose_examples(lexicon: Lexicon) -> tuple[list[Entry], list[Entry]]:
    """Choose words that differ in the two languages: sure entries over all frequencies, and the least sure ones."""
    words = [entry for entry in lexicon if entry.source.isalpha() and len(entry.source) > 3]
    different = [entry for entry in words if entry.source[:3] != entry.target[:3]]
    sure = [entry for entry in different if entry.confidence >= SURE]
    unsure = sorted(different, key=lambda entry: entry.confidence)
    step = max(1, len(sure) // SHOWN_SURE)
    return sure[step // 2 :: step][:SHOWN_SURE], unsure[:SHOWN_UNSURE]

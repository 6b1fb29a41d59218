"""``bilex demo``: a whole run on the vectors that are shipped with bilex."""

from __future__ import annotations

import time
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bilex.cli.options import command_line, force_option, json_option, print_json, quiet_option

if TYPE_CHECKING:
    from bilex.lexicon.lexicon import Entry, Lexicon

SHOWN_ENTRIES, SHOWN_DOUBTFUL = 20, 5


@click.command()
@click.option("-o", "--output", default="bilex-demo", show_default=True, metavar="RUN", help="The directory to write.")
@force_option
@click.option("--report/--no-report", default=True, help="Write report.html, a page that shows and judges the run.")
@json_option
@quiet_option
def demo(output: str, force: bool, report: bool, as_json: bool, quiet: bool) -> None:
    """Learn an English-French lexicon from the shipped vectors and show it.

    Starts from nothing but words that are spelt the same in both languages, and shows the paper's own model at work.
    """
    from bilex.files.ownership import REPORT
    from bilex.files.run_directory import run_directory
    from bilex.induction import induce
    from bilex.methods import PAPER
    from bilex.report.page import write_report
    from bilex.seeds.dictionaries import read_pairs
    from bilex.vectors.embeddings import load

    echo = (lambda line="": None) if quiet or as_json else click.echo
    started = time.perf_counter()
    with (
        run_directory(output, force=force or is_demo(Path(output))) as folder,
        as_file(files("bilex") / "data") as data,
    ):
        source, target = load(data / "en.safetensors"), load(data / "fr.safetensors")
        gold = read_pairs(data / "gold.en-fr.txt")
        echo(
            f"English {len(source):,} words, French {len(target):,} words, {source.dimension} dimensions (CC0 vectors)"
        )
        echo("\nlearning from identical strings (the first time, numba compiles the kernels)")
        run = induce(source, target, "identical", PAPER)
        run.info["command"] = command_line(click.get_current_context())
        if report:
            write_report(run, folder / REPORT)
        run.write(folder)
    echo("iteration    pairs  mean cosine  log-likelihood  certificate gap")
    line = "{:9}{pairs:9,}{mean_cosine:13.6f}{log_likelihood:16,.2f}{certificate_gap:17.1e}"
    for number, iteration in enumerate(run.info["iterations"], 1):
        echo(line.format(number, **iteration))
    echo(f"{run.info['stopped']}\n")
    scores = {retrieval: run.evaluate(gold, retrieval=retrieval).figures() for retrieval in ("nn", "csls")}
    line = "{:18} P@1 {p@1:.3f}  P@5 {p@5:.3f}  P@10 {p@10:.3f}  MRR {mrr:.3f}  on {covered} gold words"
    echo(line.format("nearest neighbour", **scores["nn"]))
    echo(line.format("CSLS", **scores["csls"]))
    entries = choose_examples(run.lexicon)
    echo(f"\n{len(entries)} of the {len(run.lexicon):,} entries, the last {SHOWN_DOUBTFUL} doubtful ones")
    for entry in entries:
        echo(f"  {entry.source:16} {entry.target:18} {entry.score:.3f}")
    seconds = time.perf_counter() - started
    reported = f"; report: {Path(output) / REPORT}" if report else ""
    echo(f"\nverdict: the lexicon looks {run.info['verdict']['level']}{reported}")
    echo(f"{seconds:.0f} s. Lexicon: {Path(output) / 'lexicon.tsv'}. Next: bilex translate {output} house")
    if as_json:
        print_json({"run": output, "seconds": round(seconds, 2), "scores": scores, **run.info})


def is_demo(place: Path) -> bool:
    """Check whether a place holds an earlier demo, which may be replaced without asking."""
    from bilex.errors import InputError
    from bilex.files.manifest import parse_manifest
    from bilex.files.ownership import MANIFEST

    try:
        return list(parse_manifest(place / MANIFEST).get("command", ())[:2]) == ["bilex", "demo"]
    except (InputError, OSError):
        return False


def choose_examples(lexicon: Lexicon) -> list[Entry]:
    """Choose entries to show: not spelt the same, over all frequencies; then doubtful ones."""
    new = [entry for entry in lexicon if entry.source != entry.target and entry.source.isalpha()]
    sure = [entry for entry in new if entry.mutual and entry.rank == 1]
    doubtful = sorted((entry for entry in new if entry.rank > 1), key=lambda entry: -entry.rank)
    step = max(1, len(sure) // (SHOWN_ENTRIES - SHOWN_DOUBTFUL))
    return sure[step // 2 :: step][: SHOWN_ENTRIES - SHOWN_DOUBTFUL] + doubtful[:SHOWN_DOUBTFUL]

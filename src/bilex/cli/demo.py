"""``bilex demo``: the whole job on the vectors that are shipped with bilex."""

from __future__ import annotations

import time
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bilex.cli.options import command_line, json_option, print_json, quiet_option

if TYPE_CHECKING:
    from bilex.em.em import Iteration
    from bilex.lexicon.lexicon import Entry, Lexicon

__all__ = ["demo"]

SAMPLE = 20
DOUBTFUL = 5


@click.command()
@click.option("-o", "--output", default="bilex-demo", show_default=True, metavar="RUN", help="The directory to write.")
@click.option("--report/--no-report", default=True, help="Write report.html, a page that shows and judges the run.")
@json_option
@quiet_option
def demo(output: str, report: bool, as_json: bool, quiet: bool) -> None:
    """Learn an English-French lexicon from the shipped vectors and show it.

    Starts from nothing but words that are spelt the same in both languages, and shows the paper's own model at work.
    """
    from bilex.files.run_directory import run_directory
    from bilex.induction import induce
    from bilex.methods import PAPER
    from bilex.report import REPORT, write_report
    from bilex.seeds.dictionaries import read_pairs
    from bilex.vectors.embeddings import load

    say = (lambda line="": None) if quiet or as_json else click.echo
    started = time.perf_counter()
    data = files("bilex") / "data"
    with run_directory(output) as folder, as_file(data) as shipped:
        source, target = load(shipped / "en.safetensors"), load(shipped / "fr.safetensors")
        gold = read_pairs(shipped / "gold.en-fr.txt")
        say(f"English {len(source):,} words, French {len(target):,} words, {source.dimension} dimensions (CC0 vectors)")
        say("\nlearning from identical strings (the first time, numba compiles the kernels)")
        say("iteration    pairs  mean cosine  log-likelihood  certificate gap")
        run = induce(source, target, "identical", PAPER, reporter=_lines(say))
        run.info["command"] = command_line(click.get_current_context())
        if report:
            write_report(run, folder / REPORT)
        run.write(folder)
    say(f"{run.info['stopped']}\n")
    scores: dict[str, Any] = {}
    for retrieval, name in (("nn", "nearest neighbour"), ("csls", "CSLS")):
        figures = run.evaluate(gold, retrieval=retrieval).figures()
        scores[retrieval] = figures
        say(
            f"{name:18} P@1 {figures['p@1']:.3f}  P@5 {figures['p@5']:.3f}  P@10 {figures['p@10']:.3f}  "
            f"MRR {figures['mrr']:.3f}  on {figures['covered']} gold words"
        )
    entries = worth_looking_at(run.lexicon)
    say(f"\n{len(entries)} of the {len(run.lexicon):,} entries, the last {DOUBTFUL} doubtful ones")
    for entry in entries:
        say(f"  {entry.source:16} {entry.target:18} {entry.score:.3f}")
    seconds = time.perf_counter() - started
    reported = f"; report: {Path(output) / REPORT}" if report else ""
    say(f"\nverdict: the lexicon looks {run.info['verdict']['level']}{reported}")
    say(f"{seconds:.0f} s. Lexicon: {Path(output) / 'lexicon.tsv'}. Next: bilex translate {output} house")
    if as_json:
        print_json({"run": output, "seconds": round(seconds, 2), "scores": scores, **run.info})


def _lines(say: Any) -> Any:
    """Give a reporter that prints a line for each iteration."""
    from bilex.em.progress import Reporter

    class Lines(Reporter):
        count = 0

        def iteration(self, iteration: Iteration) -> None:
            self.count += 1
            say(
                f"{self.count:9}{iteration.pairs:9,}{iteration.mean_cosine:13.6f}"
                f"{iteration.log_likelihood:16,.2f}{iteration.certificate_gap:17.1e}"
            )

    return Lines()


def worth_looking_at(lexicon: Lexicon) -> list[Entry]:
    """Choose entries that tell something: not spelt the same, over all frequencies; then doubtful ones."""
    new = [entry for entry in lexicon if entry.source != entry.target and entry.source.isalpha()]
    sure = [entry for entry in new if entry.mutual and entry.rank == 1]
    doubtful = sorted((entry for entry in new if entry.rank > 1), key=lambda entry: -entry.rank)
    step = max(1, len(sure) // (SAMPLE - DOUBTFUL))
    return sure[step // 2 :: step][: SAMPLE - DOUBTFUL] + doubtful[:DOUBTFUL]

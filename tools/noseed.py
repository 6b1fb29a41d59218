"""What helps to start from no seed at all, and what does not: ``python -m tools.noseed``.

Writes the section between the marks "noseed" of docs/accuracy.md. Each line changes one thing about the coupling that
`--seed unsupervised` starts from (`bilex.seeds.coupling`). The figures are the share of its pairs that are right and
the result of EM from there, on the words of MUSE's *train* files; runs are kept in a file of JSON lines, so that an
interrupted measurement can be continued.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

from bilex.em.context import Context
from bilex.evaluation.translation import evaluate_translation
from bilex.induction import learn
from bilex.methods import METHODS, find_method
from bilex.numerics.types import Indices
from bilex.runs.prepared import normalise_for, prepare
from bilex.search.local import LocalEngine
from bilex.seeds import coupling
from tools.accuracy import Bench, write_section

PAIRS = ("en-fi", "en-fr")
LARGEST = coupling.SIZES[0]
FORTY = {(coupling, "COOLING_STEPS"): 40}
CASES: dict[str, tuple[int, dict[tuple[Any, str], Any]]] = {  # label: words, and constants that are changed
    "as it is, in 80 steps": (LARGEST, {}),
    "in 40 steps": (LARGEST, FORTY),
    "in 20 steps": (LARGEST, {(coupling, "COOLING_STEPS"): 20}),
    "signatures of the word alone": (LARGEST, {(coupling, "SIGNATURE_ORDERS"): 1}),
    "signatures of the word alone, in 40 steps": (LARGEST, {**FORTY, (coupling, "SIGNATURE_ORDERS"): 1}),
    "frequencies not compared": (LARGEST, {(coupling, "RANK_OFFSET"): 1e9}),
    "frequencies not compared, in 40 steps": (LARGEST, {**FORTY, (coupling, "RANK_OFFSET"): 1e9}),
    "2,000 words, in 40 steps": (2000, FORTY),
    "1,000 words, in 40 steps": (1000, FORTY),
    "cold from the first of 40 steps": (LARGEST, {**FORTY, (coupling, "FIRST_BETA"): coupling.LAST_BETA}),
    "the signatures' pairs as they are": (LARGEST, {(coupling, "COOLING_STEPS"): 0}),
}
ROUGH_TOLERANCE = 1e-3
BEGIN, END = "<!-- begin: noseed -->", "<!-- end: noseed -->"


def measure(bench: Bench, case: str) -> dict[str, Any]:
    """Couple the frequent words, run EM from there, and translate the words of the train file."""
    size, changes = CASES[case]
    method = METHODS["bilex"]
    source, target = normalise_for(method, bench.source), normalise_for(method, bench.target)
    started = time.process_time()
    with ExitStack() as stack:
        for (module, name), value in changes.items():
            stack.enter_context(patch.object(module, name, value))
        rows, columns = coupling.couple(source.vectors, target.vectors, size)
    seconds = time.process_time() - started
    pairs = [(source.words[row], target.words[column]) for row, column in zip(rows, columns, strict=True)]
    engine = LocalEngine()
    rough = find_method(method).with_changes({"supervision": "start", "tolerance": ROUGH_TOLERANCE, "match_all": False})
    learnt = learn(prepare(bench.source, bench.target, pairs, rough), Context(engine))
    direction = (learnt.shared_space(engine)[0], learnt.source, learnt.target)
    found = evaluate_translation(direction, bench.train, "csls", engine)
    return {
        "pair": bench.name,
        "case": case,
        "pairs": len(pairs),
        "right": share_right(bench, rows, columns),
        "seconds": seconds,
        "likelihood": learnt.fit.iterations[-1].log_likelihood,
        "precision": found.precision_at(1),
    }


def share_right(bench: Bench, rows: Indices, columns: Indices) -> float:
    """Return the share of right pairs, among those whose source word the train file knows."""
    gold, known = set(bench.train), {source for source, _ in bench.train}
    pairs = [(bench.source.words[row], bench.target.words[column]) for row, column in zip(rows, columns, strict=True)]
    asked = [pair for pair in pairs if pair[0] in known]
    return sum(pair in gold for pair in asked) / max(1, len(asked))


def page(records: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of the table."""
    yield "| pair | coupling | pairs | of them right | CPU seconds | log-likelihood after EM | P@1 after EM |"
    yield "|---|---|---|---|---|---|---|"
    for pair in PAIRS:
        for case in CASES:
            for each in (each for each in records if (each["pair"], each["case"]) == (pair, case)):
                yield (
                    f"| {pair} | {case} | {each['pairs']:,} | {each['right']:.3f} | {each['seconds']:.0f} | "
                    f"{each['likelihood']:,.0f} | {each['precision']:.3f} |"
                )


def main() -> None:
    """Measure what is not in the file yet, and write the section."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--output", type=Path, default=Path("docs/accuracy.md"))
    parser.add_argument("--runs", type=Path, default=Path("build/noseed.jsonl"))
    parser.add_argument("--pairs", nargs="*", choices=PAIRS, default=PAIRS)
    options = parser.parse_args()
    options.runs.parent.mkdir(parents=True, exist_ok=True)
    lines = options.runs.read_text().splitlines() if options.runs.exists() else []
    records = [json.loads(line) for line in lines]
    known = {(each["pair"], each["case"]) for each in records}
    for pair in options.pairs:
        bench = None
        for case in (case for case in CASES if (pair, case) not in known):
            bench = bench or Bench(options.data, pair, dev=True)
            records.append(measure(bench, case))
            with options.runs.open("a") as file:
                file.write(json.dumps(records[-1]) + "\n")
    write_section(options.output, page(records), BEGIN, END)


if __name__ == "__main__":
    main()

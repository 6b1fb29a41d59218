"""Every reader is tried on files from a fuzzer (atheris) that is guided by the coverage of our code, a million each.

A reader may only raise a `BilexError` of one printable line, within seconds; what it accepts must be complete: as many
vectors as words, no NaN, no empty word. Inputs that broke this are kept in ``tests/crashes`` and tried by ``make
test``. With ``--corpus FOLDER`` the executions of several runs add up, each with another random seed, and a run starts
from the inputs of those before it, also after a reader was mended. The seconds are those of all runs, which shared the
machine with other work. The memory is the peak while reading one large file of each kind, above what the process had
before, in sizes of the file. It must stay below four.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

import bilex
from bilex.evaluation.similarity import MAX_PAIRS
from bilex.vectors.embeddings import Embeddings
from tests.attacks.guard import Guard
from trust.fuzz_targets import TARGETS, fasttext_model

__all__ = ["TITLE", "run"]

TITLE = "Fuzzed readers"
EXECUTIONS = 1_000_000
EXECUTIONS_PER_PROCESS = 250_000
SHORT_EXECUTIONS = 2000
ROWS, DIMENSION = 60_000, 100


def run(short: bool, corpus: Path | None = None, executions: int = EXECUTIONS) -> dict[str, Any]:
    """Fuzz every reader and measure the memory of each; a corpus keeps the results and is continued."""
    if importlib.util.find_spec("atheris") is None:
        raise SystemExit("the fuzzer needs atheris: pip install atheris (Linux and macOS)")
    with tempfile.TemporaryDirectory() as folder:
        tallies = {
            name: fuzz(name, SHORT_EXECUTIONS if short else executions, (corpus or Path(folder)).absolute() / name)
            for name in TARGETS
        }
    memory = measure(ROWS // 20 if short else ROWS)
    largest = max(times for _, _, times in memory)
    left = {f"{name}: {place}": key for name, tally in tallies.items() for key, place in tally.left.items()}
    return {
        "ok": not left and (short or largest < 4),
        "seconds": round(sum(tally.seconds for tally in tallies.values())),
        "figures": {
            "readers": len(tallies),
            "executions": sum(tally.executions for tally in tallies.values()),
            "executions of the reader that has the fewest": min(tally.executions for tally in tallies.values()),
            "runs of the fuzzer, whose executions were added up": sum(tally.runs for tally in tallies.values()),
            "other errors than ours, found on the way and mended": sum(tally.found for tally in tallies.values())
            - len(left),
            "other errors than ours, left": len(left),
            "largest memory, in sizes of the file": largest,
        },
        "tables": [
            {
                "title": "Executions by reader",
                "shown": 1,
                "columns": ["reader", "executions", "runs", "accepted", "inputs with new coverage", "errors found"],
                "rows": [[name, *tally.row()] for name, tally in tallies.items()],
            },
            {"title": "Memory", "columns": ["file", "megabytes", "times its size"], "rows": memory},
            *([{"title": "Errors", "columns": ["where"], "rows": [[place] for place in left]}] if left else []),
        ],
    }


@dataclass(frozen=True)
class FuzzFigures:
    """The figures of all runs of the fuzzer on a reader; `left` are the errors of the last run."""

    executions: int
    runs: int
    accepted: int
    inputs: int
    found: int
    left: dict[str, str]
    seconds: float

    def row(self) -> tuple[int, ...]:
        """Return the figures for the table."""
        return self.executions, self.runs, self.accepted, self.inputs, self.found


def fuzz(name: str, executions: int, folder: Path) -> FuzzFigures:
    """Fuzz one reader, each time in a process of its own, until its runs have that many executions together."""
    while (left := executions - add_up(folder).executions) > 0:
        command = [sys.executable, "-m", "trust.fuzz_worker", name, str(min(left, EXECUTIONS_PER_PROCESS)), str(folder)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if ended.returncode:
            raise SystemExit(f"the fuzzer of {name} ended with {ended.returncode}: {ended.stderr[-2000:]}")
    return add_up(folder)


def add_up(folder: Path) -> FuzzFigures:
    """Add up the figures of the runs so far."""
    paths = sorted(folder.glob("runs/*.json"), key=lambda path: int(path.stem))
    runs = [figures for path in paths if (figures := json.loads(path.read_text()))["executions"]]
    return FuzzFigures(
        sum(run["executions"] for run in runs),
        len(runs),
        sum(run["accepted"] for run in runs),
        len(list(folder.glob("inputs/*"))),
        len({key for run in runs for key in run["crashes"]}),
        runs[-1]["crashes"] if runs else {},
        sum(run["seconds"] for run in runs),
    )


def measure(rows: int) -> list[list[Any]]:
    """Read a large file of each kind; return its megabytes and the peak memory in sizes of the file."""
    guard = Guard()
    table = []
    with tempfile.TemporaryDirectory() as folder:
        make_files(Path(folder), rows)
        (Path(folder) / "tiny.vec").write_text("1 1\na 1\n")
        before = guard.open("vectors", Path(folder) / "tiny.vec").megabytes
        for name, reader in (
            ("a.vec", "vectors"),
            ("a.vec.gz", "vectors"),
            ("a.bin", "vectors"),
            ("fasttext.bin", "vectors"),
            ("a.npy", "vectors"),
            ("half.npy", "vectors"),
            ("a.safetensors", "vectors"),
            ("model2vec", "vectors"),
            ("dictionary", "pairs"),
            ("dictionary.csv", "pairs"),
            ("dictionary.jsonl", "pairs"),
            ("dictionary.tei", "pairs"),
            ("similarity", "similarity"),
            ("run", "run"),
        ):
            size = sum(file.stat().st_size for file in files_of(Path(folder) / name)) / 2**20
            verdict = guard.open(reader, Path(folder) / name)
            assert not verdict.error, verdict
            table.append([name, round(size, 1), round((verdict.megabytes - before) / size, 2)])
    guard.close()
    return table


def files_of(path: Path) -> list[Path]:
    """Return the paths of what is read: a file with its vocabulary, or the files of a run."""
    vocabulary = path.with_suffix(".vocab") if path.suffix == ".npy" else path
    return [*path.iterdir()] if path.is_dir() else [*{path, vocabulary}]


def make_files(folder: Path, rows: int) -> None:
    """Write a file of each kind, and a run."""
    rng = np.random.default_rng(0)
    words = tuple(f"word{row}" for row in range(rows))
    vectors = rng.normal(size=(rows, DIMENSION)).astype(np.float32)
    made = Embeddings(words, vectors)
    few = Embeddings(words[: rows // 3], vectors[: rows // 3])
    bilex.induce(few, few, method="ruder2018", max_iterations=1).save(folder / "run")
    for name in ("a.vec", "a.bin", "a.safetensors"):
        made.save(folder / name)
    (folder / "model2vec").mkdir()
    save_file({"embeddings": vectors}, folder / "model2vec" / "model.safetensors")
    vocabulary = {"model": {"vocab": {word: row for row, word in enumerate(words)}}}
    (folder / "model2vec" / "tokenizer.json").write_text(json.dumps(vocabulary))
    matrix = np.concatenate([vectors, vectors[: rows // 10]])
    model = fasttext_model([word.encode() for word in words], matrix.tobytes(), DIMENSION, rows // 10)
    (folder / "fasttext.bin").write_bytes(model)
    (folder / "a.vec.gz").write_bytes(gzip.compress((folder / "a.vec").read_bytes(), 1))
    for name, matrix in (("a", vectors), ("half", vectors.astype(np.float16))):
        np.save(folder / f"{name}.npy", matrix)
        (folder / f"{name}.vocab").write_text("\n".join(words) + "\n")
    many = [f"{word}x{copy}" for copy in range(10) for word in words]
    (folder / "dictionary").write_text("".join(f"{word} mot{word}\n" for word in many))
    (folder / "dictionary.csv").write_text("source,target\n" + "".join(f"{word},mot{word}\n" for word in many))
    translation = '"translations":[{"code":"fr","word":'
    with (folder / "dictionary.jsonl").open("w") as file:
        file.writelines(f'{{"word":"{word}","lang_code":"en",{translation}"mot{word}"}}]}}\n' for word in many)
    with (folder / "dictionary.tei").open("w") as file:
        file.write("<TEI>")
        file.writelines(f"<entry><orth>{w}</orth><cit type='trans'><quote>mot{w}</quote></cit></entry>\n" for w in many)
        file.write("</TEI>")
    (folder / "similarity").write_text("".join(f"{word}\tmot{word}\t2.5\n" for word in many[:MAX_PAIRS]))

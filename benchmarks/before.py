"""The default's whole command beside itself at an earlier commit, checked out for the purpose; in turns.

On 20,000 words a side of made-up languages, and on real English and French from 25 pairs where these are available.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from io import BytesIO
from itertools import count
from pathlib import Path

from benchmarks.endtoend import run, write_files
from benchmarks.graphs import languages
from benchmarks.results import Result, promise, taking_turns

__all__ = ["benchmark"]

COMMIT = "46fa686"
WORDS, DIMENSION = 20_000, 300
FEW_PAIRS = 25
MOST_MADE, MOST_REAL = 0.5, 0.6  # of the earlier commit's time
ROOT = Path(__file__).parents[1]


def benchmark(quick: bool) -> Iterator[Result]:
    """Compare the two; nothing if the commit is not there, or if it should be quick: the other one must compile."""
    if quick or subprocess.run(["git", "cat-file", "-e", COMMIT], cwd=ROOT, check=False).returncode:
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        archive = subprocess.run(["git", "archive", COMMIT, "src"], cwd=ROOT, check=True, capture_output=True).stdout
        with tarfile.open(fileobj=BytesIO(archive)) as packed:
            packed.extractall(folder, filter="data")
        arguments = write_files(folder, languages(WORDS, DIMENSION))
        yield beside(f"{WORDS:,} x {WORDS:,} x {DIMENSION}, 5,000 pairs", arguments, folder, MOST_MADE)
        data = Path(os.environ.get("BILEX_SHARED_DATA", "../shared/data"))
        if data.is_dir():
            lines = (data / "dictionaries" / "en-fr.0-5000.txt").read_text("utf-8").splitlines(keepends=True)
            (folder / "few.txt").write_text("".join(random.Random(0).sample(lines, FEW_PAIRS)), "utf-8")
            files = [str(data / f"{language}.vec.gz") for language in ("en", "fr")]
            arguments = ["induce", *files, "--seed", str(folder / "few.txt"), "--json"]
            yield beside(f"real English and French, {FEW_PAIRS} pairs", arguments, folder, MOST_REAL)


def beside(case: str, arguments: list[str], folder: Path, most: float) -> Result:
    """Run the command at both commits in turns."""
    places, earlier = count(), {"PYTHONPATH": str(folder / "src")}

    def induce(environment: dict[str, str]) -> float:
        place = folder / f"{case}-{next(places)}"
        cpu = run([*arguments, "-o", str(place)], environment=environment)[2]
        shutil.rmtree(place)
        return cpu

    taken = taking_turns({"ours": lambda: induce({}), "peer": lambda: induce(earlier)}, quick=False)
    return Result(
        name="before",
        case=f"{case}, the whole command",
        unit="CPU s",
        ours=taken["ours"],
        peer_name=f"commit {COMMIT}",
        peer=taken["peer"],
        **promise(f"at most {most:g} of its time", taken["ours"].median <= most * taken["peer"].median, quick=False),
    )

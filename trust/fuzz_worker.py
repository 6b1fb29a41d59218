"""Fuzz one reader with atheris: ``python -m trust.fuzz_worker TARGET RUNS RESULT [CRASHES]``.

Coverage of bilex's Python code guides the fuzzer (the compiled kernels are left as they are). An error that is not
ours is written down with the input that caused it, once for each place in the code, and the fuzzing goes on.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

import atheris

GUIDED = [
    "bilex.embeddings",
    "bilex.experiments",
    "bilex.formats",
    "bilex.lexicon",
    "bilex.methods",
    "bilex.rundir",
    "bilex.runs",
    "tomllib",
]


def main(name: str, runs: int, result: Path, crashes: Path | None) -> None:
    """Fuzz, and write the figures."""
    with atheris.instrument_imports(include=GUIDED):
        import bilex.experiments.layouts
        import bilex.experiments.sweep
        import bilex.formats.similarity_sets
        import bilex.runs  # noqa: F401
        from trust.fuzz_targets import Reader, examples, shrink_buffers
    warnings.simplefilter("ignore")
    shrink_buffers()
    corpus = Path(tempfile.mkdtemp(prefix="bilex-corpus-"))
    reader = Reader(name)
    for place, example in enumerate(examples(name, corpus)):
        (corpus / f"example{place}").write_bytes(example)
        reader(example)
    figures: dict[str, Any] = {"executions": 0, "accepted": 0, "crashes": {}}
    started = time.perf_counter()

    def one(data: bytes) -> None:
        figures["executions"] += 1
        try:
            figures["accepted"] += reader(data)
        except BaseException as error:
            places = [frame for frame in traceback.extract_tb(error.__traceback__) if "bilex" in frame.filename]
            place = f"{type(error).__name__} at {Path(places[-1].filename).name}:{places[-1].lineno}: {error}"[:200]
            key = hashlib.sha256(place[: place.rindex(":")].encode()).hexdigest()[:12]
            if key not in figures["crashes"]:
                figures["crashes"][key] = place
                if crashes is not None:
                    crashes.mkdir(parents=True, exist_ok=True)
                    (crashes / key).write_bytes(data)
        if figures["executions"] % 5000 == 0 or figures["executions"] >= runs:
            figures["seconds"] = round(time.perf_counter() - started, 1)
            figures["corpus"] = len(list(corpus.iterdir()))
            result.write_text(json.dumps(figures))

    arguments = [f"-runs={runs}", "-max_len=2000", "-timeout=60", "-rss_limit_mb=2048", "-verbosity=0", str(corpus)]
    atheris.Setup([sys.argv[0], *arguments], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4]) if sys.argv[4:] else None)

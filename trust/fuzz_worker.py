"""Fuzz one reader with atheris: ``python -m trust.fuzz_worker TARGET EXECUTIONS FOLDER``.

Coverage of bilex's Python code guides the fuzzer (the compiled kernels are left as they are). An error that is
not a BilexError is recorded with the input that caused it, once for each place in the code, and the fuzzing continues.

The folder keeps ``inputs``, those that reached new code, from which the next run starts; ``crashes``, those that broke
the reader, which the next run tries first; and ``runs``, the figures of each run under its number, which is also the
seed of the fuzzer's chances. Several may run at once.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import sys
import time
import traceback
import warnings
from itertools import count
from pathlib import Path
from typing import Any

import atheris

KERNELS = ["bilex.vectors.parse_kernel", "bilex.vectors.subwords_kernel"]
MAX_SECONDS = 5
"""Seconds of the processor's time for one input; more is an error, too."""


def import_guided() -> None:
    """Import every reader so that its coverage guides the fuzzer, also those that are imported where they are used."""
    with atheris.instrument_imports(include=["bilex", "tomllib"], exclude=KERNELS):
        import bilex.evaluation.similarity
        import bilex.experiments.layouts
        import bilex.experiments.sweep
        import bilex.runs.run
        import bilex.seeds.dictionaries
        import bilex.seeds.freedict
        import bilex.seeds.wiktextract
        import bilex.vectors.fasttext
        import bilex.vectors.matrices
        import bilex.vectors.text
        import bilex.vectors.tokens
        import bilex.vectors.word2vec  # noqa: F401


def main(name: str, executions: int, folder: Path) -> None:
    """Fuzz, and write the figures."""
    import_guided()
    from trust.fuzz_targets import LONGEST, Reader, examples, shrink_buffers

    warnings.simplefilter("ignore")
    shrink_buffers()
    inputs, crashes = folder / "inputs", folder / "crashes"
    inputs.mkdir(parents=True, exist_ok=True)
    crashes.mkdir(exist_ok=True)
    seed, result = claim(folder / "runs")
    reader = Reader(name)
    for place, example in enumerate(examples(name, inputs)):
        (inputs / f"example{place}").write_bytes(example)
        reader(example)
    gc.collect()
    gc.freeze()
    figures: dict[str, Any] = {"executions": 0, "accepted": 0, "crashes": {}}
    started = time.perf_counter()

    def one(data: bytes) -> None:
        figures["executions"] += 1
        began = time.process_time()
        try:
            figures["accepted"] += reader(data)
            if time.process_time() - began > MAX_SECONDS:
                raise TimeoutError(f"more than {MAX_SECONDS} s")
        except BaseException as error:
            keep(error, data)
        if figures["executions"] % 2000 == 0 or figures["executions"] >= executions:
            figures["seconds"] = round(time.perf_counter() - started, 1)
            figures["processor"] = round(time.process_time(), 1)
            new = result.with_suffix(".part")
            new.write_text(json.dumps(figures))
            new.replace(result)
        if figures["executions"] >= executions:
            reader.close()
            os._exit(0)

    def keep(error: BaseException, data: bytes) -> None:
        places = [frame for frame in traceback.extract_tb(error.__traceback__) if "bilex" in frame.filename]
        where = f"{Path(places[-1].filename).name}:{places[-1].lineno}" if places else "the reader"
        key = hashlib.sha256(f"{type(error).__name__} at {where}".encode()).hexdigest()[:12]
        if key not in figures["crashes"]:
            figures["crashes"][key] = f"{type(error).__name__} at {where}: {error}"[:200]
            (crashes / key).write_bytes(data)

    for path in sorted(crashes.iterdir()):
        one(path.read_bytes())
    arguments = [f"-seed={seed}", f"-max_len={LONGEST.get(name, 350)}", "-timeout=1200", "-rss_limit_mb=2048"]
    atheris.Setup([sys.argv[0], *arguments, "-verbosity=0", str(inputs)], one)
    atheris.Fuzz()


def claim(folder: Path) -> tuple[int, Path]:
    """Reserve the first number that no run has; return it and the file for its figures."""
    folder.mkdir(exist_ok=True)
    for number in count(1):
        path = folder / f"{number}.json"
        try:
            with path.open("x") as file:
                json.dump({"executions": 0, "accepted": 0, "crashes": {}, "seconds": 0.0, "processor": 0.0}, file)
        except FileExistsError:
            continue
        return number, path
    raise AssertionError


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))

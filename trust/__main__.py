"""Run the long tests: ``make trust``, or ``python -m trust [NAME...]``; with ``--short`` some minutes of each."""

from __future__ import annotations

import argparse
import datetime
import inspect
import json
import os
import platform
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from bilex.version import __version__
from trust import PARTS
from trust.page import page

ROOT = Path(__file__).parent.parent
JSON, PAGE = "trust.json", "trust.md"


def try_part(name: str, *, short: bool = False, **options: Any) -> dict[str, Any]:
    """Run a part with those of the options that it has, and return its result with the place and the time."""
    module = import_module(f"trust.{name}")
    started = time.perf_counter()
    known = inspect.signature(module.run).parameters
    result: dict[str, Any] = module.run(short, **{key: value for key, value in options.items() if key in known})
    return {
        "title": module.TITLE,
        "about": inspect.getdoc(module),
        "when": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "version": __version__,
        "commit": commit(),
        "machine": f"{os.cpu_count()} cores, Python {platform.python_version()}",
        "seconds": round(time.perf_counter() - started),
        **result,
    }


def commit() -> str | None:
    """Return the commit that is tried, with a plus if the code was changed since; none outside a repository."""
    command = ["git", "describe", "--always", "--exclude=*", "--dirty=+"]
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def read(folder: Path) -> dict[str, Any]:
    """Read the results so far."""
    path = folder / JSON
    results: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return results


def write(folder: Path, results: dict[str, Any]) -> None:
    """Write the results and the page, parts in their order."""
    results = {name: results[name] for name in PARTS if name in results}
    (folder / JSON).write_text(json.dumps(results, indent=2, ensure_ascii=False, allow_nan=False) + "\n", "utf-8")
    (folder / PAGE).write_text(page(results, __version__), "utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Run the chosen parts, or all; keep the results of the others."""
    parser = argparse.ArgumentParser(prog="python -m trust", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"what to try; all of {', '.join(PARTS)} if none")
    parser.add_argument("--short", action="store_true", help="some minutes instead of hours; writes nothing")
    parser.add_argument("--output", type=Path, default=ROOT / "docs", metavar="FOLDER")
    parser.add_argument("--corpus", type=Path, metavar="FOLDER", help="where the fuzzer keeps what it has done so far")
    parser.add_argument("--executions", type=int, default=10**6, metavar="N", help="of each reader, in all its runs")
    parser.add_argument("--share", type=float, default=1.0, metavar="S", help="of the faults, drawn at random")
    parser.add_argument("--draw", type=int, default=0, metavar="N", help="which sample of the faults")
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - set(PARTS):
        parser.error(f"no part is called {', '.join(sorted(unknown))}; choose from {', '.join(PARTS)}")
    failed = False
    for name in options.names or PARTS:
        chosen = {
            "corpus": options.corpus,
            "executions": options.executions,
            "share": options.share,
            "draw": options.draw,
        }
        result = try_part(name, short=options.short, **chosen)
        print(f"{name}: {'ok' if result['ok'] else 'FAILED'} {json.dumps(result['figures'])}")
        failed |= not result["ok"]
        if not options.short:
            write(options.output, {**read(options.output), name: result})
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

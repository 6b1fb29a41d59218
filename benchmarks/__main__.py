"""Run benchmarks by name, or all of them; the exit code is 1 if a promised bound is missed."""

from __future__ import annotations

import argparse
import json
import os
import sys
from importlib import import_module
from pathlib import Path

from benchmarks.results import Result, machine

NAMES = ("matching", "topk", "onepass", "reuse", "loading", "memory", "dense", "endtoend", "before", "scaling")


def main(arguments: list[str] | None = None) -> int:
    """Run, print the machine and the results, write the JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure bilex beside its peers.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which to run: {', '.join(NAMES)} (all by default)")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to check that everything runs")
    parser.add_argument(
        "--json",
        type=Path,
        metavar="FILE",
        help="write the results there too; others of this version stay",
    )
    options = parser.parse_args(arguments)
    unknown = set(options.names) - set(NAMES)
    if unknown:
        parser.error(f"no benchmark is called {', '.join(sorted(unknown))}; choose from {', '.join(NAMES)}")
    about = machine()
    print(", ".join(f"{key} {value}" for key, value in about.items()))
    missed = False
    for name in options.names or NAMES:
        load, results = os.getloadavg()[0], list[Result]()
        for result in import_module(f"benchmarks.{name}").benchmark(quick=options.quick):
            print(result, f"(load {load:.1f})", flush=True)
            result.details["load"] = round(load, 1)
            results.append(result)
        missed |= any(result.ok is False for result in results)
        if options.json:
            write_results(options.json, about, name, results)
    return int(missed)


def write_results(file: Path, about: dict[str, str | int], name: str, results: list[Result]) -> None:
    """Put the results of a benchmark in the place of its earlier ones; those of other versions go."""
    written = json.loads(file.read_text()) if file.exists() else {}
    same = [entry for entry in written.get("results", []) if entry.get("version") == about["bilex"]]
    kept = [entry for entry in same if entry["name"] != name]
    entries = [result.to_json() | {"version": about["bilex"]} for result in results]
    file.write_text(json.dumps(written | {"machine": about, "results": kept + entries}, indent=2) + "\n")


if __name__ == "__main__":
    sys.exit(main())

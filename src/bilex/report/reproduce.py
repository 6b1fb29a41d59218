"""How to make a run again: its command line, inputs and settings, from ``run.json`` alone."""

from __future__ import annotations

import shlex
from typing import Any

from bilex.methods import METHODS
from bilex.seeds.seed import SEED_NAMES

__all__ = ["circumstances", "command_line", "inputs", "settings"]

DECIDED = ("supervision", "edge_prior", "maps", "self_learning", "match_all")
OPTIONS = {  # parts of a method that have an option
    "prior": "--prior",
    "candidates": "--candidates",
    "max_rank": "--max-rank",
    "log_odds": "--log-odds",
    "normalise": "--normalise",
    "tolerance": "--tolerance",
    "max_iterations": "--max-iterations",
}


def command_line(info: dict[str, Any]) -> tuple[str | None, bool]:
    """Give the command that makes the run again, and whether it is the one that was given.

    A run made in Python has none; then one is put together, if vectors and seed came from files.
    """
    if info.get("command"):
        return shlex.join(info["command"]), True
    configuration = info["configuration"]
    method, seed = configuration["method"], configuration["seed"]
    files = [info["inputs"][side]["files"] for side in ("source", "target")]
    base = METHODS.get(method["name"])
    repeatable = seed["name"] in SEED_NAMES or seed.get("sha256") or configuration.get("learnt_again_from")
    if not all(files) or base is None or not repeatable:
        return None, False
    words = ["bilex", "induce", *(side[0]["path"] for side in files), "--seed", seed["name"], "--method", base.name]
    decided = DECIDED if info.get("choices") else ()  # by the run itself, and so it would again
    for part, value in method.items():
        if value == getattr(base, part, None) or part in decided:
            continue
        if part == "exact":
            words.append("--exact")
        elif part in OPTIONS and value is not None:
            words += [OPTIONS[part], str(value)]
        else:
            return None, False
    words += ["--limit", str(max(info["inputs"][side]["words"] for side in ("source", "target")))]
    return shlex.join([*words, *(["--complete"] if configuration["complete"] else [])]), False


def inputs(info: dict[str, Any]) -> list[dict[str, Any]]:
    """List the files that went in, with their checksums."""
    listed = []
    for side in ("source", "target"):
        about = info["inputs"][side]
        size = f"{side}, {about['words']:,} words of {about['dimension']} dimensions"
        listed += [{"what": size, **file} for file in about["files"]] or [
            {"what": size, "path": "in memory", "sha256": None}
        ]
    seed = info["configuration"]["seed"]
    if seed["name"] not in SEED_NAMES:
        listed.append({"what": "seed", "path": seed["name"], "sha256": seed.get("sha256")})
    return listed


def settings(info: dict[str, Any]) -> list[tuple[str, str]]:
    """List the settings, all of them: a method may change with the next version."""
    configuration = info["configuration"]
    seed = configuration["seed"]
    rows = [("seed", f"{seed['name']}, {seed['used']:,} of {seed['given']:,} pairs")]
    rows += [(name.replace("_", " "), written(value)) for name, value in configuration["method"].items()]
    rows += [(f"chosen: {choice['about']}", chosen(choice)) for choice in info.get("choices", ())]
    return [*rows, ("complete", written(configuration["complete"]))]


def chosen(choice: dict[str, Any]) -> str:
    """Write what the run decided by itself, why, and the figures behind it."""
    measured = ", ".join(f"{name} {value:.3f}" for name, value in choice["measured"].items())
    return f"{choice['chosen']}, because {choice['why']}" + (f" ({measured})" if measured else "")


def circumstances(info: dict[str, Any]) -> list[tuple[str, str]]:
    """List versions, engine, threads and time."""
    versions = info.get("versions", {})
    return [
        ("bilex", info["version"]),
        *((name, str(version)) for name, version in versions.items()),
        ("engine", str(info["configuration"]["engine"])),
        ("threads", str(info["threads"])),
        ("seconds", str(info["seconds"])),
    ]


def written(value: Any) -> str:
    """Write a value as people do."""
    return (
        {True: "yes", False: "no", None: "none"}[value]
        if value is None or value is True or value is False
        else str(value)
    )

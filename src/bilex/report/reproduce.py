"""How to make a run again: its command line, inputs and settings, from ``run.json`` alone."""

import re
import shlex
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from bilex.lexicon.reviewed import REVIEWED
from bilex.methods import METHODS, OPTIONS, flat_options
from bilex.seeds.seed import SEED_NAMES, UNSUPERVISED

CHOICES = {  # what a method decided by itself, in words
    "start": "the seed is used only to start",
    "soft": "every step also learns from the seed's pairs",
    "fixed": "every matching contains the seed's pairs",
    "seed": "the maps are those of the seed alone",
    "procrustes": "the map is the orthogonal one of the seed alone",
}
ASTRAY = "the seed alone led to pairs that look mostly wrong, so other starts were tried, each with the seed"
DECIDED_BY_RUN = ("supervision", "map", "self_learning", "match_all")


def repeating_command(info: dict[str, Any]) -> tuple[str | None, bool]:
    """Return the command that makes the run again, and whether it is the one that was given.

    For a run made in Python one is put together, unless its vectors, its seed, its method or its kept and forbidden
    pairs did not come from files.
    """
    if info.get("command"):
        return shlex.join(map(without_folders, info["command"])), True
    configuration = info["configuration"]
    seed, method = configuration["seed"], configuration["method"]
    files = [info["inputs"][side]["files"] for side in ("source", "target")]
    reviewed = configuration.get("learnt_again_from")
    settled = configuration.get("kept") or configuration.get("forbidden")
    repeatable = seed["name"] in SEED_NAMES or seed.get("sha256") or reviewed
    if not all(files) or method["name"] not in METHODS or not repeatable or (settled and not reviewed):
        return None, False
    changed = changed_options(method, DECIDED_BY_RUN if info.get("choices") or reviewed else ())
    if changed is None:
        return None, False
    given = f"{reviewed}/{REVIEWED}" if reviewed else without_folders(seed["name"])
    words = ["bilex", "induce", *(without_folders(side[0]["path"]) for side in files), "--seed", given]
    words += ["--method", method["name"], *changed]
    words += ["--limit", str(max(info["inputs"][side]["words"] for side in ("source", "target")))]
    return shlex.join([*words, *(["--complete"] if configuration["complete"] else [])]), False


def changed_options(configuration: dict[str, Any], decided: Sequence[str]) -> list[str] | None:
    """Return the options in which a method differs from the one of its name; None if the command line lacks one."""
    base, words = METHODS[configuration["name"]].options(), list[str]()
    for name, value in flat_options(configuration).items():
        if value == base[name] or name in decided:
            continue
        if not OPTIONS[name].flag or value is None:
            return None
        words.append(f"--{name.replace('_', '-')}")
        if OPTIONS[name].type is not bool:
            words.append(str(value))
    return words


def inputs(info: dict[str, Any]) -> list[dict[str, Any]]:
    """List the files that went in, with their checksums."""
    listed = []
    for side in ("source", "target"):
        about = info["inputs"][side]
        size = f"{side}, {about['words']:,} words of {about['dimension']} dimensions"
        listed += [{"what": size, **file} for file in about["files"] or [{"path": "in memory", "sha256": None}]]
    seed = info["configuration"]["seed"]
    if seed["name"] not in SEED_NAMES:
        listed.append({"what": "seed", "path": seed["name"], "sha256": seed.get("sha256")})
    return listed


def settings(info: dict[str, Any]) -> list[tuple[str, str, str]]:
    """List the settings with what they mean, all of them: a method may change with the next version."""
    configuration = info["configuration"]
    seed, method = configuration["seed"], configuration["method"]
    used = f"{without_folders(seed['name'])}, {seed['used']:,} of {seed['given']:,} pairs"
    rows = [("method", method["name"], "The method, from which all other settings follow unless they were given.")]
    rows.append(("seed", used, "The pairs to start from; the others have a word without a vector."))
    options = flat_options(method).items()
    rows += [(name.replace("_", " "), written(value), OPTIONS[name].help) for name, value in options]
    rows += [
        (f"chosen: {choice['about']}", chosen(choice), "Decided by the run.") for choice in info.get("choices", ())
    ]
    return [
        *rows,
        (
            "complete",
            written(configuration["complete"]),
            "Whether unmatched words get their best candidate as an entry.",
        ),
    ]


def choice_sentences(info: dict[str, Any]) -> list[str]:
    """Describe what the run decided by itself, and why; without the seed's role if another start took its place."""
    choices = info.get("choices", [])
    starts = [choice for choice in choices if choice["about"] == "start"]
    astray = bool(starts) and info["configuration"]["seed"]["name"] != UNSUPERVISED
    sentences = [ASTRAY] * astray
    for choice in starts if astray else choices:
        start = f"the best of {len(choice['measured'])} starts: {choice['chosen']}"
        sentences.append(f"{CHOICES.get(choice['chosen'], start)} ({choice['why']})")
    return sentences


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
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)


def without_folders(word: str) -> str:
    """Remove the folders of an absolute path, also behind ``--seed=``, ``-o`` or ``en=``: only one machine has them."""
    before, path = re.findall(r"(?s)\A(--[\w-]+=|-\w|\w+=|)(.*)", word)[0]
    return f"{before}{PurePath(path).name}" if PurePath(path).is_absolute() else word


def next_steps(advice: Sequence[str], name: str, info: dict[str, Any]) -> list[str]:
    """Return the advice of a verdict with commands for this run, and how to look at it and correct it."""
    run = shlex.quote(without_folders(name or "my-run"))
    steps = [] if name else [f'Save it, for the commands below: `run.save("{run}")`.']
    steps += [each.replace("`bilex evaluate`", f"`bilex evaluate {run} dictionary.txt`") for each in advice]
    steps.append(f"Look words up, and check a random sample of entries: `bilex explore {run}`.")
    if count_reviewed(info):
        steps.append(f"Write it with your decisions: `bilex export {run} --reviewed -o reviewed.tsv`.")
    return steps


def count_reviewed(info: dict[str, Any]) -> dict[str, int]:
    """Count the pairs that a review has settled, kept and forbidden ones; empty if there are none."""
    return {name: len(pairs) for name, pairs in info.get(REVIEWED, {}).items() if pairs}

"""Write docs/performance.md and its plots from docs/performance.json, which ``make bench`` measures."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1] / "docs"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
PARTS = {"search": "exact search, CPU s", "matching": "matching, CPU s", "memory": "EM above its vectors, MB"}
SECTIONS = {
    "matching": (
        "Matching",
        "The exact partial 1:1 matching with its certificate, on candidate graphs of two made-up languages (clusters, "
        "hubs, frequency-dependent noise; `benchmarks/graphs.py`) under a map from 5,000 pairs and one from 100 random "
        "pairs. The peers solve the same problem with its null options and must agree on the objective. A peer is "
        "stopped after 60 CPU seconds, which `>` marks.",
    ),
    "topk": (
        "Exact search",
        "All queries against all targets. The peers' answers must be the same; ours are exact in float64, with ties "
        "by lower index.",
    ),
    "onepass": (
        "One pass, one word",
        "The best of both directions in one pass over all pairs, beside one search; one word's best by CSLS, beside "
        "NumPy's float32 product of a matrix and a vector. Medians and ranges over repetitions.",
    ),
    "reuse": (
        "Reuse between iterations",
        "EM of the paper's method with the bound of `search/reuse.py`, beside the same without. Under the default's "
        "two-sided maps the targets move as well; a bound that allows for both (`benchmarks/reuse.py`) leaves open as "
        "many queries as the second line says, so there is no reuse for them. Their searches are over the 8,000 most "
        "frequent words only.",
    ),
    "loading": (
        "Loading",
        "A text file of vectors with four decimals. A raw read copies the bytes of the whole file into new memory, as "
        "a reader has to; a read by blocks uses one buffer and keeps nothing.",
    ),
    "memory": ("Memory", "A short EM run in a fresh process, above its loaded vectors."),
    "dense": (
        "The dense optimum",
        "`--exact`: the best matching among all pairs of words, by column generation, beside the paper's three "
        "candidates per word, and beside solvers that get the whole array of scores.",
    ),
    "endtoend": (
        "The whole command",
        "`bilex induce` by the default method, from two text files and 5,000 seed pairs to the lexicon and the report, "
        "beside one exact search of the same size; then `bilex translate` of one word, wall seconds.",
    ),
    "before": (
        "Beside an earlier commit",
        "The same command here and at a commit that was checked out beside it, in turns.",
    ),
}
Entry = dict[str, Any]


def main() -> int:
    """Write the page and the plots."""
    measured = json.loads((DOCS / "performance.json").read_text())
    results: list[Entry] = measured["results"]
    page = ["# Performance", "", *introduction(measured["machine"], results), ""]
    for note in measured.get("notes", ()):  # remarks on the figures, written by hand
        page += [f"- {note}"]
    page += [""]
    for name, (title, text) in SECTIONS.items():
        found = [entry for entry in results if entry["name"] == name]
        if found:
            page += [f"## {title}", "", text, "", *table(found), ""]
            page += [*limits(name, found), ""] if limits(name, found) else []
    points = [entry for entry in results if entry["name"] == "scaling"]
    if points:
        plot(points)
        page += ["## Growth", "", GROWTH, "", "![Time and memory against the vocabulary](performance/growth.svg)", ""]
        page += [*table(points), ""]
    (DOCS / "performance.md").write_text("\n".join(page).rstrip() + "\n")
    return 0


GROWTH = (
    "Both axes are logarithmic, the vocabulary is that of each side. The search grows with its square, as it must: "
    "every pair of words is compared. The matching and the memory grow with the number of words."
)


def introduction(machine: Entry, results: list[Entry]) -> list[str]:
    """Describe the measurement and the missed bounds."""
    missed = [f"{entry['case']} ({entry['bound']}: {entry['ratio']:.2g}x)" for entry in results if entry["ok"] is False]
    promised = sum(entry["ok"] is not None for entry in results)
    return [
        "`make bench` measures all of this and writes this page; `python -m benchmarks NAME` measures one part. "
        "Ours and the peers take turns in the same run. CPU seconds count all threads; less is better, and the ratio "
        "is the peer's figure divided by ours. Where a part was repeated, its median and its range are given; it is "
        "repeated, up to twelve times, while the middle half spreads by more than 15%. `load` is that of the machine "
        "when the part began.",
        "",
        "Measured on " + ", ".join(f"{key} {value}" for key, value in machine.items()) + ".",
        "",
        f"Of {promised} promised bounds {promised - len(missed)} are met."
        + (f" Missed: {'; '.join(missed)}." if missed else ""),
    ]


def table(entries: Iterable[Entry]) -> list[str]:
    """Return the results as a Markdown table."""
    lines = ["| case | ours | peer | | ratio | load | promised |", "|---|---|---|---|---|---|---|"]
    for entry in entries:
        more, unit = ">" if entry["exceeded"] else "", entry["unit"]
        outcome = "" if entry["ok"] is None else f"{entry['bound']}: {'met' if entry['ok'] else '**missed**'}"
        details = entry["details"]
        ours, peer = f"{entry['ours']:.3g} {unit}", f"{more}{entry['peer']:.3g} {unit}"
        if "our_least" in details:
            ours += f" ({details['our_least']:.3g} to {details['our_most']:.3g})"
        if "peer_least" in details:
            peer += f" ({details['peer_least']:.3g} to {details['peer_most']:.3g})"
        lines.append(
            f"| {entry['case']} | {ours} | {peer} | {entry['peer_name']} | {more}{entry['ratio']:.2g}x "
            f"| {details['load']:.1f} | {outcome} |"
        )
    return lines


def limits(name: str, entries: list[Entry]) -> list[str]:
    """Compare a part with the limit of the machine."""
    details = entries[0]["details"]
    if name == "topk":
        peak, rates = details["gemm_gflops_per_core"], {}
        for entry in entries:
            rates[entry["case"].rpartition(", ")[2]] = entry["details"]["our_gflops_per_core"]
        shares = "; ".join(f"the {case} reaches {rate:.0f} ({rate / peak:.0%})" for case, rate in rates.items())
        return [
            f"The limit: BLAS multiplies float32 matrices at {peak:.0f} Gflop/s on one core. Counted the same way "
            f"{shares}."
        ]
    if name == "matching":
        per_edge = 1e9 * entries[0]["ours"] / details["edges"]
        return [
            f"The limit: the first case takes {per_edge:.0f} ns for each edge of the graph, including the sorting "
            "and the certificate; an edge is 16 bytes, read a few times in random order, so a few cache misses each."
        ]
    if name == "loading":
        rate = details["megabytes"] / entries[0]["ours"]
        return [
            f"The limit: {details['megabytes']:.0f} MB at {rate:.0f} MB per CPU second, {1 / entries[1]['ratio']:.1f} "
            "times a raw read of the bytes from the page cache, which is memory bandwidth; the rest converts digits to "
            "numbers."
        ]
    if name == "endtoend":
        steps = {key.removeprefix("step_"): value for key, value in details.items() if key.startswith("step_")}
        whole = sum(steps.values())
        lines = [f"| {step} | {seconds:.0f} | {seconds / whole:.0%} |" for step, seconds in steps.items()]
        return ["| step | CPU s | share |", "|---|---|---|", *lines]
    return []


def plot(points: list[Entry]) -> None:
    """Draw ours and the peer against the vocabulary, one panel for each part."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    style: Any = {"svg.hashsalt": "bilex", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
    with mpl.rc_context(style):
        figure = Figure(figsize=(10.5, 3.6), layout="constrained")
        FigureCanvasSVG(figure)
        for axes, (part, label) in zip(figure.subplots(1, len(PARTS)), PARTS.items(), strict=True):
            lines: dict[str, list[tuple[float, float]]] = {}
            for entry in points:
                if not entry["case"].startswith(f"{part},"):
                    continue
                words, k = entry["details"]["words"], int(entry["details"]["k"])
                suffix = "" if part == "memory" else f", k = {k}"
                lines.setdefault(f"bilex{suffix}", []).append((words, entry["ours"]))
                if not entry["exceeded"] and (part != "search" or k == 3):
                    name = entry["peer_name"].replace("our float32 filter", "float32 filter")
                    lines.setdefault(name + ("" if part == "search" else suffix), []).append((words, entry["peer"]))
            for (name, line), colour in zip(lines.items(), COLOURS, strict=False):
                axes.loglog(*zip(*line, strict=True), "o-", label=name, color=colour, markersize=4, linewidth=1.3)
            axes.set_xlabel("words in each language")
            axes.set_title(label, fontsize=10)
            axes.grid(color="#e4e4e4", linewidth=0.6)
            ticks = sorted({entry["details"]["words"] for entry in points})
            axes.set_xticks(ticks, [f"{tick / 1000:g}k" for tick in ticks])
            axes.minorticks_off()
            axes.set_ylim(top=12 * axes.get_ylim()[1])  # room for the legend above the lines
            axes.legend(frameon=False, fontsize=8, loc="upper left", ncols=2, columnspacing=1.0)
        (DOCS / "performance").mkdir(exist_ok=True)
        figure.savefig(DOCS / "performance" / "growth.svg", metadata={"Date": None})


if __name__ == "__main__":
    sys.exit(main())

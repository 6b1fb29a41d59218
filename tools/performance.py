"""Write docs/performance.md and its plots from docs/performance.json, which ``make bench`` measures."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.results import Result, shorten

DOCS = Path(__file__).parents[1] / "docs"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
PARTS = {
    "command": "the whole command, CPU s",
    "search": "exact search, CPU s",
    "matching": "matching, CPU s",
    "memory": "EM above its vectors, MB",
}
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
    "onepass": ("One pass", "The best of both directions in one pass over all pairs, beside one search."),
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
        "beside one exact search of the same size; then one word, by `bilex translate` in wall seconds, and by "
        "`Run.translate` of a loaded run beside NumPy's float32 product of a matrix and a vector.",
    ),
    "before": (
        "Beside an earlier commit",
        "The same command here and at a commit that was checked out beside it, in turns.",
    ),
}


def main() -> int:
    """Write the page and the plots."""
    measured = json.loads((DOCS / "performance.json").read_text())
    results = [
        Result.from_json({key: entry[key] for key in entry if key != "version"}) for entry in measured["results"]
    ]
    page = ["# Performance", "", *introduction(measured["machine"], results), ""]
    for note in measured.get("notes", ()):  # remarks on the figures, written by hand
        page += [f"- {note}"]
    page += [""]
    for name, (title, text) in SECTIONS.items():
        found = [result for result in results if result.name == name]
        if found:
            page += [f"## {title}", "", text, "", *table(found), ""]
            page += [*limits(name, found), ""] if limits(name, found) else []
    points = [result for result in results if result.name == "scaling"]
    if points:
        plot(points)
        page += ["## Growth", "", GROWTH, "", "![Time and memory against the vocabulary](performance/growth.svg)", ""]
        page += [*table(points), ""]
    (DOCS / "performance.md").write_text("\n".join(page).rstrip() + "\n")
    return 0


GROWTH = (
    "Both axes are logarithmic, the vocabulary is that of each side. The search grows with its square, as it must: "
    "every pair of words is compared. The matching and the memory grow with the number of words. The whole command is "
    "that of [a million words](scaling.md), on vectors of 100 dimensions; the other parts have 300."
)


def introduction(machine: dict[str, Any], results: list[Result]) -> list[str]:
    """Describe the measurement and the missed bounds."""
    missed = [f"{result.case} ({result.bound}: {result.ratio:.3g}x)" for result in results if result.ok is False]
    promised = sum(result.ok is not None for result in results)
    return [
        "`make bench` measures all of this and writes this page; `python -m benchmarks NAME` measures one part. "
        "Ours and the peers take turns in the same run. CPU seconds count all threads; less is better, and the ratio "
        "is the peer's median divided by ours. A figure is the median, with its range in brackets, of at least three "
        "repetitions, and of up to twelve while the middle half of them spreads by more than 15%; what takes minutes "
        "is repeated less often. `load` is that of the machine when the part began.",
        "",
        "Measured on " + ", ".join(f"{key} {value}" for key, value in machine.items()) + ".",
        "",
        f"Of {promised} promised bounds {promised - len(missed)} are met."
        + (f" Missed: {'; '.join(missed)}." if missed else ""),
    ]


def table(results: Iterable[Result]) -> list[str]:
    """Return the results as a Markdown table."""
    lines = ["| case | ours | peer | | ratio | load | promised |", "|---|---|---|---|---|---|---|"]
    for result in results:
        more = ">" if result.exceeded else ""
        outcome = "" if result.ok is None else f"{result.bound}: {'met' if result.ok else '**missed**'}"
        lines.append(
            f"| {result.case} | {result.show(result.ours)} | {more}{result.show(result.peer)} | {result.peer_name} "
            f"| {more}{shorten(result.ratio, 2)}x | {result.details['load']:.1f} | {outcome} |"
        )
    return lines


def limits(name: str, results: list[Result]) -> list[str]:
    """Compare a part with the limit of the machine."""
    details = results[0].details
    if name == "topk":
        peak, rates = details["gemm_gflops_per_core"], {}
        for result in results:
            rates[result.case.rpartition(", ")[2]] = result.details["our_gflops_per_core"]
        shares = "; ".join(f"the {case} reaches {rate:.0f} ({rate / peak:.0%})" for case, rate in rates.items())
        return [
            f"The limit: BLAS multiplies float32 matrices at {peak:.0f} Gflop/s on one core. Counted the same way "
            f"{shares}."
        ]
    if name == "matching":
        per_edge = 1e9 * results[0].ours.median / details["edges"]
        return [
            f"The limit: the first case takes {per_edge:.0f} ns for each edge of the graph, including the sorting "
            "and the certificate; an edge is 16 bytes, read a few times in random order, so a few cache misses each."
        ]
    if name == "loading":
        rate = details["megabytes"] / results[0].ours.median
        return [
            f"The limit: {details['megabytes']:.0f} MB at {rate:.0f} MB per CPU second, {1 / results[1].ratio:.1f} "
            "times a raw read of the bytes from the page cache, which is memory bandwidth; the rest converts digits to "
            "numbers."
        ]
    if name == "endtoend":
        steps = {key.removeprefix("step_"): value for key, value in details.items() if key.startswith("step_")}
        whole = sum(steps.values())
        lines = [f"| {step} | {seconds:.0f} | {seconds / whole:.0%} |" for step, seconds in steps.items()]
        return ["| step | CPU s | share |", "|---|---|---|", *lines]
    return []


def plot(points: list[Result]) -> None:
    """Draw ours and the peer against the vocabulary, one panel for each part."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    style: Any = {"svg.hashsalt": "bilex", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
    with mpl.rc_context(style):
        figure = Figure(figsize=(11, 7), layout="constrained")
        FigureCanvasSVG(figure)
        for axes, (part, label) in zip(figure.subplots(2, 2).flat, PARTS.items(), strict=True):
            shown = [point for point in points if point.case.startswith(f"{part},")]
            for (name, line), colour in zip(curves(part, shown).items(), COLOURS, strict=False):
                axes.loglog(*zip(*line, strict=True), "o-", label=name, color=colour, markersize=4, linewidth=1.3)
            axes.set_xlabel("words in each language")
            axes.set_title(label, fontsize=10)
            axes.grid(color="#e4e4e4", linewidth=0.6)
            ticks = sorted({point.details["words"] for point in shown})
            axes.set_xticks(ticks, [f"{tick / 1000:g}k" for tick in ticks])
            axes.minorticks_off()
            axes.set_ylim(top=12 * axes.get_ylim()[1])  # room for the legend above the lines
            axes.legend(frameon=False, fontsize=8, loc="upper left", ncols=2, columnspacing=1.0)
        (DOCS / "performance").mkdir(exist_ok=True)
        figure.savefig(DOCS / "performance" / "growth.svg", metadata={"Date": None})


def curves(part: str, points: Iterable[Result]) -> dict[str, list[tuple[float, float]]]:
    """Return the lines of a panel: ours and the peer's, for each number of candidates."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for point in points:
        words, k = point.details["words"], point.details.get("k")
        suffix = f", k = {k:g}" if part in ("search", "matching") else ""
        lines.setdefault(f"bilex{suffix}", []).append((words, point.ours.median))
        if not point.exceeded and (part != "search" or k == 3):
            name = point.peer_name.replace("our float32 filter", "float32 filter")
            lines.setdefault(name + (suffix if part == "matching" else ""), []).append((words, point.peer.median))
    return lines


if __name__ == "__main__":
    sys.exit(main())

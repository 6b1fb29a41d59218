"""The page itself: one HTML file that needs nothing else, from a template that escapes all it is given."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from bilex.confidence.signs import gather, induced_pairs
from bilex.confidence.verdict import decide
from bilex.confidence.wording import language_of, number, ordinal, percent, visible
from bilex.report import contents, reproduce
from bilex.runs.run import Run
from bilex.search.engine import Engine
from bilex.search.local import LocalEngine

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

__all__ = ["render"]

ROWS = 8  # of the table of iterations; of a longer one the beginning and the end


@dataclass(frozen=True)
class Side:
    """A language on the page."""

    label: str
    language: str
    words: int


def render(run: Run, engine: Engine | None = None) -> str:
    """Give the report of a run as HTML; the same run gives the same bytes."""
    from markupsafe import Markup

    info, pairs = run.info, induced_pairs(run)
    evidence = gather(run, pairs)
    source, target = (
        Side(side.name or fallback, language_of(side.name), len(side))
        for side, fallback in ((run.source, "source"), (run.target, "target"))
    )
    style = read("style.css")
    gaps = [each["certificate_gap"] for each in info["iterations"]]
    proved = bool(gaps) and all(gap is not None for gap in gaps)
    command, recorded = reproduce.command_line(info)
    rows, left_out = iteration_rows(info["iterations"])
    return (
        environment()
        .from_string(read("page.html"))
        .render(
            info=info,
            source=source,
            target=target,
            evidence=evidence,
            verdict=decide(evidence, info["configuration"]),
            style=Markup(style),  # ours; nothing of the run is in it
            style_hash=base64.b64encode(hashlib.sha256(style.encode("utf-8")).digest()).decode("ascii"),
            proved=proved,
            largest_gap=max(gaps) if proved else 0.0,
            iteration_charts=contents.iteration_charts(info["iterations"]),
            iteration_rows=rows,
            iterations_left_out=left_out,
            score_chart=contents.score_chart(pairs) if len(pairs) else None,
            share_chart=contents.share_chart(pairs, evidence.seen, (source.label, target.label)),
            target_hubs=contents.hubs(run),
            source_hubs=contents.hubs(run, reverse=True),
            samples=contents.samples(pairs),
            expected=run.lexicon.expected_precision if run.lexicon.confidence is not None and len(pairs) else None,
            doubts=contents.competitors(run, pairs, engine or LocalEngine()),
            command=command,
            recorded=recorded,
            inputs=reproduce.inputs(info),
            settings=reproduce.settings(info),
            circumstances=reproduce.circumstances(info),
        )
    )


def read(name: str) -> str:
    """Read a file of this package."""
    return (files("bilex.report") / name).read_text("utf-8")


def environment() -> Environment:
    """Make a template engine that escapes everything, and stops at a name that does not exist."""
    from jinja2 import Environment, StrictUndefined

    made = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.filters.update(visible=visible, number=number, percent=percent, ordinal=ordinal, code=code)
    return made


def code(sentence: str) -> Markup:
    """Set what stands between backticks as code."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"`([^`]*)`", r"<code>\1</code>", str(escape(sentence))))


def iteration_rows(iterations: list[dict[str, Any]]) -> tuple[list[dict[str, Any] | None], int]:
    """Give the rows of the table, with None where some were left out, and how many those are."""
    rows: list[dict[str, Any] | None] = [{"place": place, **each} for place, each in enumerate(iterations, 1)]
    if len(rows) <= ROWS:
        return rows, 0
    half = ROWS // 2
    return [*rows[:half], None, *rows[-half:]], len(rows) - 2 * half

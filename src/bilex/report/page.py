"""The pages of a run and of ``bilex align``: HTML that needs no other file, from a template that escapes everything."""

import base64
import hashlib
import os
import re
import shlex
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup, escape

from bilex.confidence.figures import induced_pairs
from bilex.evaluation.alignment import Alignment, MovedWord
from bilex.files.atomic import atomic_write_text
from bilex.files.ownership import LEXICON, REPORT
from bilex.lexicon.formats.book import language_tag
from bilex.methods import flat_options
from bilex.numerics.formatting import format_number, format_percent
from bilex.report import contents, reproduce
from bilex.runs.run import Run
from bilex.search.engine import Engine
from bilex.search.local import LocalEngine

MAX_MOVED_SHOWN = 200
MAX_SHOWN_LENGTH = 60
INVISIBLE_CATEGORIES = {"Cc", "Zl", "Zp", "Co", "Cn"}
DIRECTION_CONTROLS = set(map(chr, [*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFEFF]))
ITERATION_TABLE_END = 4  # a long table shows so many iterations of its beginning and of its end


def write_report(run: Run, path: str | os.PathLike[str], engine: Engine | None = None, name: str = "") -> None:
    """Write the report of a run to a file, whole or not at all; `name` is the run directory for its commands."""
    beside = Path(path).name == REPORT  # the lexicon
    atomic_write_text(path, render_report(run, engine, name, lexicon=LEXICON if beside else ""))


def render_report(run: Run, engine: Engine | None = None, name: str = "", lexicon: str = "") -> str:
    """Return the report of a run as HTML, with a link to its lexicon; the same run gives the same bytes."""
    info, pairs, space, verdict = run.info, induced_pairs(run), run.space, run.verdict
    method = flat_options(info["configuration"]["method"])
    limited = bool(method["self_learning"]) and max(verdict.figures.seen) < max(len(run.source), len(run.target))
    match_all = bool(method["match_all"]) or not limited
    shown = (len(run.source), len(run.target)) if match_all else verdict.figures.seen
    names = run.source.name or "source", run.target.name or "target"
    source, target = (
        {"label": name, "language": language_tag(side.name), "words": len(side)}
        for name, side in zip(names, (run.source, run.target), strict=True)
    )
    gaps = [each["certificate_gap"] for each in info["iterations"]]
    command, recorded = reproduce.repeating_command(info)
    return render(
        "page.html",
        info=info,
        source=source,
        target=target,
        verdict=verdict,
        proved=bool(gaps) and all(gap is not None for gap in gaps),
        iteration_charts=contents.iteration_charts(info["iterations"]),
        table_end=ITERATION_TABLE_END,
        lexicon=lexicon,
        made=str(info.get("made", ""))[:10],
        headline=run.headline[0].upper() + run.headline[1:],
        advice=reproduce.next_steps(verdict.advice, name, info),
        reviewed=reproduce.count_reviewed(info),
        entries=len(pairs),
        seen=max(verdict.figures.seen) if limited else None,
        match_all=match_all,
        evidence=bool(method["evidence"]),
        choices=[f"{each[0].upper()}{each[1:]}." for each in reproduce.choice_sentences(info)],
        left_out=info.get("confidence", {}).get("listed_of", len(run.lexicon)) - len(run.lexicon),
        confidence_chart=contents.confidence_chart(pairs) if len(pairs) else None,
        matched_chart=contents.matched_chart(pairs, shown, names),
        target_hubs=contents.hub_words(space.source_nearest, run.target.words, run.source.words),
        source_hubs=contents.hub_words(space.target_nearest, run.source.words, run.target.words),
        samples=contents.entry_samples(pairs),
        expected=run.expected_precision if len(pairs) else None,
        doubts=contents.doubtful_entries(run, pairs, engine or LocalEngine()),
        command=command,
        recorded=recorded,
        inputs=reproduce.inputs(info),
        settings=reproduce.settings(info),
        circumstances=reproduce.circumstances(info),
    )


def render_alignment(aligned: Alignment, moved: Sequence[MovedWord], info: Mapping[str, Any]) -> str:
    """Return the page of ``bilex align`` as HTML: how well two models fit, and the words that moved."""
    return render(
        "alignment.html",
        aligned=aligned,
        moved=moved[:MAX_MOVED_SHOWN],
        info=info,
        names=[side.name or label for side, label in ((aligned.source, "a"), (aligned.target, "b"))],
        language=language_tag(aligned.source.name),
        chart=contents.cosine_chart(aligned),
        command=shlex.join(map(reproduce.without_folders, info["command"])),
    )


def render(template: str, **values: Any) -> str:
    """Return a page from a template that escapes everything and raises on an undefined name."""
    page, style = read_template(template)
    style_hash = base64.b64encode(hashlib.sha256(style.encode("utf-8")).digest()).decode("ascii")
    return page.render(values, style=style, style_hash=style_hash)


@cache  # to compile it takes longer than to fill it in
def read_template(name: str) -> tuple[Template, str]:
    """Read a template and the style sheet."""
    chart, page, style = (
        (files("bilex.report") / each).read_text("utf-8") for each in ("chart.html", name, "style.css")
    )
    made = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=finalize
    )
    made.filters.update(visible=make_visible, number=format_number, percent=format_percent, code=mark_code)
    made.filters["file_name"] = reproduce.without_folders
    return made.from_string(chart + page), style


def mark_code(sentence: str) -> Markup:
    """Turn text between backticks into code elements."""
    return Markup(re.sub(r"`([^`]*)`", r"<code>\1</code>", str(escape(finalize(sentence)))))


def finalize(value: Any) -> Any:
    """Make the control characters of a value visible: ``run.json`` may come from anyone."""
    return mark_invisible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def make_visible(text: str, max_length: int = MAX_SHOWN_LENGTH) -> str:
    """Replace invisible characters and direction controls by their code points, and cut a very long text.

    Joiners inside words (Persian, Hindi) stay as they are.
    """
    shown = mark_invisible(text[:max_length], everything=not text.strip())
    return shown if len(text) <= max_length else f"{shown}…"


def mark_invisible(text: str, *, everything: bool = False) -> str:
    """Replace characters without a glyph and those that change the direction, or all, by their code points."""
    hidden = DIRECTION_CONTROLS | {letter for letter in text if unicodedata.category(letter) in INVISIBLE_CATEGORIES}
    return "".join(f"‹U+{ord(letter):04X}›" if everything or letter in hidden else letter for letter in text)

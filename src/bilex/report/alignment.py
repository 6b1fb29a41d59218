"""The page of ``bilex align``: how well two models of one language fit, and the words that moved."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bilex.evaluation.alignment import Alignment, MovedWord
from bilex.report.charts import Chart, Series
from bilex.report.page import render
from bilex.report.words import guess_language

MAX_MOVED_SHOWN = 200
BIN = 0.05


def render_alignment(aligned: Alignment, moved: Sequence[MovedWord], info: Mapping[str, Any]) -> str:
    """Return the page as HTML; the same alignment gives the same bytes."""
    return render(
        "alignment.html",
        aligned=aligned,
        moved=moved[:MAX_MOVED_SHOWN],
        info=info,
        names=[side.name or label for side, label in ((aligned.source, "a"), (aligned.target, "b"))],
        language=guess_language(aligned.source.name),
        chart=cosine_chart(aligned),
        command=shlex.join(info["command"]),
    )


def cosine_chart(aligned: Alignment) -> Chart:
    """Draw the distribution of the words' cosines across the models."""
    first = int(np.floor(aligned.cosine.min() / BIN))
    heights = np.bincount(np.floor(aligned.cosine / BIN).astype(int) - first).tolist()
    points = tuple((round((first + place) * BIN, 10), float(height)) for place, height in enumerate(heights))
    alt = f"Histogram: cosines of {len(aligned.words):,} words, half of them above {np.median(aligned.cosine):.2f}."
    return Chart("words", "cosine of a word with itself", (Series("words", points),), alt, bar=BIN, whole=False)

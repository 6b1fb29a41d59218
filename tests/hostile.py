"""Words that do harm or break a format if they are not treated as plain text."""

from __future__ import annotations

import numpy as np

from bilex.lexicon.lexicon import Lexicon

__all__ = ["HOSTILE", "hostile_lexicon"]

HOSTILE = (
    "</script><img src=x onerror=alert(1)>",
    "<b>&amp;&lt;</b>",
    '"\' onmouseover="alert(1)',
    "{{7*7}}",
    "${7*7}$",
    "\u202egnp.exe",
    "]]>",
    "<!--",
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "a\x00b",
    "\x1b[31mred",
    "new york",
    "\ufeffbom",
    "\ufffe",
    "שלום",
    "日本",
    "👩‍👧",
    "\u2028line",
    "\x85next",
)


def hostile_lexicon() -> Lexicon:
    """Return a lexicon that pairs each of them with the next one."""
    count = len(HOSTILE)
    return Lexicon(
        HOSTILE,
        (*HOSTILE[1:], HOSTILE[0]),
        np.linspace(-1, 1, count),
        np.arange(1, count + 1),
        np.arange(count) % 2 == 0,
        ("matching",) * count,
        np.linspace(0, 1, count),
    )

"""Tables for notebooks: HTML that shows any word as text, and leaves the rest of the page alone.

There is no script and no style sheet in it. Every cell is escaped and isolated, so that a word in a right-to-left
script, or one that holds a direction override, does not turn its neighbours around; and dollar signs are not formulas.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from bilex.lexicon.formats import legible

__all__ = ["table"]

IGNORED_BY_MATHJAX = "tex2jax_ignore mathjax_ignore"


def table(caption: str, header: Sequence[str], rows: Iterable[Sequence[str]], more: int = 0) -> str:
    """Write a small table, with a last line that counts the rows which are not shown."""
    head = f"<thead><tr>{''.join(f'<th>{cell(name)}</th>' for name in header)}</tr></thead>" if header else ""
    body = "".join(f"<tr>{''.join(f'<td>{cell(text)}</td>' for text in row)}</tr>" for row in rows)
    rest = f"<p>... {more:,} more</p>" if more > 0 else ""
    title = f"<p><strong>{cell(caption)}</strong></p>"
    return f'<div class="{IGNORED_BY_MATHJAX}">{title}<table>{head}<tbody>{body}</tbody></table>{rest}</div>'


def cell(text: str) -> str:
    """Escape a text and keep its direction to itself."""
    return f"<bdi>{escape(legible(text))}</bdi>"

"""Words as text in tables: one line in TSV, valid characters in XML, escaped and isolated in HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

SEPARATORS = str.maketrans("\t\n\r", "   ")
NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
IGNORED_BY_MATHJAX = "tex2jax_ignore mathjax_ignore"  # dollar signs in words are not formulas


def tsv_cell(word: str) -> str:
    """Replace tabs and line ends, which would break a table, by spaces."""
    return word.translate(SEPARATORS)


def xml_safe(word: str) -> str:
    """Replace characters that neither XML nor HTML can hold by U+FFFD."""
    return NOT_XML.sub("\ufffd", tsv_cell(word))


def html_table(caption: str, header: Sequence[str], rows: Iterable[Sequence[str]], more: int = 0) -> str:
    """Return a small table for a notebook, with a last line that counts the rows not shown.

    Cells are escaped, and isolated in ``<bdi>`` so that right-to-left words do not reorder their neighbours.
    """
    head = f"<thead><tr>{''.join(f'<th>{html_cell(name)}</th>' for name in header)}</tr></thead>" if header else ""
    body = "".join(f"<tr>{''.join(f'<td>{html_cell(text)}</td>' for text in row)}</tr>" for row in rows)
    rest = f"<p>... {more:,} more</p>" if more > 0 else ""
    title = f"<p><strong>{html_cell(caption)}</strong></p>"
    return f'<div class="{IGNORED_BY_MATHJAX}">{title}<table>{head}<tbody>{body}</tbody></table>{rest}</div>'


def html_cell(text: str) -> str:
    """Escape a text and isolate its direction."""
    return f"<bdi>{escape(xml_safe(text))}</bdi>"

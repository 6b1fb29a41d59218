"""Words as text in tables: one line in TSV, valid characters in XML, escaped and isolated in HTML."""

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

SEPARATORS = str.maketrans("\t\n\r", "   ")
NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
IGNORED_BY_MATHJAX = "tex2jax_ignore mathjax_ignore"  # dollar signs in words are not formulas


def tsv_cell(word: str) -> str:
    """Replace tabs and line ends, which would break a table, by spaces."""
    return word if word.isprintable() else word.translate(SEPARATORS)


def tsv_table(header: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    """Return tab-separated values with a header."""
    return "".join("\t".join(tsv_cell(str(cell)) for cell in row) + "\n" for row in (header, *rows))


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


class ShownFigures:
    """Lets a result with `figures` show them as a small table, on a terminal and in a notebook."""

    def figures(self) -> dict[str, Any]:
        """Return the figures by their names."""
        raise NotImplementedError

    def _shown(self) -> list[tuple[str, str]]:
        return [(name, show_figure(value)) for name, value in self.figures().items()]

    def __repr__(self) -> str:
        return "\n".join([type(self).__name__, *(f"  {name:14} {value}" for name, value in self._shown())])

    def _repr_html_(self) -> str:
        return html_table(type(self).__name__, (), self._shown())


def show_figure(value: object) -> str:
    """Return a figure as text; of a list of counted words, the words and their counts."""
    if isinstance(value, list):
        return ", ".join(" ".join(map(str, each.values())) if isinstance(each, dict) else str(each) for each in value)
    return f"{value:.4f}" if isinstance(value, float) else str(value)


class HtmlPage(str):
    """A whole page as text, which a notebook shows in a frame."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"a page of {len(self):,} characters; save it with run.report('FILE.html'), or show it in a notebook"

    def _repr_html_(self) -> str:
        style = "width: 100%; height: 40em; border: 1px solid silver"
        return f'<iframe title="report" sandbox style="{style}" srcdoc="{escape(self)}"></iframe>'

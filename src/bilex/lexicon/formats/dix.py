"""Apertium's bilingual dictionary (``.dix``), for ``lt-comp``: words without grammatical symbols.

The weight of an entry is -ln(confidence), as weights of a finite-state transducer are; the smallest wins.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from bilex.lexicon.formats import Files
from bilex.lexicon.formats.book import Book, XmlText, encoded

LEAST_CONFIDENCE = 1e-4


def write(book: Book) -> Files:
    """Return the file."""
    return encoded(lines(book))


def lines(book: Book) -> Iterator[str]:
    """Yield the section and one element for each entry."""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<dictionary>\n<alphabet/>\n<section id="main" type="standard">\n'
    text = XmlText()
    for entry in book.entries:
        sides = (text(word).replace(" ", "<b/>") for word in (entry.source, entry.target))
        yield f"<e{weight(entry.confidence)}><p><l>{next(sides)}</l><r>{next(sides)}</r></p></e>\n"
    yield "</section>\n</dictionary>\n"
    text.warn()


def weight(confidence: float | None) -> str:
    """Return the attribute with the weight of an entry, if it has a confidence."""
    return "" if confidence is None else f' w="{abs(math.log(max(confidence, LEAST_CONFIDENCE))):.4f}"'

"""Dictionaries in XML, each a template beside this module.

TEI P5 as FreeDict writes it; TBX-Core (ISO 30042:2019) for translation-memory and terminology tools, with a concept for
each source word, and the confidence as a note, for which it has no data category; Apertium's ``.dix`` for ``lt-comp``,
words without grammatical symbols. A character that XML does not have becomes U+FFFD, and is counted in a warning. A
name of a language that is no language tag, such as ``vectors``, becomes ``und`` (undetermined).
"""

import math
from collections.abc import Iterator
from functools import partial
from importlib.resources import files
from xml.sax.saxutils import escape, quoteattr

from jinja2 import Environment, StrictUndefined

from bilex.lexicon.formats.book import Book, warn_about_words
from bilex.lexicon.text import tsv_cell, xml_safe

LEAST_CONFIDENCE = 1e-4


def write(template: str, book: Book) -> Iterator[str]:
    """Yield the text of a template."""
    replaced: list[str] = []

    def text(word: str) -> str:
        safe = xml_safe(word)
        if safe != tsv_cell(word):
            replaced.append(word)
        return escape(safe)

    made = Environment(undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True)
    made.filters.update(text=text, escaped=escaped, quoted=quoteattr, weight=weight)
    content = (files("bilex.lexicon.formats") / f"{template}.xml").read_text("utf-8")
    languages = dict(zip(book.tags, book.names, strict=True))
    stream = made.from_string(content).stream(book=book, languages=languages)
    stream.enable_buffering(100)
    yield from stream
    warn_about_words(replaced, "word", "with characters that XML does not have", "each became U+FFFD")


write_tei, write_tbx, write_dix = partial(write, "tei"), partial(write, "tbx"), partial(write, "dix")


def escaped(word: str) -> str:
    """Return a word as the content of an element."""
    return escape(xml_safe(word))


def weight(confidence: float) -> str:
    """Return -ln(confidence), as weights of a finite-state transducer are; the smallest wins."""
    return f"{abs(math.log(max(confidence, LEAST_CONFIDENCE))):.4f}"

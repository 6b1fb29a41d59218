"""TBX-Core (ISO 30042:2019), for translation-memory and terminology tools: one concept for each source word.

TBX-Core has no data category for a probability, so the confidence of a translation is a note.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from bilex.lexicon.formats import Files
from bilex.lexicon.formats.book import UNDETERMINED, Book, XmlText, encoded
from bilex.lexicon.text import xml_safe

TBX_HEADER = """\
<?xml version="1.0" encoding="UTF-8"?>
<tbx type="TBX-Core" style="dca" xml:lang={source} xmlns="urn:iso:std:iso:30042:ed-2">
<tbxHeader>
<fileDesc>
<titleStmt><title>{title}</title></titleStmt>
<sourceDesc><p>Induced from monolingual word vectors by {creator}.</p></sourceDesc>
</fileDesc>
</tbxHeader>
<text>
<body>
"""


def write(book: Book) -> Files:
    """Return the file."""
    return encoded(lines(book))


def lines(book: Book) -> Iterator[str]:
    """Yield the header, the concepts and the end."""
    tags = book.tags
    if tags[0].lower() == tags[1].lower():  # a concept has each language once
        tags = (f"{tags[0]}-x-source", f"{tags[1]}-x-target")
    source, target = map(quoteattr, tags)
    main = quoteattr(book.tags[0]) if book.tags[0] != UNDETERMINED else '"en"'
    yield TBX_HEADER.format(source=main, title=escape(book.title), creator=escape(xml_safe(book.creator)))
    text = XmlText()
    for number, (word, translations) in enumerate(book.headwords().items(), 1):
        terms = "".join(term(text(entry.target), entry.confidence) for entry in translations)
        sections = (
            f"<langSec xml:lang={source}>{term(text(word))}</langSec>\n<langSec xml:lang={target}>{terms}</langSec>"
        )
        yield f'<conceptEntry id="c{number}">\n{sections}\n</conceptEntry>\n'
    yield "</body>\n</text>\n</tbx>\n"
    text.warn()


def term(escaped: str, confidence: float | None = None) -> str:
    """Return one term of a language."""
    note = "" if confidence is None else f"<note>confidence {confidence:.4f}</note>"
    return f"<termSec><term>{escaped}</term>{note}</termSec>"

"""TEI P5 as FreeDict writes it: one entry for each source word, its translations in order.

A character that XML does not have becomes U+FFFD, and is counted in a warning. A name of a language that is no language
tag, such as ``vectors``, becomes ``und`` (undetermined).
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from bilex.lexicon.formats import Files
from bilex.lexicon.formats.book import Book, XmlText, encoded
from bilex.lexicon.text import xml_safe

TEI_HEADER = """\
<?xml version="1.0" encoding="UTF-8"?>
<TEI xmlns="http://www.tei-c.org/ns/1.0">
<teiHeader>
<fileDesc>
<titleStmt>
<title>{title}</title>
<respStmt><resp>induced by</resp><name>{creator}</name></respStmt>
</titleStmt>
<extent>{headwords} headwords</extent>
<publicationStmt>
<publisher>not published</publisher>
<availability status="unknown">
<licence><p>None chosen yet. Before you publish, name one that the vectors' licence allows.</p></licence>
</availability>
</publicationStmt>
<sourceDesc>
<p>Induced from monolingual word vectors; no entry has been checked by a person unless stated.</p>
</sourceDesc>
</fileDesc>
<profileDesc>
<langUsage>
{languages}</langUsage>
</profileDesc>
</teiHeader>
<text>
<body xml:lang={source}>
"""


def write(book: Book) -> Files:
    """Return the file."""
    return encoded(lines(book))


def lines(book: Book) -> Iterator[str]:
    """Yield the header, the entries and the end."""
    text, headwords = XmlText(), book.headwords()
    yield header(book, len(headwords))
    language = quoteattr(book.tags[1])
    for word, translations in headwords.items():
        yield f"<entry>\n<form><orth>{text(word)}</orth></form>\n"
        for form in book.forms.get(word, ()):
            yield f'<form type="inflected"><orth>{text(form)}</orth></form>\n'
        yield "<sense>\n"
        for entry in translations:
            certainty = "" if entry.confidence is None else f' cert="{entry.confidence:.4f}"'
            quote = f"<quote>{text(entry.target)}</quote>"
            yield f'<cit type="trans" xml:lang={language}{certainty}>{quote}</cit>\n'
        yield "</sense>\n</entry>\n"
    yield "</body>\n</text>\n</TEI>\n"
    text.warn()


def header(book: Book, headwords: int) -> str:
    """Return all that comes before the entries; what only a publisher can know is left for them to fill in."""
    names = xml_safe(book.source) or "source", xml_safe(book.target) or "target"
    languages = dict(zip(book.tags, names, strict=True)).items()
    return TEI_HEADER.format(
        title=escape(book.title),
        creator=escape(xml_safe(book.creator)),
        headwords=headwords,
        languages="".join(f"<language ident={quoteattr(tag)}>{escape(name)}</language>\n" for tag, name in languages),
        source=quoteattr(book.tags[0]),
    )

"""Lexicons in other programs' formats: JSON lines, MUSE's two columns, TEI as FreeDict writes it.

Words are written as they are. The only changes are those without which a format could not be read back (see
`docs/export.md`): in TEI a character that XML does not have becomes U+FFFD, and MUSE leaves out pairs with a space in a
word. Both are counted in a warning.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from xml.sax.saxutils import escape, quoteattr

from bilex.errors import BilexWarning
from bilex.files.fields import quoted
from bilex.lexicon.lexicon import Entry
from bilex.lexicon.text import tsv_cell, xml_safe

# Legal inside JSON, but many programs take them for the end of a line.
LINE_ENDS = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}
LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*")
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


def jsonl_lines(entries: Iterable[Entry]) -> Iterator[str]:
    """Yield one JSON object for each entry, with the table's columns as keys. Words are kept to the letter."""
    for entry in entries:
        columns = entry._asdict() | {"score": round(entry.score, 6)}
        if entry.confidence is None:
            del columns["confidence"]
        else:
            columns["confidence"] = round(entry.confidence, 4)
        yield json.dumps(columns, ensure_ascii=False, allow_nan=False).translate(LINE_ENDS) + "\n"


def muse_lines(entries: Iterable[Entry]) -> Iterator[str]:
    """Yield two words with a space between them for each entry, as MUSE and vecmap read dictionaries."""
    left_out = []
    for source, target, *_ in entries:
        spaced = [word for word in (source, target) if not is_single_word(word)]
        if spaced:
            left_out.append(spaced[0])
        else:
            yield f"{source} {target}\n"
    warn_about_words(left_out, "pair", "with a space in a word left out", "tsv and jsonl keep them")


def is_single_word(word: str) -> bool:
    """Check that Python's `split`, which MUSE uses, takes it for one word, even at the start of a file."""
    return word.split() == [word] and not word.startswith("\ufeff")


def warn_about_words(words: Sequence[str], noun: str, problem: str, remedy: str, path: str = "") -> None:
    """Count the words that a format cannot hold in one warning, with the first as an example."""
    if words:
        count = f"1 {noun}" if len(words) == 1 else f"{len(words):,} {noun}s"
        place = f"{path}: " if path else ""
        message = f"{place}{count} {problem} (first: {quoted(words[0])}); {remedy}"
        warnings.warn(message, BilexWarning, stacklevel=3)


def tei_lines(entries: Iterable[Entry], source: str, target: str, creator: str) -> Iterator[str]:
    """Yield TEI P5 in FreeDict's flavour: one entry for each source word, its translations in order.

    A name of a language that is no language tag, such as ``vectors``, becomes ``und`` (undetermined).
    """
    by_word: dict[str, list[Entry]] = {}
    for entry in entries:
        by_word.setdefault(entry.source, []).append(entry)
    replaced: list[str] = []

    def text(word: str) -> str:
        if xml_safe(word) != tsv_cell(word):
            replaced.append(word)
        return escape(xml_safe(word))

    yield tei_header(len(by_word), source, target, creator)
    language = quoteattr(language_tag(target))
    for word, translations in by_word.items():
        yield f"<entry>\n<form><orth>{text(word)}</orth></form>\n<sense>\n"
        for entry in translations:
            certainty = "" if entry.confidence is None else f' cert="{entry.confidence:.4f}"'
            quote = f"<quote>{text(entry.target)}</quote>"
            yield f'<cit type="trans" xml:lang={language}{certainty}>{quote}</cit>\n'
        yield "</sense>\n</entry>\n"
    yield "</body>\n</text>\n</TEI>\n"
    warn_about_words(replaced, "word", "with characters that XML does not have", "each became U+FFFD")


def tei_header(headwords: int, source: str, target: str, creator: str) -> str:
    """Return all that comes before the entries; what only a publisher can know is left for them to fill in."""
    names = xml_safe(source) or "source", xml_safe(target) or "target"
    tags = language_tag(source), language_tag(target)
    languages = dict(zip(tags, names, strict=True)).items()
    return TEI_HEADER.format(
        title=escape(f"{names[0]}-{names[1]} bilingual lexicon"),
        creator=escape(xml_safe(creator)),
        headwords=headwords,
        languages="".join(f"<language ident={quoteattr(tag)}>{escape(name)}</language>\n" for tag, name in languages),
        source=quoteattr(tags[0]),
    )


def language_tag(name: str) -> str:
    """Return the language tag in the name of a file of vectors, such as ``en`` or ``wiki.en``; else ``und``."""
    last = name.rpartition(".")[2].replace("_", "-")
    return last if LANGUAGE.fullmatch(last) else "und"

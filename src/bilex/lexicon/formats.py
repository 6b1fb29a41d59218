"""Lexicons out: a table, JSON lines, MUSE's two columns, TEI as FreeDict writes it.

Words are data and are written as they are: nothing is quoted, and a word such as ``=1+1`` stays one. A spreadsheet
that is told to open a file may take it for a formula; import the columns as text. The only changes are those without
which a format could not be read back: a tab or line end inside a word becomes a space (not in JSON, which can hold
it); a character that XML does not have becomes U+FFFD in TEI; and pairs with a space in a word cannot be two columns
and are left out. The last two are counted in a warning.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from bilex.errors import BilexWarning
from bilex.vectors.cleaning import Tally

__all__ = ["CONFIDENCE", "HEADER", "Row", "jsonl_lines", "legible", "muse_lines", "plain", "tei_lines", "tsv_lines"]

HEADER = ("source", "target", "score", "rank", "mutual", "origin")
CONFIDENCE = "confidence"
"""One more column, where the entries have it."""
Row = tuple[str, str, float, int, bool, str, float | None]
"""The columns of one entry, in the order of the header, and its confidence if that is known."""

SEPARATORS = str.maketrans("\t\n\r", "   ")
# Legal inside JSON, but many programs take them for the end of a line.
LINE_ENDS = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}
NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*")


def plain(word: str) -> str:
    """Take out what would break a table."""
    return word.translate(SEPARATORS)


def legible(word: str) -> str:
    """Take out what neither XML nor HTML can hold."""
    return NOT_XML.sub("\ufffd", plain(word))


def tsv_lines(rows: Iterable[Row], *, confidence: bool = False) -> Iterator[str]:
    """Write a tab-separated table with a header; with a column more if the entries have a confidence."""
    yield "\t".join([*HEADER, CONFIDENCE] if confidence else HEADER) + "\n"
    for source, target, score, rank, mutual, origin, sure in rows:
        last = "" if sure is None else f"\t{sure:.4f}"
        yield f"{plain(source)}\t{plain(target)}\t{score:.6f}\t{rank}\t{mutual:d}\t{origin}{last}\n"


def jsonl_lines(rows: Iterable[Row]) -> Iterator[str]:
    """Write one JSON object on each line, with the table's columns as keys. Words are kept to the letter."""
    for source, target, score, rank, mutual, origin, sure in rows:
        entry = dict[str, Any](zip(HEADER, (source, target, round(score, 6), rank, mutual, origin), strict=True))
        if sure is not None:
            entry[CONFIDENCE] = round(sure, 4)
        yield json.dumps(entry, ensure_ascii=False, allow_nan=False).translate(LINE_ENDS) + "\n"


def muse_lines(rows: Iterable[Row]) -> Iterator[str]:
    """Write two words on each line with a space between them, as MUSE and vecmap read dictionaries."""
    spaced = Tally()
    for number, (source, target, *_) in enumerate(rows, 1):
        if unspaced(source) and unspaced(target):
            yield f"{source} {target}\n"
        else:
            spaced.add(number, target if unspaced(source) else source)
    remedy = "; tsv and jsonl keep them"
    for message in spaced.describe("pair", "pairs", "with a space in a word left out (first: {first})" + remedy):
        warnings.warn(message, BilexWarning, stacklevel=2)


def unspaced(word: str) -> bool:
    """Say whether Python's `split`, which MUSE uses, takes it for one word, even at the start of a file."""
    return word.split() == [word] and not word.startswith("\ufeff")


def tei_lines(rows: Sequence[Row], source: str, target: str, made_by: str) -> Iterator[str]:
    """Write TEI P5 in FreeDict's flavour: one entry for each source word, its translations in order.

    Parameters
    ----------
    rows
        The entries.
    source, target
        The names of the languages; one that is no language tag, such as ``vectors``, becomes ``und`` (undetermined).
    made_by
        What made the lexicon, for the header.
    """
    entries: dict[str, list[tuple[str, float | None]]] = {}
    for row in rows:
        entries.setdefault(row[0], []).append((row[1], row[6]))
    replaced = Tally()
    yield from tei_header(len(entries), source, target, made_by)
    language = quoteattr(language_tag(target))
    for number, (word, translations) in enumerate(entries.items(), 1):
        yield f"<entry>\n<form><orth>{xml_text(word, number, replaced)}</orth></form>\n<sense>\n"
        for translation, sure in translations:
            quote = f"<quote>{xml_text(translation, number, replaced)}</quote>"
            known = "" if sure is None else f' cert="{sure:.4f}"'
            yield f'<cit type="trans" xml:lang={language}{known}>{quote}</cit>\n'
        yield "</sense>\n</entry>\n"
    yield "</body>\n</text>\n</TEI>\n"
    what = "with characters that XML does not have: each became U+FFFD (first: {first})"
    for message in replaced.describe("word", "words", what):
        warnings.warn(message, BilexWarning, stacklevel=2)


def tei_header(headwords: int, source: str, target: str, made_by: str) -> Iterator[str]:
    """Write all that comes before the entries; what only a publisher can know is left for them to fill in."""
    names = legible(source) or "source", legible(target) or "target"
    tags = language_tag(source), language_tag(target)
    title = escape(f"{names[0]}-{names[1]} bilingual lexicon")
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<TEI xmlns="http://www.tei-c.org/ns/1.0">\n<teiHeader>\n<fileDesc>\n'
    yield f"<titleStmt>\n<title>{title}</title>\n"
    yield f"<respStmt><resp>induced by</resp><name>{escape(legible(made_by))}</name></respStmt>\n</titleStmt>\n"
    yield f"<extent>{headwords} headwords</extent>\n"
    yield '<publicationStmt>\n<publisher>not published</publisher>\n<availability status="unknown">\n'
    yield "<licence><p>None chosen yet. Before you publish, name one that the vectors' licence allows.</p></licence>\n"
    yield "</availability>\n</publicationStmt>\n<sourceDesc>\n"
    yield "<p>Induced from monolingual word vectors; no entry has been checked by a person unless stated.</p>\n"
    yield "</sourceDesc>\n</fileDesc>\n<profileDesc>\n<langUsage>\n"
    for tag, name in dict(zip(tags, names, strict=True)).items():
        yield f"<language ident={quoteattr(tag)}>{escape(name)}</language>\n"
    yield "</langUsage>\n</profileDesc>\n</teiHeader>\n"
    yield f"<text>\n<body xml:lang={quoteattr(tags[0])}>\n"


def language_tag(name: str) -> str:
    """Read a language tag out of the name of a file of vectors, such as ``en`` or ``wiki.en``."""
    last = name.rpartition(".")[2].replace("_", "-")
    return last if LANGUAGE.fullmatch(last) else "und"


def xml_text(word: str, number: int, replaced: Tally) -> str:
    """Escape a word for XML and count it if that took more than escaping."""
    clean = legible(word)
    if clean != plain(word):
        replaced.add(number, word)
    return escape(clean)

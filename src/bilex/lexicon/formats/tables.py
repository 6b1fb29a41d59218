"""Tables: the lexicon's own as TSV, CSV (RFC 4180) and JSON lines, and the two words on each line of MUSE and vecmap.

Words are kept to the letter, in TSV on one line; MUSE's format has no words with a space.
"""

import csv
import json
from collections.abc import Iterator
from types import SimpleNamespace

from bilex.lexicon.formats.book import Book, is_single_word, warn_about_words
from bilex.lexicon.lexicon import LEMMA_COLUMNS, columns_with, tsv_lines

# Legal inside JSON, but many programs take them for the end of a line.
LINE_ENDS = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}


def write_tsv(book: Book) -> Iterator[str]:
    """Yield the lines of ``lexicon.tsv``."""
    return tsv_lines(book.entries, columns_of(book))


def columns_of(book: Book) -> tuple[str, ...]:
    """Return the columns of the table, with lemmas if any entry has one."""
    return columns_with(lemmas=any(entry.source_lemma or entry.target_lemma for entry in book.entries))


def write_csv(book: Book) -> Iterator[str]:
    """Yield comma-separated values; words with commas, quotation marks or line ends are quoted."""
    columns, writer = columns_of(book), csv.writer(SimpleNamespace(write=str))  # a row is what `write` returns
    yield writer.writerow(columns)
    for entry in book.entries:
        yield writer.writerow([cell(getattr(entry, name)) for name in columns])


def cell(value: object) -> str:
    """Write a value as in the TSV table."""
    if isinstance(value, float):
        return f"{value:.6f}"
    return f"{value:d}" if isinstance(value, bool) else str(value)


def write_jsonl(book: Book) -> Iterator[str]:
    """Yield one JSON object on each line, with the table's columns as keys; what is not known is left out."""
    for entry in book.entries:
        columns = entry._asdict() | {"score": round(entry.score, 6), "confidence": round(entry.confidence, 4)}
        known = {name: value for name, value in columns.items() if value or name not in LEMMA_COLUMNS}
        yield json.dumps(known, ensure_ascii=False, allow_nan=False).translate(LINE_ENDS) + "\n"


def write_muse(book: Book) -> Iterator[str]:
    """Yield two words with a space between them for each entry."""
    left_out = []
    for source, target, *_ in book.entries:
        spaced = [word for word in (source, target) if not is_single_word(word)]
        if spaced:
            left_out.append(spaced[0])
        else:
            yield f"{source} {target}\n"
    warn_about_words(left_out, "pair", "with a space in a word left out", "tsv, csv and jsonl keep them")

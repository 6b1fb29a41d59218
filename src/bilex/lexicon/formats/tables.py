"""The lexicon's own table, as TSV, CSV (RFC 4180) and JSON lines. Words are kept to the letter, in TSV on one line."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator

from bilex.lexicon.formats import Files
from bilex.lexicon.formats.book import Book, encoded
from bilex.lexicon.lexicon import LEMMA_COLUMNS, columns_with, tsv_lines

# Legal inside JSON, but many programs take them for the end of a line.
LINE_ENDS = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}


def write_tsv(book: Book) -> Files:
    """Return the table of ``lexicon.tsv``."""
    return encoded(tsv_lines(book.entries, columns_of(book)))


def columns_of(book: Book) -> tuple[str, ...]:
    """Return the columns of the table: a confidence if every entry has one, lemmas if any has."""
    return columns_with(
        confidence=all(entry.confidence is not None for entry in book.entries),
        lemmas=any(entry.source_lemma or entry.target_lemma for entry in book.entries),
    )


def write_csv(book: Book) -> Files:
    """Return comma-separated values; words with commas, quotation marks or line ends are quoted."""
    return encoded(csv_lines(book))


def csv_lines(book: Book) -> Iterator[str]:
    """Yield the header and one row for each entry."""
    columns = columns_of(book)
    text = io.StringIO()
    writer = csv.writer(text)
    for row in (columns, *([cell(getattr(entry, name)) for name in columns] for entry in book.entries)):
        writer.writerow(row)
        yield text.getvalue()
        text.seek(0)
        text.truncate()


def cell(value: object) -> str:
    """Write a value as in the TSV table."""
    if isinstance(value, float):
        return f"{value:.6f}"
    return f"{value:d}" if isinstance(value, bool) else str(value)


def write_jsonl(book: Book) -> Files:
    """Return one JSON object on each line, with the table's columns as keys."""
    return encoded(jsonl_lines(book))


def jsonl_lines(book: Book) -> Iterator[str]:
    """Yield one object for each entry; what is not known is left out."""
    for entry in book.entries:
        columns = entry._asdict() | {"score": round(entry.score, 6)}
        if entry.confidence is not None:
            columns["confidence"] = round(entry.confidence, 4)
        known = {
            name: value for name, value in columns.items() if value is not None and (value or name not in LEMMA_COLUMNS)
        }
        yield json.dumps(known, ensure_ascii=False, allow_nan=False).translate(LINE_ENDS) + "\n"

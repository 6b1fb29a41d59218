"""Pairs from a table with named columns: CSV, or TSV such as ``lexicon.tsv``."""

import csv
from collections.abc import Iterator

from bilex.errors import InputError
from bilex.files.lines import WordList, decode_fields, quoted
from bilex.seeds.pairs import FoundPair

TABLE_SEPARATORS = (b"\t", b",", b";")
PAIR_COLUMNS = {b"source", b"target"}


def first_line(start: bytes) -> bytes:
    """Return the header."""
    return start.partition(b"\n")[0].rstrip(b"\r")


def looks_like_table(start: bytes) -> bool:
    """Check for a header with a source and a target column and at least one more, as in a lexicon of bilex."""
    fields = first_line(start).split(b"\t")
    return len(fields) > len(PAIR_COLUMNS) and {*fields} >= PAIR_COLUMNS


def read_table(lines: WordList, start: bytes, columns: tuple[str, str]) -> Iterator[FoundPair]:
    """Yield the pairs of two columns, by name. A tab, comma or semicolon separates; in TSV nothing is quoted."""
    header = first_line(start)
    separator = max(TABLE_SEPARATORS, key=header.count).decode()
    reader = csv.reader(
        decoded(lines),
        delimiter=separator,
        strict=True,
        quoting=csv.QUOTE_NONE if separator == "\t" else csv.QUOTE_MINIMAL,
    )
    try:
        names = [name.strip() for name in next(reader, [])]
        missing = next((column for column in columns if names.count(column) != 1), None)
        if missing is not None:
            problem = f"the header has no column called {quoted(missing)}, or two; it has {quoted(', '.join(names))}"
            raise InputError(
                lines.path, problem, f"name two columns after the file, {lines.path}:COLUMN:COLUMN", line=1
            )
        left, right = (names.index(column) for column in columns)
        for row in reader:
            if row and len(row) != len(names):
                problem = f"{len(row)} columns where the header has {len(names)}"
                raise InputError(lines.path, problem, "quote words that hold the separator", line=reader.line_num)
            if row:
                yield FoundPair((), row[left].strip(), (), row[right].strip())
    except csv.Error as error:
        raise InputError(lines.path, f"not a table ({error})", "write it again as CSV", line=reader.line_num) from None


def decoded(lines: WordList) -> Iterator[str]:
    """Yield the lines as text, with line ends, which may be inside quotation marks."""
    for number, line in lines:
        yield decode_fields(lines.path, number, [line])[0] + "\n"

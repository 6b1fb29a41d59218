"""Read seed dictionaries and gold dictionaries: pairs of words, in the formats that people have them in.

By its content or its ending a file is a list with two words on each line (MUSE's format), a table with named columns
(CSV, or TSV such as ``lexicon.tsv``), an extract of Wiktionary (`bilex.seeds.wiktextract`) or a FreeDict dictionary
(`bilex.seeds.freedict`). The languages, or the columns, may follow the name of the file: ``FILE:en:fi``.
"""

import csv
import os
import re
from collections.abc import Iterable, Iterator, Sequence

from bilex.errors import InputError
from bilex.files.lines import WordList, decode_fields, quoted, split_fields
from bilex.files.streams import UTF8_BOM, ByteStream, refuse_unreadable_format
from bilex.lexicon.formats.book import language_tag
from bilex.seeds.pairs import DictionaryName, DictionaryPairs, FoundPair, select

TABLE_SEPARATORS = (b"\t", b",", b";")
PAIR_COLUMNS = {b"source", b"target"}
JSON_OBJECT = re.compile(rb'\{\s*"[^"\n]*"\s*:')


def read_pairs(path: str | os.PathLike[str], names: tuple[str, str] = ("", "")) -> DictionaryPairs:
    """Read a dictionary: pairs of a source word and a target word, each once.

    `names` are those of the vectors, such as ``en`` and ``cc.fi``: of a file of several languages these two are read,
    unless two others follow the name of the file.
    """
    name = DictionaryName.of(path)
    languages = language_tag(names[0]), language_tag(names[1])
    with ByteStream(name.file) as stream:
        refuse_unreadable_format(stream)
        start, lines = stream.head.removeprefix(UTF8_BOM).lstrip(b" \t\r\n"), WordList(stream)
        if start.startswith((b"<?xml", b"<TEI", b"<!DOCTYPE")):
            from bilex.seeds.freedict import read_freedict

            return select(read_freedict(stream), name, *languages)
        if JSON_OBJECT.match(start):
            from bilex.seeds.wiktextract import read_wiktextract

            return select(read_wiktextract(lines), name, *languages)
        header = start.partition(b"\n")[0].rstrip(b"\r")
        titles = header.split(b"\t")  # a lexicon of bilex has more columns than those of the pair
        if stream.suffix == ".csv" or name.sides or (len(titles) > len(PAIR_COLUMNS) and {*titles} >= PAIR_COLUMNS):
            columns = name.sides or ("source", "target")
            return select(read_table(lines, header, columns), name, *languages)
        pairs = read_list(lines)
        lines.warn()
        return pairs


def read_list(lines: WordList) -> DictionaryPairs:
    """Read two words from each line, with a tab between them, or in a line without tabs spaces.

    Blank lines are skipped, and a pair that occurs again is the same pair.
    """
    pairs = DictionaryPairs()
    for number, line in lines:
        if b"\t" in line:
            fields = [stripped for part in line.split(b"\t") if (stripped := part.strip(b" "))]
        else:
            fields = split_fields(line)
        decode_fields(lines.path, number, fields)
        if len(fields) == 2:
            pairs.append(*fields)
        elif fields:
            found = "one field" if len(fields) == 1 else f"{len(fields)} fields"
            problem = f"expected a source and a target word but found {found}"
            remedy = "put two words on the line, with a tab between them if a word has spaces"
            raise InputError(lines.path, problem, remedy, line=number)
    if not pairs:
        raise InputError(lines.path, "no pair in the file", "put a source and a target word on each line")
    return pairs.without_repetitions()


def find_lines(path: str, pairs: Iterable[Sequence[str]]) -> list[int | None]:
    """Find the first line of each pair in a list with two words on each line; None in other formats."""
    lines = dict[tuple[bytes, ...], int]()
    for number, line in WordList(path):
        lines.setdefault(tuple(line.split(b"\t") if b"\t" in line else split_fields(line)), number)
    return [lines.get(tuple(word.encode() for word in pair)) for pair in pairs]


def read_table(lines: WordList, header: bytes, columns: tuple[str, str]) -> Iterator[FoundPair]:
    """Yield the pairs of two columns, by name. A tab, comma or semicolon separates; in TSV nothing is quoted."""
    separator = max(TABLE_SEPARATORS, key=header.count).decode()
    texts = (decode_fields(lines.path, number, [line])[0] + "\n" for number, line in lines)
    tsv = separator == "\t"
    reader = csv.reader(texts, delimiter=separator, strict=True, quoting=csv.QUOTE_NONE if tsv else csv.QUOTE_MINIMAL)
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

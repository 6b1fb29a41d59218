"""Read vectors as text: word2vec, fastText and GloVe files, with or without a header line, plain or gzipped."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import takewhile

import numpy as np

from bilex.errors import InputError
from bilex.files.lines import FIELD, LineReader, Lines, is_number, quoted, split_fields
from bilex.files.streams import CUT_OFF, MAX_WORD_BYTES, WRONG_FILE, ByteStream
from bilex.numerics.threads import thread_count
from bilex.numerics.types import Indices, Vectors
from bilex.vectors.cleaning import TEXT_HEADER, Collector, Loaded, Tally, decode_words
from bilex.vectors.parse_kernel import BLANK, EXAMINE, parse_lines

MAX_LEADING_BLANK_LINES = 10_000


@dataclass
class _Reading:
    """The state of reading one file."""

    path: str
    collector: Collector
    rows: int = 0
    blanks: int = 0
    pending_blanks: int = 0
    spaced: Tally = field(default_factory=Tally)

    def take(self, lines: Lines, pool: ThreadPoolExecutor) -> None:
        """Parse some lines and pass their rows to the collector."""
        vectors = self.collector.reserve(len(lines))
        word_ends = np.empty(len(lines), dtype=np.int64)
        status = np.empty(len(lines), dtype=np.uint8)
        # Each line is parsed on its own, so the result does not depend on how the work is divided.
        arrays = (lines.starts, lines.ends, vectors, word_ends, status)
        parts = zip(*(np.array_split(array, thread_count()) for array in arrays), strict=True)
        for task in [pool.submit(parse_lines, lines.data, *part) for part in parts]:
            task.result()
        whole = lines.data.data
        words: list[bytes | memoryview] = [
            whole[start:end] for start, end in zip(lines.starts.tolist(), word_ends.tolist(), strict=True)
        ]
        for line in np.flatnonzero(status == EXAMINE).tolist():
            number = lines.first_number + line
            word, vectors[line] = examine_line(self.path, number, lines.text(line), self.collector.dimension)
            words[line] = word
            if b" " in word or b"\t" in word:
                self.spaced.add(number, word.decode("utf-8", "replace"))
        for line, length in enumerate(map(len, words)):
            if length > MAX_WORD_BYTES:
                problem = f"a word of {length:,} bytes (at most {MAX_WORD_BYTES:,} are accepted)"
                raise InputError(self.path, problem, WRONG_FILE, line=lines.first_number + line)
        self._keep(decode_words(words), np.flatnonzero(status != BLANK), vectors, lines.first_number)

    def _keep(self, words: list[str | None], used: Indices, vectors: Vectors, first: int) -> None:
        """Pass the rows that are not blank on; blank lines at the end of a file are not worth a warning."""
        if len(used):
            self.blanks += self.pending_blanks + int(used[-1]) + 1 - len(used)
            self.pending_blanks = len(words) - 1 - int(used[-1])
        else:
            self.pending_blanks += len(words)
        if len(used) < len(words):
            vectors[: len(used)] = vectors[used]
            words = [words[row] for row in used]
        self.rows += len(words)
        self.collector.keep(words, first + used)


def read_text(stream: ByteStream, limit: int | None) -> Loaded:
    """Read the first ``limit`` rows of a text file of word vectors.

    A first line of two whole numbers is a header, "words numbers-per-word"; otherwise every line is a word.
    """
    reader = LineReader(stream)
    count, dimension = _count_and_dimension(stream.path, reader)
    expected = 0
    if count is not None and stream.size is not None:
        shortest_row = 2 * dimension + 1
        expected = min(count, limit or count, stream.size // shortest_row + 1)
    reading = _Reading(stream.path, Collector(stream.path, dimension, expected))
    with ThreadPoolExecutor(thread_count()) as pool:
        # What follows the last row that is wanted is not looked at.
        while limit is None or reading.rows < limit:
            lines = reader.take(None if limit is None else limit - reading.rows)
            if not len(lines):
                break
            reading.take(lines, pool)
    if count is not None and reading.rows < min(count, limit or count):
        raise InputError(stream.path, f"the header promises {count} words but only {reading.rows} follow", CUT_OFF)
    if (
        count is not None and reader.unfinished and not len(reader.peek())
    ):  # a program wrote it: 0.125 may be cut to 0.1
        problem = "the last line has no line end, so its last number may be cut off"
        remedy = "get the file again; if it is whole, add a line end"
        raise InputError(stream.path, problem, remedy, line=reader.number - 1)
    repairs = [*stream.repairs, *_describe(reader, reading, count)]
    return reading.collector.finish((stream.path,), repairs)


def _count_and_dimension(path: str, reader: LineReader) -> tuple[int | None, int]:
    """Return the number of words in the header (None without one) and the dimension."""
    first = _first_row(reader)
    if first is None:
        many = reader.skipped_blanks > MAX_LEADING_BLANK_LINES
        problem = "begins with thousands of" if many else "holds nothing but"
        raise InputError(path, f"the file {problem} blank lines", WRONG_FILE)
    if b"\0" in first:
        raise InputError(path, "this is not text", WRONG_FILE, line=reader.number)
    header = TEXT_HEADER.fullmatch(first + b"\n")
    if header is None:
        return None, _dimension(path, reader.number, first)
    reader.take(1)
    count, dimension = int(header[1]), int(header[2])
    row = _first_row(reader)
    if count == 0 or dimension == 0:
        raise InputError(path, "the header promises no vectors", "get the file again", line=1)
    if row is None:
        raise InputError(path, f"the header promises {count} words but none follows", CUT_OFF)
    fields = _with_word(row)
    found = len(fields) - 1
    # Checked before any memory is reserved: a header may claim any dimension, a line has only so many fields.
    if found < dimension or (found > dimension and is_number(fields[1])):
        problem = f"the header says {dimension} numbers per word but this row has {found}"
        remedy = "correct the header; if the first line is a word and not a header, put a header before it"
        raise InputError(path, problem, remedy, line=reader.number)
    return count, dimension


def _first_row(reader: LineReader) -> bytes | None:
    """Return the next line that is not blank without taking it; None at the end, or after too many blank ones."""
    while len(lines := reader.peek()):
        text = lines.text(0)
        if text.strip(b" \t"):
            return text
        reader.take(1)
        reader.skipped_blanks += 1
        if reader.skipped_blanks > MAX_LEADING_BLANK_LINES:
            break
    return None


def _with_word(line: bytes) -> list[bytes]:
    """Split a line into fields; the first is empty if the line begins with a separator and has numbers only."""
    fields = split_fields(line)
    empty_word = line[:1] in (b" ", b"\t") and all(map(is_number, fields))
    return [b"", *fields] if empty_word else fields


def _dimension(path: str, number: int, line: bytes) -> int:
    """Return the dimension of the first word, in a file without header."""
    fields = _with_word(line)
    trailing = len(list(takewhile(is_number, reversed(fields[1:]))))
    if trailing == 0 or (trailing < len(fields) - 1 and is_number(fields[1])):
        bad = next((text for text in fields[1:] if not is_number(text)), None)
        problem = "a word without numbers" if bad is None else f"{quoted(bad)} is not a number"
        raise InputError(path, problem, WRONG_FILE, line=number)
    return trailing


def _describe(reader: LineReader, reading: _Reading, count: int | None) -> list[str]:
    """Return what was repaired in the text itself, one sentence each."""
    repairs = reader.repairs()
    if count is None:
        unsure = ", the last one without a line end" if reader.unfinished and not len(reader.peek()) else ""
        shape = f"{reading.rows} words of {reading.collector.dimension} numbers"
        repairs.append(f"no header line; read as {shape}{unsure}")
    elif reading.rows > count:
        repairs.append(f"the header promises {count} words but {reading.rows} follow; all of them were read")
    if blanks := reader.skipped_blanks + reading.blanks:
        repairs.append(f"{blanks} blank {'line' if blanks == 1 else 'lines'} before or between the words skipped")
    repairs += reading.spaced.describe("word", "with spaces kept as they are (first: {first})")
    return repairs


def examine_line(path: str, number: int, line: bytes, dimension: int) -> tuple[bytes, Vectors]:
    """Parse a line that the kernel is not sure of: return its word, with its spaces if it has any, and its vector.

    This is the definition of what a line means: a word followed by ``dimension`` finite numbers.
    """
    fields = list(FIELD.finditer(line))
    texts = [field.group() for field in fields]
    if line[:1] in (b" ", b"\t") and len(texts) == dimension and all(map(is_number, texts)):
        return b"", _finite_values(path, number, texts)
    extra = len(texts) - 1 - dimension
    spaced = extra > 0 and not is_number(texts[1])
    for text in texts[-dimension:] if spaced else texts[1:]:
        if not is_number(text):
            raise InputError(path, f"{quoted(text)} is not a number", "correct the line", line=number)
    if extra != 0 and not spaced:
        problem = f"expected {dimension} numbers after the word {quoted(texts[0])} but found {len(texts) - 1}"
        raise InputError(path, problem, "correct the line, or get the file again", line=number)
    word = line[fields[0].start() : fields[extra].end()]
    return word, _finite_values(path, number, texts[-dimension:])


def _finite_values(path: str, number: int, texts: list[bytes]) -> Vectors:
    with np.errstate(over="ignore"):
        values = np.array([float(text) for text in texts], dtype=np.float64).astype(np.float32)
    finite = np.isfinite(values)
    if not finite.all():
        bad = texts[int(np.argmin(finite))]
        problem = f"{quoted(bad)} is not a finite 32-bit number"
        raise InputError(path, problem, "remove or correct this word", line=number)
    return values

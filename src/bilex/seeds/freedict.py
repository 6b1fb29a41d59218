"""Pairs from a dictionary in TEI, as FreeDict publishes them: headwords (``orth``) and translations (``quote``).

The file is parsed piece by piece and never held whole. Entities are not expanded, and nothing outside the file is read.
"""

from collections.abc import Iterator
from xml.parsers import expat

from bilex.errors import InputError
from bilex.files.streams import MAX_WORD_BYTES, WRONG_FILE, ByteStream
from bilex.seeds.pairs import FoundPair

XML_PIECE_BYTES = 1 << 16
MAX_XML_DEPTH = 200
LANGUAGE_ATTRIBUTE = "xml:lang"
INFLECTED = ("inflected", "infl")


class TeiEntries:
    """Collects the pairs of a TEI document as a parser walks through it."""

    def __init__(self, path: str, parser: expat.XMLParserType) -> None:
        self.path, self.parser = path, parser
        self.found: list[FoundPair] = []
        self._open: list[tuple[str, dict[str, str]]] = []  # the elements that the parser is in
        self._headwords: list[str] = []
        self._text: list[str] | None = None  # of the word that the parser is in
        self._length = 0
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.EntityDeclHandler = self._entity

    def _fail(self, problem: str, remedy: str = WRONG_FILE) -> InputError:
        return InputError(self.path, problem, remedy, line=self.parser.CurrentLineNumber)

    def _entity(self, *_: object) -> None:
        raise self._fail("the document declares entities, which are not expanded", "write it without them")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._open) >= MAX_XML_DEPTH:
            raise self._fail(f"more than {MAX_XML_DEPTH} elements inside one another")
        self._open.append((name.rpartition(":")[2], attributes))
        if self._open[-1][0] == "entry":
            self._headwords = []
        elif self._open[-1][0] in ("orth", "quote"):
            self._text, self._length = [], 0

    def _characters(self, text: str) -> None:
        if self._text is not None:
            self._length += len(text)
            if self._length > MAX_WORD_BYTES:
                raise self._fail(f"a word of more than {MAX_WORD_BYTES:,} characters")
            self._text.append(text)

    def _end(self, _: str) -> None:
        name, attributes = self._open.pop()
        if name not in ("orth", "quote") or self._text is None:
            return
        word, self._text = " ".join("".join(self._text).split()), None
        around = [(outer, given) for outer, given in self._open if outer in ("cit", "form", "entry")]
        citations = [given for outer, given in around if outer == "cit"]
        if not any(outer == "entry" for outer, _ in around) or not word:
            return
        if citations:
            if all(given.get("type", "").startswith("trans") for given in citations):
                language = attributes.get(LANGUAGE_ATTRIBUTE) or citations[-1].get(LANGUAGE_ATTRIBUTE, "")
                names = (language.lower(),) if language else ()
                self.found += [FoundPair((), headword, names, word) for headword in self._headwords]
        elif name == "orth" and around[-1][1].get("type") not in INFLECTED:
            self._headwords.append(word)


def read_freedict(stream: ByteStream) -> Iterator[FoundPair]:
    """Yield each headword with each of its translations."""
    parser = expat.ParserCreate()
    entries = TeiEntries(stream.path, parser)
    finished = False
    try:
        while not finished:
            piece = stream.read(XML_PIECE_BYTES)
            finished = not piece
            parser.Parse(piece, finished)
            found, entries.found = entries.found, []
            yield from found
    except (expat.ExpatError, LookupError, ValueError) as error:
        line = parser.CurrentLineNumber
        raise InputError(stream.path, f"not well-formed XML ({error})", "get the file again", line=line) from None

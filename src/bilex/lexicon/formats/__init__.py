"""Lexicons in other programs' formats, each a module with one function behind one contract.

The function gets a `Book` and returns the bytes of the format's files: a mapping from the ending of a file's name to
pieces of its content. A format of one file returns one with the ending "", the name that the user gave. Modules are
imported when they are used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bilex.lexicon.formats.book import Book

Files = Mapping[str, Iterable[bytes]]
PIECES_PER_REPORT = 1000


@dataclass(frozen=True)
class Format:
    """A format: the module and function that write it, and its files.

    `endings` are those of its files if there are several, the one that is opened first; `is_text` means that it can be
    printed.
    """

    module: str
    function: str = "write"
    is_text: bool = True
    endings: tuple[str, ...] = ()

    def files(self, book: Book) -> Files:
        """Return the content of its files, piece by piece."""
        function: Callable[[Book], Files] = getattr(import_module(f"{__name__}.{self.module}"), self.function)
        return function(book)


FORMATS = {
    "tsv": Format("tables", "write_tsv"),
    "csv": Format("tables", "write_csv"),
    "jsonl": Format("tables", "write_jsonl"),
    "muse": Format("muse"),
    "tei": Format("tei"),
    "tbx": Format("tbx"),
    "dix": Format("dix"),
    "stardict": Format("stardict", is_text=False, endings=(".ifo", ".idx", ".dict", ".syn")),
    "anki": Format("anki", is_text=False),
    "lex": Format("lex", endings=(".f2e", ".e2f", ".priors")),
}


def write_book(book: Book, form: str, path: str, progress: Callable[[int, int], None] | None = None) -> list[str]:
    """Write a lexicon to its file, or files, whole or not at all; return their names."""
    from bilex.files.atomic import atomic_write

    endings = FORMATS[form].endings
    stem = path.removesuffix(next((ending for ending in endings if path.endswith(ending)), ""))
    names = []
    with ExitStack() as stack:  # all are moved to their places at the end, the one that is opened first as the last
        for ending, pieces in FORMATS[form].files(book).items():
            names.append(f"{stem}{ending}")
            file = stack.enter_context(atomic_write(names[-1]))
            for number, piece in enumerate(pieces):
                file.write(piece)
                if progress is not None and number % PIECES_PER_REPORT == 0:
                    progress(min(number, len(book.entries)), len(book.entries))
    return names

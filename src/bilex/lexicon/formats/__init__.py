"""Lexicons in other programs' formats, each a module with one function behind one contract.

The function gets a `Book` and returns the content of the format's file in pieces of text or bytes; if it has several,
a mapping from the endings of their names to that. Modules are imported when they are used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bilex.lexicon.formats.book import Book

Pieces = Iterable[str] | Iterable[bytes]


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

    def files(self, book: Book) -> dict[str, Iterable[bytes]]:
        """Return the content of its files by their endings, piece by piece; a single file has none."""
        function: Callable[[Book], Pieces | Mapping[str, Pieces]] = getattr(
            import_module(f"{__name__}.{self.module}"), self.function
        )
        written = function(book)
        parts = written if isinstance(written, Mapping) else {"": written}
        return {ending: map(encoded, pieces) for ending, pieces in parts.items()}


FORMATS = {
    "tsv": Format("tables", "write_tsv"),
    "csv": Format("tables", "write_csv"),
    "jsonl": Format("tables", "write_jsonl"),
    "muse": Format("tables", "write_muse"),
    "tei": Format("markup", "write_tei"),
    "tbx": Format("markup", "write_tbx"),
    "dix": Format("markup", "write_dix"),
    "stardict": Format("stardict", is_text=False, endings=(".ifo", ".idx", ".dict", ".syn")),
    "anki": Format("anki", is_text=False),
    "lex": Format("lex", endings=(".f2e", ".e2f", ".priors")),
}


def encoded(piece: str | bytes) -> bytes:
    """Return a piece of a file as bytes."""
    return piece.encode("utf-8") if isinstance(piece, str) else piece


def book_names(form: str, path: str) -> dict[str, str]:
    """Return the names of the files of a format by their endings; a single file has none."""
    endings = FORMATS[form].endings
    stem = path.removesuffix(next((ending for ending in endings if path.endswith(ending)), ""))
    return {ending: f"{stem}{ending}" for ending in endings or ("",)}


def write_book(book: Book, form: str, path: str) -> list[str]:
    """Write a lexicon to its file, or files, whole or not at all; return their names."""
    from bilex.files.atomic import atomic_write

    every, files = book_names(form, path), FORMATS[form].files(book)
    with ExitStack() as stack:  # all are moved to their places at the end, the one that is opened first as the last
        for ending, pieces in files.items():
            stack.enter_context(atomic_write(every[ending])).writelines(pieces)
    return [every[ending] for ending in files]

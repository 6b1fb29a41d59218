"""Anki's package (``.apkg``): a deck with one note for each source word, its translations on the back.

The deck and the notes are the same each time, by their names, so importing a newer export updates what changed and
keeps what was learnt. The database inside has the layout (version 11) that every Anki since 2.1 imports.
"""

import io
import json
import sqlite3
import time
import zipfile
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha1, sha256
from html import escape
from importlib.resources import files

from bilex.lexicon.formats.book import Book
from bilex.lexicon.text import xml_safe

FIELD_SEPARATOR = "\x1f"
FIRST_ID = 10**12  # Anki's ids are times in milliseconds
CONTENT_TIME = (1980, 1, 1, 0, 0, 0)


def write(book: Book) -> list[bytes]:
    """Return the package: a zip archive of the database and an empty list of media."""
    package = io.BytesIO()
    with zipfile.ZipFile(package, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (("collection.anki2", collection(book)), ("media", b"{}")):
            archive.writestr(zipfile.ZipInfo(name, CONTENT_TIME), content, zipfile.ZIP_DEFLATED)
    return [package.getvalue()]


def collection(book: Book) -> bytes:
    """Return the SQLite database with the deck."""
    now = int(time.time())  # Anki updates a known note only if this is later
    deck, kind = number_of(f"deck {book.title}"), number_of("bilex note type 1")
    resources = files("bilex.lexicon.formats")
    about = json.loads((resources / "anki.json").read_text("utf-8"))
    about["note_type"] |= {"id": kind, "mod": now}
    about["deck"] |= {"id": deck, "mod": now, "name": book.title.replace("::", ": :")}
    described = map(json.dumps, ({}, {kind: about["note_type"]}, {deck: about["deck"]}, {}))
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript((resources / "anki.sql").read_text("utf-8"))
        times = (now, now * 1000, now * 1000)
        database.execute("INSERT INTO col VALUES (1, ?, ?, ?, 11, 0, 0, 0, ?, ?, ?, ?, '{}')", (*times, *described))
        for place, (guid, fields) in enumerate(notes(book), 1):
            checksum = int(sha1(fields[0].encode("utf-8"), usedforsecurity=False).hexdigest()[:8], 16)
            note = (deck + place, guid, kind, now, FIELD_SEPARATOR.join(fields), fields[0], checksum)
            database.execute("INSERT INTO notes VALUES (?, ?, ?, ?, -1, 'bilex', ?, ?, ?, 0, '')", note)
            card = (deck + place, deck + place, deck, now, place)
            database.execute("INSERT INTO cards VALUES (?, ?, ?, 0, ?, -1, 0, 0, ?, 0, 0, 0, 0, 0, 0, 0, 0, '')", card)
        database.commit()
        return database.serialize()


def notes(book: Book) -> Iterator[tuple[str, list[str]]]:
    """Yield the permanent name of each note, and its fields, which are HTML."""
    for word, entries in book.headwords().items():
        guid = sha256("\t".join((book.source, book.target, word)).encode("utf-8")).hexdigest()[:16]
        confidence = ", ".join(f"{entry.confidence:.0%}" for entry in entries)
        yield guid, [html(word), ", ".join(html(entry.target) for entry in entries), confidence]


def html(word: str) -> str:
    """Return a word as HTML."""
    return escape(xml_safe(word))


def number_of(name: str) -> int:
    """Return a number for a name: always the same, and as long as Anki's own."""
    return FIRST_ID + int.from_bytes(sha256(name.encode("utf-8")).digest()[:5], "big") // 2

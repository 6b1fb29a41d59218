"""Anki's package (``.apkg``): a deck with one note for each source word, its translations on the back.

The deck and the notes are the same each time, by their names, so importing a newer export updates what changed and
keeps what was learnt. The database inside has the layout (version 11) that every Anki since 2.1 imports.
"""

from __future__ import annotations

import io
import json
import sqlite3
import time
import zipfile
from collections.abc import Iterator
from hashlib import sha1, sha256
from html import escape
from typing import Any

from bilex.lexicon.formats import Files
from bilex.lexicon.formats.book import Book
from bilex.lexicon.text import xml_safe

FIELDS = ("Source", "Target", "Confidence")
BACK = '{{FrontSide}}<hr id="answer">{{Target}}<p class="confidence">{{Confidence}}</p>'
CARD_STYLE = ".card { font-family: sans-serif; font-size: 24px; text-align: center } .confidence { font-size: 14px }"
FIELD_SEPARATOR = "\x1f"
FIRST_ID = 10**12  # Anki's ids are times in milliseconds
CONTENT_TIME = (1980, 1, 1, 0, 0, 0)
ANKI_SCHEMA = """
CREATE TABLE col (id integer PRIMARY KEY, crt integer, mod integer, scm integer, ver integer, dty integer, usn integer,
                  ls integer, conf text, models text, decks text, dconf text, tags text);
CREATE TABLE notes (id integer PRIMARY KEY, guid text, mid integer, mod integer, usn integer, tags text, flds text,
                    sfld integer, csum integer, flags integer, data text);
CREATE TABLE cards (id integer PRIMARY KEY, nid integer, did integer, ord integer, mod integer, usn integer,
                    type integer, queue integer, due integer, ivl integer, factor integer, reps integer, lapses integer,
                    left integer, odue integer, odid integer, flags integer, data text);
CREATE TABLE revlog (id integer PRIMARY KEY, cid integer, usn integer, ease integer, ivl integer, lastIvl integer,
                     factor integer, time integer, type integer);
CREATE TABLE graves (usn integer, oid integer, type integer);
CREATE INDEX ix_notes_usn ON notes (usn);
CREATE INDEX ix_cards_usn ON cards (usn);
CREATE INDEX ix_revlog_usn ON revlog (usn);
CREATE INDEX ix_cards_nid ON cards (nid);
CREATE INDEX ix_cards_sched ON cards (did, queue, due);
CREATE INDEX ix_revlog_cid ON revlog (cid);
CREATE INDEX ix_notes_csum ON notes (csum);
"""


def write(book: Book) -> Files:
    """Return the package: a zip archive of the database and an empty list of media."""
    package = io.BytesIO()
    with zipfile.ZipFile(package, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (("collection.anki2", collection(book)), ("media", b"{}")):
            archive.writestr(zipfile.ZipInfo(name, CONTENT_TIME), content, zipfile.ZIP_DEFLATED)
    return {"": [package.getvalue()]}


def collection(book: Book) -> bytes:
    """Return the SQLite database with the deck."""
    now = int(time.time())  # Anki takes over a note that it knows only if this is later
    deck, kind = number_of(f"deck {book.title}"), number_of("bilex note type 1")
    models, decks = {kind: note_type(kind, now)}, {deck: deck_named(book.title, deck, now)}
    database = sqlite3.connect(":memory:")
    try:
        database.executescript(ANKI_SCHEMA)
        about = (now, now * 1000, now * 1000, *map(json.dumps, ({}, models, decks, {})))
        database.execute("INSERT INTO col VALUES (1, ?, ?, ?, 11, 0, 0, 0, ?, ?, ?, ?, '{}')", about)
        for place, (guid, fields) in enumerate(notes(book), 1):
            checksum = int(sha1(fields[0].encode("utf-8"), usedforsecurity=False).hexdigest()[:8], 16)
            note = (deck + place, guid, kind, now, FIELD_SEPARATOR.join(fields), fields[0], checksum)
            database.execute("INSERT INTO notes VALUES (?, ?, ?, ?, -1, 'bilex', ?, ?, ?, 0, '')", note)
            card = (deck + place, deck + place, deck, now, place)
            database.execute("INSERT INTO cards VALUES (?, ?, ?, 0, ?, -1, 0, 0, ?, 0, 0, 0, 0, 0, 0, 0, 0, '')", card)
        database.commit()
        return database.serialize()
    finally:
        database.close()


def notes(book: Book) -> Iterator[tuple[str, list[str]]]:
    """Yield the name of each note for good, and its fields, which are HTML."""
    for word, entries in book.headwords().items():
        guid = sha256("\t".join((book.source, book.target, word)).encode("utf-8")).hexdigest()[:16]
        known = [entry.confidence for entry in entries if entry.confidence is not None]
        confidence = ", ".join(f"{value:.0%}" for value in known)
        yield guid, [html(word), ", ".join(html(entry.target) for entry in entries), confidence]


def html(word: str) -> str:
    """Return a word as HTML."""
    return escape(xml_safe(word))


def number_of(name: str) -> int:
    """Return a number for a name: always the same, and as long as Anki's own."""
    return FIRST_ID + int.from_bytes(sha256(name.encode("utf-8")).digest()[:5], "big") // 2


def note_type(number: int, now: int) -> dict[str, Any]:
    """Return the note type: its fields, and one card from source to target."""
    card = {"name": "Translate", "ord": 0, "qfmt": "{{Source}}", "afmt": BACK, "bqfmt": "", "bafmt": "", "did": None}
    fields = [
        {"name": name, "ord": place, "sticky": False, "rtl": False, "font": "Arial", "size": 20}
        for place, name in enumerate(FIELDS)
    ]
    return {
        "id": number,
        "name": "Word pair (bilex)",
        "type": 0,
        "mod": now,
        "usn": -1,
        "sortf": 0,
        "did": None,
        "tmpls": [card],
        "flds": fields,
        "css": CARD_STYLE,
        "latexPre": "",
        "latexPost": "",
        "req": [[0, "any", [0]]],
    }


def deck_named(title: str, number: int, now: int) -> dict[str, Any]:
    """Return an empty deck."""
    today = {name: [0, 0] for name in ("newToday", "revToday", "lrnToday", "timeToday")}
    about = {"id": number, "name": title.replace("::", ": :"), "desc": "", "mod": now, "usn": -1, "dyn": 0, "conf": 1}
    return {**about, **today, "collapsed": False, "extendNew": 0, "extendRev": 0}

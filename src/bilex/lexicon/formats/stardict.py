"""StarDict, for GoldenDict, KOReader, sdcv and others: a description, a sorted index, and the translations as text.

The index holds words of at most 255 bytes and ends each with a zero byte; words that do not fit are left out, and
counted in a warning.
"""

import struct

from bilex.lexicon.formats.book import Book, warn_about_words
from bilex.lexicon.text import tsv_cell

MAX_HEADWORD_BYTES = 255
LEMMA = struct.Struct(">I")  # the place of a form's lemma in the index
PLACE = struct.Struct(">2I")  # where the translations of a word are in the .dict file, and how many bytes they have


def write(book: Book) -> dict[str, list[bytes]]:
    """Return the description, the index and the translations, one on each line."""
    index, texts, left_out, forms, start = list[bytes](), list[bytes](), list[str](), dict[str, int](), 0
    for word, entries in sorted(book.headwords().items(), key=lambda item: order(item[0])):
        name = word.encode("utf-8")
        if not is_storable(name):
            left_out.append(word)
            continue
        forms |= {form: len(index) for form in book.forms.get(word, ()) if is_storable(form.encode("utf-8"))}
        text = "\n".join(tsv_cell(entry.target) for entry in entries).encode("utf-8")
        index.append(name + b"\0" + PLACE.pack(start, len(text)))
        texts.append(text)
        start += len(text)
    warn_about_words(left_out, "word", "that StarDict cannot hold left out", "other formats keep them")
    description = {
        "version": "3.0.0",
        "bookname": tsv_cell(book.title),
        "wordcount": len(index),
        **({"synwordcount": len(forms)} if forms else {}),
        "idxfilesize": sum(map(len, index)),
        "sametypesequence": "m",
        "author": tsv_cell(book.creator),
    }
    lines = ["StarDict's dict ifo file", *(f"{name}={value}" for name, value in description.items())]
    files = {".ifo": ["".join(f"{line}\n" for line in lines).encode("utf-8")], ".idx": index, ".dict": texts}
    if forms:  # they lead to their lemma
        files[".syn"] = [form.encode("utf-8") + b"\0" + LEMMA.pack(forms[form]) for form in sorted(forms, key=order)]
    return files


def is_storable(name: bytes) -> bool:
    """Check that the index can hold a word."""
    return b"\0" not in name and 0 < len(name) <= MAX_HEADWORD_BYTES


def order(word: str) -> tuple[bytes, bytes]:
    """Return what StarDict's readers search by: the bytes with ASCII letters in lower case, then the bytes."""
    name = word.encode("utf-8")
    return name.lower(), name

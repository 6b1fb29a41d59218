"""Two words on each line, as MUSE and vecmap read dictionaries. Pairs with a space in a word are left out."""

from __future__ import annotations

from collections.abc import Iterator

from bilex.lexicon.formats import Files
from bilex.lexicon.formats.book import Book, encoded, warn_about_words


def write(book: Book) -> Files:
    """Return the file."""
    return encoded(lines(book))


def lines(book: Book) -> Iterator[str]:
    """Yield two words with a space between them for each entry."""
    left_out = []
    for source, target, *_ in book.entries:
        spaced = [word for word in (source, target) if not is_single_word(word)]
        if spaced:
            left_out.append(spaced[0])
        else:
            yield f"{source} {target}\n"
    warn_about_words(left_out, "pair", "with a space in a word left out", "tsv, csv and jsonl keep them")


def is_single_word(word: str) -> bool:
    """Check that Python's `split`, which MUSE uses, takes it for one word, even at the start of a file."""
    return word.split() == [word] and not word.startswith("\ufeff")

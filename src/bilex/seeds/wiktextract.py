"""Pairs from an extract of Wiktionary by Wiktextract, as kaikki.org offers them: one JSON object on each line.

A word's translations are pairs. So are the glosses of a word that is not English, which are English in the extracts of
the English Wiktionary: a Finnish *talo* has the gloss *house*.
"""

from collections.abc import Iterator

import msgspec

from bilex.errors import InputError
from bilex.files.lines import MAX_VECTOR_BYTES, WordList
from bilex.seeds.pairs import FoundPair

MAX_EXTRACT_BYTES = 1 << 38  # the extract of all languages has some twenty gigabytes
GLOSS_LANGUAGE = ("en", "english")


class WordTranslation(msgspec.Struct):
    """A translation: the word and its language."""

    word: str | None = None
    code: str | None = None
    lang_code: str | None = None
    lang: str | None = None


class WordSense(msgspec.Struct):
    """A sense of a word."""

    glosses: list[str] = []
    translations: list[WordTranslation] = []


class WordEntry(msgspec.Struct):
    """A line; one without a word is a redirection."""

    word: str | None = None
    lang_code: str | None = None
    lang: str | None = None
    translations: list[WordTranslation] = []
    senses: list[WordSense] = []


def read_wiktextract(lines: WordList) -> Iterator[FoundPair]:
    """Yield the translations and the glosses of every word."""
    lines.max_line_bytes, lines.max_bytes = MAX_VECTOR_BYTES, MAX_EXTRACT_BYTES
    decoder = msgspec.json.Decoder(WordEntry)
    for number, line in lines:
        if not line.strip():
            continue
        try:
            entry = decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            problem = f"not a word of Wiktextract ({str(error)[:100]})"
            raise InputError(lines.path, problem, "get the JSONL file again", line=number) from None
        if entry.word is not None:
            yield from pairs_of(entry, entry.word)


def pairs_of(entry: WordEntry, word: str) -> Iterator[FoundPair]:
    """Yield the pairs of one word."""
    language = names_of(entry.lang_code, entry.lang)
    for one in (*entry.translations, *(one for sense in entry.senses for one in sense.translations)):
        if one.word is not None:
            yield FoundPair(language, word, names_of(one.lang_code or one.code, one.lang), one.word)
    if language and language[0] not in GLOSS_LANGUAGE:
        for sense in entry.senses:
            for gloss in sense.glosses:
                yield FoundPair(language, word, GLOSS_LANGUAGE, gloss.rstrip("."))


def names_of(*names: str | None) -> tuple[str, ...]:
    """Return the code and the name of a language, as far as they are known."""
    return tuple(name.lower() for name in names if name)

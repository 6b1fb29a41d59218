"""Lexical translation probabilities of the model, for Moses and eflomal.

Three files: ``.f2e`` has on each line a target word, a source word and p(target | source), as Moses names and orders
them (f is the source language, e the target); ``.e2f`` a source word, a target word and p(source | target). In both,
``NULL`` has the rest: the chance that the word has none of these translations. ``.priors`` holds p(target | source) as
pseudo-counts for ``eflomal-align --priors``: each word counts as if it had been seen once. Words with a space are left
out, since spaces separate the columns.
"""

from collections.abc import Iterator

from bilex.lexicon.formats.book import Book, Translations, is_single_word, warn_about_words

NULL = "NULL"
LEAST_PROBABILITY = 5e-7  # a smaller one would be written as 0


def write(book: Book) -> dict[str, Iterator[str]]:
    """Return the tables of both directions and the pseudo-counts."""
    return {
        ".f2e": moses_lines(book.translations(False)),
        ".e2f": moses_lines(book.translations(True)),
        ".priors": eflomal_lines(book.translations(False)),
    }


def moses_lines(translations: Iterator[Translations]) -> Iterator[str]:
    """Yield the lines of each word: its translations, and what is left to none of them."""
    left_out = []
    for given, found in translations:
        if not is_writable(given):
            left_out.append(given)
            continue
        rest = 1.0
        for word, probability in writable(found):
            rest -= probability
            yield f"{word} {given} {probability:.7f}\n"
        yield f"{NULL} {given} {max(rest, 0.0):.7f}\n"
    warn_about_words(left_out, "word", "with a space left out", "tsv, csv and jsonl keep them")


def eflomal_lines(translations: Iterator[Translations]) -> Iterator[str]:
    """Yield one line for each pair."""
    for source, found in translations:
        if is_writable(source):
            for target, probability in writable(found):
                yield f"LEX\t{source}\t{target}\t{probability:.7f}\n"


def writable(found: list[tuple[str, float]]) -> Iterator[tuple[str, float]]:
    """Yield the translations that the formats can hold."""
    for word, probability in found:
        if probability >= LEAST_PROBABILITY and is_writable(word):
            yield word, probability


def is_writable(word: str) -> bool:
    """Check that a word is one column, and not the word for none."""
    return is_single_word(word) and word != NULL

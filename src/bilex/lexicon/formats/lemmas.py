"""A lexicon grouped by lemma: what a format gets instead of the forms of words, if that is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from bilex.lexicon.formats.book import Book, Translations
from bilex.lexicon.lexicon import Entry


def group_by_lemma(book: Book, lemmas: tuple[Mapping[str, str], Mapping[str, str]]) -> Book:
    """Return a book with one entry for each pair of lemmas, in the order of the first, and the forms of its headwords.

    An entry has the figures of its surest pair of forms. A word that `lemmas`, those of the source and of the target,
    do not have is its own lemma.
    """
    surest, forms = dict[tuple[str, str], Entry](), dict[str, dict[str, None]]()
    for entry in book.entries:
        source, target = (side.get(word, word) for side, word in zip(lemmas, entry[:2], strict=True))
        known = surest.get((source, target))
        if known is None or (entry.confidence or 0.0) > (known.confidence or 0.0):
            surest[source, target] = entry
        if entry.source != source:
            forms.setdefault(source, {})[entry.source] = None
    entries = [
        entry._replace(source=source, target=target, source_lemma="", target_lemma="")
        for (source, target), entry in surest.items()
    ]
    translations = None if book.translations is None else partial(grouped_translations, book.translations, lemmas)
    listed = {lemma: tuple(found) for lemma, found in forms.items()}
    return replace(book, entries=entries, translations=translations, forms=listed)


def grouped_translations(
    translations: Callable[[bool], Iterator[Translations]],
    lemmas: tuple[Mapping[str, str], Mapping[str, str]],
    reverse: bool,
) -> Iterator[Translations]:
    """Yield the translations of each lemma: the mean over its forms of what the forms of each other lemma have."""
    own, other = lemmas[::-1] if reverse else lemmas
    forms, total = dict[str, int](), dict[str, dict[str, float]]()
    for word, found in translations(reverse):
        lemma = own.get(word, word)
        forms[lemma] = forms.get(lemma, 0) + 1
        sums = total.setdefault(lemma, {})
        for translation, probability in found:
            target = other.get(translation, translation)
            sums[target] = sums.get(target, 0.0) + probability
    for lemma, sums in total.items():
        ranked = sorted(sums.items(), key=lambda item: -item[1])
        yield lemma, [(target, probability / forms[lemma]) for target, probability in ranked]

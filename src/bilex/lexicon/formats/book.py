"""What every format gets: the entries, the names of the languages, and the model's probabilities."""

import re
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from bilex.errors import BilexWarning
from bilex.files.lines import quoted
from bilex.lexicon.lexicon import Entry
from bilex.lexicon.text import xml_safe

LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*")
UNDETERMINED = "und"

Translations = tuple[str, list[tuple[str, float]]]
"""A word, and words of the other language with their probabilities given that word."""


@dataclass(frozen=True)
class Book:
    """A lexicon on its way into a file.

    `source` and `target` name the languages, `creator` the program. `translations` yields the probable translations of
    every word from the model, of the target language's words if its argument is True. `forms` has the other forms
    of a headword that is a lemma.
    """

    entries: Sequence[Entry]
    source: str
    target: str
    creator: str
    translations: Callable[[bool], Iterator[Translations]] = lambda _: iter(())
    forms: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, str]:
        """The names of the languages, for people."""
        return xml_safe(self.source) or "source", xml_safe(self.target) or "target"

    @property
    def title(self) -> str:
        """The languages, as the name of a dictionary."""
        return f"{'-'.join(self.names)} bilingual lexicon"

    @property
    def tags(self) -> tuple[str, str]:
        """The language tags of source and target."""
        return language_tag(self.source), language_tag(self.target)

    def headwords(self) -> dict[str, list[Entry]]:
        """Return the entries of each source word, in their order."""
        by_word: dict[str, list[Entry]] = {}
        for entry in self.entries:
            by_word.setdefault(entry.source, []).append(entry)
        return by_word


def language_tag(name: str) -> str:
    """Return the language tag in the name of vectors, as in ``en``, ``wiki.en`` or ``cc.en.300``; otherwise ``und``."""
    parts = reversed(name.replace("_", "-").split("."))
    return next(filter(LANGUAGE.fullmatch, parts), UNDETERMINED)


def is_single_word(word: str) -> bool:
    """Check that Python's `split`, which MUSE uses, takes it for one word, even at the start of a file."""
    return word.split() == [word] and not word.startswith("\ufeff")


def warn_about_words(words: Sequence[str], noun: str, problem: str, remedy: str, path: str = "") -> None:
    """Count the words that a format cannot hold in one warning, with the first as an example."""
    if words:
        count = f"1 {noun}" if len(words) == 1 else f"{len(words):,} {noun}s"
        place = f"{path}: " if path else ""
        message = f"{place}{count} {problem} (first: {quoted(words[0])}); {remedy}"
        warnings.warn(message, BilexWarning, stacklevel=3)


def grouped_by_lemma(book: Book, source_lemmas: Mapping[str, str], target_lemmas: Mapping[str, str]) -> Book:
    """Return a book with one entry for each pair of lemmas, in the order of the first, and the forms of its headwords.

    An entry has the figures of its surest pair of forms. A word without a lemma is its own. The translations of a lemma
    are the mean over its forms of what the forms of each other lemma have.
    """
    surest, forms = dict[tuple[str, str], Entry](), dict[str, dict[str, None]]()
    for entry in book.entries:
        source, target = source_lemmas.get(entry.source, entry.source), target_lemmas.get(entry.target, entry.target)
        known = surest.get((source, target))
        if known is None or entry.confidence > known.confidence:
            surest[source, target] = entry
        if entry.source != source:
            forms.setdefault(source, {})[entry.source] = None
    entries = [
        entry._replace(source=source, target=target, source_lemma="", target_lemma="")
        for (source, target), entry in surest.items()
    ]

    def translations(reverse: bool) -> Iterator[Translations]:
        own, other = (target_lemmas, source_lemmas) if reverse else (source_lemmas, target_lemmas)
        count, total = Counter[str](), dict[str, defaultdict[str, float]]()
        for word, found in book.translations(reverse):
            lemma = own.get(word, word)
            count[lemma] += 1
            sums = total.setdefault(lemma, defaultdict(float))
            for translation, probability in found:
                sums[other.get(translation, translation)] += probability
        for lemma, sums in total.items():
            ranked = sorted(sums.items(), key=lambda item: -item[1])
            yield lemma, [(target, probability / count[lemma]) for target, probability in ranked]

    listed = {lemma: tuple(found) for lemma, found in forms.items()}
    return replace(book, entries=entries, translations=translations, forms=listed)

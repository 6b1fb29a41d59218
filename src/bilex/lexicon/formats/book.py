"""What every format gets: the entries, the names of the languages, and the model's probabilities."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from bilex.errors import BilexWarning
from bilex.files.lines import quoted
from bilex.lexicon.lexicon import Entry
from bilex.lexicon.text import tsv_cell, xml_safe

LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*")
UNDETERMINED = "und"

Translations = tuple[str, list[tuple[str, float]]]
"""A word, and words of the other language with their probabilities given that word."""


@dataclass(frozen=True)
class Book:
    """A lexicon on its way into a file.

    `source` and `target` name the languages, `creator` the program. `translations` yields the probable translations of
    every word from the model, of the target language's words if its argument is True; None if there is no model.
    `forms` has the other forms of a headword that is a lemma.
    """

    entries: Sequence[Entry]
    source: str
    target: str
    creator: str
    translations: Callable[[bool], Iterator[Translations]] | None = None
    forms: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The languages, as the name of a dictionary."""
        return f"{xml_safe(self.source) or 'source'}-{xml_safe(self.target) or 'target'} bilingual lexicon"

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
    """Return the language tag in the name of a file of vectors, such as ``en`` or ``wiki.en``; else ``und``."""
    last = name.rpartition(".")[2].replace("_", "-")
    return last if LANGUAGE.fullmatch(last) else UNDETERMINED


class XmlText:
    """Escapes words for XML, and remembers those with characters that it does not have."""

    def __init__(self) -> None:
        self.replaced: list[str] = []

    def __call__(self, word: str) -> str:
        """Return the word as the content of an element."""
        if xml_safe(word) != tsv_cell(word):
            self.replaced.append(word)
        return escape(xml_safe(word))

    def warn(self) -> None:
        """Count the words that were changed."""
        warn_about_words(self.replaced, "word", "with characters that XML does not have", "each became U+FFFD")


def encoded(lines: Iterable[str]) -> dict[str, Iterable[bytes]]:
    """Return lines of text as the one file of a format."""
    return {"": (line.encode("utf-8") for line in lines)}


def warn_about_words(words: Sequence[str], noun: str, problem: str, remedy: str, path: str = "") -> None:
    """Count the words that a format cannot hold in one warning, with the first as an example."""
    if words:
        count = f"1 {noun}" if len(words) == 1 else f"{len(words):,} {noun}s"
        place = f"{path}: " if path else ""
        message = f"{place}{count} {problem} (first: {quoted(words[0])}); {remedy}"
        warnings.warn(message, BilexWarning, stacklevel=3)

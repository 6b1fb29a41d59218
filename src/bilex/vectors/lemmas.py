"""The lemmas of words (their dictionary forms), by simplemma: the extra ``lemmas``."""

import re
from collections.abc import Sequence

from bilex.errors import BilexError

ANOTHER_LANGUAGE = re.compile(r"[a-z]{2}")


def lemma_languages(given: str | None, names: tuple[str, str]) -> tuple[str, str]:
    """Return the languages of the source's and the target's lemmas; empty where there are none.

    ``en:fi`` names both, ``en:`` and ``:fi`` one of them. ``fi`` is the side whose vectors have that name,
    otherwise the target, unless that is named after another language.
    """
    if not given:
        return "", ""
    if ":" in given:
        source, _, target = (part.strip() for part in given.partition(":"))
        return source, target
    first, second = (re.split(r"[-_]", name.rpartition(".")[2].lower())[0] for name in names)
    if first == given != second:
        return given, ""
    if second != given and ANOTHER_LANGUAGE.fullmatch(second):
        raise BilexError(
            f"lemmas of {given!r} for vectors called {names[0]!r} and {names[1]!r}; "
            f"write {given}: for the source, or :{given} for the target"
        )
    return "", given


def lemmatise(words: Sequence[str], language: str) -> tuple[str, ...]:
    """Return the lemma of each word; a word that simplemma does not know is its own."""
    try:
        from simplemma import lemmatize
    except ImportError:
        raise BilexError("lemmas need simplemma, which is missing; pip install 'bilex[lemmas]'") from None
    try:
        return tuple(lemmatize(word, language) if word else word for word in words)
    except ValueError:
        raise BilexError(f"simplemma has no lemmas of {language!r}; give a code such as en, fi or de") from None

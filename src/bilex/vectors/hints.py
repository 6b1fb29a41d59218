"""Hints for words that a vocabulary does not know: in another case or Unicode form, or in the other one, it may."""

import unicodedata
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial

from bilex.errors import CoverageWarning

LOW_COVERAGE = 0.1  # a dictionary of which less is known deserves a warning
HIGH_COVERAGE = 0.9  # of which more is known: there is nothing to look for
MIN_HINTED = 0.05  # of its pairs: another form that makes so many more known is worth a hint
MAX_LISTED = 10
MAX_SHOWN = 60  # characters of a word
UNICODE_FORMS: Mapping[str, Callable[[str], str]] = {
    "NFC": partial(unicodedata.normalize, "NFC"),
    "NFD": partial(unicodedata.normalize, "NFD"),
}
FORMS: Mapping[str, Callable[[str], str]] = {
    **{f"in Unicode's {name}": form for name, form in UNICODE_FORMS.items()},
    "in lower case": str.lower,
    "with a capital": str.capitalize,
}


def known_form(word: str, vocabulary: Collection[str]) -> str:
    """Return how a word would be found in a vocabulary, as a hint in brackets; empty if it would not be."""
    for name, form in UNICODE_FORMS.items():
        if form(word) in vocabulary:
            return f" (it is there in Unicode's {name})"
        for case in (str.lower, str.capitalize, str.upper):
            if (found := form(case(word))) in vocabulary:
                return f" (did you mean {found}?)"
    return ""


def describe_missing(words: Iterable[str], vocabulary: Collection[str]) -> str:
    """List words that have no vector, each with a hint."""
    missing = list(dict.fromkeys(words))
    hints = ((word, "..." * (len(word) > MAX_SHOWN), known_form(word, vocabulary)) for word in missing[:MAX_LISTED])
    listed = ", ".join(f"{word[:MAX_SHOWN]}{cut}{hint}" for word, cut, hint in hints)
    return f"no vector for {listed}{' ...' * (len(missing) > MAX_LISTED)}"


def coverage_hint(pairs: Sequence[tuple[str, str]], source: Collection[str], target: Collection[str], turn: str) -> str:
    """Return what would make more pairs known to both vocabularies, such as `turn`; empty if nothing would."""
    counts = {f"the other way round ({turn})": sum(s in target and t in source for s, t in pairs)}
    for name, form in FORMS.items():
        counts[name] = sum(form(s) in source and form(t) in target for s, t in pairs)
    counts["in the Unicode form of each vocabulary"] = sum(
        any(form(s) in source for form in UNICODE_FORMS.values())
        and any(form(t) in target for form in UNICODE_FORMS.values())
        for s, t in pairs
    )
    best = max(counts, key=lambda name: counts[name])
    known = sum(s in source and t in target for s, t in pairs)
    return f"{best} {counts[best]:,} would be" if counts[best] > known + MIN_HINTED * len(pairs) else ""


def shared_words_hint(source: Iterable[str], target: Iterable[str]) -> str:
    """Return how many words two vocabularies would share in one Unicode form, in brackets; empty if none."""
    one, other = ({UNICODE_FORMS["NFC"](word) for word in words} for words in (source, target))
    return f" (in Unicode's NFC {len(one & other):,}: convert the vectors)" if one & other else ""


def warn_if_little_is_known(
    name: str, pairs: Sequence[tuple[str, str]], known: int, source: Collection[str], target: Collection[str], turn: str
) -> None:
    """Warn about a dictionary of which the vocabularies know little, or of which they would know more otherwise."""
    if known >= HIGH_COVERAGE * len(pairs):
        return
    hint = coverage_hint(pairs, source, target, turn)
    if hint or known < LOW_COVERAGE * len(pairs):
        remedy = hint or "check that its words are written as in the vectors, or read more words with --limit"
        problem = f"only {known:,} of its {len(pairs):,} pairs are in both vocabularies"
        warnings.warn(f"{name}: {problem}; {remedy}", CoverageWarning, stacklevel=3)

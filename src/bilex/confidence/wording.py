"""Words and numbers as they stand on the page: nothing a word holds may be more than its letters."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["language_of", "number", "ordinal", "percent", "visible"]

LONGEST = 60
UNSEEN = {"Cc", "Zl", "Zp", "Co", "Cn"}  # categories of characters with no picture of their own
DIRECTIONS = set(map(chr, [*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFEFF]))  # they would turn the text around
CODES = (
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en "
    "eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv "
    "ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne "
    "ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st "
    "su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu"
)


def visible(word: str, longest: int = LONGEST) -> str:
    """Write a word so that all of it is seen: characters without a picture, or that turn the text around, by number.

    Joiners inside words (Persian, Hindi) stay as they are. A very long word is cut.
    """
    shown = "".join(f"‹U+{ord(letter):04X}›" if unseen(letter) else letter for letter in word[:longest])
    if not word.strip():
        shown = "".join(f"‹U+{ord(letter):04X}›" for letter in word[:longest])
    return shown if len(word) <= longest else f"{shown}…"


def unseen(letter: str) -> bool:
    """Say whether a character would leave no trace of its own."""
    return letter in DIRECTIONS or unicodedata.category(letter) in UNSEEN


def language_of(name: str) -> str:
    """Guess a language's code from the name of its vectors, such as ``fr`` or ``wiki.fr``; empty if there is none."""
    return next((part for part in re.split(r"[-_. ]", name.lower()) if part in CODES.split()), "")


def number(value: float, digits: int = 0) -> str:
    """Write a number with separators of thousands, a true minus sign and no negative zero."""
    text = f"{value:,.{digits}f}"
    return text.lstrip("-") if not text.strip("-0.,") else text.replace("-", "−")


def percent(share: float) -> str:
    """Write a share; what is not none is never shown as none, and what is not all never as all."""
    if 0 < share < 0.005:
        return "under 0.5%"
    if 0.995 < share < 1:
        return "over 99%"
    return f"{share:.0%}"


def ordinal(place: int) -> str:
    """Write a place in a ranking."""
    ending = "th" if place % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(place % 10, "th")
    return f"{place:,}{ending}"

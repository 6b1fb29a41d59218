"""Words as the page shows them: every character visible, and the language they are marked with."""

import re
import unicodedata

MAX_SHOWN_LENGTH = 60
INVISIBLE_CATEGORIES = {"Cc", "Zl", "Zp", "Co", "Cn"}
DIRECTION_CONTROLS = set(map(chr, [*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFEFF]))
LANGUAGE_CODES = (
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en "
    "eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv "
    "ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne "
    "ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st "
    "su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu"
)


def make_visible(text: str, max_length: int = MAX_SHOWN_LENGTH) -> str:
    """Replace invisible characters and direction controls by their code points, and cut a very long text.

    Joiners inside words (Persian, Hindi) stay as they are.
    """
    shown = mark_invisible(text[:max_length], everything=not text.strip())
    return shown if len(text) <= max_length else f"{shown}…"


def mark_invisible(text: str, *, everything: bool = False) -> str:
    """Replace invisible characters, or every character, by their code points."""
    return "".join(f"‹U+{ord(letter):04X}›" if everything or is_invisible(letter) else letter for letter in text)


def is_invisible(letter: str) -> bool:
    """Check whether a character has no glyph of its own or changes the direction of the text."""
    return letter in DIRECTION_CONTROLS or unicodedata.category(letter) in INVISIBLE_CATEGORIES


def guess_language(name: str) -> str:
    """Guess a language code from the name of its vectors, such as ``fr`` or ``wiki.fr``; empty if there is none."""
    return next((part for part in re.split(r"[-_. ]", name.lower()) if part in LANGUAGE_CODES.split()), "")

"""TOML files that a user writes, checked by msgspec; a mistake is one line that names the file and the key."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping
from typing import Annotated, Any, TypeVar

import msgspec

from bilex.errors import BilexError, InputError

LANGUAGE = r"[^-/.\s]+"
Count = Annotated[int, msgspec.Meta(ge=1)]
HeldOut = Annotated[int, msgspec.Meta(ge=2)]
TOML_WORDS = {"object": "table", "array": "list", " | null": "", "field": "key", "enum value": "key or value"}
Converted = TypeVar("Converted")


def convert_table(table: Mapping[str, Any], kind: type[Converted], origin: str, known: Collection[str]) -> Converted:
    """Convert a TOML table to a type; raise an InputError with the nearest of the `known` words for an unknown one."""
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at ")
        unknown = re.search(r"unknown field `(.*)`|enum value '(.*)'", problem)
        near = difflib.get_close_matches(unknown[1] or unknown[2], known, n=1) if unknown else []
        words = "".join(" " if sign.isspace() else sign for sign in problem if sign != "`")
        for word, toml_word in TOML_WORDS.items():
            words = words.replace(word, toml_word)
        where = place.strip("`").replace("key` in `", "").removeprefix("$").removeprefix(".")
        remedy = f"did you mean {near[0]!r}?" if near else "correct it"
        raise InputError(origin, f"{where}: {words}" if where else words, remedy) from None


def parse_pair(name: str) -> tuple[str, str]:
    """Split the name of a language pair: ``en-it`` is from English to Italian."""
    match = re.fullmatch(f"({LANGUAGE})-({LANGUAGE})", name)
    if not match:
        raise BilexError(f"{name!r} is not a pair of languages; write it like en-it")
    return match[1], match[2]

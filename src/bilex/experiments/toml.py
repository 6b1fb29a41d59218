"""TOML files that a user writes: checked, and what is wrong with one said in one line."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from bilex.errors import BilexError, InputError

__all__ = ["LANGUAGE", "Expect", "Templates", "as_templates", "check_keys", "is_file", "is_folder", "parse_pair"]

LANGUAGE = r"[^-/.\s]+"

Templates = tuple[str, ...]
"""Paths with placeholders in braces; the first that exists counts."""


def is_file(path: str | os.PathLike[str]) -> bool:
    """Say whether there is such a file; a name that none can have, such as one that is too long, is no error."""
    return os.path.isfile(path)  # noqa: PTH113 (pathlib raises)


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Say whether there is such a folder."""
    return os.path.isdir(path)  # noqa: PTH112 (pathlib raises)


def check_keys(table: Mapping[str, Any], known: Collection[str], origin: str, where: str = "") -> None:
    """Raise on a key that means nothing here, and suggest the nearest that does."""
    for key in table:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"the keys are {', '.join(known)}"
            raise InputError(origin, f"unknown key {key!r}{where}", hint)


@dataclass(frozen=True)
class Expect:
    """Checks values of a TOML file; what is wrong is one line that names the file."""

    origin: str

    def fail(self, key: str, value: object, remedy: str) -> InputError:
        """Make the error for a value."""
        return InputError(self.origin, f"{key} is {value!r}", remedy)

    def kind(self, table: Mapping[str, Any], key: str, kind: type, name: str) -> None:
        """Expect a type of value, if there is one."""
        if key in table and not isinstance(table[key], kind):
            raise self.fail(key, table[key], f"give {name}")

    def number(self, table: Mapping[str, Any], key: str, least: int = 1) -> None:
        """Expect a whole number, if there is a value."""
        value = table.get(key, least)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise self.fail(key, value, f"give a whole number from {least} up")

    def strings(self, table: Mapping[str, Any], key: str) -> tuple[str, ...]:
        """Expect a list of texts, or nothing."""
        value = table.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.fail(key, value, "give a list of texts")
        return tuple(value)

    def sizes(self, table: Mapping[str, Any], key: str) -> tuple[int, ...]:
        """Expect a list of whole numbers, or nothing."""
        value = table.get(key, [])
        good = isinstance(value, list) and all(type(item) is int and item > 0 for item in value)
        if not good:
            raise self.fail(key, value, "give a list of whole numbers from 1 up")
        return tuple(value)

    def pair(self, name: str) -> None:
        """Expect the name of a pair."""
        try:
            parse_pair(name)
        except BilexError as error:
            raise BilexError(f"{self.origin}: {error}") from None

    def pairs(self, table: Mapping[str, Any], key: str) -> tuple[str, ...]:
        """Expect a list of pairs."""
        for name in self.strings(table, key):
            self.pair(name)
        return tuple(dict.fromkeys(table.get(key, [])))

    def paths(self, table: Mapping[str, Any], key: str) -> None:
        """Expect a path or a list of paths, with placeholders that mean something."""
        value = table.get(key, ())
        for path in as_templates(value):
            if not isinstance(path, str) or not path:
                raise self.fail(key, value, "give a path or a list of paths")
            for name in re.findall(r"\{(.*?)\}", path):
                if name not in ("language", "source", "target"):
                    raise self.fail(key, path, "the placeholders are {language}, {source} and {target}")


def parse_pair(name: str) -> tuple[str, str]:
    """Take the name of a pair apart: ``en-it`` is from English to Italian."""
    match = re.fullmatch(f"({LANGUAGE})-({LANGUAGE})", name)
    if not match:
        raise BilexError(f"{name!r} is not a pair of languages; write it like en-it")
    return match[1], match[2]


def as_templates(value: Any) -> Templates:
    """Take one path or several."""
    return tuple(value) if isinstance(value, list | tuple) else (value,)

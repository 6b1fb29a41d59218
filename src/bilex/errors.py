"""Errors and warnings about the user's input.

One exception type for everything a user can correct, one warning type for everything that was repaired for
them. The command line turns the first into one line and an exit code, the second into one line on stderr.
"""

import os
from numbers import Real
from typing import Any

__all__ = ["BilexError", "BilexWarning", "CoverageWarning", "InputError", "NothingMatchedWarning"]


def printable(message: str) -> str:
    """Escape unprintable characters: names and contents of files may hold line ends and control sequences."""
    if message.isprintable():
        return message
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode("ascii") for sign in message)


class OneLine(Exception):  # noqa: N818 (the base of errors and warnings)
    """An exception whose message is one printable line, and that can be sent to another process."""

    def __init__(self, message: str = "") -> None:
        super().__init__(printable(message))

    def __reduce__(self) -> tuple[Any, ...]:
        return restore, (type(self), self.args, vars(self))


def restore(kind: type[OneLine], arguments: tuple[object, ...], attributes: dict[str, object]) -> OneLine:
    """Make an exception again without its constructor, whose parameters are not those of its base."""
    error = kind.__new__(kind, *arguments)
    vars(error).update(attributes)
    return error


class BilexError(OneLine):
    """A problem the user can correct; the message, one line, says how. Exit code 1."""


class InputError(BilexError):
    """Something is wrong in a file: where, what, and what to do about it.

    The remedy is an imperative sentence without a full stop; lines (or rows) are counted from 1.
    """

    def __init__(self, path: str | os.PathLike[str], problem: str, remedy: str, *, line: int | None = None) -> None:
        self.path, self.problem, self.remedy, self.line = os.fspath(path), problem, remedy, line
        place = self.path if line is None else f"{self.path}:{line}"
        super().__init__(f"{place}: {problem}; {remedy}")


def check_probability(name: str, value: float) -> None:
    """Raise if a value is not a number from 0 to 1."""
    if not isinstance(value, Real) or not 0 <= value <= 1:  # so that NaN is refused, too
        raise BilexError(f"{name} is {value!r}; give a number from 0 to 1")


class BilexWarning(OneLine, UserWarning):
    """Input that was repaired, and how much of it, in one line."""


class NothingMatchedWarning(BilexWarning):
    """EM found no pair at all: the run is of no use. The command line makes it an error."""


class CoverageWarning(BilexWarning):
    """The vocabularies know few pairs of a dictionary."""

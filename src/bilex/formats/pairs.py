"""Word pairs in: seed dictionaries and gold dictionaries, one pair per line."""

from __future__ import annotations

import os
import warnings

from bilex.errors import BilexWarning, InputError
from bilex.formats.examine import fields_of
from bilex.formats.streams import BOM, ByteStream, refuse_foreign

__all__ = ["read_pairs"]


def read_pairs(path: str | os.PathLike[str]) -> list[tuple[str, str]]:
    """Read a dictionary: on each line a source word and a target word.

    The two are separated by a tab, or in a line without tabs by spaces. Blank lines are skipped, and a pair
    that occurs again is the same pair.

    Parameters
    ----------
    path
        The file, in UTF-8, plain or gzipped.

    Returns
    -------
    list of tuple of str
        The pairs in the order of their first occurrence.

    Raises
    ------
    InputError
        If a line does not hold exactly two words, is not UTF-8, or there is no pair at all.
    """
    with ByteStream(path) as stream:
        refuse_foreign(stream)
        text = stream.read_all()
        name, repairs = stream.path, [*stream.repairs]
    if text.startswith(BOM):
        text = text[len(BOM) :]
        repairs.append("byte order mark at the start left out")
    pairs: dict[tuple[str, str], None] = {}
    returns = 0
    for number, line in enumerate(text.split(b"\n"), start=1):
        returns += line.endswith(b"\r")
        pair = _pair(name, number, line.removesuffix(b"\r"))
        if pair is not None:
            pairs[pair] = None
    if not pairs:
        raise InputError(name, "no pair in the file", "put a source and a target word on each line")
    if returns:
        repairs.append(f"{returns} Windows line ends (CRLF) read as line ends")
    for repair in repairs:
        warnings.warn(f"{name}: {repair}", BilexWarning, stacklevel=2)
    return list(pairs)


def _pair(path: str, number: int, line: bytes) -> tuple[str, str] | None:
    if b"\t" in line:
        fields = [stripped for part in line.split(b"\t") if (stripped := part.strip(b" "))]
    else:
        fields = fields_of(line)
    if not fields:
        return None
    try:
        words = [field.decode("utf-8") for field in fields]
    except UnicodeDecodeError:
        raise InputError(path, "the line is not UTF-8", "convert to UTF-8, e.g. with iconv", line=number) from None
    if len(words) != 2:
        found = "one field" if len(words) == 1 else f"{len(words)} fields"
        raise InputError(
            path,
            f"expected a source and a target word but found {found}",
            "put two words on the line, with a tab between them if a word has spaces",
            line=number,
        )
    return words[0], words[1]

"""Read TOML files that a user has written."""

import os
import tomllib
from typing import Any

from bilex.errors import InputError
from bilex.files.streams import WRONG_FILE, ByteStream

MAX_TOML_BYTES = 1 << 18
"""A configuration that a person writes is far shorter, and reading a long one takes long."""


def read_toml(path: str | os.PathLike[str], remedy: str = "correct it") -> dict[str, Any]:
    """Read a TOML file; `remedy` is what the error advises if it is not TOML."""
    with ByteStream(path) as stream:
        content = stream.read(MAX_TOML_BYTES + 1)
    if len(content) > MAX_TOML_BYTES:
        raise InputError(path, f"it is longer than {MAX_TOML_BYTES:,} bytes", WRONG_FILE)
    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise InputError(path, "this is not UTF-8", "convert it, e.g. with iconv") from None
    except (ValueError, RecursionError) as error:  # also a number with thousands of digits
        reason = " ".join(str(error).split())
        raise InputError(path, f"this is not TOML ({reason})", remedy) from None

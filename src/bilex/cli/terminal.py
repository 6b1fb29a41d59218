"""Lay out text for a terminal of any width: lines break between words, never inside one."""

import io
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable

import click

CONTROL_CHARACTERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
HYPHEN = "\ue000"  # stands for a hyphen while click breaks lines, which it also does at hyphens


class HelpFormatter(click.HelpFormatter):
    """Breaks lines at spaces only, so that ``--max-rank`` and ``ruder2018-freq`` stay whole."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Write the usage line."""
        super().write_usage(prog, args.replace("-", HYPHEN), prefix)

    def write_text(self, text: str) -> None:
        """Write paragraphs."""
        super().write_text(text.replace("-", HYPHEN))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Write a list of terms and what they mean."""
        shown = [(term, text.replace("-", HYPHEN)) for term, text in rows]
        super().write_dl(shown, min(col_max, self.width // 3), col_spacing)

    def getvalue(self) -> str:
        """Return what was written."""
        return super().getvalue().replace(HYPHEN, "-")


def open_streams() -> None:
    """Open the standard streams that the caller has closed, and write data as UTF-8 in every locale.

    The next file that is opened would otherwise take the place of a closed stream, and receive what is printed.
    """
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))  # noqa: PTH123, SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):  # paths need not be UTF-8: their other bytes are escaped
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")


def echo(text: str = "", *, err: bool = False, wrap: bool = True) -> None:
    """Print a line; on a terminal it is wrapped between words, and control characters are escaped."""
    is_terminal = (sys.stderr if err else sys.stdout).isatty()
    if is_terminal:  # a word of an untrusted file could clear the screen, or overwrite another line
        text = CONTROL_CHARACTERS.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)
    if is_terminal and wrap:
        width = shutil.get_terminal_size().columns
        wrapper = textwrap.TextWrapper(width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        text = "\n".join(wrapper.fill(line) if len(line) > width else line for line in text.split("\n"))
    click.echo(text, err=err, color=True)  # otherwise click would remove them from the words

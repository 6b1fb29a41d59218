"""Put the demo's real output into its page and the site's home: ``python -m tools.demo_page``."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"
PAGE, HOME = DOCS / "first-lexicon.md", DOCS / "index.md"
WIDTH = 84  # of the site's column
WRAPPED = "    "
LOOKUP = ("translate", "bilex-demo", "house", "-k", "3")
BLOCK = re.compile(r"(<!-- begin: bilex demo -->\n```\n)(.*?)(```\n<!-- end -->)", re.DOTALL)


def demo_outputs() -> tuple[str, str]:
    """Run `bilex demo` in an empty folder, look a word up, and return what both print."""
    with tempfile.TemporaryDirectory() as folder:
        demo, found = (
            subprocess.run(
                [sys.executable, "-m", "bilex", *words], cwd=folder, capture_output=True, text=True, check=True
            ).stdout
            for words in (("demo",), LOOKUP)
        )
    return re.sub(r"^  .*-m bilex ", "  bilex ", demo, flags=re.MULTILINE), found


def wrap(text: str) -> str:
    """Break the lines that are wider than the page."""
    return "".join(textwrap.fill(line, WIDTH, subsequent_indent=WRAPPED) + "\n" for line in text.splitlines())


def demo_block() -> str:
    """Read the demo's output from the page, with its lines whole."""
    match = BLOCK.search(PAGE.read_text("utf-8"))
    assert match, "the page has no block for the demo"
    return match[2].replace(f"\n{WRAPPED}", " ")


def main() -> None:
    """Write the blocks."""
    demo, found = demo_outputs()
    headline = next(line for line in demo.splitlines() if line.startswith("about"))
    short = f"$ bilex demo\n{wrap(headline)}...\n$ bilex {' '.join(LOOKUP)}\n{found}"
    for page, block in ((PAGE, wrap(demo)), (HOME, short)):
        text = page.read_text("utf-8")
        match = BLOCK.search(text)
        assert match, f"{page} has no block for the demo"
        page.write_text(text[: match.start(2)] + block + text[match.end(2) :], "utf-8")


if __name__ == "__main__":
    main()

"""Put the demo's real output into its page: ``python -m tools.demo_page``."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "first-lexicon.md"
WRAPPED = "    "
BLOCK = re.compile(r"(<!-- begin: bilex demo -->\n```\n)(.*?)(```\n<!-- end -->)", re.DOTALL)


def demo_output() -> str:
    """Run `bilex demo` in an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "bilex", "demo"]
        output = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
    output = re.sub(r"^  .*-m bilex ", "  bilex ", output, flags=re.MULTILINE)
    return "".join(textwrap.fill(line, 96, subsequent_indent=WRAPPED) + "\n" for line in output.splitlines())


def demo_block() -> str:
    """Read the demo's output from the page, with its lines whole."""
    match = BLOCK.search(PAGE.read_text("utf-8"))
    assert match, "the page has no block for the demo"
    return match[2].replace(f"\n{WRAPPED}", " ")


def main() -> None:
    """Write the block."""
    text = PAGE.read_text("utf-8")
    output = demo_output()
    PAGE.write_text(BLOCK.sub(lambda match: match[1] + output + match[3], text), "utf-8")


if __name__ == "__main__":
    main()

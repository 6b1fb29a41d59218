"""Put the demo's real output into its page: ``python -m tools.demo_page``."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "first-lexicon.md"
BLOCK = re.compile(r"(<!-- begin: bilex demo -->\n```\n)(.*?)(```\n<!-- end -->)", re.DOTALL)


def demo_output() -> str:
    """Run `bilex demo` in an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "bilex", "demo"]
        output = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
    return re.sub(r"^  .*-m bilex ", "  bilex ", output, flags=re.MULTILINE)


def demo_block() -> str:
    """Read the demo's output as the page shows it."""
    match = BLOCK.search(PAGE.read_text("utf-8"))
    assert match, "the page has no block for the demo"
    return match[2]


def main() -> None:
    """Write the block."""
    text = PAGE.read_text("utf-8")
    output = demo_output()
    PAGE.write_text(BLOCK.sub(lambda match: match[1] + output + match[3], text), "utf-8")


if __name__ == "__main__":
    main()

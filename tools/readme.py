"""Put the demo's real output into the README: ``python -m tools.readme``."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"
BLOCK = re.compile(r"(<!-- begin: bilex demo -->\n```\n)(.*?)(```\n<!-- end -->)", re.DOTALL)


def demo_output() -> str:
    """Run `bilex demo` in an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "bilex", "demo"]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def readme_block() -> str:
    """Read the demo's output as the README shows it."""
    match = BLOCK.search(README.read_text("utf-8"))
    assert match, "the README has no block for the demo"
    return match[2]


def main() -> None:
    """Write the block."""
    text = README.read_text("utf-8")
    output = demo_output()
    README.write_text(BLOCK.sub(lambda match: match[1] + output + match[3], text), "utf-8")


if __name__ == "__main__":
    main()

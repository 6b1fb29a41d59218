"""Make the sample outputs of a page again: ``python -m tools.samples PAGE FOLDER``.

In a block of the page that starts with ``$ ``, each such line is a command. All of them are run in the folder, in their
order, and what they print, without progress, takes the place of the lines below them.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

PROGRESS = re.compile(r"^bilex: [0-9,]+ s[:,].*\n", re.MULTILINE)
BLOCK = re.compile(r"^```\n(\$ .*?)^```$", re.MULTILINE | re.DOTALL)


def outputs(block: str, folder: Path) -> str:
    """Run the commands of a block and return it with what they print now."""
    lines = []
    for command in re.findall(r"^\$ (.*)$", block, re.MULTILINE):
        print(f"$ {command}", flush=True)
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "COLUMNS": "100"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        lines += [f"$ {command}", *PROGRESS.sub("", done.stdout).rstrip().splitlines()]
    return "\n".join(lines) + "\n"


def main(page: Path, folder: Path) -> None:
    """Write the page again."""
    text = BLOCK.sub(lambda found: f"```\n{outputs(found[1], folder)}```", page.read_text("utf-8"))
    page.write_text(text, "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))

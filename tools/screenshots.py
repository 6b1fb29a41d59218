"""Take the pages' pictures of the demo's report and explorer: ``python -m tools.screenshots`` (needs chromium)."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PICTURES = Path(__file__).parent.parent / "docs" / "screenshots"
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome") or "chromium"
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--hide-scrollbars"),
    "--virtual-time-budget=10000",
)
DARK = "--blink-settings=preferredColorScheme=0"
WIDE, NARROW = "1200,900", "500,900"
REPORT = {"report-wide": (WIDE,), "report-narrow": (NARROW,), "report-dark": (WIDE, DARK)}
EXPLORER = {
    "explore-search": ("#search/source/house", WIDE),
    "explore-browse": ("#browse", WIDE),
    "explore-review": ("#review", WIDE),
    "explore-narrow-dark": ("#search/source/house", NARROW, DARK),
}


def take(name: str, address: str, size: str, *flags: str) -> None:
    """Take one picture."""
    with tempfile.TemporaryDirectory() as profile:
        picture = f"--screenshot={PICTURES / name}.png"
        command = [BROWSER, *FLAGS, *flags, f"--user-data-dir={profile}", f"--window-size={size}", picture, address]
        subprocess.run(command, check=True, capture_output=True, timeout=120)


def main() -> None:
    """Make the demo and take all pictures of it."""
    bilex = [sys.executable, "-m", "bilex"]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([*bilex, "demo", "--quiet"], cwd=folder, check=True)
        for name, (size, *flags) in REPORT.items():
            take(name, (Path(folder) / "bilex-demo" / "report.html").as_uri(), size, *flags)
        command = [*bilex, "explore", "bilex-demo", "--no-browser", "--quiet"]
        with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            address = server.stdout.readline().strip()
            for name, (part, size, *flags) in EXPLORER.items():
                take(name, address + part, size, *flags)
            server.terminate()


if __name__ == "__main__":
    main()

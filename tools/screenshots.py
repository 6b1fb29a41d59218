"""Make the pictures of docs/screenshots again: ``python -m tools.screenshots RUN`` (a run such as that of bilex demo).

It needs selenium, chromium and chromedriver. The review of the run is left as it is.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --hide-scrollbars --window-size=1280,900"
)
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
STARTS = 3
PLACE = Path("docs/screenshots")
WIDE, PHONE, SMALL = (1280, 900), (390, 844), (320, 640)
PICTURES = (  # file, part of the explorer or none for the report, size, dark, what must be there
    ("report-wide", None, WIDE, False, "main"),
    ("report-dark", None, WIDE, True, "main"),
    ("report-narrow", None, SMALL, False, "main"),
    ("explore-search", "search/source/house", WIDE, False, "#picture text"),
    ("explore-browse", "browse", WIDE, False, "tbody td"),
    ("explore-review", "review", WIDE, False, ".alternatives li"),
    ("explore-narrow-dark", "review", PHONE, True, ".alternatives li"),
)


@contextmanager
def browser() -> Iterator[Any]:
    """Open a headless browser that keeps its log; its start, and nothing else, is tried again."""
    from selenium import webdriver
    from selenium.common.exceptions import WebDriverException

    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER or ""
    for flag in FLAGS.split():
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for left in reversed(range(STARTS)):
        try:
            driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
            break
        except WebDriverException:
            if not left:
                raise
    try:
        yield driver
    finally:
        driver.quit()


@contextmanager
def explorer(run: Path) -> Iterator[str]:
    """Serve the explorer of a run, and yield its address."""
    command = [sys.executable, "-m", "bilex", "explore", str(run), "--no-browser", "--port", "0", "-q"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


def take(driver: Any, address: str, name: str, size: tuple[int, int], dark: bool, awaited: str) -> None:
    """Open an address in a window of a size and save what is seen."""
    theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [theme]})
    metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size[0] < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    driver.get("about:blank")
    driver.get(address)
    until = time.monotonic() + 60
    while not driver.find_elements("css selector", awaited) and time.monotonic() < until:
        time.sleep(0.2)
    driver.save_screenshot(str(PLACE / f"{name}.png"))
    print(PLACE / f"{name}.png")


def main(run: Path) -> None:
    """Take all pictures."""
    with tempfile.TemporaryDirectory() as folder, browser() as driver:
        copy = Path(shutil.copytree(run, Path(folder) / run.name))
        with explorer(copy) as address:
            for name, part, size, dark, awaited in PICTURES:
                place = (copy / "report.html").as_uri() if part is None else f"{address}#{part}"
                take(driver, place, name, size, dark, awaited)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""axe-core finds nothing serious in the report, in the explorer and on the site, where it can be had.

The package axe-core-python brings one. ``BILEX_AXE`` names the folder where ``npm install --prefix FOLDER axe-core``
has put a newer one.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import pytest

from bilex.report.page import write_report
from bilex.runs.run import Run
from tests.web.helpers import PATIENCE
from tools.screenshots import BROWSER, DRIVER

pytest.importorskip("selenium.webdriver", reason="selenium is missing; pip install 'bilex[dev]'")
PACKAGED = importlib.util.find_spec("axe_core_python")
AXE = Path(PACKAGED.origin if PACKAGED and PACKAGED.origin else "nowhere").with_name("axe.min.js")
if "BILEX_AXE" in os.environ:
    AXE = Path(os.environ["BILEX_AXE"]) / "node_modules/axe-core/axe.min.js"
SITE = Path("build/docs")
pytestmark = [
    pytest.mark.skipif(not AXE.is_file(), reason="no axe-core here; pip install 'bilex[dev]'"),
    pytest.mark.skipif(not (BROWSER and DRIVER), reason="no browser here; install chromium and chromedriver"),
]
RUN_AXE = "axe.run({ resultTypes: ['violations'], ...arguments[0] }).then((found) => arguments[1](found.violations))"
THEMES: dict[str, dict[str, Any]] = {
    "light": {},
    "dark": {"runOnly": ["color-contrast"]},
}  # which differ in colours only
PARTS = {"search/source/s20": "#picture text", "browse": "tbody td", "review": ".alternatives li"}


def set_theme(driver: Any, *themes: str) -> None:
    features = [{"name": "prefers-color-scheme", "value": theme} for theme in themes]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def serious(driver: Any) -> list[str]:
    """Return the serious and critical violations on the page that is open, in both themes."""
    driver.execute_cdp_cmd("Runtime.evaluate", {"expression": AXE.read_text("utf-8")})  # past the page's own policy
    found = []
    for theme, options in THEMES.items():
        set_theme(driver, theme)
        found += [(theme, each) for each in driver.execute_async_script(RUN_AXE, options)]
    set_theme(driver)
    bad = [(theme, each) for theme, each in found if each["impact"] in ("serious", "critical")]
    return [f"{theme}, {each['id']}: {node['html']}" for theme, each in bad for node in each["nodes"]]


def test_nothing_serious_in_report_explorer_and_site(driver: Any, served: tuple[Path, str], tmp_path: Path) -> None:
    from selenium.webdriver.support.expected_conditions import presence_of_element_located
    from selenium.webdriver.support.wait import WebDriverWait

    folder, address = served
    write_report(Run.load(folder), tmp_path / "report.html")
    driver.get((tmp_path / "report.html").as_uri())
    assert serious(driver) == []
    for part, awaited in PARTS.items():
        driver.get("about:blank")
        driver.get(f"{address}#{part}")
        WebDriverWait(driver, PATIENCE, 0.05).until(presence_of_element_located(("css selector", awaited)))
        assert serious(driver) == [], part
    for page in SITE.glob("*.html"):
        driver.get(page.resolve().as_uri())
        assert serious(driver) == [], page.name
    driver.get_log("browser")  # what is said about these pages is no other test's

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

from tests.web.helpers import serving
from tools.screenshots import BROWSER, DRIVER, browser

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
RUN_AXE = "axe.run(document).then((found) => arguments[0](found.violations))"
PARTS = {"search/source/s20": "#picture text", "browse": "tbody td", "review": ".alternatives li"}


def serious(driver: Any) -> list[str]:
    """Return the serious and critical violations on the page that is open."""
    driver.execute_cdp_cmd("Runtime.evaluate", {"expression": AXE.read_text("utf-8")})  # past the page's own policy
    found = driver.execute_async_script(RUN_AXE)
    bad = [each for each in found if each["impact"] in ("serious", "critical")]
    return [f"{each['id']}: {node['html']}" for each in bad for node in each["nodes"]]


def test_nothing_serious_in_report_explorer_and_site(made: Path) -> None:
    from selenium.webdriver.support.expected_conditions import presence_of_element_located
    from selenium.webdriver.support.wait import WebDriverWait

    from bilex.report.page import write_report
    from bilex.runs.run import Run

    if not (made / "report.html").exists():
        write_report(Run.load(made), made / "report.html")
    with browser() as driver, serving(made) as (_, address):
        driver.set_script_timeout(120)
        for dark in (False, True):
            theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
            driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [theme]})
            driver.get((made / "report.html").as_uri())
            assert serious(driver) == []
            for part, awaited in PARTS.items():
                driver.get("about:blank")
                driver.get(f"{address}#{part}")
                WebDriverWait(driver, 60).until(presence_of_element_located(("css selector", awaited)))
                assert serious(driver) == [], part
        for page in SITE.glob("*.html"):
            driver.get(page.resolve().as_uri())
            assert serious(driver) == [], page.name

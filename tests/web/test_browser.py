"""The page in a real browser: headless Chromium, driven as a person would drive it."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from bilex import induce
from bilex.lexicon.reviews import Decision, Reviews
from bilex.report.page import write_report
from bilex.runs.run import Run
from tests.languages import make_languages
from tests.web.helpers import HOSTILE, PATIENCE, serving
from tools.screenshots import BROWSER, DRIVER

pytest.importorskip("selenium.webdriver", reason="selenium is missing; pip install 'bilex[dev]'")
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

pytestmark = pytest.mark.skipif(
    not (BROWSER and DRIVER), reason="no browser here; install chromium and chromedriver to run these tests"
)
OVERLAPS = """
const boxes = Array.from(document.querySelectorAll("#picture text"), (label) => label.getBBox());
return boxes.some((a, i) => boxes.some((b, j) => i < j && a.x < b.x + b.width && b.x < a.x + a.width &&
                                                 a.y < b.y + b.height && b.y < a.y + a.height));
"""
TABLES_FIT = """
return Array.from(document.querySelectorAll(".columns table")).every(
  (table) => table.getBoundingClientRect().right <= table.parentElement.getBoundingClientRect().right + 1
) && Array.from(document.querySelectorAll(".samples table")).every((a, i, all) => all.slice(i + 1).every((b) => {
  const [one, other] = [a.getBoundingClientRect(), b.getBoundingClientRect()];
  return one.right <= other.left || other.right <= one.left || one.bottom <= other.top || other.bottom <= one.top;
}));
"""
NAMED_ROLES = {"button", "combobox", "textbox", "searchbox", "spinbutton", "checkbox", "progressbar", "image"}
HOLD = """
const [part] = arguments;
const fetched = window.fetch;
window.held = [];
window.fetch = async (address, ...rest) => {
  const answer = await fetched(address, ...rest);
  if (String(address).includes(part)) await new Promise((release) => window.held.push(release));
  return answer;
};
"""
RELEASE = "window.held.forEach((release) => release()); setTimeout(arguments[0], 100);"


class Page:
    """A tab of the browser on the page."""

    def __init__(self, driver: Any, address: str) -> None:
        self.driver, self.address = driver, address

    def open(self, part: str) -> None:
        self.driver.get("about:blank")
        self.driver.get(f"{self.address}#{part}")

    def go(self, part: str) -> None:
        """Change the view without loading the page again."""
        self.run("location.hash = arguments[0]", part)

    def run(self, script: str, *arguments: object) -> Any:
        return self.driver.execute_script(script, *arguments)

    def find(self, selector: str) -> Any:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def count(self, selector: str) -> int:
        return len(self.driver.find_elements(By.CSS_SELECTOR, selector))

    def text(self, selector: str) -> str:
        return str(self.run("return document.querySelector(arguments[0])?.textContent", selector) or "")

    def wait(self, condition: Callable[[], Any]) -> None:
        until, pause = time.monotonic() + PATIENCE, 0.02
        while time.monotonic() < until:
            with contextlib.suppress(NoSuchElementException, StaleElementReferenceException):  # being drawn
                if condition():
                    return
            time.sleep(pause)
            pause = min(1.5 * pause, 0.3)  # each look takes the browser's time
        raise AssertionError(f"never came true; the page shows {self.text('main')!r}")

    def wait_for(self, selector: str, text: str = "") -> None:
        """Wait until an element shows the text, or any."""
        self.wait(lambda: (found := self.text(selector)) and text in found)

    def wait_for_focus(self, name: str) -> None:
        self.wait(lambda: self.driver.switch_to.active_element.get_attribute("id") == name)

    def press(self, *keys: str) -> None:
        self.driver.switch_to.active_element.send_keys(*keys)

    def hold(self, part: str) -> None:
        """Hold back the answers to some requests until `release`."""
        self.run(HOLD, part)

    def wait_for_held(self) -> None:
        self.wait(lambda: self.run("return window.held.length"))

    def release(self) -> None:
        self.driver.execute_async_script(RELEASE)

    def pair(self) -> str:
        return self.text("#card .pair-of-words")

    def reviewed(self) -> int:
        return int(self.text("#progress-text").split()[0])

    def open_review(self) -> None:
        self.open("review")
        self.wait_for(".alternatives")

    def review(self, key: str) -> str:
        """Press a key, wait for the next entry with its alternatives, and return the pair before."""
        before = self.pair()
        self.press(key)
        self.wait(lambda: self.pair() not in ("", before) and self.text(".alternatives"))
        return before

    def check_nothing_ran(self) -> None:
        """Check that no word became markup or script."""
        assert self.driver.title == "run · bilex"
        assert not self.count("main img, main script")


@pytest.fixture
def page(driver: Any, served: tuple[Path, str]) -> Iterator[Page]:
    yield Page(driver, served[1])
    problems = [entry for entry in driver.get_log("browser") if "409" not in entry["message"]]
    assert not problems  # no error, and nothing that the content-security policy had to stop


def decisions_in(folder: Path) -> dict[str, Decision]:
    with Reviews(folder) as reviews:
        decided = [(pair, decision) for pair, decision in reviews.current().items() if decision.kind != "undecided"]
    return {"→".join(pair): decision for pair, decision in decided}


def test_search(page: Page, served: tuple[Path, str]) -> None:
    page.open("search")
    page.wait_for_focus("search-word")
    page.press("TAX")
    page.wait(lambda: page.count("#search-list li") == 10)
    assert page.find("#search-word").get_attribute("aria-expanded") == "true"
    page.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    chosen = page.text("#search-list [aria-selected=true] bdi")
    page.press(Keys.ENTER)
    page.wait_for("#word h2", chosen)
    assert page.count(".ranking") == 3
    link = page.find(".ranking a")
    there = link.text
    link.click()
    page.wait_for("#word h2", there)
    page.driver.back()
    page.wait_for("#word h2", chosen)
    words = Run.load(served[0]).target.words
    for term, selector in ((f"{words[20]} {words[40]}", "#word h2"), ("nonesuch nowhere", "#word .empty")):
        page.find("#search-word").clear()
        page.find("#search-word").send_keys(term, Keys.ENTER)
        page.wait_for(selector, term)


def test_hostile_words_are_shown_as_text(page: Page) -> None:
    page.open("search")
    page.wait_for(".try")
    for word in HOSTILE:
        page.go(f"search/source/{quote(word, safe='')}")
        page.wait_for("#word h2", word.replace("\u202e", "U+202E"))
    page.check_nothing_ran()
    page.go("browse")
    page.wait_for("tbody", HOSTILE[0])
    page.go("review")
    page.wait_for(".alternatives")
    page.find('#queue-order option[value="-confidence"]').click()
    page.wait_for("#queue", HOSTILE[0])
    page.check_nothing_ran()


def test_browse(page: Page, served: tuple[Path, str]) -> None:
    page.open("browse")
    page.wait_for("#place", "1–50")
    page.find("[data-sort=confidence]").click()
    page.wait(lambda: page.find("th[aria-sort=descending] button").get_attribute("data-sort") == "confidence")
    scores = [
        float(cell.text.rstrip("%")) for cell in page.driver.find_elements(By.CSS_SELECTOR, "tbody td:nth-child(5)")
    ]
    assert len(scores) == 50
    assert scores == sorted(scores, reverse=True)
    page.run("const next = document.getElementById('next-page'); next.click(); next.click();")
    page.wait_for("#place", "101–150")  # two quick clicks are two steps
    page.find("[name=origin]").send_keys("seed")
    page.wait(lambda: page.text("#place").startswith("1–") and "seed" in page.text("tbody tr td:nth-child(9)"))
    assert page.text("#found") == f"{Run.load(served[0]).lexicon.origin.count('seed')} entries"
    page.find("[name=min_confidence]").send_keys("2")
    page.wait_for("tbody", "No entry passes")
    page.find("tbody button").click()
    page.wait_for("#place", "1–50")
    page.find("[name=text]").send_keys("{{7")
    page.wait(lambda: "{{7*7}}" in page.text("tbody") and int(page.text("#found").split()[0]) < 5)


def test_review_by_keyboard(page: Page, served: tuple[Path, str]) -> None:
    page.open_review()
    before = page.reviewed()
    accepted, rejected = page.review("a"), page.review("r")
    better = page.text(".alternatives li:nth-child(2) bdi")
    corrected = page.review("2")
    page.press("c")
    page.wait_for_focus("correct-word")
    page.press("nouveau", Keys.ENTER)
    page.wait(lambda: page.reviewed() == before + 4 and page.text(".alternatives"))
    assert "Precision" in page.text("#precision")
    decisions = decisions_in(served[0])
    assert [decisions[pair].kind for pair in (accepted, rejected)] == ["accepted", "rejected"]
    assert decisions[corrected].correction == better
    exported = page.driver.execute_async_script(
        "const done = arguments[0]; fetch(document.getElementById('export').href).then((r) => r.text()).then(done)"
    )
    assert "\tcorrected\tnouveau\n" in exported
    page.press("u")
    page.wait(lambda: page.reviewed() == before + 3)
    page.driver.refresh()  # undo still knows what this tab decided
    page.wait_for(".alternatives")
    page.press("u")
    page.wait(lambda: page.reviewed() == before + 2 and page.pair() == corrected)
    page.press(Keys.ARROW_DOWN)
    page.wait(lambda: page.pair() not in ("", corrected))
    page.press("k")
    page.wait(lambda: page.pair() == corrected)


def test_two_tabs_do_not_overwrite_each_other(page: Page, driver: Any) -> None:
    page.open_review()
    first, entry = driver.current_window_handle, page.pair()
    driver.switch_to.new_window("tab")
    page.open_review()
    assert page.review("r") == entry
    driver.close()
    driver.switch_to.window(first)
    page.press("a")
    page.wait_for("#message", "another tab has rejected it")
    assert page.pair() == entry
    page.wait_for(".decided", "rejected")
    page.review("a")  # having seen it
    page.press("k")
    page.wait_for(".decided", "accepted")


@pytest.mark.parametrize(
    ("first", "held", "then", "shown", "expected"),
    [
        ("search/source/s20", "word=s20", "search/source/s24", "#word h2", "s24"),
        ("search", "limit=12", "search/source/s24", "#word h2", "s24"),
        ("browse", "sort=frequency", "[data-sort=source]", "th[aria-sort=ascending]", "en"),
        ("review", "sort=random", "#queue-order", "#queue", HOSTILE[0]),
    ],
)
def test_a_late_answer_does_not_overwrite_a_newer_one(
    page: Page, first: str, held: str, then: str, shown: str, expected: str
) -> None:
    page.open("review" if first == "browse" else "browse")
    page.wait_for("#progress-text" if first == "browse" else "tbody")
    page.hold(held)
    page.go(first)
    page.wait_for_held()
    if then.startswith("search"):
        page.go(then)
    elif then.startswith("#"):
        page.find(then).send_keys("most")
    else:
        page.find(then).click()
    page.wait_for(shown, expected)
    before = page.text(shown)
    page.release()
    assert page.text(shown) == before


def test_keys_pressed_too_soon_change_nothing_else(page: Page, served: tuple[Path, str]) -> None:
    page.open_review()
    before = len(decisions_in(served[0]))
    page.hold("api/decide")
    entry = page.pair()
    page.press("a")
    page.wait_for_held()
    page.press("r")  # while the answer is on its way
    page.release()
    page.wait(lambda: page.pair() not in ("", entry))
    decisions = decisions_in(served[0])
    assert (decisions[entry].kind, len(decisions)) == ("accepted", before + 1)
    page.open_review()
    other = page.review("r")
    page.hold("api/undo")
    page.run("for (let i = 0; i < 2; i += 1) document.dispatchEvent(new KeyboardEvent('keydown', { key: 'u' }));")
    page.wait_for_held()
    page.release()
    page.wait_for("#message", "Undone")
    decisions = decisions_in(served[0])
    assert decisions[entry].kind == "accepted"
    assert other not in decisions


def test_a_problem_stays_until_it_is_solved(page: Page) -> None:
    page.open_review()
    page.press("c")
    page.wait_for_focus("correct-word")
    field = "document.getElementById('correct-word')"
    page.run(f"{field}.maxLength = 2000; {field}.value = 'x'.repeat(1500)")
    page.press(Keys.ENTER)
    page.wait_for("#problem", "1000")
    page.press(Keys.ESCAPE)
    page.run("document.getElementById('card').focus()")
    page.review("j")
    assert page.text("#problem")
    page.review("a")
    assert page.text("#problem") == ""
    page.driver.get_log("browser")  # the refusal is expected


def test_an_unmatched_word_is_translated_and_the_run_is_retrained(
    driver: Any, made_sparse: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(made_sparse, tmp_path / "sparse"))
    run = Run.load(folder)
    unmatched = next(word for word in run.source.words if word not in run.lexicon)
    with serving(folder) as (_, address):
        page = Page(driver, address)
        page.open(f"search/source/{unmatched}")
        page.wait_for("#word .matched a")
        page.find("#word .matched a").click()
        page.wait(lambda: page.pair() == f"{unmatched}→—" and page.text(".alternatives"))
        assert not page.count(".decisions .accept")
        page.press("a")
        page.wait_for("#message", "no translation yet")
        choice = page.text(".alternatives li:nth-child(1) bdi")
        page.press("1")
        page.wait_for("#progress-text", "1 without an entry translated")
        assert page.reviewed() == 0
        assert decisions_in(folder)[f"{unmatched}→"].correction == choice
        page.find("#queue-order option[value=unmatched]").click()
        page.wait(lambda: page.pair().endswith("→—") and page.text(".alternatives"))
        assert unmatched not in page.text("#queue")
        page.find("#retrain").click()
        page.wait_for("#retraining", "What changed")
        assert f"{unmatched}: {choice}" in page.text("#retraining")
        again = Run.load(folder.with_name("sparse-2")).lexicon
        assert [e.origin for e in again[unmatched] if e.target == choice] == ["review"]
        page.find("#retraining a").click()
        page.wait(lambda: page.driver.title == "sparse-2 · bilex")
        page.driver.back()
        page.wait_for("#retraining", "What changed")
        page.find("#retraining button").click()
        page.wait(lambda: not page.find("#retraining").is_displayed())


def test_letters_typed_into_the_list_of_orders_decide_nothing(page: Page, served: tuple[Path, str]) -> None:
    page.open("review")
    page.wait_for(".alternatives")
    before, order = decisions_in(served[0]), page.find("#queue-order")
    for letter in "most a":
        order.send_keys(letter)
        page.wait_for(".alternatives")  # the card is drawn anew
        assert page.run("return document.activeElement.id") == "queue-order"
    assert decisions_in(served[0]) == before


def test_views_fit_the_window_and_every_control_has_a_name(page: Page) -> None:
    for width, height in ((1280, 900), (390, 844)):
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        for part, drawn in (("search/source/s20", "#picture text"), ("browse", "tbody"), ("review", ".alternatives")):
            page.open(part)
            page.wait_for(drawn)
            assert page.run("return document.documentElement.scrollWidth <= innerWidth"), part
            assert not page.run(OVERLAPS)
            nodes = page.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
            shown = [node for node in nodes if not node["ignored"] and node["role"]["value"] in NAMED_ROLES]
            assert shown and all(node["name"]["value"] for node in shown), part
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_long_words_stay_inside_the_tables_of_the_report(page: Page, tmp_path: Path) -> None:
    languages = make_languages(240, 16, 60)

    def long(word: str) -> str:
        return f"{word}oikeudenkäynnit"[:17]

    source, target = (
        replace(side, words=tuple(map(long, side.words))) for side in (languages.source, languages.target)
    )
    run = induce(source, target, [(long(one), long(other)) for one, other in languages.gold[60:140]])
    write_report(run, tmp_path / "report.html")
    for width in (1280, 320):
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        page.driver.get((tmp_path / "report.html").as_uri())
        assert page.run("return document.documentElement.scrollWidth <= innerWidth"), width
        assert page.run(TABLES_FIT), width
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

"""The page in a real browser: headless Chromium, driven as a person would."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from bilex.lexicon.reviews import Reviews
from bilex.runs.run import Run
from tests.web.helpers import HOSTILE, serving

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is missing; pip install 'bilex[dev]'")
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (BROWSER and DRIVER), reason="no browser here; install chromium and chromedriver to run these tests"
)
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --window-size=1280,900"
)
OVERLAPS = """
const boxes = Array.from(document.querySelectorAll("#picture text"), (label) => label.getBBox());
return boxes.some((a, i) => boxes.some((b, j) => i < j && a.x < b.x + b.width && b.x < a.x + a.width &&
                                                 a.y < b.y + b.height && b.y < a.y + a.height));
"""


class Page:
    """A tab of the browser on the page."""

    def __init__(self, driver: Any, address: str) -> None:
        self.driver, self.address = driver, address

    def open(self, part: str) -> None:
        self.driver.get("about:blank")
        self.driver.get(f"{self.address}#{part}")

    def find(self, selector: str) -> Any:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def text(self, selector: str) -> str:
        return str(
            self.driver.execute_script("return document.querySelector(arguments[0])?.textContent", selector) or ""
        )

    def wait(self, condition: Callable[[], Any], seconds: float = 20) -> Any:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            try:
                found = condition()
            except (NoSuchElementException, StaleElementReferenceException):
                found = None  # the page is being drawn
            if found:
                return found
            time.sleep(0.02)
        raise AssertionError(f"never came true; the page says {self.text('main')!r}")

    def wait_for(self, selector: str, text: str, seconds: float = 20) -> None:
        self.wait(lambda: text in self.text(selector), seconds)

    def press(self, *keys: str) -> None:
        self.driver.switch_to.active_element.send_keys(*keys)

    def pair(self) -> str:
        return self.text("#card .pair-of-words")

    def review(self, key: str) -> str:
        """Press a key and wait until the next entry has come with its alternatives; give the one before."""
        before = self.pair()
        self.press(key)
        self.wait(lambda: self.pair() not in ("", before) and self.text(".alternatives"))
        return before


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in (*FLAGS.split(), f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    opened = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=DRIVER))
    yield opened
    opened.quit()


@pytest.fixture(scope="module")
def served(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    folder = Path(shutil.copytree(made, tmp_path_factory.mktemp("served") / "run"))
    with serving(folder) as (_, address):
        yield folder, address


@pytest.fixture
def page(driver: Any, served: tuple[Path, str]) -> Iterator[Page]:
    yield Page(driver, served[1])
    problems = [entry for entry in driver.get_log("browser") if "409" not in entry["message"]]
    assert not problems  # no error, and nothing that the content-security policy had to stop


def test_search_with_completion(page: Page) -> None:
    page.open("search")
    page.wait(lambda: page.driver.switch_to.active_element.get_attribute("id") == "search-word")
    page.press("TAX")
    page.wait(lambda: len(page.driver.find_elements(By.CSS_SELECTOR, "#search-list li")) == 10)
    assert page.find("#search-word").get_attribute("aria-expanded") == "true"
    page.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    chosen = page.text("#search-list [aria-selected=true] bdi")
    page.press(Keys.ENTER)
    page.wait_for("#word h2", chosen)
    assert len(page.driver.find_elements(By.CSS_SELECTOR, ".ranking")) == 3
    assert "nearest neighbour of" in page.text(".hub")
    assert not page.driver.execute_script(OVERLAPS)
    link = page.find(".ranking a")
    there = link.text
    link.click()
    page.wait_for("#word h2", there)
    page.driver.back()
    page.wait_for("#word h2", chosen)


def test_search_for_a_term_that_is_no_word(page: Page, served: tuple[Path, str]) -> None:
    words = Run.load(served[0]).target.words
    term = f"{words[20]} {words[40]}"
    page.open("search")
    page.wait(lambda: page.driver.switch_to.active_element.get_attribute("id") == "search-word")
    page.press(term, Keys.ENTER)
    page.wait_for("#word h2", term)
    assert "fr, not in the vocabulary: its vector is composed" in page.text(".headword")
    assert len(page.driver.find_elements(By.CSS_SELECTOR, ".ranking")) == 3
    assert "Not in the lexicon." in page.text(".matched") and not page.text(".hub")
    page.find("#search-word").clear()
    page.find("#search-word").send_keys("nonesuch nowhere", Keys.ENTER)
    page.wait_for("#word .empty", "No word of either language begins with")


def test_browse(page: Page, served: tuple[Path, str]) -> None:
    page.open("browse")
    page.wait(lambda: page.text("#place") == "1–50")
    page.find("[data-sort=score]").click()
    page.wait(lambda: page.find("th[aria-sort=descending] button").get_attribute("data-sort") == "score")
    scores = [float(cell.text) for cell in page.driver.find_elements(By.CSS_SELECTOR, "tbody td:nth-child(5)")]
    assert len(scores) == 50
    assert scores == sorted(scores, reverse=True)
    page.find("#next-page").click()
    page.wait(lambda: page.text("#place") == "51–100")
    page.find("[name=origin]").send_keys("seed")
    page.wait(lambda: page.text("#place").startswith("1–") and "seed" in page.text("tbody tr td:nth-child(9)"))
    lexicon = (served[0] / "lexicon.tsv").read_text("utf-8")
    assert page.text("#found") == f"{lexicon.count('seed')} rows"
    page.find("#clear-filters").click()
    page.find("[name=text]").send_keys("{{7")
    page.wait(lambda: "{{7*7}}" in page.text("tbody") and int(page.text("#found").split()[0]) < 5)


def test_review_with_keys_alone(page: Page, served: tuple[Path, str]) -> None:
    page.open("review")
    page.wait(lambda: page.text(".alternatives"))
    accepted, rejected = page.review("a"), page.review("r")
    better = page.text(".alternatives li:nth-child(2) bdi")
    corrected = page.review("2")
    page.press("c")
    page.wait(lambda: page.driver.switch_to.active_element.get_attribute("id") == "correct-word")
    page.press("nouveau", Keys.ENTER)
    page.wait_for("#progress-text", "4 of")
    page.wait(lambda: page.text(".alternatives"))
    assert "2 corrected" in page.text("#progress-text")
    assert "Precision 25.0%" in page.text("#precision")
    with Reviews(served[0]) as reviews:
        made = {"→".join(pair): decision for pair, decision in reviews.current().items()}
    assert made[accepted].verdict == "accepted"
    assert made[rejected].verdict == "rejected"
    assert made[corrected].correction == better
    # undo, and again after a reload
    page.press("u")
    page.wait_for("#progress-text", "3 of")
    page.driver.refresh()
    page.wait(lambda: page.text(".alternatives"))
    assert "3 of" in page.text("#progress-text")
    page.press("u")
    page.wait_for("#progress-text", "2 of")
    page.wait(lambda: page.pair() == corrected)
    assert "accepted" in page.text("#said") or "undecided" in page.text("#said")
    page.press(Keys.ARROW_DOWN)
    page.wait(lambda: page.pair() not in ("", corrected))
    page.press("k")
    page.wait(lambda: page.pair() == corrected)


def test_two_tabs(page: Page, driver: Any) -> None:
    page.open("review")
    page.wait(lambda: page.text(".alternatives"))
    first, entry = driver.current_window_handle, page.pair()
    driver.switch_to.new_window("tab")
    page.open("review")
    page.wait(lambda: page.text(".alternatives"))
    assert page.review("r") == entry
    driver.close()
    driver.switch_to.window(first)
    page.press("a")
    page.wait_for("#said", "another tab has rejected it")
    assert page.pair() == entry
    assert "rejected" in page.text(".decided")
    page.review("a")  # having seen it
    page.press("k")
    page.wait_for(".decided", "accepted")


def test_export_and_learn_again(page: Page, driver: Any, served: tuple[Path, str]) -> None:
    page.open("review")
    page.wait(lambda: page.text(".alternatives"))
    page.review("a")
    fetched = driver.execute_async_script(
        "const done = arguments[0]; fetch(document.getElementById('export').href).then((r) => r.text()).then(done)"
    )
    assert fetched.startswith("source\ttarget\t")
    assert "\taccepted\t" in fetched
    page.find("#retrain").click()
    page.wait_for("#retraining", "What changed", 60)
    assert "run-2" in page.text("#retraining")
    assert (served[0].with_name("run-2") / "lexicon.tsv").is_file()


@pytest.mark.parametrize("word", HOSTILE)
def test_hostile_words_are_text(page: Page, word: str) -> None:
    page.open(f"search/source/{quote(word, safe='')}")
    page.wait(lambda: page.text("#word h2"))
    shown = page.text("#word h2").replace("U+202E", "\u202e")
    assert shown == word
    assert page.driver.title == "run · bilex"
    assert not page.driver.find_elements(By.CSS_SELECTOR, "main img, main script")


def test_hostile_words_in_the_table_and_the_review(page: Page) -> None:
    page.open("browse")
    page.wait(lambda: page.text("tbody"))
    assert HOSTILE[0] in page.text("tbody")
    page.open("review")
    page.wait(lambda: page.text(".alternatives"))
    page.find("#queue-order").send_keys("most")
    page.wait(lambda: HOSTILE[0] in page.text("#queue"))
    assert page.driver.title == "run · bilex"
    assert not page.driver.find_elements(By.CSS_SELECTOR, "main img, main script")


SLOW = """
const fetched = window.fetch;
const [part, milliseconds] = arguments;
window.fetch = async (address, ...rest) => {
  const answer = await fetched(address, ...rest);
  if (String(address).includes(part)) await new Promise((done) => setTimeout(done, milliseconds));
  return answer;
};
"""


def slow_down(page: Page, part: str, milliseconds: int = 600) -> None:
    """Let answers to some questions come late."""
    page.driver.execute_script(SLOW, part, milliseconds)


def test_an_order_chosen_while_another_loads_wins(page: Page) -> None:
    page.open("search")
    page.wait(lambda: page.text(".try"))
    slow_down(page, "sort=random")
    page.driver.execute_script("location.hash = 'review';")
    page.wait(lambda: "reviewed" in page.text("#progress-text"))
    page.find("#queue-order").send_keys("most")
    page.wait(lambda: page.text(".alternatives"))
    first = page.text("#queue")
    time.sleep(0.8)  # the slow answer has come by now
    assert page.text("#queue") == first
    assert HOSTILE[0] in first


def test_a_late_answer_does_not_overwrite_a_newer_word(page: Page) -> None:
    page.open("search")
    page.wait(lambda: page.text(".try"))
    slow_down(page, "word=s20")
    page.driver.execute_script("location.hash = 'search/source/s20';")
    page.driver.execute_script("location.hash = 'search/source/s24';")
    page.wait_for("#word h2", "s24")
    time.sleep(0.8)
    assert page.text("#word h2") == "s24"
    assert page.find("#search-word").get_attribute("value") == "s24"
    assert "s24" in str(page.find("#picture svg").get_attribute("aria-label"))


def test_the_welcome_does_not_overwrite_a_word(page: Page) -> None:
    page.open("browse")
    page.wait(lambda: page.text("#place") == "1–50")
    slow_down(page, "limit=12")
    page.driver.execute_script("location.hash = 'search';")
    page.driver.execute_script("location.hash = 'search/source/s24';")
    page.wait_for("#word h2", "s24")
    time.sleep(0.8)
    assert page.text("#word h2") == "s24"


def test_a_late_page_of_the_table_does_not_overwrite_a_newer_one(page: Page) -> None:
    page.open("browse")
    page.wait(lambda: page.text("#place") == "1–50")
    slow_down(page, "sort=score")
    page.find("[data-sort=score]").click()
    page.find("[data-sort=source]").click()
    page.wait(lambda: page.find("th[aria-sort=ascending] button").get_attribute("data-sort") == "source")
    first = page.text("tbody")
    time.sleep(0.8)
    assert page.text("tbody") == first


def test_two_quick_steps_are_two(page: Page) -> None:
    page.open("browse")
    page.wait(lambda: page.text("#place") == "1–50")
    slow_down(page, "offset=50", 300)
    page.driver.execute_script("const next = document.getElementById('next-page'); next.click(); next.click();")
    page.wait(lambda: page.text("#place") == "101–150")
    time.sleep(0.5)
    assert page.text("#place") == "101–150"


def test_a_key_pressed_too_soon_is_not_about_the_entry_before(page: Page, served: tuple[Path, str]) -> None:
    page.open("review")
    page.wait(lambda: page.text(".alternatives"))
    with Reviews(served[0]) as reviews:
        before = len(reviews.log())
        slow_down(page, "api/decide", 300)
        entry = page.pair()
        page.press("a")
        page.press("r")  # while the answer is on its way
        page.wait(lambda: page.pair() not in ("", entry))
        new = reviews.log()[before:]
        assert [(f"{row['source']}→{row['target']}", row["verdict"]) for row in new] == [(entry, "accepted")]


def test_undo_pressed_twice_is_one(page: Page, served: tuple[Path, str]) -> None:
    page.open("review")
    page.wait(lambda: page.text(".alternatives"))
    entry = page.review("a")
    page.review("r")
    slow_down(page, "api/undo", 300)
    with Reviews(served[0]) as reviews:
        before = len(reviews.log())
        page.driver.execute_script(
            "for (let i = 0; i < 2; i += 1) document.dispatchEvent(new KeyboardEvent('keydown', { key: 'u' }));"
        )
        page.wait_for("#said", "Undone")
        assert [row["verdict"] for row in reviews.log()[before:]] == ["undone"]
        assert reviews[tuple(entry.split("→"))].verdict == "accepted"  # type: ignore[index]


def test_a_problem_stays_until_it_is_solved(page: Page, served: tuple[Path, str]) -> None:
    page.open("review")
    page.wait(lambda: page.text(".alternatives"))
    page.press("c")
    page.wait(lambda: page.driver.switch_to.active_element.get_attribute("id") == "correct-word")
    page.driver.execute_script("document.getElementById('correct-word').maxLength = 2000")
    page.driver.execute_script("document.getElementById('correct-word').value = 'x'.repeat(1500)")
    page.press(Keys.ENTER)
    page.wait_for("#problem", "give at most 1000")
    page.driver.execute_async_script("fetch('/api/progress').then(arguments[0])")
    page.press(Keys.ESCAPE)
    page.driver.execute_script("document.getElementById('card').focus()")
    page.press("j")
    page.wait(lambda: page.text(".alternatives"))
    assert "give at most 1000" in page.text("#problem")
    page.review("a")
    assert page.text("#problem") == ""
    page.driver.get_log("browser")  # the refusal is no surprise


def test_a_word_that_was_left_alone_is_given_a_translation(driver: Any, made_sparse: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(made_sparse, tmp_path / "sparse"))
    entries = {line.split("\t")[0] for line in (folder / "lexicon.tsv").read_text("utf-8").split("\n")}
    run = Run.load(folder)
    alone = next(word for word in run.source.words if word not in entries)
    with serving(folder) as (_, address):
        page = Page(driver, address)
        page.open(f"search/source/{alone}")
        page.wait_for("#word .matched", "left this word alone")
        page.find("#word .matched a").click()
        page.wait(lambda: page.pair() == f"{alone}→—" and page.text(".alternatives"))
        assert "accept" not in page.text(".verdicts").lower()
        page.press("a")
        page.wait_for("#said", "no translation yet")
        choice = page.text(".alternatives li:nth-child(1) bdi")
        page.press("1")
        page.wait_for("#progress-text", "0 of")
        page.wait_for("#progress-text", "1 unmatched given a translation")
        page.press("u")
        page.wait(lambda: "unmatched given" not in page.text("#progress-text") and page.pair() == f"{alone}→—")
        page.wait(lambda: page.text(".alternatives"))
        page.press("1")
        page.wait_for("#progress-text", "1 unmatched given a translation")
        with Reviews(folder) as reviews:
            assert reviews[alone, ""].correction == choice
        page.find("#queue-order").send_keys("unmatched")
        page.wait(lambda: page.pair().endswith("→—") and page.text(".alternatives"))
        assert alone not in page.text("#queue")
        page.find("#retrain").click()
        page.wait_for("#retraining", "What changed", 60)
        assert "sparse-2/report.html" in page.text("#retraining")
        assert f"{alone}: {choice}" in page.text("#retraining")
        again = folder.with_name("sparse-2")
        assert "<title>" in (again / "report.html").read_text("utf-8")
        assert [e.origin for e in Run.load(again).lexicon if (e.source, e.target) == (alone, choice)] == ["seed"]


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 844)])
def test_nothing_is_wider_than_the_window(page: Page, width: int, height: int) -> None:
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    for part in ("search/source/s20", "browse", "review"):
        page.open(part)
        page.wait(lambda: page.text("#picture") or page.text("tbody") or page.text(".alternatives"))
        assert page.driver.execute_script("return document.documentElement.scrollWidth <= innerWidth"), part
        assert not page.driver.execute_script(OVERLAPS)
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_every_field_and_button_has_a_name(page: Page) -> None:
    for part in ("search", "browse", "review"):
        page.open(part)
        page.wait(lambda: page.text(".try") or page.text("tbody") or page.text(".alternatives"))
        for item in page.driver.find_elements(By.CSS_SELECTOR, "input, select, button, progress, svg[role=img]"):
            if item.is_displayed():
                assert item.accessible_name, item.get_attribute("outerHTML")

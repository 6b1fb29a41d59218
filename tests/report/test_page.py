"""The page: whole, valid, the same for the same run, and nothing in it but what bilex put there."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from bilex.confidence.wording import language_of, number, ordinal, percent, visible
from bilex.induction import induce
from bilex.lexicon.lexicon import Lexicon
from bilex.report import render
from bilex.report.charts import Chart, Series, nice_ticks
from bilex.runs.run import Run
from bilex.vectors.embeddings import Embeddings
from tests.hostile import HOSTILE
from tests.languages import Languages

VOID = {"meta", "line", "circle", "polyline", "rect"}  # the page's elements without an end, SVG's closed at once
SECTIONS = ("verdict", "evidence", "learning", "scores", "hubs", "samples", "doubtful", "reproduce")
MORE = ('=HYPERLINK("http://evil.example","x")', "`<b>code</b>`", "x" * 500, "\u00a0", "a\tb")


class Page(HTMLParser):
    """Reads a page, checks that all that is opened is closed in order, and keeps tags, attributes and text."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, tuple[str, ...]]] = []
        self.attributes: list[tuple[str, str]] = []
        self.texts: list[str] = []
        self.words: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(name for name, _ in attrs)))
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)
            if tag == "bdi":
                self.words.append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in VOID
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if self.open and self.open[-1] == "bdi":
            self.words[-1] += data

    def values(self, name: str) -> list[str]:
        """All values of an attribute."""
        return [value for key, value in self.attributes if key == name]


def renamed(run: Run, words: tuple[str, ...]) -> Run:
    """Put other words where the report shows some: among the first entries, and among the hubs."""
    places = dict(zip(range(0, len(run.source), 1), words, strict=False))
    sides = []
    for side in (run.source, run.target):
        spelt = [places.get(row, word) for row, word in enumerate(side.words)]
        sides.append(replace(side, words=tuple(spelt)))
    source, target = (
        tuple(new.words[old.index[word]] for word in column)
        for old, new, column in zip(
            (run.source, run.target), sides, (run.lexicon.source, run.lexicon.target), strict=True
        )
    )
    lexicon = replace(run.lexicon, source=source, target=target)
    return replace(run, source=sides[0], target=sides[1], lexicon=lexicon)


def small(run: Run) -> Run:
    """Leave only the first words' entries, all without confidence, so that the report shows every one of them."""
    lexicon = run.lexicon.head(10)
    return replace(run, lexicon=replace(lexicon, rank=lexicon.rank + 1, mutual=~np.ones(len(lexicon), bool)))


def test_all_sections_are_there_and_every_link_leads_to_one(good: Run) -> None:
    page = Page(render(good))
    ids = page.values("id")
    assert set(SECTIONS) <= set(ids)
    assert len(ids) == len(set(ids))
    assert {link.removeprefix("#") for link in page.values("href")} <= set(ids)
    assert set(page.values("aria-labelledby")) <= set(ids)
    tags = [tag for tag, _ in page.tags]
    for landmark in ("header", "nav", "main", "footer", "h1"):
        assert tags.count(landmark) == 1
    assert tags.index("h2") < tags.index("nav")  # the verdict is the first thing
    assert "This lexicon looks sound" in "".join(page.texts)


def test_every_table_has_headers_and_every_picture_a_text(good: Run) -> None:
    html = render(good)
    for table in re.findall(r"<table.*?</table>", html, re.DOTALL):
        assert '<th scope="col"' in table
    for picture in re.findall(r"<svg[^>]*>", html):
        assert 'role="img"' in picture
        assert re.search(r'aria-label="[^"]{20,}"', picture)
    assert html.count("<svg") == 5


def test_nothing_is_requested_and_the_policy_allows_only_our_style(good: Run) -> None:
    html = render(good)
    assert not re.search(r"https?:|src=|url\(|@import|<script|<link|<img|<iframe|style=|//", html)
    style = re.search(r"<style>(.*?)</style>", html, re.DOTALL)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert style
    assert policy
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'" in policy[1].replace("&#39;", "'")


def test_the_style_has_light_dark_narrow_and_print_with_enough_contrast(good: Run) -> None:
    style = re.search(r"<style>(.*?)</style>", render(good), re.DOTALL)
    assert style
    for query in ("prefers-color-scheme: dark", "max-width", "@media print"):
        assert query in style[1]
    themes = re.findall(r":root \{(.*?)\}", style[1], re.DOTALL)
    assert len(themes) == 3
    for theme in themes:
        colours = dict(re.findall(r"--([\w-]+): (#\w+)", theme))
        for ink in ("ink", "soft", "hue1", "hue2", "sound", "doubtful", "failed"):
            grounds = ["paper"] + [f"{ink}-wash"] * (ink in ("sound", "doubtful", "failed"))
            grounds += ["shade", "sound-wash", "doubtful-wash", "failed-wash"] * (ink == "ink")
            for ground in grounds:
                assert contrast(colours[ink], colours[ground]) >= 4.5, (ink, ground, theme)


def contrast(one: str, other: str) -> float:
    """The contrast of two colours as WCAG 2 defines it."""

    def luminance(colour: str) -> float:
        digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
        parts = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return float(np.dot([0.2126, 0.7152, 0.0722], linear))

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_hostile_words_are_text(good: Run) -> None:
    """The page of a run with hostile words has the very elements of the page with harmless ones."""
    words = (*HOSTILE, *MORE[:-1])  # a tab does not survive in the table, so such a word is not looked up again
    for start in range(0, len(words), 8):
        some = words[start : start + 8]
        harmless = tuple(f"w{place:018}" if len(word) > 18 else f"w{place}" for place, word in enumerate(some))
        html = render(renamed(small(good), some))
        page, other = Page(html), Page(render(renamed(small(good), harmless)))
        assert page.tags == other.tags, some
        shown = set(page.words)
        for word in some:
            assert visible(word) in shown, word
        assert "49" not in shown
        assert not re.search(r"[\u202a-\u202e\u2066-\u2069\ufeff\x00\x1b\x85\u2028]", html)


def test_hostile_names_and_settings_are_text(good: Run) -> None:
    bad = HOSTILE[0]
    configuration = {**good.info["configuration"], "seed": {**good.info["configuration"]["seed"], "name": bad}}
    files = {"name": bad, "words": 3, "dimension": 2, "files": [{"path": bad, "sha256": bad}]}
    info = {**good.info, "configuration": configuration, "inputs": {"source": files, "target": files}}
    info |= {"command": ["bilex", "induce", bad, "`x`"], "stopped": bad, "version": bad, "versions": {bad: bad}}
    html = render(replace(good, source=replace(good.source, name=bad), info=info))
    assert {tag for tag, _ in Page(html).tags} <= {tag for tag, _ in Page(render(good)).tags} | {"pre"}
    assert "<img" not in html


def test_languages_are_marked_and_words_isolated(languages: Languages) -> None:
    words = ("שלום", "日本語", "مرحبا")
    names = {"source": "wiki.he", "target": "ja"}
    run = induce(languages.source, languages.target, "identical")
    run = replace(run, **{side: replace(getattr(run, side), name=name) for side, name in names.items()})
    html = render(renamed(small(run), words))
    assert re.search('<bdi class="word" dir="auto" lang="he">שלום</bdi>', html)
    assert re.search('<bdi class="word[^"]*" dir="auto" lang="ja">日本語</bdi>', html)


def test_the_same_run_gives_the_same_bytes_also_after_saving(good: Run, tmp_path: Path) -> None:
    assert render(good) == render(good)
    good.save(tmp_path / "run")
    assert render(Run.load(tmp_path / "run")) == render(good)
    odd = renamed(good, ("a\tb", "\u2028"))
    odd.save(tmp_path / "odd")
    assert render(Run.load(tmp_path / "odd")) == render(odd)


def test_an_empty_lexicon_three_words_and_other_methods_have_a_page(good: Run, languages: Languages) -> None:
    empty = Page(render(replace(good, lexicon=good.lexicon.head(0))))
    assert "This run failed" in "".join(empty.texts)
    assert set(SECTIONS) <= set(empty.values("id"))
    source, target = languages.source.top(3), languages.target.top(3)
    three = induce(source, target, list(zip(source.words, target.words, strict=True)), candidates=1)
    assert set(SECTIONS) <= set(Page(render(three)).values("id"))
    for method in ("mutual", "xing2015", "sinkhorn", "ibm1-em"):
        html = render(induce(languages.source, languages.target, "identical", method))
        assert set(SECTIONS) <= set(Page(html).values("id"))
        assert "proved optimal" not in html
    assert "proved optimal" in render(good)


def test_the_page_stays_small(good: Run) -> None:
    """A sample, not a dump: thirty times the entries, and no more than half a megabyte of them."""
    entries = 30 * len(good.lexicon)
    columns = {name: np.resize(np.array(getattr(good.lexicon, name)), entries) for name in ("score", "rank", "mutual")}
    words = {name: tuple(np.resize(getattr(good.lexicon, name), entries).tolist()) for name in ("source", "target")}
    long = Lexicon(
        words["source"],
        words["target"],
        columns["score"],
        columns["rank"],
        columns["mutual"],
        ("matching",) * entries,
    )
    assert len(render(replace(good, lexicon=long)).encode()) < 100_000
    iterations = good.info["iterations"] * 200
    assert len(render(replace(good, info={**good.info, "iterations": iterations})).encode()) < 250_000


# How to reproduce it


def test_the_command_that_was_given_is_shown_as_it_can_be_given_again(good: Run) -> None:
    info = {**good.info, "command": ["bilex", "induce", "my file.vec", "b.vec", "--exact"]}
    text = "".join(Page(render(replace(good, info=info))).texts)
    assert "bilex induce 'my file.vec' b.vec --exact" in text


def test_a_run_made_in_python_gets_a_command_if_there_can_be_one(good: Run) -> None:
    assert "made in Python" in render(good)
    files = {"name": "x", "words": 300, "dimension": 60}
    inputs = {side: {**files, "files": [{"path": f"{side}.vec", "sha256": 64 * "0"}]} for side in ("source", "target")}
    method = {**good.info["configuration"]["method"], "max_rank": 70, "exact": True}
    configuration = {**good.info["configuration"], "method": method, "complete": True}
    text = render(replace(good, info={**good.info, "inputs": inputs, "configuration": configuration}))
    command = "bilex induce source.vec target.vec --seed identical --method bilex --max-rank 70 --exact"
    assert f"{command} --limit 300 --complete" in text
    assert 64 * "0" in text


# Words and numbers


def test_words_are_shown_with_all_they_hold() -> None:
    assert visible("maison") == "maison"
    assert visible("می‌خواهم") == "می‌خواهم"  # its joiner belongs to the word
    assert visible("a\u202eb") == "a‹U+202E›b"
    assert visible(" ") == "‹U+0020›"
    assert visible("new york") == "new york"
    assert visible("x" * 100) == "x" * 60 + "…"


@pytest.mark.parametrize(
    ("name", "language"),
    [("fr", "fr"), ("wiki.fi", "fi"), ("cc.de.300", "de"), ("en-books-law", "en"), ("vectors", ""), ("", "")],
)
def test_languages_are_guessed_from_names(name: str, language: str) -> None:
    assert language_of(name) == language


def test_numbers_are_written_for_people() -> None:
    assert number(-1234567.25, 1) == "−1,234,567.2"
    assert number(-0.0004, 2) == "0.00"
    assert [percent(share) for share in (0, 0.001, 0.5, 0.999, 1)] == ["0%", "under 0.5%", "50%", "over 99%", "100%"]
    assert [ordinal(place) for place in (1, 2, 3, 4, 11, 12, 22, 101)] == [
        "1st", "2nd", "3rd", "4th", "11th", "12th", "22nd", "101st",
    ]  # fmt: skip


@pytest.mark.parametrize("low_high", [(0, 1), (0.72, 0.75), (-1656283, -1656133), (1, 100), (5, 5.0001), (0, 1e-9)])
def test_ticks_are_round_and_enclose_the_values(low_high: tuple[float, float]) -> None:
    low, high = low_high
    ticks = nice_ticks(low, high, 5)
    assert ticks[0] <= low + 1e-9
    assert ticks[-1] >= high - 1e-9
    assert 2 <= len(ticks) <= 8


@pytest.mark.parametrize("points", [(), ((1.0, 2.0),), ((1.0, 5.0), (2.0, 5.0)), ((0.0, 0.0), (1.0, 0.0))])
def test_charts_of_little_are_drawn_inside_their_frame(points: tuple[tuple[float, float], ...]) -> None:
    for bar in (0.0, 0.5):
        svg = str(Chart("t", "x", (Series("a", points),), "alt", bar=bar).svg())
        assert "nan" not in svg
        for x in re.findall(r' (?:x|cx|x1|x2)="(-?[\d.]+)"', svg):
            assert 0 <= float(x) <= 360


def test_embeddings_without_a_name_are_source_and_target(languages: Languages) -> None:
    source, target = (Embeddings(side.words, side.vectors) for side in (languages.source, languages.target))
    assert "source</bdi> to <bdi>target" in render(induce(source, target, languages.gold[:100]))

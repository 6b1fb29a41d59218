"""The page: complete, valid, deterministic and safe whatever the words are."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import asdict, replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from bilex.confidence.figures import induced_pairs
from bilex.induction import induce
from bilex.lexicon.lexicon import Lexicon
from bilex.methods import find_method
from bilex.report.contents import doubtful_entries, entry_samples
from bilex.report.page import make_visible, render_report
from bilex.runs.run import Run
from bilex.search.local import LocalEngine
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
        """Return all values of an attribute."""
        return [value for key, value in self.attributes if key == name]


def renamed(run: Run, words: tuple[str, ...]) -> Run:
    """Put other words where the report shows some: among the first entries, and among the hubs."""
    places = dict(enumerate(words))
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
    """Leave only the first words' entries, all of one confidence, so that the report shows every one of them."""
    lexicon = run.lexicon.head(10)
    return replace(run, lexicon=replace(lexicon, confidence=np.full(len(lexicon), 0.7)))


def test_all_sections_are_there_and_every_link_leads_to_one(good_run: Run) -> None:
    page = Page(render_report(good_run))
    ids = page.values("id")
    assert set(SECTIONS) <= set(ids)
    assert len(ids) == len(set(ids))
    assert {link.removeprefix("#") for link in page.values("href")} <= set(ids)
    assert "lexicon.tsv" in Page(render_report(good_run, lexicon="lexicon.tsv")).values("href")
    assert set(page.values("aria-labelledby")) <= set(ids)
    tags = [tag for tag, _ in page.tags]
    for landmark in ("header", "nav", "main", "footer", "h1"):
        assert tags.count(landmark) == 1
    assert tags.index("h2") < tags.index("nav")  # the verdict is the first thing
    text = "".join(page.texts)
    assert text.index(good_run.headline[1:]) < text.index("This lexicon looks sound") < text.index("The evidence")
    assert f"{len(good_run.lexicon):,} entries" in text
    assert good_run.info["made"][:10] in text


def test_every_table_has_headers_and_every_picture_a_text(good_run: Run) -> None:
    html = render_report(good_run)
    for table in re.findall(r"<table.*?</table>", html, re.DOTALL):
        assert '<th scope="col"' in table
    for picture in re.findall(r"<svg[^>]*>", html):
        assert 'role="img"' in picture
        assert re.search(r'aria-label="[^"]{20,}"', picture)
    assert html.count("<svg") == 5


def test_nothing_is_requested_and_the_policy_allows_only_our_style(good_run: Run) -> None:
    html = render_report(good_run)
    assert not re.search(r"https?:|src=|url\(|@import|<script|<link|<img|<iframe|style=|//", html)
    style = re.search(r"<style>(.*?)</style>", html, re.DOTALL)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert style
    assert policy
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'" in policy[1].replace("&#39;", "'")


def test_the_style_has_light_dark_narrow_and_print_with_enough_contrast(good_run: Run) -> None:
    style = re.search(r"<style>(.*?)</style>", render_report(good_run), re.DOTALL)
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
    """Compute the contrast of two colours as WCAG 2 defines it."""

    def luminance(colour: str) -> float:
        digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
        parts = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return float(np.dot([0.2126, 0.7152, 0.0722], linear))

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_hostile_words_stay_text(good_run: Run) -> None:
    """The page of a run with hostile words has the very elements of the page with harmless ones."""
    words = (*HOSTILE, *MORE[:-1])  # a tab does not survive in the table, so such a word is not looked up again
    for start in range(0, len(words), 8):
        some = words[start : start + 8]
        harmless = tuple(f"w{place:018}" if len(word) > 18 else f"w{place}" for place, word in enumerate(some))
        html = render_report(renamed(small(good_run), some))
        page, other = Page(html), Page(render_report(renamed(small(good_run), harmless)))
        assert page.tags == other.tags, some
        shown = set(page.words)
        for word in some:
            assert make_visible(word) in shown, word
        assert "49" not in shown
        assert not re.search(r"[\u202a-\u202e\u2066-\u2069\ufeff\x00\x1b\x85\u2028]", html)


def test_hostile_names_and_settings_stay_text(good_run: Run) -> None:
    bad = HOSTILE[0] + "\x1b[31m\u202e"
    configuration = {**good_run.info["configuration"], "seed": {**good_run.info["configuration"]["seed"], "name": bad}}
    files = {"name": bad, "words": 3, "dimension": 2, "files": [{"path": bad, "sha256": bad}]}
    info = {**good_run.info, "configuration": configuration, "inputs": {"source": files, "target": files}}
    info |= {"command": ["bilex", "induce", bad, "`x`"], "stopped": bad, "version": bad, "versions": {bad: bad}}
    html = render_report(replace(good_run, source=replace(good_run.source, name=bad), info=info))
    assert {tag for tag, _ in Page(html).tags} <= {tag for tag, _ in Page(render_report(good_run)).tags} | {"pre"}
    assert "<img" not in html
    assert not re.search(r"[\u202e\x1b]", html)


def test_languages_are_marked_and_words_isolated(good_run: Run) -> None:
    words = ("שלום", "日本語", "مرحبا")
    names = {"source": "wiki.he", "target": "ja"}
    run = replace(good_run, **{side: replace(getattr(good_run, side), name=name) for side, name in names.items()})
    html = render_report(renamed(small(run), words))
    assert re.search('<bdi class="word" dir="auto" lang="he">שלום</bdi>', html)
    assert re.search('<bdi class="word[^"]*" dir="auto" lang="ja">日本語</bdi>', html)


def test_the_same_run_gives_the_same_bytes_also_after_saving(good_run: Run, tmp_path: Path) -> None:
    assert render_report(good_run) == render_report(good_run)
    good_run.save(tmp_path / "run")
    assert render_report(Run.load(tmp_path / "run")) == render_report(good_run)
    odd = renamed(good_run, ("a\tb", "\u2028"))
    odd.save(tmp_path / "odd")
    assert render_report(Run.load(tmp_path / "odd")) == render_report(odd)


def test_an_empty_lexicon_three_words_and_a_map_of_the_seed_have_a_page(good_run: Run, languages: Languages) -> None:
    empty = Page(render_report(replace(good_run, lexicon=good_run.lexicon.head(0))))
    assert "This run failed" in "".join(empty.texts)
    assert set(SECTIONS) <= set(empty.values("id"))
    source, target = languages.source.top(3), languages.target.top(3)
    three = induce(source, target, list(zip(source.words, target.words, strict=True)), candidates=1)
    assert set(SECTIONS) <= set(Page(render_report(three)).values("id"))
    seed_only = render_report(induce(languages.source, languages.target, "identical", "xing2015"))
    assert set(SECTIONS) <= set(Page(seed_only).values("id"))
    assert "proved optimal" in render_report(good_run)
    assert "proved optimal" not in seed_only


def test_the_size_of_the_page_is_bounded(good_run: Run) -> None:
    """Thirty times the entries and 200 times the iterations add little."""
    old = good_run.lexicon
    score, rank, mutual = np.tile(old.score, 30), np.tile(old.rank, 30), np.tile(old.mutual, 30)
    confidence = np.tile(old.confidence, 30)
    long = Lexicon(old.source * 30, old.target * 30, score, rank, mutual, old.origin * 30, confidence)
    assert len(render_report(replace(good_run, lexicon=long)).encode()) < 100_000
    iterations = good_run.info["iterations"] * 200
    html = render_report(replace(good_run, info={**good_run.info, "iterations": iterations}))
    assert len(html.encode()) < 250_000
    assert f"{len(iterations) - 8} more" in html


def test_samples_are_of_one_confidence_and_competitors_have_theirs(good_run: Run) -> None:
    pairs = induced_pairs(good_run)
    samples = entry_samples(pairs)
    assert sum(sample["count"] for sample in samples) == len(good_run.lexicon)
    expected = sum(sample["count"] * sample["right"] for sample in samples) / len(good_run.lexicon)
    assert expected == pytest.approx(good_run.expected_precision)
    for sample, (low, high) in zip(samples, ((0.9, 1.01), (0.5, 0.9), (0.0, 0.5)), strict=True):
        assert all(low <= entry.confidence < high for entry in sample["entries"])
    doubts = doubtful_entries(good_run, pairs, LocalEngine())
    assert doubts
    for doubt in doubts:
        entry = doubt["entry"]
        answers = good_run.translate(entry.source, k=5)
        assert doubt["candidates"] == [(answer.word, answer.probability) for answer in answers]
        assert dict(doubt["candidates"]).get(entry.target, entry.confidence) == pytest.approx(
            entry.confidence, abs=1e-4
        )


def test_commands_name_the_run_and_no_path_of_this_machine(good_run: Run) -> None:
    info = {**good_run.info, "command": ["bilex", "induce", "/home/me/en.vec", "fr.vec"]}
    files = {"name": "x", "words": 3, "dimension": 2, "files": [{"path": "/home/me/en.vec", "sha256": None}]}
    info |= {"inputs": {"source": files, "target": files}}
    info["configuration"] = {
        **info["configuration"],
        "seed": {**info["configuration"]["seed"], "name": "/home/me/s.txt"},
    }
    html = render_report(replace(good_run, info=info), name="/home/me/en fr")
    assert "/home" not in html
    text = "".join(Page(html).texts)
    assert "bilex evaluate 'en fr' dictionary.txt" in text
    assert "bilex explore 'en fr'" in text
    assert "bilex induce en.vec fr.vec" in text


def test_the_recorded_command_is_shown_quoted(good_run: Run) -> None:
    info = {**good_run.info, "command": ["bilex", "induce", "my file.vec", "b.vec", "--exact"]}
    text = "".join(Page(render_report(replace(good_run, info=info))).texts)
    assert "bilex induce 'my file.vec' b.vec --exact" in text


def test_a_run_made_in_python_gets_a_command_if_its_inputs_are_files(good_run: Run) -> None:
    assert "made in Python" in render_report(good_run)
    files = {"name": "x", "words": 300, "dimension": 60}
    inputs = {side: {**files, "files": [{"path": f"{side}.vec", "sha256": 64 * "0"}]} for side in ("source", "target")}
    method = asdict(find_method("bilex").with_changes({"max_rank": 70, "exact": True}))
    configuration = {**good_run.info["configuration"], "method": method, "complete": True}
    text = render_report(replace(good_run, info={**good_run.info, "inputs": inputs, "configuration": configuration}))
    command = "bilex induce source.vec target.vec --seed identical --method bilex --max-rank 70 --exact"
    assert f"{command} --limit 300 --complete" in text
    assert 64 * "0" in text


def test_languages_without_a_name_are_source_and_target(good_run: Run) -> None:
    source, target = (replace(side, name="") for side in (good_run.source, good_run.target))
    assert "source</bdi> to <bdi>target" in render_report(replace(good_run, source=source, target=target))

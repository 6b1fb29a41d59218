"""Runs and lexicons in a notebook, as pandas frames, and the tutorial notebook itself."""

from __future__ import annotations

import builtins
import html
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bilex
from bilex.errors import BilexError
from bilex.lexicon.text import xml_safe
from bilex.vectors.embeddings import Embeddings
from tests.hostile import HOSTILE, hostile_lexicon
from tests.languages import Languages, make_languages

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.ipynb"
ALLOWED = {"div", "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "bdi"}


class Page(HTMLParser):
    """Collects tags, their attributes, and the text of the cells."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.fixture(scope="module")
def languages() -> Languages:
    return make_languages(100)


def run_with_names(languages: Languages, *names: str) -> bilex.Run:
    source, target = (
        Embeddings(side.words, side.vectors, name=name)
        for side, name in zip((languages.source, languages.target), names, strict=True)
    )
    return bilex.induce(source, target)


def test_a_lexicon_shows_its_first_rows() -> None:
    shown = hostile_lexicon()._repr_html_()
    page = Page(shown)
    assert page.tags.count("tr") == 11
    assert set(page.tags) <= ALLOWED
    assert {name for name, _ in page.attributes} == {"class"}
    assert f"... {len(HOSTILE) - 10} more" in page.texts
    assert "more" not in hostile_lexicon().head(3)._repr_html_()


def test_hostile_words_are_text() -> None:
    lexicon = hostile_lexicon()
    for first in range(0, len(HOSTILE), 10):
        part = lexicon[first : first + 10]
        page = Page(part._repr_html_())
        assert set(page.tags) <= ALLOWED
        for word in part.source:
            assert xml_safe(word) in "".join(page.texts)
            assert f"<bdi>{html.escape(xml_safe(word))}</bdi>" in part._repr_html_()


def test_a_run_shows_what_it_is(languages: Languages) -> None:
    run = run_with_names(languages, "<script>alert(1)</script>", "\u202efr")
    page = Page(run._repr_html_())
    assert set(page.tags) <= ALLOWED
    text = "\n".join(page.texts)
    assert "<script>alert(1)</script>, 100 words" in text
    assert "bilex" in text and "identical" in text
    assert f"Lexicon of {len(run.lexicon)} entries" in text


def test_pandas() -> None:
    pytest.importorskip("pandas")
    frame = hostile_lexicon().to_pandas()
    assert list(frame.columns) == ["source", "target", "score", "rank", "mutual", "origin", "confidence"]
    assert frame.source.tolist() == list(HOSTILE)
    assert frame.mutual.tolist() == hostile_lexicon().mutual.tolist()
    assert np.array_equal(frame.score, hostile_lexicon().score)


def test_without_pandas_the_command_to_install_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)  # importing it now raises ImportError
    with pytest.raises(BilexError, match=r"pip install 'bilex\[pandas\]'"):
        hostile_lexicon().to_pandas()


def cells() -> list[dict[str, Any]]:
    notebook = json.loads(TUTORIAL.read_text("utf-8"))
    assert notebook["nbformat"] == 4
    found: list[dict[str, Any]] = notebook["cells"]
    return found


def test_the_tutorial_is_committed_without_outputs() -> None:
    for cell in cells():
        assert not cell.get("outputs") and cell.get("execution_count") is None
        assert cell["id"]


def test_the_tutorial_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shown: list[object] = []
    monkeypatch.setattr(builtins, "print", lambda *values, **_: shown.extend(values))
    namespace: dict[str, Any] = {"__name__": "tutorial", "display": shown.append}
    for number, cell in enumerate(cells()):
        if cell["cell_type"] == "code":
            code = "".join(cell["source"]).replace("limit=2000", "limit=500")
            for rare, frequent in (('"french", "français"', '"house", "maison"'), ('"march", "marche"', '"all", "de"')):
                code = code.replace(rare, frequent)  # which are among these
            assert not re.search(r"^\s*[!%]", code, re.MULTILINE), "plain Python only, so that this test can run it"
            exec(compile(code, f"cell {number}", "exec"), namespace)
    assert namespace["run"].evaluate(namespace["gold"], retrieval="csls").figures()["p@1"] > 0.2  # of so few words
    assert (tmp_path / "en-fr" / "lexicon.tsv").is_file()


def test_results_show_a_small_table(languages: Languages) -> None:
    run = run_with_names(languages, "en", "fr")
    for result in (run, run.lexicon, run.verdict, run.evaluate(languages.gold), run.hubness()):
        assert len(repr(result)) < 1500
        assert len(result._repr_html_()) < 5000
        assert set(Page(result._repr_html_()).tags) <= ALLOWED
    assert f"{run.expected_precision:.0%}" in repr(run)
    assert "<table" not in run.report()._repr_html_()  # it is escaped, in a frame
    assert str(run.report()).startswith("<!")

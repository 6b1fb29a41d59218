"""Words as the page shows them."""

from __future__ import annotations

from bilex.report.page import make_visible


def test_words_are_shown_with_all_their_characters() -> None:
    assert make_visible("maison") == "maison"
    assert make_visible("می\u200cخواهم") == "می\u200cخواهم"  # the joiner belongs to the word
    assert make_visible("a\u202eb") == "a‹U+202E›b"
    assert make_visible(" ") == "‹U+0020›"
    assert make_visible("new york") == "new york"
    assert make_visible("x" * 60) == "x" * 60
    assert make_visible("x" * 61) == "x" * 60 + "…"

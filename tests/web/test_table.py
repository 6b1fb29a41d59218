"""The table against a slow one: every filter, every order, every page."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bilex.web.completion import Completion, TextIndex, fold
from bilex.web.explorer import Explorer
from bilex.web.table import DECISIONS, ORIGINS, SORTS, Query


@pytest.fixture(scope="module")
def reviewed(made_sparse: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    import shutil

    explorer = Explorer.open(shutil.copytree(made_sparse, tmp_path_factory.mktemp("table") / "run"))
    for entry in range(0, 90, 3):
        verdict = ("accepted", "rejected", "corrected")[entry % 9 // 3]
        explorer.decide(entry, verdict, "x" if verdict == "corrected" else None, 0)
    explorer.decide(explorer.table.entries + 1, "corrected", "y", 0)
    explorer.refresh()
    yield explorer
    explorer.close()


def slowly(explorer: Explorer, query: Query) -> tuple[int, list[dict[str, Any]]]:
    """Filter and sort rows one by one."""
    table = explorer.table
    rows = [table.row(number) | {"number": number} for number in range(len(table))]

    def passes(row: dict[str, Any]) -> bool:
        entry = row["target"] is not None
        texts = (fold(row["source"]), fold(row["target"] or ""))
        return (
            (not query.text or any(fold(query.text) in text for text in texts))
            and query.origin in (None, row["origin"])
            and query.decision in (None, row["decision"])
            and (query.decision != "undecided" or entry or query.origin == "unmatched")
            and (query.mutual is None or (entry and row["mutual"] == query.mutual))
            and (query.matched is None or (row["origin"] in ("matching", "seed")) == query.matched)
            and (query.min_score is None or (entry and table.score[row["number"]] >= query.min_score))
            and (query.max_score is None or (entry and table.score[row["number"]] <= query.max_score))
            and (query.min_frequency is None or row["frequency"] >= query.min_frequency)
            and (query.max_frequency is None or row["frequency"] <= query.max_frequency)
        )

    def key(row: dict[str, Any]) -> Any:
        value = row[query.sort]
        if isinstance(value, str):
            value = fold(value)
        return (value is None, value)

    kept = sorted(filter(passes, rows), key=lambda row: row["frequency"])
    if query.sort == "random":
        kept.sort(key=lambda row: table.order("random", query.descending).tolist().index(row["number"]))
    else:
        present = [row for row in kept if row[query.sort] is not None]
        absent = [row for row in kept if row[query.sort] is None]
        present.sort(key=key, reverse=query.descending)
        if query.descending:  # where equal, still the more frequent first
            present.sort(key=lambda row: row["frequency"])
            present.sort(key=key, reverse=True)
        kept = present + absent
    return len(kept), kept[query.offset : query.offset + query.limit]


maybe = st.none()
queries = st.builds(
    Query,
    sort=st.sampled_from(SORTS),
    descending=st.booleans(),
    offset=st.integers(0, 300),
    limit=st.integers(0, 60),
    text=st.sampled_from(["", "", "s1", "TAXI", "<", "é", "\n"]),
    origin=maybe | st.sampled_from(ORIGINS),
    decision=maybe | st.sampled_from(DECISIONS),
    mutual=maybe | st.booleans(),
    matched=maybe | st.booleans(),
    min_score=maybe | st.floats(-1, 1),
    max_score=maybe | st.floats(-1, 1),
    min_frequency=maybe | st.integers(1, 300),
    max_frequency=maybe | st.integers(1, 300),
)


@given(query=queries)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_pages_are_those_of_a_slow_table(reviewed: Explorer, query: Query) -> None:
    total, rows = slowly(reviewed, query)
    found, numbers = reviewed.table.find(query)
    assert found == total
    assert numbers == [row["number"] for row in rows]


@pytest.mark.parametrize("sort", SORTS)
def test_pages_put_together_are_everything_once(reviewed: Explorer, sort: str) -> None:
    pages = [reviewed.entries(Query(sort=sort, offset=offset, limit=37)) for offset in range(0, 400, 37)]
    rows = [row["source"] + "\t" + (row["target"] or "") for page in pages for row in page["rows"]]
    assert len(rows) == len(set(rows)) == len(reviewed.table) == pages[0]["total"]


@given(
    words=st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), min_size=1), unique=True),
    prefix=st.text(max_size=3),
)
def test_completion_against_a_loop(words: list[str], prefix: str) -> None:
    found = Completion(words)(prefix, 5)
    expected = [row for row, word in enumerate(words) if fold(word).startswith(fold(prefix))]
    expected.sort(key=lambda row: (words[row] != prefix, row))
    assert found == expected[:5]


@given(texts=st.lists(st.text(max_size=6)), part=st.text(min_size=1, max_size=3))
def test_text_search_against_a_loop(texts: list[str], part: str) -> None:
    found = TextIndex(texts).containing(part)
    expected = ["\n" not in fold(part) and fold(part) in fold(text).replace("\n", " ") for text in texts]
    assert found.tolist() == expected


@pytest.mark.parametrize(
    ("typed", "written"), [("ecole", "École"), ("strasse", "Straße"), ("ｗide", "wide"), ("ひ", "び")]
)
def test_what_is_easily_typed_finds_what_is_written(typed: str, written: str) -> None:
    assert Completion([written])(typed, 1) == [0]

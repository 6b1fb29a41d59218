"""The table against a slow one: every filter, order and page."""

from __future__ import annotations

import shutil
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bilex.lexicon.reviews import DECISIONS
from bilex.web.explorer import Explorer
from bilex.web.table import ORIGINS, Completion, Sort, TableQuery, fold_for_search


@pytest.fixture(scope="module")
def reviewed(made_sparse: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    explorer = Explorer.open(shutil.copytree(made_sparse, tmp_path_factory.mktemp("table") / "run"))
    for entry in range(0, 90, 3):
        kind = ("accepted", "rejected", "corrected")[entry % 9 // 3]
        explorer.decide(entry, kind, "x" if kind == "corrected" else None, 0)
    explorer.decide(explorer.table.entries + 1, "corrected", "y", 0)
    explorer.refresh()
    yield explorer
    explorer.close()


def slow_find(explorer: Explorer, query: TableQuery) -> tuple[int, list[dict[str, Any]]]:
    """Filter and sort rows one by one."""
    table = explorer.table
    rows = [table.row(number) | {"number": number} for number in range(len(table))]

    def passes(row: dict[str, Any]) -> bool:
        entry = row["target"] is not None
        texts = (fold_for_search(row["source"]), fold_for_search(row["target"] or ""))
        return (
            (not query.text or any(fold_for_search(query.text) in text for text in texts))
            and query.origin in (None, row["origin"])
            and query.decision in (None, row["decision"])
            and (query.decision != "undecided" or entry or query.origin == "unmatched")
            and (query.mutual is None or (entry and row["mutual"] == query.mutual))
            and (query.matched is None or (row["origin"] in ("matching", "seed")) == query.matched)
            and (query.min_confidence is None or (entry and table.confidence[row["number"]] >= query.min_confidence))
            and (query.max_confidence is None or (entry and table.confidence[row["number"]] <= query.max_confidence))
            and (query.min_frequency is None or row["frequency"] >= query.min_frequency)
            and (query.max_frequency is None or row["frequency"] <= query.max_frequency)
        )

    def key(row: dict[str, Any]) -> Any:
        value = row[query.sort]
        if isinstance(value, str):
            value = fold_for_search(value)
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
    TableQuery,
    sort=st.sampled_from(get_args(Sort)),
    descending=st.booleans(),
    offset=st.integers(0, 300),
    limit=st.integers(0, 60),
    text=st.sampled_from(["", "", "s1", "TAXI", "<", "é", "\n"]),
    origin=maybe | st.sampled_from(ORIGINS),
    decision=maybe | st.sampled_from(DECISIONS),
    mutual=maybe | st.booleans(),
    matched=maybe | st.booleans(),
    min_confidence=maybe | st.floats(0, 1),
    max_confidence=maybe | st.floats(0, 1),
    min_frequency=maybe | st.integers(1, 300),
    max_frequency=maybe | st.integers(1, 300),
)


@given(query=queries)
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_pages_are_those_of_a_slow_filter_and_sort(reviewed: Explorer, query: TableQuery) -> None:
    total, rows = slow_find(reviewed, query)
    found, _, numbers = reviewed.table.find(query)
    assert found == total
    assert numbers == [row["number"] for row in rows]


def test_the_pages_together_are_all_rows_once(reviewed: Explorer) -> None:
    for sort in get_args(Sort):
        pages = [reviewed.entries(TableQuery(sort=sort, offset=offset, limit=37)) for offset in range(0, 400, 37)]
        rows = [row["entry"] for page in pages for row in page["rows"]]
        assert sorted(rows) == list(range(len(reviewed.table)))


LETTERS = st.sampled_from("aAeéÉe\u0301sSßẞwｗｱアひび語ﬁ☃-' ")


@settings(max_examples=50)
@given(words=st.lists(st.text(LETTERS, min_size=1), unique=True), prefix=st.text(LETTERS, max_size=3))
def test_completions_are_those_of_a_loop(words: list[str], prefix: str) -> None:
    found = Completion(words)(prefix, 5)
    expected = [row for row, word in enumerate(words) if fold_for_search(word).startswith(fold_for_search(prefix))]
    expected.sort(key=lambda row: (words[row] != prefix, row))
    assert found == expected[:5]


def test_case_accents_and_width_do_not_matter() -> None:
    for typed, written in (("ecole", "École"), ("strasse", "Straße"), ("ｗide", "wide"), ("ひ", "び")):
        assert Completion([written])(typed, 1) == [0]

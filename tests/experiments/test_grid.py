"""The grid: every cell is computed once, nothing finished is lost, and damaged lines are computed again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bilex.em.context import Reporter
from bilex.errors import BilexError, BilexWarning
from bilex.experiments.grid import configuration_key, open_log, run_grid


class Counting:
    """Squares numbers, records which, and is interrupted at one of them."""

    def __init__(self, fails_at: int | None = None) -> None:
        self.fails_at = fails_at
        self.seen: list[int] = []

    def __call__(self, number: int) -> dict[str, Any]:
        if number == self.fails_at:
            raise KeyboardInterrupt
        self.seen.append(number)
        return {"square": number**2}


CELLS = [(str(number), {"number": number}) for number in range(5)]


def squares(path: Path, compute: Counting) -> list[int]:
    return [result["square"] for result in run_grid(CELLS, compute, path)]


def test_an_interrupted_grid_is_continued(tmp_path: Path) -> None:
    path = tmp_path / "out" / "grid.jsonl"
    with pytest.raises(KeyboardInterrupt):
        squares(path, Counting(fails_at=3))
    assert len(path.read_text().splitlines()) == 3
    second = Counting()
    assert squares(path, second) == [0, 1, 4, 9, 16]
    assert second.seen == [3, 4]
    assert squares(path, third := Counting()) == [0, 1, 4, 9, 16]
    assert third.seen == []


@pytest.mark.parametrize("cut", [1, 40])
def test_a_torn_last_line_is_computed_again(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "grid.jsonl"
    squares(path, Counting())
    path.write_bytes(path.read_bytes()[:-cut])
    again = Counting()
    assert squares(path, again) == [0, 1, 4, 9, 16]
    assert again.seen == [4]
    assert len([json.loads(line) for line in path.read_text().splitlines()]) == 5


def test_a_torn_first_line_is_computed_again(tmp_path: Path) -> None:
    path = tmp_path / "grid.jsonl"
    path.write_bytes(b'{"k')
    assert squares(path, Counting()) == [0, 1, 4, 9, 16]


@pytest.mark.parametrize("line", ["{", "[]", '{"key": 1}'])
def test_a_damaged_line_in_the_middle_is_computed_again(tmp_path: Path, line: str) -> None:
    path = tmp_path / "grid.jsonl"
    squares(path, Counting())
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:2], line, *lines[3:]]) + "\n")
    again = Counting()
    with pytest.warns(BilexWarning, match="1 damaged lines"):
        assert squares(path, again) == [0, 1, 4, 9, 16]
    assert again.seen == [2]


def test_equal_cells_are_computed_once(tmp_path: Path) -> None:
    compute = Counting()
    run_grid([CELLS[0], CELLS[0]], compute, tmp_path / "grid.jsonl")
    assert compute.seen == [0]


def test_the_key_depends_on_the_content_alone() -> None:
    assert configuration_key({"a": 1, "b": "ü"}) == configuration_key({"b": "ü", "a": 1})
    assert configuration_key({"a": 1}) != configuration_key({"a": 2})


def test_a_failure_at_once_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        squares(tmp_path / "out" / "grid.jsonl", Counting(fails_at=0))
    assert not (tmp_path / "out").exists()


def test_two_at_once_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "grid.jsonl"
    with (
        open_log(path) as file,
        pytest.raises(BilexError, match="another bilex"),
    ):
        file.write(b"\n")
        file.flush()
        squares(path, Counting())


def test_a_place_that_cannot_be_written_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BilexError, match="cannot be written"):
        squares(tmp_path / "file" / "grid.jsonl", Counting())


def test_the_reporter_counts_all_cells_and_estimates_the_rest(tmp_path: Path) -> None:
    stages: list[tuple[str, bool]] = []

    class Recording(Reporter):
        def stage(self, name: str) -> None:
            stages.append((name.split(",", maxsplit=1)[0], "left" in name))

    path = tmp_path / "grid.jsonl"
    run_grid(CELLS[:2], Counting(), path)
    run_grid(CELLS, Counting(), path, Recording())
    assert stages == [("cell 3 of 5: 2", False), ("cell 4 of 5: 3", True), ("cell 5 of 5: 4", True)]


def test_who_is_refused_leaves_the_first_ones_file(tmp_path: Path) -> None:
    """Also while it is empty, in the first cell."""
    path = tmp_path / "grid.jsonl"
    with open_log(path) as file:
        with pytest.raises(BilexError, match="another bilex"), open_log(path):
            pytest.fail("both write")
        assert path.exists()
        file.write(b"{}\n")
    assert path.read_bytes() == b"{}\n"


def test_a_file_that_another_removed_before_the_lock_is_not_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "grid.jsonl"
    opened = Path.open

    def remove_after(self: Path, mode: str) -> Any:
        file = opened(self, mode)
        self.unlink()
        return file

    monkeypatch.setattr(Path, "open", remove_after)
    with pytest.raises(BilexError, match="another bilex"), open_log(path):
        pytest.fail("what is written now is in no folder")

"""Every reader on damaged files: inputs that once crashed it, kept in ``crashes``, and random ones.

``python -m trust fuzz`` searches for more, a million for each reader, guided by coverage.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from trust.fuzz import add_up
from trust.fuzz_targets import TARGETS, Reader, examples, shrink_buffers

CRASHES = sorted(path for path in (Path(__file__).parent / "crashes").rglob("*") if path.is_file())
TRIES = 60


@pytest.fixture
def reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    """A target, with tiny buffers."""
    made = Reader(request.param)
    shrink_buffers(monkeypatch.setattr)
    yield made
    made.close()


pytestmark = pytest.mark.filterwarnings("ignore::bilex.errors.BilexWarning")


def damage(data: bytes, dice: random.Random) -> bytes:
    """Change, cut out, double or put in some bytes."""
    for _ in range(dice.choice((1, 1, 2, 5))):
        start = dice.randrange(len(data) + 1)
        end = min(len(data), start + dice.choice((0, 1, 1, 2, 8, 50)))
        new = dice.choice((b"", dice.randbytes(1), data[start:end] * 2, dice.choice((b"\n", b" ", b"\0", b"9" * 20))))
        data = data[:start] + new + data[end:]
    return data


@pytest.mark.parametrize(
    ("reader", "path"),
    [(path.parent.name, path) for path in CRASHES],
    ids=[f"{path.parent.name}-{path.name}" for path in CRASHES],
    indirect=["reader"],
)
def test_an_input_that_once_crashed_is_refused(reader: Reader, path: Path) -> None:
    assert not reader(path.read_bytes())


@pytest.mark.parametrize("reader", TARGETS, indirect=True)
def test_damaged_files_end_in_our_own_error(reader: Reader, tmp_path: Path) -> None:
    good = examples(reader.name, tmp_path)
    assert any(reader(example) for example in good), "nothing was accepted: the target tests nothing"
    dice, accepted = random.Random(reader.name), 0
    for _ in range(TRIES):
        accepted += reader(damage(dice.choice(good), dice))
    assert accepted < TRIES


def test_every_reader_has_an_input_that_was_kept() -> None:
    assert {path.parent.name for path in CRASHES} == TARGETS.keys()


def test_the_figures_of_several_runs_add_up(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    for number, executions, crashes in ((2, 20, {"a": "x", "b": "y"}), (10, 3, {"b": "y"}), (11, 0, {})):
        figures = {"executions": executions, "accepted": 1, "crashes": crashes, "seconds": 0.5}
        (tmp_path / "runs" / f"{number}.json").write_text(json.dumps(figures))
    tally = add_up(tmp_path)
    assert tally.row() == (23, 2, 2, 0, 2)
    assert (tally.left, tally.seconds) == ({"b": "y"}, 1.0)
    assert add_up(tmp_path / "nothing").executions == 0

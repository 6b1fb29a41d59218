"""Sweeps: the grid that the file describes, resumed, and mistakes in the file."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from bilex.errors import BilexError
from bilex.experiments.experiment import Outcome, run_experiment
from bilex.experiments.sweep import Sweep, read_sweep


def write(folder: Path, text: str) -> Path:
    path = folder / "grid.toml"
    path.write_text(textwrap.dedent(text), "utf-8")
    return path


def run_sweep(sweep: Sweep, folder: Path) -> Outcome:
    return run_experiment(sweep.name, sweep.cells(), sweep.report, folder)


WHOLE = """
    data = "data"
    pairs = ["en-it"]
    sizes = [80, 120]
    priors = ["1:1", "2:2"]
    methods = ["ruder2018", "mutual"]
    seeds = [30, "identical"]
    draws = 2
    retrieval = "csls"
"""


@pytest.mark.parametrize("ending", ["jsonl", "tsv", "txt", "svg", "png"])
def test_somebody_elses_files_stay(ending: str, data: Path, tmp_path: Path) -> None:
    """They may even be the dictionaries that the sweep reads."""
    folder = tmp_path / "out"
    folder.mkdir()
    theirs = folder / f"grid.{ending}"
    theirs.write_text("dog cane\ncat gatto")
    with pytest.raises(BilexError):
        run_sweep(read_sweep(write(data.parent, WHOLE)), folder)
    assert theirs.read_text() == "dog cane\ncat gatto"
    assert list(folder.iterdir()) == [theirs]


@pytest.mark.usefixtures("empty_plots")
def test_a_grid_of_a_data_directory(data: Path, tmp_path: Path) -> None:
    sweep = read_sweep(write(data.parent, WHOLE))
    outcome = run_sweep(sweep, tmp_path / "out")
    assert [path.name for path in outcome.files] == [
        f"grid.{ending}" for ending in ("jsonl", "tsv", "txt", "svg", "png")
    ]
    assert len(outcome.report.rows) == 2 * 2 * 2 * 3
    assert "en-it, seed 30" in outcome.report.text
    assert "mutual, 2:2 prior" in outcome.report.text
    before = outcome.files[0].read_bytes()
    again = run_sweep(sweep, tmp_path / "out")
    assert again.files[0].read_bytes() == before
    assert again.report.text == outcome.report.text


def test_a_grid_of_two_files(data: Path, tmp_path: Path) -> None:
    text = """
        source = "data/en.vec"
        target = "data/it.vec"
        test = "data/en-it.test.txt"
        methods = ["ruder2018", "artetxe2017"]
        max_rank = 150
    """
    outcome = run_sweep(read_sweep(write(data.parent, text)), tmp_path / "out")
    assert [(row["pair"], row["method"], row["size"], row["max_rank"]) for row in outcome.report.rows] == [
        ("en-it", "ruder2018", None, 150),
        ("en-it", "artetxe2017", None, 150),
    ]
    assert all(path.stat().st_size > 500 for path in outcome.files[3:])


DATA = 'data = "data"\n'


@pytest.mark.parametrize(
    ("text", "mention"),
    [
        (DATA + "size = [3]", "did you mean 'sizes'?"),
        (DATA + "methods = ['ruder2017']", "grid.toml: no method is called 'ruder2017'"),
        (DATA + "priors = ['3:3']", "grid.toml: prior is '3:3'"),
        (DATA + "seeds = ['some']", "grid.toml: no seed is called 'some'"),
        (DATA + "seeds = []", "grid.toml: seeds: "),
        (DATA + "sizes = ['3']", "grid.toml: sizes[0]: "),
        (DATA + "retrieval = 'best'", "grid.toml: retrieval: "),
        (DATA + "pairs = ['en-xx']", "the pair en-xx has no target vectors"),
        (DATA + "pairs = ['enxx']", "grid.toml: pairs[0]: "),
        (DATA + "layout = 'papr'", "did you mean 'paper'?"),
        (DATA + "layout = 'no.toml'", "no.toml: no such file"),
        (DATA + "source = 'a.vec'", "'source' excludes 'data'"),
        ("pairs = ['en-it']", "the key 'data' is missing"),
        ("", "the key 'source' is missing"),
        ("source = 'data/en.vec'\ntarget = 'data/no.vec'", "no.vec: no such file"),
        (
            "source = 'data/en.vec'\ntarget = 'data/it.vec'\ntest = 'data/en-it.test.txt'\nseeds = [25]",
            "the key 'train' is missing",
        ),
    ],
)
def test_a_mistake_is_one_line(text: str, mention: str, shared_data: Path, tmp_path: Path) -> None:
    (tmp_path / "data").symlink_to(shared_data)
    with pytest.raises(BilexError) as raised:
        read_sweep(write(tmp_path, text))
    assert mention in str(raised.value)
    assert "\n" not in str(raised.value)


def test_no_file() -> None:
    with pytest.raises(BilexError, match=r"no\.toml: no such file"):
        read_sweep("no.toml")

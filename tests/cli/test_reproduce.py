"""``bilex reproduce`` and ``bilex sweep``: the output, and wrong usage in one line with nothing written."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.cli.helpers import COMMAND, Bilex, assert_error_line, contents, environment
from tests.experiments.data import write_data


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data directory. Do not change it."""
    return write_data(tmp_path_factory.mktemp("data") / "data")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder as the current one."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


FAST = ("--pairs", "en-it", "--methods", "ruder2018,xing2015", "--seeds", "5000,identical")


def test_a_table(bilex: Bilex, data: Path, here: Path) -> None:
    done = bilex("reproduce", "table1", "--data", data, *FAST)
    assert done.code == 0
    assert done.err == ""
    assert "41.00 / " in done.out
    assert "written: reproduced/table1.jsonl reproduced/table1.tsv reproduced/table1.txt" in done.out
    quiet = bilex("reproduce", "table1", "--data", data, *FAST, "--quiet")
    assert quiet.out == (here / "reproduced" / "table1.txt").read_text("utf-8")


@pytest.mark.usefixtures("empty_plots")
def test_json(bilex: Bilex, data: Path, here: Path) -> None:
    done = bilex("reproduce", "fig2", "--data", data, "--pairs", "en-it", "--methods", "xing2015", "--json", "-o", "x")
    found = json.loads(done.out)
    assert found["experiment"] == "fig2"
    assert [row["size"] for row in found["rows"]] == [100, 200]
    assert all((here / name).is_file() for name in found["files"])


@pytest.mark.usefixtures("empty_plots")
def test_sizes_limit_and_rank(bilex: Bilex, data: Path, here: Path) -> None:
    arguments = ("--pairs", "en-it", "--methods", "ruder2018-freq", "--json", "--sizes", "120,80", "--max-rank", "60")
    done = bilex("reproduce", "fig2", "--data", data, *arguments, "--limit", "100")
    rows = json.loads(done.out)["rows"]
    assert [(row["size"], row["source_words"], row["max_rank"]) for row in rows] == [(80, 80, 60), (120, 100, 60)]


WRONG_USE = (
    (("table6",), 2, "table6"),
    (("table1", "--methods", "ruder2017"), 2, "did you mean 'ruder2018'?"),
    (("table1", "--seeds", "some"), 2, "'some'"),
    (("table1", "--pairs", "enit"), 2, "'enit'"),
    (("table1", "--pairs", "en-it,,en-fi"), 2, "empty name"),
    (("fig2", "--sizes", "many"), 2, "not a list of numbers"),
    (("table1", "--pairs", "en-xx"), 1, "xx.vec: "),
    (("table1", "--layout", "shard"), 1, "did you mean 'shared'?"),
    (("table5", "--methods", "ruder2018"), 1, "give two with --methods"),
)


def test_wrong_use(bilex: Bilex, data: Path, here: Path) -> None:
    for arguments, code, mention in WRONG_USE:
        assert_error_line(bilex("reproduce", *arguments, "--data", data), mention, code=code)
    assert contents(here) == {}


def test_no_data(bilex: Bilex, here: Path) -> None:
    assert_error_line(bilex("reproduce", "table1"), "--data", code=2)
    assert_error_line(bilex("reproduce", "table1", "--data", "nowhere"), "nowhere: this is not a directory")
    assert_error_line(bilex("reproduce", "table1", "--data", here), "describe them in a file bilex.toml there")
    assert contents(here) == {}


def test_damaged_data(bilex: Bilex, here: Path) -> None:
    data = write_data(here / "data")
    before = contents(here)
    (data / "it.vec").write_text("2 3\nword 1 2\n", "utf-8")
    outcome = bilex("reproduce", "table1", "--data", data, *FAST)
    assert_error_line(outcome, "it.vec")
    (data / "it.vec").write_bytes(before["data/it.vec"] or b"")
    assert contents(here) == before


def test_dimensions_that_differ(bilex: Bilex, here: Path) -> None:
    data = write_data(here / "data")
    (data / "it.vec").write_text("1 3\nword 1 2 3\n", "utf-8")
    before = contents(here)
    assert_error_line(bilex("reproduce", "table4", "--data", data, "--seeds", "5000"), "dimensions")
    assert contents(here) == before


@pytest.mark.usefixtures("empty_plots")
def test_sweep(bilex: Bilex, data: Path, here: Path) -> None:
    config = here / "priors.toml"
    config.write_text(f'data = "{data}"\npairs = ["en-it"]\nsizes = [100, 200]\npriors = ["1:1", "2:2"]\n', "utf-8")
    done = bilex("sweep", config)
    assert done.code == 0, done.err
    assert "2:2 prior" in done.out
    assert sorted(path.name for path in (here / "swept").iterdir()) == [
        f"priors.{ending}" for ending in ("jsonl", "png", "svg", "tsv", "txt")
    ]
    assert len(json.loads(bilex("sweep", config, "--json").out)["rows"]) == 4


def test_wrong_sweep(bilex: Bilex, here: Path) -> None:
    (here / "grid.toml").write_text("prior = ['1:1']\n", "utf-8")
    before = contents(here)
    assert_error_line(bilex("sweep", "grid.toml"), "did you mean 'priors'?")
    assert_error_line(bilex("sweep", "no.toml"), "no.toml: no such file")
    assert contents(here) == before


@pytest.mark.usefixtures("empty_plots")
def test_ctrl_c_keeps_what_is_finished(data: Path, here: Path, bilex: Bilex) -> None:
    arguments = ["reproduce", "fig3", "--data", str(data), "--pairs", "en-it", "--sizes", "90,100"]
    process = subprocess.Popen(
        [*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), text=True
    )
    log = here / "reproduced" / "fig3.jsonl"
    deadline = time.monotonic() + 100
    while not (log.is_file() and log.stat().st_size) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=100)
    assert process.returncode == 130, err
    assert out == ""
    assert err.count("\n") == 1
    assert "finished cells are kept in reproduced/fig3.jsonl" in err
    assert os.listdir(here / "reproduced") == ["fig3.jsonl"]  # noqa: PTH208
    kept = log.read_bytes()
    assert bilex(*arguments).code == 0
    assert log.read_bytes().startswith(kept[: kept.rfind(b"\n") + 1])
    assert len(log.read_bytes().splitlines()) == 4 * 2

"""A full disk and a folder that may not be written to are one-line errors, and what was there stays."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.helpers import Bilex, assert_error_line, contents

INDUCE = ("induce", "src.vec", "trg.vec", "--method", "ruder2018", "--max-rank", "200", "--complete")


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Path]:
    """A place for a small file system of its own; only the superuser can have one."""
    place = tmp_path / "mounted"
    place.mkdir()
    try:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", place], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("a file system can be mounted by the superuser only")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


def fill(place: Path, free: int) -> None:
    """Leave so many bytes free."""
    room = shutil.disk_usage(place).free
    (place / "filler").write_bytes(b"x" * max(0, room - free))


@pytest.mark.parametrize(
    ("free", "old"), [(0, False), (4096, True), (16 * 1024, False), (64 * 1024, True), (100 * 1024, False)]
)
def test_a_full_disk_is_one_line(work: Path, mounted: Path, bilex: Bilex, free: int, old: bool) -> None:
    """With so little room one file or another does not fit: the checkpoint, the lexicon, the model, the page."""
    if old:
        shutil.copytree(work / "run", mounted / "run")
    fill(mounted, free)
    before = contents(mounted)
    outcome = bilex(*INDUCE, "--force", "-o", mounted / "run")
    assert_error_line(outcome, str(mounted / "run"))
    assert ".part" not in outcome.err
    after = contents(mounted)
    kept = after.pop("run/checkpoint.safetensors", None)
    if kept is not None and not old:
        assert after.pop("run", "") is None
    assert after == before
    (mounted / "filler").unlink()
    again = ("induce", "--resume", mounted / "run") if kept else (*INDUCE, "--force", "-o", mounted / "run")
    assert bilex(*again, "--quiet") == (0, "", "")
    assert (mounted / "run/lexicon.tsv").read_bytes() == (work / "run/lexicon.tsv").read_bytes()


def test_other_commands_on_a_full_disk(work: Path, mounted: Path, bilex: Bilex) -> None:
    shutil.copytree(work / "run", mounted / "run")
    (mounted / "out.tsv").write_text("mine")
    fill(mounted, 0)
    before = contents(mounted)
    assert_error_line(bilex("report", mounted / "run", "-o", mounted / "out.html"), str(mounted))
    for kind in ("tsv", "jsonl", "tei", "vec", "bin", "safetensors"):
        place = mounted / f"out.{kind}"
        assert_error_line(bilex("export", mounted / "run", "--format", kind, "-o", place), str(mounted))
        assert contents(mounted) == before, kind


def test_a_folder_that_may_not_be_written_to(work: Path, mounted: Path, bilex: Bilex) -> None:
    shutil.copytree(work / "run", mounted / "run")
    subprocess.run(["mount", "-o", "remount,ro", mounted], check=True)
    before = contents(mounted)
    for place in ("run", "new"):
        assert_error_line(bilex(*INDUCE, "--force", "-o", mounted / place), f"{place}: ")
    assert_error_line(bilex("report", mounted / "run"), str(mounted))
    assert bilex("translate", mounted / "run", "s0").code == 0
    assert contents(mounted) == before

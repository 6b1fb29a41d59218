"""The process that opens the files, and a run to falsify."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attacks.forgeries import good_run
from tests.attacks.guard import Guard


@pytest.fixture(scope="package")
def guard() -> Iterator[Guard]:
    """A process that opens files and measures itself."""
    started = Guard()
    yield started
    started.close()


@pytest.fixture(scope="package")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A good run."""
    place = tmp_path_factory.mktemp("attacks") / "run"
    good_run(place)
    return place


@pytest.fixture
def run(pristine: Path, tmp_path: Path) -> Path:
    """A copy of the good run, to be changed."""
    return Path(shutil.copytree(pristine, tmp_path / "run"))

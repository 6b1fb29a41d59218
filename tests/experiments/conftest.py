"""The small data directory, written once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.experiments.data import write_data


@pytest.fixture(scope="session")
def shared_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory. Do not change it."""
    return write_data(tmp_path_factory.mktemp("data"))


@pytest.fixture
def data(shared_data: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(shared_data, tmp_path / "data"))

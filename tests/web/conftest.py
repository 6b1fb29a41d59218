"""A small run with hostile words, and its page without a network."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import bilex
from bilex.vectors.embeddings import Embeddings
from bilex.web.app import create_app
from bilex.web.explorer import Explorer
from bilex.web.security import cookie_name
from tests.languages import make_languages
from tests.web.helpers import ADDRESS, HOSTILE, PATIENCE, PORT, TOKEN, serving
from tools.screenshots import browser


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run these tests first: the first worker of pytest-xdist then has all of them, with one browser and one run."""
    items.sort(key=lambda item: Path(__file__).parent not in item.path.parents)


def make_run(place: Path, *, complete: bool) -> Path:
    languages = make_languages(240, 16, 60)
    source, target = (
        Embeddings(
            tuple(dict(zip(side.words[3:], HOSTILE, strict=False)).get(word, word) for word in side.words),
            side.vectors,
            name=name,
        )
        for side, name in ((languages.source, "en"), (languages.target, "fr"))
    )
    bilex.induce(source, target, languages.gold[60:140], max_rank=200, complete=complete).save(place)
    return place


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run, made once, with an entry for every word. Do not change it."""
    return make_run(tmp_path_factory.mktemp("made") / "run", complete=True)


@pytest.fixture(scope="session")
def made_sparse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with unmatched words, made once. Do not change it."""
    return make_run(tmp_path_factory.mktemp("made") / "run", complete=False)


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A fresh copy of the run."""
    return Path(shutil.copytree(made, tmp_path / "run"))


@pytest.fixture
def sparse(made_sparse: Path, tmp_path: Path) -> Iterator[Explorer]:
    """A fresh copy of the run with unmatched words, opened."""
    opened = Explorer.open(shutil.copytree(made_sparse, tmp_path / "sparse"))
    yield opened
    opened.close()


@pytest.fixture
def explorer(folder: Path) -> Iterator[Explorer]:
    opened = Explorer.open(folder)
    yield opened
    opened.close()


@pytest.fixture
def client(explorer: Explorer) -> Iterator[TestClient]:
    """A client that sends the page's own requests: the right host, origin, token and cookie."""
    app = create_app(explorer, PORT, TOKEN)
    headers = {"x-bilex-token": TOKEN, "origin": ADDRESS}
    cookies = {cookie_name(PORT): TOKEN}
    with TestClient(app, base_url=ADDRESS, headers=headers, cookies=cookies, raise_server_exceptions=False) as opened:
        yield opened


@pytest.fixture(scope="package")
def driver() -> Iterator[Any]:
    """A browser. Leave its window as it was."""
    with browser() as opened:
        opened.set_script_timeout(PATIENCE)
        yield opened


@pytest.fixture(scope="package")
def served(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A copy of the run, and the address where it is served."""
    folder = Path(shutil.copytree(made, tmp_path_factory.mktemp("served") / "run"))
    with serving(folder) as (_, address):
        yield folder, address

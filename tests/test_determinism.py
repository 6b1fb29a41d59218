"""The same lexicon, to the byte, whatever the threads, blocks, engine, order of the seed file and process."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import bilex
from bilex.search.engines import open_engine
from bilex.search.local import LocalEngine
from tests.cli.helpers import spawn
from tests.languages import Languages, make_languages, write_vec

ALL = 1 << 30
FILES = ("lexicon.tsv", "model.safetensors")


@pytest.fixture(scope="module")
def languages() -> Languages:
    """Large enough for two blocks of 1024."""
    return make_languages(1200, 16, 100, noise=0.4)


def learn(languages: Languages, folder: Path, **options: Any) -> list[bytes]:
    """Learn and write a run; give the bytes of its files."""
    options = {"complete": True, "max_iterations": 4, **options}
    bilex.induce(languages.source, languages.target, **options).save(folder)
    return [(folder / name).read_bytes() for name in FILES]


@pytest.mark.parametrize("method", sorted(bilex.METHODS))
def test_threads_and_blocks_do_not_show(
    languages: Languages, method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for threads, block in ((1, 97), (2, 1024), (4, ALL), (4, 97)):
        monkeypatch.setenv("BILEX_THREADS", str(threads))
        engine = LocalEngine(threads=threads, query_block=block, target_block=block)
        found.append(learn(languages, tmp_path / "run", method=method, engine=engine))
    assert found[1:] == found[:1] * 3


@pytest.mark.parametrize("name", ["torch=cpu", "dask"])
def test_engines_do_not_show(languages: Languages, name: str, tmp_path: Path) -> None:
    pytest.importorskip({"torch=cpu": "torch", "dask": "distributed"}[name])
    for method in ("bilex", "ruder2018", "ibm1"):
        local = learn(languages, tmp_path / "local", method=method)
        with open_engine(name, threads=2) as engine:
            assert learn(languages, tmp_path / "other", method=method, engine=engine) == local


@pytest.mark.parametrize("size", [25, 700])
def test_the_order_of_a_seed_file_does_not_show(languages: Languages, size: int, tmp_path: Path) -> None:
    """With 700 pairs some are held out, which must not depend on the order either."""
    pairs = [f"{source} {target}\n" for source, target in languages.gold[:size]]
    found = []
    for number in range(3):
        random.Random(number).shuffle(pairs)
        lines = pairs if number < 2 else [*pairs, *pairs[: size // 2]]  # and some of them twice
        (tmp_path / "seed.txt").write_text("".join(lines), "utf-8")
        found.append(learn(languages, tmp_path / "run", seed=tmp_path / "seed.txt"))
    assert found[0] == found[1] == found[2]


def test_processes_do_not_show(languages: Languages, tmp_path: Path) -> None:
    for side in (languages.source, languages.target):
        write_vec(tmp_path / f"{side.name}.vec", side)
    command = ("induce", tmp_path / "src.vec", tmp_path / "trg.vec", "--complete", "--quiet", "-o")
    found = []
    for number in (1, 4):
        options = {"PYTHONHASHSEED": str(number), "BILEX_THREADS": str(number), "OPENBLAS_NUM_THREADS": str(number)}
        assert spawn(*command, tmp_path / str(number), **options).code == 0
        found.append([(tmp_path / str(number) / name).read_bytes() for name in FILES])
    assert found[0] == found[1]

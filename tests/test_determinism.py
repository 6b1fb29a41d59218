"""The lexicon is the same to the byte for all threads, blocks, engines, orders of the seed file and processes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import bilex
from bilex import cli
from bilex.em import e_steps
from bilex.search.engines import open_engine
from bilex.search.local import LocalEngine
from tests.cli.helpers import spawn
from tests.languages import Languages, make_languages, write_vec

FILES = ("lexicon.tsv", "model.safetensors", "candidates.safetensors")


@pytest.fixture(scope="module")
def languages() -> Languages:
    return make_languages(800, 16, 100, noise=0.4)


def run_files(languages: Languages, folder: Path, **options: Any) -> list[bytes]:
    """Induce and save a run; return the bytes of its files."""
    options = {"complete": True, "max_iterations": 3, **options}
    bilex.induce(languages.source, languages.target, **options).save(folder, force=True)
    return [(folder / name).read_bytes() for name in FILES]


@pytest.mark.parametrize("method", sorted(bilex.METHODS))
def test_threads_and_blocks_do_not_change_the_files(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    languages, found = make_languages(90, 12, 40, noise=0.4), []
    monkeypatch.setattr(e_steps, "SCORES_AT_ONCE", 90 * 25)  # several blocks also in so small a problem
    for threads, block in ((1, 37), (3, 1024)):
        monkeypatch.setenv("BILEX_THREADS", str(threads))
        engine = LocalEngine(threads=threads, query_block=block, target_block=block)
        found.append(run_files(languages, tmp_path / "run", method=method, engine=engine))
    assert found[0] == found[1]


@pytest.mark.parametrize("name", ["torch=cpu", "dask"])
def test_engines_do_not_change_the_files(name: str, tmp_path: Path) -> None:
    languages = make_languages(150, 16, 60, noise=0.4)
    pytest.importorskip({"torch=cpu": "torch", "dask": "distributed"}[name])
    with open_engine(name, threads=2) as engine:
        for method in ("bilex", "ibm1"):
            local = run_files(languages, tmp_path / "local", method=method)
            assert run_files(languages, tmp_path / "other", method=method, engine=engine) == local


@pytest.mark.parametrize("size", [25, 700])
def test_the_order_of_a_seed_file_does_not_change_the_files(languages: Languages, size: int, tmp_path: Path) -> None:
    """With 700 pairs some are held out, and their choice must not depend on the order either."""
    pairs = [f"{source} {target}\n" for source, target in languages.gold[:size]]
    found = []
    for lines in (pairs, [*reversed(pairs), *pairs[: size // 2]]):  # the other way round, and some of them twice
        (tmp_path / "seed.txt").write_text("".join(lines), "utf-8")
        found.append(run_files(languages, tmp_path / "run", seed=tmp_path / "seed.txt"))
    assert found[0] == found[1]


def test_processes_do_not_change_the_files(tmp_path: Path) -> None:
    languages = make_languages(120, 16, 60, noise=0.4)
    for side in (languages.source, languages.target):
        write_vec(tmp_path / f"{side.name}.vec", side)
    files = [str(tmp_path / f"{name}.vec") for name in ("src", "trg")]
    command = ["induce", *files, "--complete", "--no-report", "--quiet", "-o"]
    hashes = 1 if os.environ.get("PYTHONHASHSEED") != "1" else 2
    options = {"PYTHONHASHSEED": str(hashes), "BILEX_THREADS": "4", "OPENBLAS_NUM_THREADS": "4"}
    assert cli.run([*command, str(tmp_path / "here")]) == 0
    assert spawn(*command, tmp_path / "there", **options).code == 0
    for name in FILES:
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes()

"""Models of the hub, which the real huggingface-hub asks a stand-in for: fetched, pinned, found without the network."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from safetensors.numpy import save, save_file

import bilex
from bilex.errors import BilexError, InputError
from bilex.vectors.fasttext import open_fasttext
from bilex.vectors.hub import HubName, choose_file, fetch_model, resolve
from tests.cli.conftest import bilex as run_bilex  # noqa: F401 (a fixture)
from tests.cli.helpers import Bilex, assert_error_line
from trust.fuzz_targets import fasttext_model

COMMITS = {"main": "a" * 40, "old": "b" * 40}
MODEL = fasttext_model([b"the", b"of"], np.arange(12, dtype=np.float32).tobytes(), 2, 4)
HUB = {
    "facebook/fasttext-xx-vectors": {"README.md": b"", "model.bin": MODEL},
    "minishlab/potion": {
        "model.safetensors": save({"embeddings": np.ones((2, 3), np.float32)}),
        "tokenizer.json": b'{"model":{"vocab":{"house":0,"tree":1}}}',
        "config.json": b"{}",
    },
    "neuml/static": {
        "model.safetensors": save({"vectors": np.ones((2, 3), np.float32)}),
        "vocab.json": b'{"house":0,"tree":1}',
    },
    "someone/several": {"a.vec": b"1 1\na 1\n", "b.vec": b"1 1\nb 1\n"},
    "someone/none": {"README.md": b""},
}


class StandIn(BaseHTTPRequestHandler):
    """Answers huggingface-hub as the hub does: what a repository is, its files, and their content."""

    def do_GET(self) -> None:
        _, *parts = urlsplit(self.path).path.split("/")
        place = 2 if parts[0] == "api" else 0
        repository, rest = "/".join(parts[place : place + 2]), parts[place + 2 :]
        files = HUB.get(repository, {})
        commit = COMMITS.get(rest[1] if len(rest) > 1 else "main", "".join(rest[1:2]))
        if rest[:1] == ["resolve"] and files:
            return self.answer(files["/".join(rest[2:])], commit)
        tree = [{"type": "file", "path": name, "size": len(file), "oid": "0"} for name, file in files.items()]
        info = {"id": repository, "sha": commit, "siblings": [{"rfilename": name} for name in files]}
        return self.answer(json.dumps(tree if rest[:1] == ["tree"] else info).encode(), commit, 200 if files else 404)

    do_HEAD = do_GET  # noqa: N815

    def answer(self, body: bytes, commit: str, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("ETag", f'"{hashlib.sha256(body).hexdigest()}"')
        self.send_header("X-Repo-Commit", commit)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A stand-in for the hub, which huggingface-hub itself asks, and a cache of its own."""
    constants = pytest.importorskip("huggingface_hub.constants")
    with ThreadingHTTPServer(("127.0.0.1", 0), StandIn) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        template = constants.HUGGINGFACE_CO_URL_TEMPLATE.replace(constants.ENDPOINT, address)
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(constants, "ENDPOINT", address)
        monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
        yield tmp_path
        server.shutdown()


def test_a_model_is_fetched_once_and_found_without_the_network(
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    run_bilex: Bilex,  # noqa: F811
) -> None:
    name = "facebook/fasttext-xx-vectors"
    with pytest.raises(BilexError, match=f"not fetched; run `bilex fetch {name}`"):
        bilex.load(f"hf://{name}")
    outcome = run_bilex("fetch", name, "--json")
    found = json.loads(outcome.out)
    assert found["commit"] == COMMITS["main"] and found["name"] == f"hf://{name}@{COMMITS['main']}"
    monkeypatch.setattr("huggingface_hub.snapshot_download", None)
    loaded = bilex.load(f"hf://{name}")
    assert loaded.words == ("the", "of") and loaded.name == "fasttext-xx-vectors"
    assert loaded.paths == (found["path"],) and COMMITS["main"] in found["path"]
    assert open_fasttext(found["name"]).vector("xyz") is not None
    hub = pytest.importorskip("huggingface_hub")
    assert hub.try_to_load_from_cache(name, "model.bin", cache, revision="bilex") == found["path"]
    assert not (cache / "models--facebook--fasttext-xx-vectors" / "blobs" / "README.md").exists()


@pytest.mark.parametrize("name", ["minishlab/potion", "neuml/static"])
def test_a_matrix_is_fetched_with_its_tokens(cache: Path, name: str) -> None:
    fetched = fetch_model(name)
    assert fetched.path.is_dir() and {file.name for file in fetched.path.iterdir()} == set(HUB[name])
    assert bilex.load(f"hf://{name}").words == ("house", "tree") and cache in fetched.path.parents


def test_a_revision_is_pinned(cache: Path) -> None:
    name = "facebook/fasttext-xx-vectors"
    assert fetch_model(f"{name}@old").commit == COMMITS["old"]
    assert COMMITS["old"] in str(resolve(f"hf://{name}"))
    fetch_model(name)
    assert COMMITS["main"] in str(resolve(f"hf://{name}"))
    assert COMMITS["old"] in str(resolve(f"hf://{name}@{COMMITS['old']}"))
    with pytest.raises(BilexError, match="not fetched"):
        resolve(f"hf://{name}@elsewhere")
    assert resolve("en.vec") == "en.vec" and cache.is_dir()


def test_without_a_network(run_bilex: Bilex, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    class ConnectError(Exception):
        """One that is no OSError, as httpx's."""

    def fail(*_: object, **__: object) -> None:
        raise ConnectError("Name or service not known")

    monkeypatch.setattr("huggingface_hub.HfApi.model_info", fail)
    assert_error_line(run_bilex("fetch", "someone/several"), "cannot be fetched", "network")


def test_one_file_of_several(cache: Path, run_bilex: Bilex) -> None:  # noqa: F811
    assert_error_line(run_bilex("fetch", "someone/several"), "several files", "a.vec")
    assert_error_line(run_bilex("fetch", "someone/none"), "no vectors")
    assert_error_line(run_bilex("fetch", "someone/several/c.vec"), "no such file")
    assert_error_line(run_bilex("fetch", "nobody/nothing"), "cannot be fetched")
    assert_error_line(run_bilex("fetch", "../etc"), "not a name of the hub")
    outcome = run_bilex("fetch", "someone/several/b.vec")
    assert outcome.code == 0 and "hf://someone/several/b.vec" in outcome.out
    assert bilex.load("hf://someone/several/b.vec").words == ("b",)
    with pytest.raises(BilexError, match="file was not fetched"):
        bilex.load("hf://someone/several/a.vec")
    assert cache.is_dir()


def test_names_and_files() -> None:
    assert HubName.parse("hf://a/b@v1/x/y.vec") == HubName("a/b", "v1", "x/y.vec")
    for bad in ("a", "a/../b", "/a/b", "a/b@", "a b/c", "a/b/../../c"):
        with pytest.raises(BilexError):
            HubName.parse(bad)
    assert choose_file("x", ["model.safetensors", "tokenizer.json", "embeddings.bin"]) == "model.safetensors"


def write_folder(folder: Path, tokens: object, name: str = "tokenizer.json", **tensors: np.ndarray) -> Path:
    folder.mkdir()
    (folder / name).write_text(json.dumps(tokens), "utf-8")
    save_file(tensors, folder / "model.safetensors")
    return folder


@pytest.mark.parametrize(
    ("vocab", "words"),
    [
        ({"[PAD]": 0, "house": 1, "##es": 2, "tree": 3}, ("house", "tree")),
        ([["▁house", -1.0], ["s", -2.0], ["▁", -3.0], ["▁été", -4.0]], ("house", "été")),
        ({"house": 0, "Ġhouse": 1, "ĠÃ©tÃ©": 2, "ĠÃ": 3}, ("house", "été")),
    ],
)
def test_whole_words_of_every_kind_of_tokenizer(tmp_path: Path, vocab: object, words: tuple[str, ...]) -> None:
    matrix = np.arange(8, dtype=np.float16).reshape(4, 2) + 1
    folder = write_folder(tmp_path / "m", {"model": {"vocab": vocab}}, embeddings=matrix)
    with pytest.warns(bilex.BilexWarning, match="2 tokens that are not whole words"):
        loaded = bilex.load(folder)
    assert loaded.words == words and loaded.name == "m"
    rows = [1, 3] if isinstance(vocab, dict) and "tree" in vocab else [0, 3] if isinstance(vocab, list) else [1, 2]
    np.testing.assert_array_equal(loaded.vectors, matrix[rows].astype(np.float32))


@pytest.mark.filterwarnings("ignore::bilex.errors.BilexWarning")
def test_a_word_list_chooses_and_orders(tmp_path: Path) -> None:
    matrix = np.arange(6, dtype=np.float32).reshape(3, 2) + 1
    tokens = {"model": {"vocab": {"b": 0, "a": 1}}, "added_tokens": [{"id": 2, "content": "<s>", "special": True}]}
    folder = write_folder(tmp_path / "m", tokens, embeddings=matrix[:2], mapping=np.array([0, 1, 0]))
    assert bilex.load(folder).words == ("b", "a")
    (tmp_path / "m.words").write_text("a\nz\nb\n")
    assert bilex.load(folder).words == ("a", "b")
    np.testing.assert_array_equal(bilex.load(folder, limit=1).vectors, matrix[1:2])
    (tmp_path / "other").write_text("z\nb\n")
    assert bilex.load(folder, vocabulary=tmp_path / "other").words == ("b",)
    static = write_folder(tmp_path / "s", {"x": 1, "y": 0, "z": 2}, "vocab.json", vectors=matrix)
    assert bilex.load(static).words == ("y", "x", "z")


def test_models_that_do_not_fit(tmp_path: Path) -> None:
    matrix = np.ones((3, 2), np.float32)
    for number, (tokens, pattern) in enumerate(
        [
            ({"model": {"vocab": {"a": 0}}}, "1 tokens but 3 rows"),
            ({"model": {"vocab": {"a": 0, "b": 0, "c": 1}}}, "not numbered"),
            ({"model": {}}, "not a list of tokens"),
            ({"model": {"vocab": {"##a": 0, "[b]": 1, "##c": 2}}}, "none of the tokens is a word"),
        ]
    ):
        with pytest.raises(InputError, match=pattern):
            bilex.load(write_folder(tmp_path / str(number), tokens, embeddings=matrix))
    wrong = write_folder(tmp_path / "w", {"a": 0, "b": 1}, "vocab.json", vectors=matrix, mapping=np.array([0, 9]))
    with pytest.raises(InputError, match="rows that do not exist"):
        bilex.load(wrong)
    with pytest.raises(InputError, match="folder"):
        bilex.load(tmp_path)

"""Other programs on the same files: a checkout that the user has, run as a program of its own.

Only their documented command lines are used: vecmap semi-supervised, as its documentation recommends for a seed, and
fastText's alignment with the settings of its example. They get plain word2vec text and the pairs of the seed that both
vocabularies know, and write mapped vectors, which are then measured like ours.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bilex.errors import BilexError, InputError
from bilex.vectors.embeddings import Embeddings, load

PEERS = {  # the script and its arguments; the test words are none of its business: it gets the seed again
    "vecmap": ("map_embeddings.py", "--semi_supervised {seed} {source} {target} {mapped_source} {mapped_target}"),
    "rcsls": (
        "align.py",
        "--src_emb {source} --tgt_emb {target} --dico_train {seed} --dico_test {seed} --output {mapped_source} "
        "--lr 25 --niter 10",
    ),
}


def peer_script(name: str, folder: Path) -> Path:
    """Return the script of a peer in its checkout; raise if it is not there."""
    if name not in PEERS:
        raise BilexError(f"no peer is called {name!r}; choose one of {', '.join(PEERS)}")
    for place in (folder / PEERS[name][0], folder / "alignment" / PEERS[name][0]):
        if place.is_file():
            return place.resolve()
    raise InputError(folder, f"there is no {PEERS[name][0]} of {name}", "give the folder of its checkout")


def run_peer(
    name: str, script: Path, source: Embeddings, target: Embeddings, seed: Sequence[tuple[str, str]]
) -> tuple[Embeddings, Embeddings, float]:
    """Run a peer; return the mapped vectors of both languages, and the seconds that it took."""
    with tempfile.TemporaryDirectory(prefix="bilex-") as folder:
        names = ("seed", "source", "target", "mapped_source", "mapped_target")
        files = {each: Path(folder) / f"{each}.txt" for each in names}
        source.save(files["source"])
        target.save(files["target"])
        files["seed"].write_text("".join(f"{one} {other}\n" for one, other in seed), "utf-8", newline="\n")
        started = time.perf_counter()
        command = [sys.executable, str(script), *(part.format(**files) for part in PEERS[name][1].split())]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=script.parent, errors="replace")
        seconds = time.perf_counter() - started
        if done.returncode or not files["mapped_source"].is_file():
            said = " ".join((done.stderr or done.stdout).split())[-150:]
            raise InputError(script, f"{name} ended with code {done.returncode} ({said})", "run it by itself first")
        mapped, other = load(files["mapped_source"], None), files["mapped_target"]
        return mapped, load(other, None) if other.is_file() else target, seconds

"""A small data directory: English-Italian, which share words and numerals, and English-Finnish, which share none."""

from __future__ import annotations

from pathlib import Path

from tests.languages import Languages, make_languages, write_vec

__all__ = ["CONFIG", "write_data"]

CONFIG = """
pairs = ["en-it", "en-fi"]
vectors = "{language}.vec"
train = "{source}-{target}.train.txt"
test = "{source}-{target}.test.txt"
max_rank = 150
sizes = [100, 200]

[similarity]
WS = "{source}-{target}.sim.txt"

[experiments]
table2 = ["en-it"]
table4 = ["en-it"]

[pair.en-fi]
source = "en2.vec"
"""


def write_data(folder: Path) -> Path:
    """Write the directory."""
    folder.mkdir(parents=True, exist_ok=True)
    write_pair(folder, "en-it", ("en", "it"), make_languages(220, 16, 40, 0.7, random=1))
    write_pair(folder, "en-fi", ("en2", "fi"), make_languages(200, 16, 0, random=2))
    (folder / "bilex.toml").write_text(CONFIG, "utf-8")
    return folder


def write_pair(folder: Path, pair: str, names: tuple[str, str], languages: Languages) -> None:
    """Write the vectors of two languages, their dictionaries and a similarity set."""
    write_vec(folder / f"{names[0]}.vec", languages.source)
    write_vec(folder / f"{names[1]}.vec", languages.target)
    for part, pairs in (("train", languages.gold[0::2]), ("test", languages.gold[1::2])):
        (folder / f"{pair}.{part}.txt").write_text("".join(f"{s}\t{t}\n" for s, t in pairs), "utf-8")
    near = [(s, t, 4.0 - place / 100) for place, (s, t) in enumerate(languages.gold[:20])]
    far = [(languages.gold[place][0], languages.gold[place + 60][1], place / 100) for place in range(20)]
    lines = "".join(f"{s}\t{t}\t{score}\n" for s, t, score in [*near, *far])
    (folder / f"{pair}.sim.txt").write_text(lines, "utf-8")

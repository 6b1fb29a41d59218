"""Make the texts and models of docs/corpora.md and docs/more-words.md: ``python -m tools.manuals MAN FOLDER``.

MAN is the folder ``usr/share/man`` of Debian's packages manpages, manpages-dev, manpages-fr and manpages-fr-dev,
unpacked in one place (``dpkg -x``): the manual pages of Linux in English and French. FOLDER gets their prose, without
markup, as ``en.txt`` and ``fr.txt``, and models that fastText learnt from it, ``en.bin`` and ``fr.bin``.
"""

from __future__ import annotations

import gzip
import re
import sys
from collections.abc import Iterator
from pathlib import Path

MARKUP = re.compile(r"\\f(?:\[\w*\]|\(..|.)|\\[%&:]|\\(?:\(..|\[[^]]*\]|.)")
PROSE = re.compile(r"(?:[^\W\d_]{2,}[,;]? ){5}")  # not tables, examples or headings
WORD = re.compile(r"[^\W\d_]+")


def prose(folder: Path) -> Iterator[str]:
    """Yield the lines of prose of the pages in a folder."""
    for page in sorted(page for page in folder.glob("man*/*.gz") if not page.is_symlink()):
        for line in gzip.decompress(page.read_bytes()).decode("utf-8", "replace").splitlines():
            text = MARKUP.sub("", line.replace("\\-", "-").replace("\\(aq", "'"))
            if not line.startswith((".", "'")) and PROSE.search(text):
                yield text


def main(manuals: Path, folder: Path) -> None:
    """Write the texts and the models."""
    import fasttext

    for language, place in (("en", manuals), ("fr", manuals / "fr")):
        lines, text = list(prose(place)), folder / f"{language}.txt"
        text.write_text("\n".join(lines) + "\n", "utf-8")
        words = folder / f"{language}.words"  # fastText cuts only at spaces
        words.write_text("\n".join(" ".join(WORD.findall(line.lower())) for line in lines), "utf-8")
        model = fasttext.train_unsupervised(str(words), minCount=5, epoch=10, bucket=50_000, thread=1, verbose=0)
        model.save_model(str(folder / f"{language}.bin"))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))

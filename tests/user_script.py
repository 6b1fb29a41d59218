"""What a user writes: the public names with the types that they promise (checked by mypy --strict and pyright)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import bilex
from bilex import Alignment, BilexError, BilexWarning, Embeddings, Entry, Lexicon, Method, Prior, Run, Translation


def learn(source: Path, target: Path, seed: Sequence[tuple[str, str]]) -> Run:
    """Learn from files and from loaded vectors, by name, by method and with options."""
    english = bilex.load(source, limit=1000)
    assert_type(english, Embeddings)
    assert_type(english.words, tuple[str, ...])
    assert_type(english["house"], NDArray[np.float32])
    assert_type(english.normalise("unit").top(10).dimension, int)
    ruder: Method = bilex.METHODS["ruder2018"]
    assert_type(bilex.induce(str(source), target, seed, ruder, max_rank=None, prior="2:2"), Run)
    return bilex.induce(english, bilex.load(target), list(seed), kept=[("house", "maison")])


def use(run: Run, folder: Path) -> str:
    """Read everything that a run has to say."""
    assert_type(run.headline, str)
    assert_type(run.expected_precision, float)
    assert_type(run.verdict.level, str)
    assert_type(run.source, Embeddings)
    translations = run.translate("house", k=5)
    assert_type(translations, list[Translation])
    assert_type(translations[0].word, str)
    assert_type(run.lexicon, Lexicon)
    assert_type(run.lexicon[0], Entry)
    assert_type(run.lexicon[:3], Lexicon)
    assert_type(run.lexicon["house"], list[Entry])
    assert_type([entry.target for entry in run.lexicon.confident(0.5)], list[str])
    assert_type(run.lexicon.confidence, "NDArray[np.float64]")
    assert_type(run.sets(0.3), Lexicon)
    assert_type(run.transform(run.source, "source"), Embeddings)
    print(run.evaluate(folder / "gold.txt"), run.info["version"])
    run.save(folder / "run", force=True)
    run.report(folder / "report.html")
    return Run.load(folder / "run").lexicon.to_tsv()


def several(languages: dict[str, Embeddings]) -> None:
    """Align two periods and learn many languages; errors have one base."""
    try:
        many = bilex.induce_many(languages, hub="en")
        assert_type(many.lexicons["en", "fr"], Lexicon)
        aligned = bilex.align(languages["en"], languages["fr"])
        assert_type(aligned, Alignment)
        assert_type(aligned.moved(3)[0].word, str)
    except BilexError as error:
        raise SystemExit(str(error)) from error
    except BilexWarning:
        assert_type(Prior(), Prior)
    assert_type(bilex.__version__, str)

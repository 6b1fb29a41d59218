"""Errors and everything else that is public can be sent to another process."""

from __future__ import annotations

import dataclasses
import importlib
import pickle
import pkgutil
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import bilex
from bilex.errors import BilexError, BilexWarning, InputError
from bilex.lexicon.reviews import Conflict, Decision
from tests.languages import make_languages

ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "Conflict": (Decision("accepted"),),
    "InputError": ("a", "b", "c"),
    "OtherModelError": (SimpleNamespace(path="a"), SimpleNamespace(name="b"), "c"),
}


def error_types() -> list[type[Exception]]:
    """Every type of error and warning in the package."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in pkgutil.walk_packages(bilex.__path__, "bilex."):
            if not module.name.endswith(("__main__", "_kernel")):
                importlib.import_module(module.name)
    found: list[type[Exception]] = [BilexError, BilexWarning]
    for kind in found:
        found += kind.__subclasses__()
    return found


def test_every_error_survives_a_pickle() -> None:
    kinds = error_types()
    assert {InputError, Conflict} < set(kinds)
    for kind in kinds:
        arguments = ARGUMENTS.get(kind.__name__, ("a\nb",))
        error = kind(*arguments)
        error.add_note("seen in the evening")
        back = pickle.loads(pickle.dumps(error))
        assert type(back) is kind
        assert (str(back), back.args, vars(back)) == (str(error), error.args, vars(error))


def test_an_error_in_a_pool_arrives(tmp_path: Path) -> None:
    (tmp_path / "bad.vec").write_text("1 2\nword x y\n")
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        future = pool.submit(bilex.load, tmp_path / "bad.vec")
        with pytest.raises(InputError) as caught:
            future.result(timeout=60)
    assert (caught.value.path, caught.value.line) == (str(tmp_path / "bad.vec"), 2)


def test_public_objects_survive_a_pickle(tmp_path: Path) -> None:
    languages = make_languages(120, 12, 30)
    run = bilex.induce(languages.source, languages.target, languages.gold[40:80], max_rank=100)
    run.save(tmp_path / "run")
    word = run.source.words[0]
    for each in (run, bilex.Run.load(tmp_path / "run")):
        each.verdict, each.entry_rows, each.weighted_space  # noqa: B018 (they are kept in the object)
        back = pickle.loads(pickle.dumps(each))
        assert (back.info, list(back.lexicon)) == (each.info, list(each.lexicon))
        assert back.translate(word) == each.translate(word)
        assert back.verdict == each.verdict
        assert np.array_equal(back.source.vectors, each.source.vectors)
    objects = (run.lexicon, run.lexicon[0], run.translate(word)[0], *bilex.METHODS.values(), bilex.Prior.named("1:2"))
    scores = (run.evaluate(languages.gold), run.hubness(), run.compare(run, languages.gold))
    for thing in (*objects, *scores):
        back = pickle.loads(pickle.dumps(thing))
        assert type(back) is type(thing)
        assert repr(back) == repr(thing)
        if dataclasses.is_dataclass(thing):
            assert all(hasattr(back, field.name) for field in dataclasses.fields(thing))

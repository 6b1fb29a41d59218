"""What is where in a data directory: a small TOML file says it, and three of them ship with bilex.

The keys of such a file, all but `vectors` and `test` optional. A path is relative to the directory and may hold
``{language}``, ``{source}`` and ``{target}``; a list of paths means the first one that exists, and a file that is
only there gzipped is found too.

================  ====================================================================================================
``description``   one line about the data
``pairs``         language pairs such as ``"en-it"``; without it, every pair whose files are there
``vectors``       the word vectors of a language: a path, or a table of paths by language with a ``default``
``train``         the dictionary that seeds are taken from
``test``          the dictionary that is asked for
``similarity``    a table: the name of a similarity set and its path
``fold``          whether the words of similarity sets are put into lower case
``max_rank``      the frequency constraint of the methods that have one
``held_out``      N: for the figures, every Nth source word of `train` is asked for and not part of the seed
``sizes``         vocabulary sizes for the figures
``experiments``   a table: the pairs of an experiment (``table1`` ... ``fig3``), where it does not take all
``pair``          tables by pair (``[pair.en-de]``) with what is special there: ``source``, ``target`` (vectors),
                  ``train``, ``test``, ``max_rank``
================  ====================================================================================================
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from bilex.errors import BilexError, InputError
from bilex.experiments.toml import LANGUAGE, Expect, Templates, as_templates, check_keys, is_file, is_folder, parse_pair
from bilex.files.toml import read_toml

__all__ = ["EXPERIMENTS", "OWN", "SHIPPED", "Layout", "PairFiles", "find_layout"]

OWN = "bilex.toml"
SHIPPED = ("paper", "muse", "shared")
EXPERIMENTS = ("table1", "table2", "table3", "table4", "table5", "fig2", "fig3")
KEYS = (
    "description",
    "pairs",
    "vectors",
    "train",
    "test",
    "similarity",
    "fold",
    "max_rank",
    "held_out",
    "sizes",
    "experiments",
    "pair",
)
PAIR_KEYS = ("source", "target", "train", "test", "max_rank")


@dataclass(frozen=True)
class PairFiles:
    """The files of one pair of languages, all of them there."""

    name: str
    source: Path
    target: Path
    test: Path | None = None
    train: Path | None = None
    similarity: Mapping[str, Path] = field(default_factory=dict)
    fold: bool = False
    max_rank: int | None = None
    held_out: int | None = None


@dataclass(frozen=True)
class Layout:
    """Where a data directory keeps what; `origin` is the file that says so."""

    name: str
    origin: str
    vectors: Mapping[str, Templates]
    test: Templates
    train: Templates = ()
    description: str = ""
    pairs: tuple[str, ...] | None = None
    similarity: Mapping[str, Templates] = field(default_factory=dict)
    fold: bool = False
    max_rank: int | None = None
    held_out: int | None = None
    sizes: tuple[int, ...] = ()
    experiments: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    pair: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def pairs_of(self, experiment: str, folder: Path) -> tuple[str, ...]:
        """Give the pairs that an experiment takes when the user names none."""
        if experiment in self.experiments:
            if not self.experiments[experiment]:
                raise BilexError(
                    f"{self.origin}: the layout {self.name!r} has no pairs for {experiment}; "
                    "name some with --pairs, or another layout with --layout"
                )
            return self.experiments[experiment]
        if self.pairs is not None:
            return self.pairs
        found = self.discover(folder)
        if not found:
            raise BilexError(
                f"{folder}: no pair of languages has vectors and a test dictionary ({self.test[0]}); "
                "put the files there, or give another layout with --layout"
            )
        return found

    def discover(self, folder: Path) -> tuple[str, ...]:
        """Find the pairs whose vectors and test dictionary are there."""
        candidates = set(self.pairs or ())
        for template in self.test:
            if "{source}" not in template or "{target}" not in template:
                continue  # one dictionary for all: the pairs are not in its name
            pattern = re.compile(template_pattern(template) + r"(\.gz)?")
            for path in folder.glob(re.sub(r"\{\w+\}", "*", template) + "*"):
                if match := pattern.fullmatch(path.relative_to(folder).as_posix()):
                    candidates.add(f"{match['source']}-{match['target']}")
        return tuple(pair for pair in sorted(candidates) if self.is_there(pair, folder))

    def is_there(self, pair: str, folder: Path) -> bool:
        """Say whether a pair has vectors and a test dictionary."""
        wanted = (self.templates(pair, what) for what in ("source", "target", "test"))
        return all(first_existing(folder, templates) for templates in wanted)

    def templates(self, pair: str, what: str) -> Templates:
        """Give the paths, relative to the directory, where a file of a pair may be."""
        source, target = parse_pair(pair)
        special = self.pair.get(pair, {})
        if what in special:
            found = as_templates(special[what])
        elif what in ("source", "target"):
            language = source if what == "source" else target
            found = self.vectors.get(language) or self.vectors.get("default", ())
            found = tuple(fill(path, language=language) for path in found)
        elif what in ("train", "test"):
            found = self.train if what == "train" else self.test
        else:
            found = self.similarity[what]
        return tuple(fill(path, source=source, target=target) for path in found)

    def resolve(
        self, folder: Path, pair: str, *, train: bool = True, test: bool = True, similarity: bool = False
    ) -> PairFiles:
        """Find the files of a pair, or say in one line which is missing.

        Parameters
        ----------
        folder
            The data directory.
        pair
            Such as ``en-it``.
        train, test, similarity
            Which dictionaries are needed. Of similarity sets, those that are there are taken; one is needed.
        """
        found = {what: self.need(folder, pair, what) for what in ("source", "target")}
        found |= {what: self.need(folder, pair, what) for what, wanted in (("test", test), ("train", train)) if wanted}
        sets: dict[str, Path] = {}
        if similarity:
            places = {name: self.templates(pair, name) for name in self.similarity}
            sets = {name: path for name, paths in places.items() if (path := first_existing(folder, paths))}
            if not sets:
                looked = [folder / paths[0] for paths in places.values()]
                raise InputError(
                    looked[0] if looked else self.origin,
                    f"the pair {pair} has no similarity set",
                    "put the file there, or choose other pairs with --pairs",
                )
        rank = self.pair.get(pair, {}).get("max_rank", self.max_rank)
        return PairFiles(pair, **found, similarity=sets, fold=self.fold, max_rank=rank, held_out=self.held_out)

    def need(self, folder: Path, pair: str, what: str) -> Path:
        """Find one file of a pair, or raise."""
        templates = self.templates(pair, what)
        if path := first_existing(folder, templates):
            return path
        problem = {
            "train": f"the pair {pair} has no train dictionary",
            "test": f"the pair {pair} has no test dictionary",
        }.get(what, f"the {what} vectors of the pair {pair} are missing")
        place = folder / templates[0] if templates else self.origin
        raise InputError(place, problem, "put the file there, or choose other pairs with --pairs")


def find_layout(folder: str | os.PathLike[str], choice: str | None = None) -> Layout:
    """Give the layout of a data directory.

    Parameters
    ----------
    folder
        The data directory.
    choice
        The name of a shipped layout or a TOML file. By default the directory's own ``bilex.toml``, else the shipped
        layout whose files are there.
    """
    folder = Path(folder)
    if not is_folder(folder):
        raise InputError(folder, "this is not a directory", "give the directory of the data with --data")
    if choice is not None:
        return named_layout(choice)
    if is_file(folder / OWN):
        return read_layout(folder / OWN)
    for name in SHIPPED:
        layout = shipped_layout(name)
        if layout.discover(folder):
            return layout
    raise InputError(
        folder,
        f"none of the layouts {', '.join(SHIPPED)} fits the files there",
        f"describe them in a file {OWN} there, or give a layout with --layout",
    )


def named_layout(choice: str) -> Layout:
    """Give a shipped layout by name, or read one from a file."""
    if choice in SHIPPED:
        return shipped_layout(choice)
    if choice.endswith(".toml") or os.sep in choice or is_file(choice):
        return read_layout(Path(choice))
    near = difflib.get_close_matches(choice, SHIPPED, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"choose one of {', '.join(SHIPPED)} or give a TOML file"
    raise BilexError(f"no layout is called {choice!r}; {hint}")


def shipped_layout(name: str) -> Layout:
    """Read a layout that ships with bilex."""
    place = files("bilex") / "experiments" / "layouts" / f"{name}.toml"
    return parse_layout(tomllib.loads(place.read_text("utf-8")), name, f"{name}.toml")


def read_layout(path: Path) -> Layout:
    """Read a layout from a file."""
    return parse_layout(read_toml(path), path.parent.name if path.name == OWN else path.stem, str(path))


def parse_layout(table: Mapping[str, Any], name: str, origin: str) -> Layout:
    """Check the content of a layout file."""
    check_keys(table, KEYS, origin)
    for key in ("vectors", "test"):
        if key not in table:
            raise InputError(origin, f"the key {key!r} is missing", "say where these files are")
    expect = Expect(origin)
    for key in ("train", "test"):
        expect.paths(table, key)
    expect.kind(table, "description", str, "a text")
    expect.kind(table, "fold", bool, "true or false")
    expect.number(table, "max_rank")
    expect.number(table, "held_out", 2)
    for key in ("similarity", "experiments", "pair"):
        expect.kind(table, key, dict, "a table")
    vectors = table["vectors"]
    by_language = vectors if isinstance(vectors, dict) else {"default": vectors}
    for part in (by_language, table.get("similarity", {})):
        for key in part:
            expect.paths(part, key)
    check_keys(table.get("experiments", {}), EXPERIMENTS, origin, " in [experiments]")
    for key, special in table.get("pair", {}).items():
        expect.pair(key)
        expect.kind(table["pair"], key, dict, "a table")
        check_keys(special, PAIR_KEYS, origin, f" in [pair.{key}]")
        expect.number(special, "max_rank")
        for what in set(PAIR_KEYS[:4]) & set(special):
            expect.paths(special, what)
    return Layout(
        name=name,
        origin=origin,
        description=table.get("description", ""),
        vectors={language: as_templates(paths) for language, paths in by_language.items()},
        test=as_templates(table["test"]),
        train=as_templates(table.get("train", ())),
        pairs=expect.pairs(table, "pairs") if "pairs" in table else None,
        similarity={key: as_templates(paths) for key, paths in table.get("similarity", {}).items()},
        fold=table.get("fold", False),
        max_rank=table.get("max_rank"),
        held_out=table.get("held_out"),
        sizes=expect.sizes(table, "sizes") if "sizes" in table else (),
        experiments={key: expect.pairs(table["experiments"], key) for key in table.get("experiments", {})},
        pair=table.get("pair", {}),
    )


def fill(template: str, **values: str) -> str:
    """Put values in place of their names in braces."""
    for name, value in values.items():
        template = template.replace(f"{{{name}}}", value)
    return template


def template_pattern(template: str) -> str:
    """Turn a path with placeholders into a regular expression that finds their values."""
    seen: set[str] = set()

    def group(match: re.Match[str]) -> str:
        name = match[1]
        pattern = f"(?P={name})" if name in seen else f"(?P<{name}>{LANGUAGE})"
        seen.add(name)
        return pattern

    return re.sub(r"\\\{(\w+)\\\}", group, re.escape(template))


def first_existing(folder: Path, templates: Templates) -> Path | None:
    """Give the first of the paths that is a file, as it is or gzipped."""
    for template in templates:
        for path in (folder / template, folder / f"{template}.gz"):
            if is_file(path):
                return path
    return None

"""Layouts: which file is where in a data directory. A small TOML file describes one, and three ship with bilex.

docs/experiments.md lists the keys of such a file. A path is relative to the directory and may hold ``{language}``,
``{source}`` and ``{target}``; of a list of paths the first that exists is taken, plain or gzipped.
"""

import difflib
import os
import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

import msgspec

from bilex.errors import BilexError, InputError
from bilex.files.streams import read_toml
from bilex.methods import Count

LAYOUT_FILE = "bilex.toml"
SHIPPED_LAYOUTS = ("paper", "muse", "shared", "xling", "panlex")
ExperimentName = Literal["table1", "table2", "table3", "table4", "table5", "fig2", "fig3"]
EXPERIMENT_NAMES: tuple[str, ...] = get_args(ExperimentName)
FILE_REMEDY = "put the file there, or choose other pairs with --pairs"
PLACEHOLDER = re.compile(r"\{(.*?)\}")
LANGUAGE_PART = r"[^-/.\s]+"
HeldOut = Annotated[int, msgspec.Meta(ge=2)]
PAIR = rf"^{LANGUAGE_PART}-{LANGUAGE_PART}$"
TEMPLATE = r"^([^{]|\{(language|source|target)\})*$"
TOML_WORDS = {
    f"matching regex {PAIR!r}": "like en-it, a pair of languages",
    f"matching regex {TEMPLATE!r}": "with no placeholders but {language}, {source} and {target}",
    "object": "table",
    "array": "list",
    " | null": "",
    "field": "key",
    "enum value": "key or value",
}
PairName = Annotated[str, msgspec.Meta(pattern=PAIR)]
Converted = TypeVar("Converted")
Template = Annotated[str, msgspec.Meta(min_length=1)]  # and TEMPLATE: see `check_templates`
TEMPLATE_KEYS = ("vectors", "test", "train", "similarity", "seeds", "tests", "source", "target")
Templates = Template | list[Template]
"""Paths with placeholders in braces; the first that exists counts."""


@dataclass(frozen=True)
class PairFiles:
    """The files of one pair of languages, all of which exist."""

    name: str
    source: Path
    target: Path
    test: Path | None = None
    train: Path | None = None
    similarity: Mapping[str, Path] = field(default_factory=dict)
    fold: bool = False
    max_rank: int | None = None
    held_out: int | None = None


class PairLayout(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What differs for one pair of languages."""

    source: Templates | None = None
    target: Templates | None = None
    train: Templates | None = None
    test: Templates | None = None
    max_rank: Count | None = None


class LayoutTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The content of a layout file."""

    vectors: Templates | dict[str, Templates]
    test: Templates
    train: Templates | None = None
    description: str = ""
    pairs: list[PairName] | None = None
    similarity: dict[str, Templates] = {}
    fold: bool = False
    max_rank: Count | None = None
    held_out: HeldOut | None = None
    sizes: list[Count] = []
    seeds: dict[str, Templates] = {}
    tests: dict[str, Templates] = {}
    figures: tuple[Literal["p@1", "mrr", "map"], ...] = ("p@1", "mrr", "map")
    experiments: dict[ExperimentName, list[PairName]] = {}
    pair: dict[PairName, PairLayout] = {}


@dataclass(frozen=True)
class Layout:
    """Finds the files of a data directory; `origin` is the file that describes them."""

    name: str
    origin: str
    table: LayoutTable

    def pairs_of(self, experiment: str, folder: Path) -> tuple[str, ...]:
        """Return the pairs that an experiment takes when the user names none."""
        own = (pairs for name, pairs in self.table.experiments.items() if name == experiment)
        chosen = next(own, self.table.pairs)
        if chosen == []:
            raise BilexError(
                f"{self.origin}: the layout {self.name!r} has no pairs for {experiment}; "
                "name some with --pairs, or another layout with --layout"
            )
        found = tuple(dict.fromkeys(chosen)) if chosen else self.discover(folder)
        if not found:
            raise BilexError(
                f"{folder}: no pair of languages has vectors and a test dictionary "
                f"({as_templates(self.table.test)[0]}); put the files there, or give another layout with --layout"
            )
        return found

    def discover(self, folder: Path) -> tuple[str, ...]:
        """Return the pairs whose vectors and test dictionary exist."""
        candidates = set(self.table.pairs or ())
        for template in as_templates(self.table.test):
            if "{source}" not in template or "{target}" not in template:
                continue  # one dictionary for all: the pairs are not in its name
            parts = PLACEHOLDER.split(template)
            pattern = re.compile(f"({LANGUAGE_PART})".join(map(re.escape, parts[::2])) + r"(?:\.gz)?")
            for path in folder.glob(PLACEHOLDER.sub("*", template) + "*"):
                if match := pattern.fullmatch(path.relative_to(folder).as_posix()):
                    values = dict(zip(parts[1::2], match.groups(), strict=True))
                    candidates.add(f"{values['source']}-{values['target']}")
        return tuple(
            pair
            for pair in sorted(candidates)
            if all(first_existing(folder, self.paths(pair, what)) for what in ("source", "target", "test"))
        )

    def paths(self, pair: str, what: str) -> tuple[str, ...]:
        """Return the paths, relative to the directory, where a file of a pair may be."""
        source, target = parse_pair(pair)
        values = {"source": source, "target": target}
        templates = getattr(self.table.pair.get(pair), what, None)
        if templates is None and what in ("source", "target"):
            values["language"] = values[what]
            vectors = self.table.vectors
            by_language = vectors if isinstance(vectors, dict) else {"default": vectors}
            templates = by_language.get(values[what], by_language.get("default"))
        elif templates is None:
            others = self.table.similarity | self.table.seeds | self.table.tests
            templates = getattr(self.table, what) if what in ("train", "test") else others[what]
        return tuple(
            PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), path) for path in as_templates(templates)
        )

    def resolve(
        self, folder: Path, pair: str, train: bool = True, test: bool = True, similarity: bool = False
    ) -> PairFiles:
        """Find the files of a pair, or raise an error that names the missing one.

        `train`, `test` and `similarity` are needed or not; of the similarity sets all that exist are taken.
        """
        needed = ("source", "target", *["test"] * test, *["train"] * train)
        found = {what: self.find(folder, pair, what) for what in needed}
        sets: dict[str, Path] = {}
        if similarity:
            places = {name: self.paths(pair, name) for name in self.table.similarity}
            sets = {name: path for name, paths in places.items() if (path := first_existing(folder, paths))}
            if not sets:
                looked = [folder / paths[0] for paths in places.values() if paths]
                place = looked[0] if looked else self.origin
                raise InputError(place, f"the pair {pair} has no similarity set", FILE_REMEDY)
        special = self.table.pair.get(pair)
        rank = (special and special.max_rank) or self.table.max_rank
        return PairFiles(
            pair, **found, similarity=sets, fold=self.table.fold, max_rank=rank, held_out=self.table.held_out
        )

    def find(self, folder: Path, pair: str, what: str) -> Path:
        """Find one file of a pair, or raise an error that names it."""
        paths = self.paths(pair, what)
        if path := first_existing(folder, paths):
            return path
        missing = f"has no {what} {'vectors' if what in ('source', 'target') else 'dictionary'}"
        raise InputError(folder / paths[0] if paths else self.origin, f"the pair {pair} {missing}", FILE_REMEDY)


def find_layout(folder: str | os.PathLike[str], choice: str | None = None) -> Layout:
    """Return the layout that is chosen, a shipped one or a TOML file.

    By default it is the directory's own ``bilex.toml``, else the shipped layout whose files are there.
    """
    folder = Path(folder)
    if not os.path.isdir(folder):  # noqa: PTH112 (pathlib raises on a name that is too long)
        raise InputError(folder, "this is not a directory", "give the directory of the data with --data")
    if choice is not None:
        return read_layout(choice)
    if is_file(folder / LAYOUT_FILE):
        return read_layout(str(folder / LAYOUT_FILE))
    for layout in map(read_layout, SHIPPED_LAYOUTS):
        if layout.discover(folder):
            return layout
    raise InputError(
        folder,
        f"none of the layouts {', '.join(SHIPPED_LAYOUTS)} fits the files there",
        f"describe them in a file {LAYOUT_FILE} there, or give a layout with --layout",
    )


def read_layout(choice: str) -> Layout:
    """Read a shipped layout by its name, or a TOML file."""
    path = Path(choice)
    if choice in SHIPPED_LAYOUTS:
        text = (files("bilex") / "experiments" / "layouts" / f"{choice}.toml").read_text("utf-8")
        table, name, origin = tomllib.loads(text), choice, f"{choice}.toml"
    elif choice.endswith(".toml") or os.sep in choice or is_file(choice):
        table, name, origin = read_toml(path), path.parent.name if path.name == LAYOUT_FILE else path.stem, choice
    else:
        near = difflib.get_close_matches(choice, SHIPPED_LAYOUTS, n=1)
        others = f"choose one of {', '.join(SHIPPED_LAYOUTS)} or give a TOML file"
        raise BilexError(f"no layout is called {choice!r}; {f'did you mean {near[0]!r}?' if near else others}")
    known = (*LayoutTable.__struct_fields__, *PairLayout.__struct_fields__, *EXPERIMENT_NAMES)
    return Layout(name, origin, convert_table(table, LayoutTable, origin, known))


def as_templates(value: str | list[str] | None) -> list[str]:
    """Return one path or several as a list."""
    return [value] if isinstance(value, str) else value or []


def first_existing(folder: Path, paths: tuple[str, ...]) -> Path | None:
    """Return the first of the paths that is a file, plain or gzipped."""
    candidates = (folder / name for path in paths for name in (path, f"{path}.gz"))
    return next(filter(is_file, candidates), None)


def is_file(path: str | os.PathLike[str]) -> bool:
    """Return whether the file exists; False for a name that no file can have, such as one that is too long."""
    return os.path.isfile(path)  # noqa: PTH113 (pathlib raises)


def convert_table(table: Mapping[str, Any], kind: type[Converted], origin: str, known: Collection[str]) -> Converted:
    """Convert a TOML table to a type; raise an InputError with the nearest of the `known` words for an unknown one."""
    try:
        converted = msgspec.convert(table, kind)
        if kind is LayoutTable:
            check_templates(table)
        return converted
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at ")
        unknown = re.search(r"unknown field `(.*)`|enum value '(.*)'", problem)
        near = difflib.get_close_matches(unknown[1] or unknown[2] or "", known, n=1) if unknown else []
        words = "".join(" " if sign.isspace() else sign for sign in problem if sign != "`")
        for word, toml_word in TOML_WORDS.items():
            words = words.replace(word, toml_word)
        where = place.strip("`").replace("key` in `", "").removeprefix("$").removeprefix(".")
        remedy = f"did you mean {near[0]!r}?" if near else "correct it"
        raise InputError(origin, f"{where}: {words}" if where else words, remedy) from None


def check_templates(table: Mapping[str, Any], place: str = "$") -> None:
    """Raise if a path of a layout's table has an unknown placeholder.

    msgspec could check the pattern, but 0.22 crashes when Python ends, if a text with a pattern may also be a list.
    """
    for key, value in table.items():
        if key == "pair":
            for own in value.values():
                check_templates(own, f"{place}.pair[...]")
        elif key in TEMPLATE_KEYS:
            check_template(value, f"{place}.{key}")


def check_template(value: Any, place: str) -> None:
    """Raise if a path, or one of several, has an unknown placeholder."""
    if isinstance(value, str):
        if not re.search(TEMPLATE, value):
            raise msgspec.ValidationError(f"Expected `str` matching regex {TEMPLATE!r} - at `{place}`")
        return
    for inner in value.values() if isinstance(value, dict) else value:
        check_template(inner, f"{place}[...]")


def parse_pair(name: str) -> tuple[str, str]:
    """Split the name of a language pair: ``en-it`` is from English to Italian."""
    match = re.fullmatch(f"({LANGUAGE_PART})-({LANGUAGE_PART})", name)
    if not match:
        raise BilexError(f"{name!r} is not a pair of languages; write it like en-it")
    return match[1], match[2]

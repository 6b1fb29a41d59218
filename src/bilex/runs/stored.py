"""A run in its directory: each part is read, and compared with its checksum, when it is first needed.

A few words of a run of 200,000 need only its words and candidates. The vectors stay on disk, mapped into memory, until
a search needs them; then they are checked, and mapped into the shared space.
"""

from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bilex.files import run_directory
from bilex.files.ownership import LEXICON, MODEL
from bilex.files.tensors import unpack_words
from bilex.lexicon.lexicon import Lexicon
from bilex.model.candidates import CandidatePairs
from bilex.model.theta import Theta
from bilex.runs.run import AROUND, Run
from bilex.search.space import SharedSpace
from bilex.vectors.embeddings import Embeddings


class StoredRun(Run):
    """What `Run.load` returns."""

    folder: Path

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Read only ``run.json``."""
        run = cls.__new__(cls)
        vars(run).update(folder=folder, info=run_directory.read_manifest(folder))
        return run

    def check(self) -> None:
        """Read all files into memory, and raise if one is damaged.

        What stayed mapped would end the process if the file shrank, and what changed in it later would not be checked.
        """
        for name in ("lexicon", "_checked_tensors"):
            getattr(self, name)
        tensors = {name: np.array(tensor) for name, tensor in self._checked_tensors.items()}
        vars(self).update(_model=(tensors, self._model[1]), _checked_tensors=tensors)
        for name in ("source", "candidates"):
            getattr(self, name)
        run_directory.check_same_run(self.folder, self.info)  # else these could be files of two runs

    @cached_property
    def lexicon(self) -> Lexicon:
        """The induced pairs."""
        return Lexicon.load(run_directory.verified_file(self.folder, LEXICON, self.info))

    @cached_property
    def _model(self) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
        return run_directory.map_model(self.folder)

    @cached_property
    def _checked_tensors(self) -> dict[str, NDArray[Any]]:
        run_directory.verified_file(self.folder, MODEL, self.info)
        run_directory.check_numbers(self.folder, self._model[0])
        return self._model[0]

    @cached_property
    def _words(self) -> list[tuple[str, ...]]:
        return run_directory.read_words(self.folder, self.info, self._model[0])

    @cached_property
    def _candidate_tensors(self) -> dict[str, NDArray[Any]]:
        source, target = self._words
        return run_directory.read_candidates(self.folder, self.info, (len(source), len(target)))

    @cached_property
    def source(self) -> Embeddings:
        """The normalised vectors of the source language."""
        return self._language(0, "source")

    @cached_property
    def target(self) -> Embeddings:
        """The normalised vectors of the target language."""
        return self._language(1, "target")

    def _language(self, number: int, side: str) -> Embeddings:
        tensors, names = self._model
        beside, vectors = self._candidate_tensors, tensors[f"{side}_vectors"]
        means, lemmas = tuple(beside.get(f"{side}_means", ())), beside.get(f"{side}_lemmas")
        named = () if lemmas is None else unpack_words(lemmas)
        return Embeddings(self._words[number], vectors, name=names.get(side, ""), means=means, lemmas=named)

    @cached_property
    def candidates(self) -> CandidatePairs:
        """The candidates of every word with their weights."""
        return CandidatePairs.from_tensors(self._candidate_tensors, len(self.target))

    @cached_property
    def theta(self) -> Theta:
        """The learnt parameters."""
        tensors = self._checked_tensors
        return Theta(tensors["omega"], tensors["mu"], tensors.get(run_directory.OPTIONAL_TENSOR))

    @cached_property
    def space(self) -> SharedSpace:
        """Both languages in the target's space."""
        tensors = self._checked_tensors
        return SharedSpace(
            *self.theta.shared_units(self.source.vectors, self.target.vectors),
            *(tensors[name] for name in AROUND),
        )

"""A run: everything that was learnt, what it was learnt from, and how; and what can be asked of it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from bilex.errors import BilexError, InputError, check_probability
from bilex.evaluation.compare import Comparison, compare_translations
from bilex.evaluation.hubness import Hubness, evaluate_hubness
from bilex.evaluation.similarity import SimilarityScore, evaluate_similarity
from bilex.evaluation.translation import Gold, TranslationScore, evaluate_translation
from bilex.files.atomic import atomic_write_text
from bilex.files.ownership import CANDIDATES, LEXICON
from bilex.files.run_directory import OPTIONAL_TENSOR, run_directory, write_candidates, write_manifest, write_model
from bilex.files.tensors import pack_words
from bilex.lexicon.lexicon import CANDIDATE, Lexicon
from bilex.lexicon.text import HtmlPage, html_table
from bilex.matching.graph import RowPairs
from bilex.methods import SET_THRESHOLD
from bilex.model.candidates import CandidatePairs, CandidateSpace
from bilex.model.theta import Theta
from bilex.numerics.rows import unit
from bilex.numerics.types import Vectors
from bilex.runs.translating import Translation, translate_words
from bilex.search.engine import Engine
from bilex.search.local import LocalEngine
from bilex.search.space import SharedSpace
from bilex.vectors.embeddings import Embeddings
from bilex.vectors.fasttext import FastText
from bilex.vectors.terms import Subwords, compose

if TYPE_CHECKING:
    from bilex.confidence.verdict import Verdict

AROUND = ("source_crowding", "target_crowding", "source_nearest", "target_nearest")


@dataclass(frozen=True, eq=False)
class Run:
    """What `bilex.induce` returns."""

    source: Embeddings  #: The normalised vectors of the source language.
    target: Embeddings  #: The normalised vectors of the target language.
    theta: Theta  #: The learnt parameters.
    space: SharedSpace  #: Both languages in the target's space.
    lexicon: Lexicon  #: The induced pairs.
    info: dict[str, Any]  #: What ``run.json`` holds: version, configuration, inputs, iterations, why it stopped.
    candidates: CandidatePairs  #: The candidates of every word with their weights and probabilities.

    @cached_property
    def entry_rows(self) -> RowPairs:
        """The rows of the words of each entry; -1 for a word that is not in the vocabulary, as one saved with a tab."""
        sides = ((self.source, self.lexicon.source), (self.target, self.lexicon.target))
        found = (np.array([side.index.get(word, -1) for word in words], np.int64) for side, words in sides)
        return RowPairs(*found)

    @cached_property
    def verdict(self) -> Verdict:
        """Whether the lexicon looks sound, doubtful or failed, and why."""
        from bilex.confidence.verdict import judge

        return judge(self)

    @property
    def expected_precision(self) -> float:
        """The share of its entries that should be right; NaN if there are none."""
        return self.lexicon.expected_precision

    @property
    def headline(self) -> str:
        """How much of the lexicon is right, in the words of the terminal, the report and the explorer."""
        count, about = len(self.lexicon), self.info.get("confidence", {})
        rest = about.get("listed_of", count) - count
        if not count:
            return "0 entries"
        basis = f" (estimated from {about['calibrated_on']})" if "calibrated_on" in about else ""
        left_out = f"; {rest:,} less likely ones are left out" if rest else ""
        return f"about {self.expected_precision:.0%} of {count:,} entries are right{basis}{left_out}"

    def confident(self, least: float) -> Run:
        """Return the run with only the entries of at least that confidence, and the verdict on these."""
        listed = self.lexicon.confident(least)
        expected = round(listed.expected_precision, 4) if len(listed) else None
        about = {**self.info["confidence"], "listed_of": len(self.lexicon), "expected_precision": expected}
        info = {**self.info, "pairs": len(listed), "confidence": about}
        run = replace(self, lexicon=listed, info=info)
        vars(run)["entry_rows"] = self.entry_rows.where(self.lexicon.confidence >= least)
        info["verdict"] = run.verdict.summary()
        return run

    def __repr__(self) -> str:
        names = f"{self.source.name or 'source'} -> {self.target.name or 'target'}"
        return f"Run({names}: {self.headline}; verdict: {self.info.get('verdict', {}).get('level', 'none')})"

    def _repr_html_(self) -> str:
        """Show in a notebook what was learnt from what, and the first entries."""
        configuration, last = self.info.get("configuration", {}), (self.info.get("iterations") or [{}])[-1]
        facts = {
            "expected": self.headline,
            "verdict": self.info.get("verdict", {}).get("level", ""),
            "source": f"{self.source.name or 'source'}, {len(self.source):,} words",
            "target": f"{self.target.name or 'target'}, {len(self.target):,} words",
            "method": configuration.get("method", {}).get("name", ""),
            "seed": configuration.get("seed", {}).get("name", ""),
            "iterations": len(self.info.get("iterations", ())),
            "last iteration": f"{last['pairs']:,} pairs, mean cosine {last['mean_cosine']:.4f}" if last else "",
            "stopped": self.info.get("stopped", ""),
        }
        rows = [(name, str(value)) for name, value in facts.items() if value != ""]
        return html_table("Run", (), rows) + self.lexicon._repr_html_()

    def translate(
        self,
        word: str,
        k: int = 5,
        *,
        min_probability: float | None = None,
        retrieval: str = "model",
        reverse: bool = False,
        subwords: Subwords | None = None,
        engine: Engine | None = None,
    ) -> list[Translation]:
        """Return the k best translations of one word, or all of some probability; see `translate_many`."""
        if not isinstance(word, str):
            raise BilexError(f"{word!r} is not a word; translate several with translate_many")
        choices: dict[str, Any] = {"min_probability": min_probability, "retrieval": retrieval, "reverse": reverse}
        return self.translate_many([word], k, **choices, subwords=subwords, engine=engine)[0]

    def translate_many(
        self,
        words: Iterable[str],
        k: int = 5,
        *,
        min_probability: float | None = None,
        retrieval: str = "model",
        reverse: bool = False,
        subwords: Subwords | None = None,
        engine: Engine | None = None,
    ) -> list[list[Translation]]:
        """Return the k best translations of each word; none for a word without a vector, with a warning.

        `retrieval` is ``"model"`` (the weight of a pair, in nats), ``"csls"``, ``"isf"`` or ``"nn"`` (the cosine); with
        `reverse` the words are of the target language. With `min_probability` the answers are all that are at least
        that probable instead, ranked by their weights. A term of several words that has no vector is composed from its
        words; `subwords`, of the language that is translated from, makes vectors of words that have none.
        """
        return translate_words(self, words, k, min_probability, retrieval, reverse, subwords, engine or LocalEngine())

    def sets(self, min_probability: float, *, engine: Engine | None = None) -> Lexicon:
        """Return a lexicon of all candidate pairs that are at least that probable, not only of the matching."""
        check_probability("min_probability", min_probability)
        candidates = self.candidates
        pairs, n_targets = candidates.above(min_probability), len(self.target)
        order = np.lexsort((candidates.ranks[candidates.find(pairs)], pairs.source))
        pairs = RowPairs(pairs.source[order], pairs.target[order])
        listed = dict(zip(self.entry_rows.keys(n_targets).tolist(), self.lexicon.origin, strict=True))
        origin = [listed.get(key, CANDIDATE) for key in pairs.keys(n_targets).tolist()]
        return self.entries_of(pairs, origin, engine)

    def entries_of(self, pairs: RowPairs, origin: Sequence[str], engine: Engine | None = None) -> Lexicon:
        """Return the entries of any pairs of its words."""
        from bilex.runs.entries import describe_pairs

        languages = self.source, self.target
        return describe_pairs(pairs, origin, languages, self.candidates, self.space, engine or LocalEngine())

    def subwords(self, model: str | os.PathLike[str] | FastText, *, reverse: bool = False) -> Subwords:
        """Read the fastText model that the source vectors (with `reverse`, the target's) came from.

        With it, words outside the vocabulary are translated too.
        """
        method = self.info.get("configuration", {}).get("method", {})
        return Subwords.of(model, self.target if reverse else self.source, method)

    def vector(self, term: str, *, reverse: bool = False, subwords: Subwords | None = None) -> Vectors | None:
        """Return the unit vector of a word or term in the shared space; None if it has none."""
        words = self.target if reverse else self.source

        def find(word: str) -> Vectors | None:
            if word in words:
                return np.array(self.direction(reverse)[0].source[words.index[word]])  # the caller may change it
            made = None if subwords is None else subwords(word)
            to_space = self.theta.map_target if reverse else self.theta.map_source
            return None if made is None else np.asarray(unit(to_space(made[None]))[0])

        return find(term) if term in words else compose(term, find)

    @property
    def sides(self) -> dict[str, Embeddings]:
        """The languages by the names of their sides."""
        return {"source": self.source, "target": self.target}

    @overload
    def transform(self, vectors: Embeddings, side: str) -> Embeddings: ...
    @overload
    def transform(self, vectors: Vectors, side: str) -> Vectors: ...
    def transform(self, vectors: Vectors | Embeddings, side: str) -> Vectors | Embeddings:
        """Map new vectors of one `side`, ``source`` or ``target``, into the shared space, as unit vectors.

        They are normalised as the run normalised its own: the mean of the run's vectors is subtracted, not theirs. So a
        word of the run gets the vector that it has there. A method with spelling needs `Embeddings`, for the words.
        """
        from bilex.runs.transforming import transform_rows

        if isinstance(vectors, Embeddings):
            return replace(vectors, vectors=transform_rows(self, vectors.vectors, side, vectors.words), means=())
        return transform_rows(self, vectors, side)

    def evaluate(
        self,
        gold: Gold,
        *,
        retrieval: str = "model",
        reverse: bool = False,
        convention: str = "covered",
        min_probability: float = SET_THRESHOLD,
        lemmas: str | None = None,
        engine: Engine | None = None,
    ) -> TranslationScore:
        """Score it against a gold dictionary, a file or pairs, whose first words are the queries.

        `retrieval` is ``"model"``, ``"csls"``, ``"isf"`` or ``"nn"``, `convention` ``"covered"``, ``"all"`` or
        ``"pairs"``. Sets of translations hold those that are at least as probable as `min_probability`. `lemmas` names
        the language of the answers (``"fi"``), to report ``p@1_lexeme`` of a run that was made without them.
        """
        check_probability("min_probability", min_probability)
        space, asked, answers = self.direction(reverse)
        side = (space, asked, answers.lemmatised(lemmas or ""))
        return evaluate_translation(side, gold, retrieval, engine or LocalEngine(), convention, min_probability)

    def similarity(
        self,
        pairs: str | os.PathLike[str] | Sequence[tuple[str, str, float]],
        *,
        fold_case: bool = False,
        reverse: bool = False,
    ) -> SimilarityScore:
        """Correlate its cosines with people's scores: a file, or (source term, target term, score)."""
        return evaluate_similarity(self.direction(reverse), pairs, fold_case=fold_case)

    def hubness(
        self,
        gold: Gold | None = None,
        k: int = 20,
        *,
        retrieval: str = "nn",
        reverse: bool = False,
        engine: Engine | None = None,
    ) -> Hubness:
        """Count how often each target is among the k nearest of the words of `gold`, or of all source words."""
        return evaluate_hubness(self.direction(reverse), gold, k, retrieval, engine or LocalEngine())

    def compare(
        self, other: Run, gold: Gold, *, retrieval: str = "nn", reverse: bool = False, engine: Engine | None = None
    ) -> Comparison:
        """Lay its answers beside another run's, for the first words of a gold dictionary."""
        sides = (self.direction(reverse), other.direction(reverse))
        return compare_translations(*sides, gold, retrieval, engine or LocalEngine())

    @cached_property
    def weighted_space(self) -> CandidateSpace:
        """The shared space with the weights of the candidates."""
        weights = self.info.get("weights")
        if weights is None:
            raise BilexError("run.json has no weights; run `bilex induce` again")
        return CandidateSpace.over(self.space, self.candidates, weights["slopes"]["csls"], weights["log_odds"])

    @cached_property
    def _reversed_space(self) -> CandidateSpace:
        """The same space from the target's side, with an index of its own."""
        return self.weighted_space.mirrored()

    def direction(self, reverse: bool) -> tuple[CandidateSpace, Embeddings, Embeddings]:
        """Return the shared space, the language that is translated from, and the other one."""
        if reverse:
            return self._reversed_space, self.target, self.source
        return self.weighted_space, self.source, self.target

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the run directory, whole or not at all; a run that is there is replaced only with `force`."""
        with run_directory(path, force=force) as folder:
            self.write(folder)

    def report(self, path: str | os.PathLike[str] | None = None) -> HtmlPage:
        """Return the report, one page that shows and judges the run, and write it to a file if `path` is given."""
        page = HtmlPage(import_module("bilex.report.page").render_report(self))  # a floor above this one
        if path is not None:
            atomic_write_text(path, page)
        return page

    def write(self, folder: Path) -> None:
        """Write the files of the run into an existing folder."""
        self.lexicon.save(folder / LEXICON)
        tensors = {
            "omega": self.theta.omega,
            "mu": self.theta.mu,
            **({} if self.theta.target_map is None else {OPTIONAL_TENSOR: self.theta.target_map}),
            "source_vectors": self.source.vectors,
            "target_vectors": self.target.vectors,
            "source_words": pack_words(self.source.words),
            "target_words": pack_words(self.target.words),
            **{name: getattr(self.space, name) for name in AROUND},
        }
        write_model(folder, tensors, {"source": self.source.name, "target": self.target.name})
        means = {f"{name}_means": np.stack(side.means) for name, side in self.sides.items() if side.means}
        lemmas = {f"{name}_lemmas": pack_words(side.lemmas) for name, side in self.sides.items() if side.lemmas}
        write_candidates(folder, {**self.candidates.tensors(), **means, **lemmas})
        write_manifest(folder, self.info)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, lazy: bool = False) -> Run:
        """Read a run directory, and check that it is whole.

        With `lazy` each file is read and checked when something is first asked of it, which looks some words up in a
        large run at once.
        """
        from bilex.runs.stored import StoredRun

        run = StoredRun.open(Path(path))
        if CANDIDATES not in run.info["files"]:
            raise InputError(path, "this run is of a version before 0.2", "run `bilex induce` again")
        if not lazy:
            run.check()
        return run

"""What a run starts from: checked and normalised vectors, the seed as rows, the method, and the prior."""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from bilex.errors import BilexError, BilexWarning
from bilex.matching.graph import RowPairs
from bilex.methods import DEFAULT_METHOD, Method
from bilex.model.prior import Prior
from bilex.seeds.seed import Seed, SeedLike, find_seed
from bilex.vectors.embeddings import Embeddings
from bilex.vectors.lemmas import lemma_languages
from bilex.vectors.spelling import with_spelling


@dataclass(frozen=True, eq=False)
class Prepared:
    """The normalised vectors of both languages, the seed as rows, the method, and the prior with settled pairs."""

    source: Embeddings
    target: Embeddings
    seed: Seed
    method: Method
    prior: Prior


def prepare(
    source: Embeddings,
    target: Embeddings,
    seed: SeedLike,
    method: Method,
    kept: Iterable[tuple[str, str]] = (),
    forbidden: Iterable[tuple[str, str]] = (),
    *,
    overwrite: bool = False,
) -> Prepared:
    """Check and normalise the vectors, and look up the words of the seed and of the settled pairs."""
    check_input(source, target, method)
    languages = lemma_languages(method.lemmas, (source.name, target.name))
    overwrite = overwrite and not np.may_share_memory(source.vectors, target.vectors)
    source, target = (
        normalise_for(method, side, in_place=overwrite).lemmatised(
            "" if side.lemmas else language
        )  # a run's vectors have theirs
        for side, language in zip((source, target), languages, strict=True)
    )
    found = find_seed(seed, source, target).settling(kept, forbidden)
    prior = replace(
        Prior.configured(method.prior),
        kept=rows_of_pairs(found.kept, source, target),
        forbidden=rows_of_pairs(found.forbidden, source, target),
    )
    check_settled(found, prior, source, target)
    if method.certain_seed and found.is_dictionary:
        prior = prior.keeping(found.pairs)
    return Prepared(source, target, found, method, prior)


def normalise_for(method: Method, vectors: Embeddings, *, in_place: bool = False) -> Embeddings:
    """Normalise a language's vectors, and put their spelling beside them if the method asks for it."""
    prepared = vectors.normalise(method.normalise, in_place=in_place)
    return replace(prepared, vectors=with_spelling(prepared.vectors, prepared.words, method.orthography))


def rows_of_pairs(pairs: Iterable[tuple[str, str]], source: Embeddings, target: Embeddings) -> RowPairs:
    """Look up pairs of words; those without a vector are left out."""
    known = sorted({(source.index[s], target.index[t]) for s, t in pairs if s in source and t in target})
    rows = np.array(known, np.int64).reshape(-1, 2)
    return RowPairs(rows[:, 0], rows[:, 1])


def check_settled(seed: Seed, prior: Prior, source: Embeddings, target: Embeddings) -> None:
    """Warn of settled pairs that cannot be used, and of words with more kept pairs than the prior allows."""
    for name, pairs in (("kept", seed.kept), ("forbidden", seed.forbidden)):
        unknown = [pair for pair in pairs if pair[0] not in source or pair[1] not in target]
        if unknown:
            count = f"{len(unknown):,} of the {len(pairs):,} {name} pairs left out, for want of a word's vector"
            warnings.warn(f"{count} (first: {' '.join(unknown[0])!r})", BilexWarning, stacklevel=4)
    sides = ((prior.kept.source, prior.capacities.source, source), (prior.kept.target, prior.capacities.target, target))
    for rows, most, side in sides:
        words, counts = np.unique(rows, return_counts=True)
        if most is not None and (counts > most).any():
            first = int(np.argmax(counts > most))
            allowed = f"{side.words[words[first]]!r} is in {counts[first]} kept pairs, and the prior allows {most}"
            warnings.warn(f"{allowed}; all {counts[first]} are in the lexicon", BilexWarning, stacklevel=4)


def check_input(source: Embeddings, target: Embeddings, method: Method) -> None:
    """Raise or warn where the vectors and the method do not fit together."""
    for side in (source, target):
        if not len(side):
            raise BilexError(f"{label(side)}: the vocabulary is empty; give at least one word")
        if not is_savable("".join(side.words)):  # files do not hold such words
            bad = next(word for word in side.words if not is_savable(word))
            raise BilexError(f"{label(side)}: the word {bad!r} has a line feed or is not Unicode text; rename it")
        finite = np.isfinite(side.vectors).all(axis=1)
        if not finite.all():  # files do not hold such vectors
            word = side.words[int(np.argmin(finite))]
            raise BilexError(f"{label(side)}: the vector of {word!r} holds NaN or infinity; leave the word out")
    if source.dimension != target.dimension and method.map.kind != "cca":
        raise BilexError(
            f"{label(source)} has {source.dimension} dimensions and {label(target)} has {target.dimension}, and "
            f"{method.name} needs a square map; use the method {DEFAULT_METHOD}, or vectors of the same dimension"
        )
    visible = len(target.top(method.e_step.max_rank))
    if method.e_step.candidates > visible:
        warnings.warn(
            f"{method.e_step.candidates} candidates asked for, but there are only {visible} target words; all are used",
            BilexWarning,
            stacklevel=4,
        )


def is_savable(text: str) -> bool:
    """Check that the text is one line of valid UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return "\n" not in text


def label(side: Embeddings) -> str:
    """Name a language's vectors in a message."""
    return side.paths[0] if side.paths else side.name or "the vectors"

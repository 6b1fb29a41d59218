"""bilex: bilingual lexicons from monolingual word vectors and a tiny seed, by exact matching.

>>> import bilex
>>> en, fr = bilex.load("en.vec"), bilex.load("fr.vec")
>>> run = bilex.induce(en, fr, seed="identical")
>>> run.lexicon.head(10)
>>> run.translate("house", k=5)
>>> run.save("en-fr")
"""

from __future__ import annotations

from bilex.version import __version__

TYPE_CHECKING = False  # type checkers know the name; `typing` would delay the handler of Ctrl-C in __main__
if TYPE_CHECKING:
    from typing import Any

    from bilex.errors import BilexError, BilexWarning
    from bilex.evaluation.alignment import Alignment, align
    from bilex.induction import induce
    from bilex.lexicon.lexicon import Entry, Lexicon
    from bilex.methods import METHODS, Method
    from bilex.model.prior import Prior
    from bilex.multilingual.many import induce_many
    from bilex.runs.run import Run
    from bilex.runs.translating import Translation
    from bilex.vectors.embeddings import Embeddings, load

__all__ = [
    "METHODS",
    "Alignment",
    "BilexError",
    "BilexWarning",
    "Embeddings",
    "Entry",
    "Lexicon",
    "Method",
    "Prior",
    "Run",
    "Translation",
    "__version__",
    "align",
    "induce",
    "induce_many",
    "load",
]

# Where each name lives. They are imported when they are first used, so that `bilex --help` need not wait for numpy.
HOMES: dict[str, tuple[str, ...]] = {
    "vectors.embeddings": ("Embeddings", "load"),
    "errors": ("BilexError", "BilexWarning"),
    "evaluation.alignment": ("Alignment", "align"),
    "induction": ("induce",),
    "multilingual.many": ("induce_many",),
    "lexicon.lexicon": ("Entry", "Lexicon"),
    "methods": ("METHODS", "Method"),
    "model.prior": ("Prior",),
    "runs.run": ("Run",),
    "runs.translating": ("Translation",),
}


if not TYPE_CHECKING:  # a type checker would take every misspelt name for one that exists

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        for module, names in HOMES.items():
            if name in names:
                return getattr(import_module(f"bilex.{module}"), name)
        raise AttributeError(f"module 'bilex' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

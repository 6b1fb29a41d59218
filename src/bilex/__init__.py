"""bilex: bilingual lexicons from monolingual word vectors and a tiny seed, by exact matching.

>>> import bilex
>>> en, fr = bilex.load("en.vec"), bilex.load("fr.vec")
>>> run = bilex.induce(en, fr, seed="identical")
>>> run.lexicon.head(10)
>>> run.translate("house", k=5)
>>> run.save("en-fr")
"""

from bilex.embeddings import Embeddings, load
from bilex.errors import BilexError, BilexWarning
from bilex.induction import induce
from bilex.lexicon import Entry, Lexicon
from bilex.methods import METHODS, Method
from bilex.priors import Prior
from bilex.runs import Run, Translation
from bilex.version import __version__

__all__ = [
    "METHODS",
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
    "induce",
    "load",
]

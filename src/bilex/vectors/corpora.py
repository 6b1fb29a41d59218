"""Train plain word vectors from text, for a language that has nothing else; gensim does the training.

Words are cut by the Unicode rules (UAX #29) or at spaces, in NFC and lower case. The vectors are those of skip-gram
without character n-grams: in a small corpus these make words near that are only spelt alike. One thread trains, so that
the same text gives the same vectors.
"""

import os
import tempfile
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from bilex.errors import BilexError, InputError
from bilex.files.lines import LineReader
from bilex.files.streams import MAX_WORD_BYTES, ByteStream, refuse_unreadable_format
from bilex.vectors.embeddings import Embeddings

MAX_SENTENCE = 1000  # words; gensim leaves out what follows the 10,000th
MIN_CORPUS_WORDS = 1000  # in all: less than this trains nothing
SMALL_CORPUS, MIDDLE_CORPUS = 2_000_000, 50_000_000  # words in the corpus


@dataclass(frozen=True)
class CorpusTraining:
    """How vectors are trained; None is chosen by the size of the corpus."""

    dimension: int | None = None
    min_count: int | None = None
    epochs: int | None = None
    window: int = 5
    keep_case: bool = False
    at_spaces: bool = False

    def for_corpus(self, words: int) -> Self:
        """Fill in what is left open: a small corpus has fewer dimensions, keeps rare words and is read more often."""
        size = 0 if words < SMALL_CORPUS else 1 if words < MIDDLE_CORPUS else 2
        dimension, min_count, epochs = ((100, 2, 40), (200, 3, 10), (300, 5, 5))[size]
        return replace(
            self,
            dimension=self.dimension or dimension,
            min_count=self.min_count or min_count,
            epochs=self.epochs or epochs,
        )


@dataclass(frozen=True, eq=False)
class Trained:
    """The vectors, the settings that made them, and the sizes of the corpus."""

    vectors: Embeddings
    training: CorpusTraining
    tokens: int
    types: int


def train_vectors(
    paths: Iterable[str | os.PathLike[str]],
    training: CorpusTraining | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Trained:
    """Train vectors from text files, plain or gzipped, in UTF-8; the most frequent word comes first.

    `progress` is called after each pass over the text with (passes done, passes in all).
    """
    try:
        import regex  # noqa: F401
        from gensim.models import Word2Vec
    except ImportError:
        raise BilexError("training vectors needs gensim and regex; pip install 'bilex[corpora]'") from None
    training, paths = training or CorpusTraining(), list(paths)
    with tempfile.TemporaryDirectory(prefix="bilex-") as folder:
        cut = Path(folder) / "corpus.txt"
        try:
            counts = _write_sentences(cut, paths, training)
        except OSError as error:
            problem = f"{folder}: the words of the text cannot be kept there ({error.strerror})"
            raise BilexError(f"{problem}; set TMPDIR to a folder with more space") from None
        tokens = sum(counts.values())
        if tokens < MIN_CORPUS_WORDS:
            raise InputError(
                paths[0], f"the text has {tokens} words", f"give at least {MIN_CORPUS_WORDS:,} to learn from"
            )
        training = training.for_corpus(tokens)
        kept = {word: counts[word] for word in sorted(counts, key=lambda word: (-counts[word], word))}
        kept = {word: count for word, count in kept.items() if count >= (training.min_count or 1)}
        if not kept:
            raise InputError(paths[0], f"no word occurs {training.min_count} times", "lower --min-count")
        model = Word2Vec(
            vector_size=training.dimension,
            window=min(training.window, MAX_SENTENCE),  # gensim waits for ever for a thread that a larger one ended
            min_count=training.min_count,
            sg=1,
            negative=10,
            sample=1e-4,
            seed=1,
            workers=1,
        )
        model.build_vocab_from_freq(kept, corpus_count=1)
        model.train(
            corpus_file=str(cut),
            total_words=tokens,
            epochs=training.epochs,
            callbacks=[_epoch_callback(progress, training.epochs or 1)],
        )
    vectors = Embeddings(tuple(model.wv.index_to_key), np.asarray(model.wv.vectors, np.float32))
    return Trained(vectors, training, tokens, len(counts))


def words_of(line: str, training: CorpusTraining) -> list[str]:
    """Cut a line into words."""
    import regex

    line = unicodedata.normalize("NFC", line if training.keep_case else line.lower())
    return line.split() if training.at_spaces else regex.findall(r"(?w)\b\w.*?\b", line)


def corpus_lines(path: str | os.PathLike[str]) -> Iterator[str]:
    """Read the lines of a text file."""
    with ByteStream(path) as stream:
        refuse_unreadable_format(stream)
        reader = LineReader(stream)
        while len(lines := reader.take()):
            for place in range(len(lines)):
                try:
                    yield lines.text(place).decode("utf-8")
                except UnicodeDecodeError:
                    number = lines.first_number + place
                    raise InputError(path, "this is not UTF-8", "convert it, e.g. with iconv", line=number) from None


def _write_sentences(place: Path, paths: Iterable[str | os.PathLike[str]], training: CorpusTraining) -> dict[str, int]:
    """Write the words of the text, a sentence on each line, and count them."""
    counts: dict[str, int] = {}
    with place.open("w", encoding="utf-8", newline="\n") as file:
        for path in paths:
            for line in corpus_lines(path):
                words = words_of(line, training)
                for start in range(0, len(words), MAX_SENTENCE):
                    file.write(" ".join(words[start : start + MAX_SENTENCE]) + "\n")
                for word in words:
                    if len(word.encode("utf-8")) > MAX_WORD_BYTES:  # no reader would accept it
                        continue
                    counts[word] = counts.get(word, 0) + 1
    return counts


def _epoch_callback(progress: Callable[[int, int], None] | None, epochs: int) -> Any:
    from gensim.models.callbacks import CallbackAny2Vec

    class Epochs(CallbackAny2Vec):  # type: ignore[misc]
        done = 0

        def on_epoch_end(self, model: Any) -> None:
            """Count a pass over the text."""
            del model
            self.done += 1
            if progress is not None:
                progress(self.done, epochs)

    return Epochs()

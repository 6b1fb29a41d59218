"""Read a folder with a matrix and its tokens, as model2vec and staticvectors write it.

The matrix is ``model.safetensors``; row i is the token i of ``tokenizer.json`` or ``vocab.json``. Tokenizers know
pieces of words as well as words, and mark which is which (WordPiece ``##``, SentencePiece ``▁``, byte-level BPE ``Ġ``);
only whole words are kept. Their order is the tokenizer's, which is only roughly that of frequency: a word list, the
most frequent word first, puts them in order. It is given, or it is ``FOLDER.words`` beside the folder.
"""

import os
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from bilex.errors import InputError
from bilex.files.streams import WRONG_FILE
from bilex.files.tensors import map_tensor, safetensors_header
from bilex.vectors.cleaning import Loaded
from bilex.vectors.matrices import collect_matrix, open_matrix, read_vocabulary

MATRIX, TOKENIZER, VOCABULARY = "model.safetensors", "tokenizer.json", "vocab.json"
MAX_JSON_BYTES = 1 << 28
WORD_PIECE, SENTENCE_PIECE, BYTE_LEVEL = "##", "▁", "Ġ"


class AddedToken(msgspec.Struct):
    """A token that is not in the model's own vocabulary."""

    id: int
    content: str
    special: bool = False


class TokenModel(msgspec.Struct):
    """The vocabulary: an identifier for each token, or the tokens in order with their scores."""

    vocab: dict[str, int] | list[tuple[str, float]]


class Tokenizer(msgspec.Struct):
    """The parts of ``tokenizer.json`` that matter here."""

    model: TokenModel
    added_tokens: list[AddedToken] = []


def is_model_folder(path: str | os.PathLike[str]) -> bool:
    """Check whether a folder has a matrix and its tokens."""
    folder = Path(path)
    return (folder / MATRIX).is_file() and any((folder / name).is_file() for name in (TOKENIZER, VOCABULARY))


def read_model_folder(
    path: str | os.PathLike[str], limit: int | None, vocabulary: str | os.PathLike[str] | None
) -> Loaded:
    """Read the whole words of a model; with a word list, those on it, in its order."""
    folder = Path(path)
    name = TOKENIZER if (folder / TOKENIZER).is_file() else VOCABULARY
    tokens, special = read_tokens(folder / name)
    matrix, rows = _matrix(folder / MATRIX, tokens, folder / name)
    marked = whole_words(tokens, special)
    paths = [str(folder / MATRIX), str(folder / name)]
    pieces = len(tokens) - len(marked)
    repairs = [f"{pieces} tokens that are not whole words left out"] if pieces else []
    beside = Path(f"{folder}.words")
    vocabulary = beside if vocabulary is None and beside.is_file() else vocabulary
    if vocabulary is not None:
        listed, more = read_vocabulary(os.fspath(vocabulary))
        wanted = list(dict.fromkeys(word.decode("utf-8", "replace") for word in listed))
        unknown = sum(word not in marked for word in wanted)
        repairs += [*more, *([f"{unknown} words of the list are not tokens, left out"] if unknown else [])]
        marked = {word: marked[word] for word in wanted if word in marked}
        paths.append(os.fspath(vocabulary))
    if not marked:
        raise InputError(folder / name, "none of the tokens is a word", WRONG_FILE)
    words = list(marked)[:limit]
    chosen = rows[[marked[word] for word in words]]
    return collect_matrix(str(folder / MATRIX), matrix, words, None, paths, repairs, chosen)


def read_tokens(path: Path) -> tuple[list[str], set[str]]:
    """Return the tokens in the order of their rows, and the special ones, which are not text."""
    if path.stat().st_size > MAX_JSON_BYTES:
        raise InputError(path, f"a list of tokens of more than {MAX_JSON_BYTES:,} bytes", WRONG_FILE)
    try:
        if path.name == VOCABULARY:
            listed: dict[str, int] | list[str] = msgspec.json.decode(path.read_bytes(), type=dict[str, int] | list[str])
            numbers = listed if isinstance(listed, dict) else {token: row for row, token in enumerate(listed)}
            special = set[str]()
        else:
            read = msgspec.json.decode(path.read_bytes(), type=Tokenizer)
            vocab = read.model.vocab
            numbers = vocab if isinstance(vocab, dict) else {token: row for row, (token, _) in enumerate(vocab)}
            numbers = numbers | {token.content: token.id for token in read.added_tokens}
            special = {token.content for token in read.added_tokens if token.special}
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise InputError(path, "this is not a list of tokens", "get the model again") from None
    if any(number != row for row, number in enumerate(sorted(numbers.values()))):
        raise InputError(path, "the tokens are not numbered from 0 on, each once", "get the model again")
    return sorted(numbers, key=numbers.__getitem__), special


def whole_words(tokens: list[str], special: set[str]) -> dict[str, int]:
    """Return the tokens that are whole words, without their marks, and their rows."""
    texts = [(row, token) for row, token in enumerate(tokens) if token not in special]
    mark = next(
        (sign for sign in (SENTENCE_PIECE, BYTE_LEVEL) if any(token.startswith(sign) for _, token in texts)), ""
    )
    found: dict[str, int] = {}
    for row, token in texts:
        if not token.startswith(mark) or token.startswith(WORD_PIECE):
            continue
        word = _from_byte_level(token[1:]) if mark == BYTE_LEVEL else token.removeprefix(mark)
        if word and not (word.startswith("[") and word.endswith("]")):
            found.setdefault(word, row)
    return found


VISIBLE_BYTES = [*range(33, 127), *range(161, 173), *range(174, 256)]
HIDDEN_BYTES = sorted({*range(256)}.difference(VISIBLE_BYTES))
BYTE_OF_LETTER = dict(
    zip([*map(chr, VISIBLE_BYTES), *map(chr, range(256, 324))], VISIBLE_BYTES + HIDDEN_BYTES, strict=True)
)


def _from_byte_level(token: str) -> str:
    """Turn the letters that stand for bytes back into text; empty if they are not whole characters."""
    try:
        return bytes(BYTE_OF_LETTER[letter] for letter in token).decode("utf-8")
    except (KeyError, UnicodeDecodeError):
        return ""


def _matrix(path: Path, tokens: list[str], source: Path) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Map the matrix, and return the row of each token: its own, or that which a tensor ``mapping`` names."""
    matrix = open_matrix(str(path))[0]
    header, offset = safetensors_header(path)
    entry, rows = header.get("mapping"), np.arange(len(tokens))
    if entry is not None and entry["dtype"] in ("I64", "I32") and entry["shape"] == [len(tokens)]:
        rows = map_tensor(path, entry, offset).astype(np.int64)
    elif len(tokens) != len(matrix):
        problem = f"{len(tokens)} tokens but {len(matrix)} rows in {path.name}"
        raise InputError(source, problem, "give a model that is not quantised, or get it again")
    if len(rows) and not (0 <= rows.min() <= rows.max() < len(matrix)):
        raise InputError(path, "the mapping names rows that do not exist", "get the model again")
    return matrix, rows

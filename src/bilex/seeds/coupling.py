"""A seed from the vectors alone: a soft matching of the most frequent words, sharpened until it is a hard one.

EM does not get far from pairs of which one in a hundred is right. So the same two steps are taken softly first.
X and Y are the frequent words of both languages (see `coordinates`), P is a matrix of probabilities that two words
belong together, with rows adding up to 1, and β an inverse temperature that rises from `FIRST_BETA` to `LAST_BETA`:

- M-step: ``Ω = U D^1/2 Vᵀ`` with ``U D Vᵀ`` the singular value decomposition of ``Xᵀ P Y``. While P is nearly uniform,
  only the few directions in which the languages already agree have a weight; others follow as P becomes sharper.
- E-step: ``P ∝ exp(β z + (1 - progress) f)``, balanced by Sinkhorn's algorithm; z are the cosines of XΩ with Y, in
  standard deviations, and ``f = -|difference of the logarithms of the ranks|``: translations are about as frequent.

The first P is computed from the similarity of *signatures* in place of z: how the similarities of a word to the other
words of its own language are distributed. If the two spaces differed only by a rotation, the sorted similarities of a
word to all words of its language would be the same for its translation (Artetxe et al. 2018). On real vectors about one
word in a hundred is then nearest to its translation; its neighbours' signatures, and their neighbours', add a little.
This is entropic Gromov-Wasserstein matching with normalised similarities. It uses only the most frequent words, so its
cost is bounded.

On weak vectors a coupling can be nearly all wrong, but another one is wrong in another way. So `couple_parts` couples
random parts of the words (bagging): the few pairs that several couplings share are far better than any coupling, and EM
goes far from a few good pairs.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

import numpy as np

from bilex.numerics.threads import single_threaded_blas, thread_count
from bilex.numerics.types import Indices, Vectors

SIZES = (4000, 2000)  # numbers of words: two starts, since neither is always good
FIRST_BETA, LAST_BETA = 0.7, 4.0
COOLING_STEPS = 80
SINKHORN_ROUNDS = 6  # in each E-step, starting from the scalings of the last one
FIRST_SINKHORN_ROUNDS = 15
RANK_OFFSET = 10.0  # the ranks of the most frequent words say little
COUPLINGS, COUPLED_WORDS = 16, 2000  # couplings of random parts, and the words that these are drawn from
COUPLED_SHARE = 0.75  # the share of the words in a part
BLOCK_ROWS = 500  # rows at once; a constant, so that results do not depend on the number of threads
TINY = np.float32(1e-30)
T = TypeVar("T")


class Coupling:
    """A soft matching ``P = diag(rows) · kernel · diag(columns)``, computed in blocks of rows."""

    def __init__(self, size: int) -> None:
        self.kernel = np.empty((size, size), np.float32)
        self.rows = np.ones(size, np.float32)
        self.columns = np.ones(size, np.float32)

    def fill(self, logits: Callable[[slice], Vectors]) -> None:
        """Set the kernel to the exponentials of the logits, which are computed for one block of rows at a time."""

        def work(block: slice) -> None:
            found = logits(block)
            np.exp(found - found.max(axis=1, keepdims=True), out=self.kernel[block])

        in_blocks(work, len(self.rows))

    def balance(self, rounds: int) -> None:
        """Scale P until its rows and columns add up to 1 (Sinkhorn)."""

        def work(block: slice) -> Vectors:
            self.rows[block] = 1 / (self.kernel[block] @ self.columns + TINY)
            return np.asarray(self.rows[block] @ self.kernel[block])

        for _ in range(rounds):
            self.columns = 1 / (np.sum(in_blocks(work, len(self.rows)), axis=0) + TINY)

    def times(self, vectors: Vectors) -> Vectors:
        """Compute ``P · vectors``: the expected vector of each source word's partner."""
        weighted = self.columns[:, None] * vectors
        expected = in_blocks(lambda block: self.rows[block, None] * (self.kernel[block] @ weighted), len(self.rows))
        return np.concatenate(expected)

    def mutual(self) -> tuple[Indices, Indices]:
        """Return the pairs of words that are each other's most probable partner; there is at least one."""
        probable = self.rows[:, None] * self.kernel * self.columns
        best = probable.argmax(axis=1)
        rows = np.flatnonzero(probable.argmax(axis=0)[best] == np.arange(len(best)))
        return rows, best[rows]


def couple(source: Vectors, target: Vectors, size: int) -> tuple[Indices, Indices]:
    """Match the `size` most frequent words of both languages by their vectors alone; return the mutual best pairs."""
    rows = np.arange(min(size, len(source), len(target)))
    return couple_rows(source, target, rows, rows)


def couple_rows(source: Vectors, target: Vectors, ours: Indices, theirs: Indices) -> tuple[Indices, Indices]:
    """Match the given rows of both languages, as many of each; return the mutual best pairs."""
    source, target = source[ours], target[theirs]
    our_ranks, their_ranks = (np.log(rows + RANK_OFFSET).astype(np.float32) for rows in (ours, theirs))
    found = Coupling(len(ours))

    def expected(share: float, block: slice) -> Vectors:
        return np.asarray(-share * np.abs(our_ranks[block, None] - their_ranks), np.float32)

    alike = signature_similarity(source, target)
    with single_threaded_blas():
        found.fill(lambda block: alike[block] + expected(1.0, block))
        found.balance(FIRST_SINKHORN_ROUNDS)
        x, y = coordinates(source), coordinates(target)
        for step in range(COOLING_STEPS):
            beta = FIRST_BETA * (LAST_BETA / FIRST_BETA) ** (step / (COOLING_STEPS - 1))
            sharpen(found, x, y, beta, partial(expected, 1 - step / COOLING_STEPS))
    rows, columns = found.mutual()
    return ours[rows], theirs[columns]


def couple_parts(source: Vectors, target: Vectors) -> Iterator[tuple[Indices, Indices]]:
    """Yield the couplings of random parts of the frequent words of both languages."""
    rng = np.random.default_rng(0)
    frequent = min(COUPLED_WORDS, len(source), len(target))
    for _ in range(COUPLINGS):
        ours, theirs = (np.sort(rng.choice(frequent, round(COUPLED_SHARE * frequent), replace=False)) for _ in range(2))
        yield couple_rows(source, target, ours, theirs)


def sharpen(found: Coupling, x: Vectors, y: Vectors, beta: float, prior: Callable[[slice], Vectors]) -> None:
    """Take an M-step and an E-step at the inverse temperature β."""
    left, values, right = np.linalg.svd((x.T @ found.times(y)).astype(np.float64), full_matrices=False)
    omega = (left * np.sqrt(values / (values[0] or 1.0))) @ right
    queries, targets = unit_rows(x @ omega.astype(np.float32)), unit_rows(y)
    mean, deviation = moments(queries, targets)
    scale = np.float32(beta / (deviation or 1.0))
    found.fill(lambda block: np.asarray(scale * (queries[block] @ targets.T - mean) + prior(block)))
    found.balance(SINKHORN_ROUNDS)


def coordinates(vectors: Vectors) -> Vectors:
    """Compute centred unit vectors in the basis of their principal directions, scaled to the root of their deviation.

    Halfway between the original vectors, in which a few directions dominate, and whitened ones, in which noise counts
    as much as the rest.
    """
    centred = unit_rows(vectors - vectors.mean(axis=0)).astype(np.float64)
    left, values, _ = np.linalg.svd(centred - centred.mean(axis=0), full_matrices=False)
    found = left * np.sqrt(values / (values[0] or 1.0))
    return np.asarray(found - found.mean(axis=0), np.float32)


def moments(queries: Vectors, targets: Vectors) -> tuple[np.float32, float]:
    """Compute the mean and the standard deviation of all inner products between two sets of vectors."""
    pairs = len(queries) * len(targets)
    mean = float(queries.sum(axis=0, dtype=np.float64) @ targets.sum(axis=0, dtype=np.float64)) / pairs
    squares = ((queries.T @ queries).astype(np.float64) * (targets.T @ targets)).sum() / pairs
    return np.float32(mean), float(np.sqrt(max(squares - mean**2, 0.0)))


def in_blocks(work: Callable[[slice], T], size: int) -> list[T]:
    """Run the work for each block of rows, on all cores, and return the results in order."""
    blocks = [slice(start, start + BLOCK_ROWS) for start in range(0, size, BLOCK_ROWS)]
    with ThreadPoolExecutor(thread_count()) as pool:
        return list((pool.map if len(blocks) > 1 else map)(work, blocks))


NEIGHBOUR_COUNT = 10
SIGNATURE_ORDERS = 3  # a word's own signature, its neighbours', and their neighbours'


def signatures(vectors: Vectors) -> list[Vectors]:
    """Compute the signatures of each word: of itself, of its neighbours, and of their neighbours.

    The similarities are those of the square root of the Gram matrix, which smooths them. Signatures are centred and
    scaled like vectors.
    """
    with single_threaded_blas():
        left, values, _ = np.linalg.svd(vectors.astype(np.float64), full_matrices=False)
        similar = ((left * values) @ left.T).astype(np.float32)
    near = min(NEIGHBOUR_COUNT, len(vectors))
    neighbours = np.argpartition(-similar, near - 1, axis=1)[:, :near]
    similar.sort(axis=1)
    found = [centred(similar)]
    for _ in range(1, SIGNATURE_ORDERS):
        found.append(centred(np.stack([found[-1][own].mean(axis=0) for own in neighbours])))
    return found


def signature_similarity(source: Vectors, target: Vectors) -> Vectors:
    """Compute how similar the signatures of all pairs of words are, standardised to mean 0 and deviation 1.

    Both sides have the same number of words.
    """
    total = np.zeros((len(source), len(target)), np.float32)
    for ours, theirs in zip(signatures(source), signatures(target), strict=True):
        with single_threaded_blas():
            total += standardised(ours @ theirs.T)
    return standardised(total)


def centred(vectors: Vectors) -> Vectors:
    """Scale rows to norm 1, subtract their mean, and scale them again."""
    return unit_rows(unit_rows(vectors) - unit_rows(vectors).mean(axis=0))


def standardised(scores: Vectors) -> Vectors:
    """Shift and scale scores to mean 0 and deviation 1; scores that are all the same become 0."""
    deviation = float(scores.std())
    return np.asarray((scores - scores.mean()) / (deviation or 1.0), np.float32)


def unit_rows(vectors: Vectors) -> Vectors:
    """Scale rows to norm 1; zero rows stay."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(norms > 0, norms, 1), np.float32)

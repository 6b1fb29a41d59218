"""Belief propagation for edge sets within capacities on a sparse bipartite graph, in numba.

The density over edge sets m that use no vertex v more than b_v times is

    p(m) = (1 / Z) Π over e in m of λ_e,    λ_e = exp(logits_e)

The message x of vertex v along its edge e is v's willingness to take e, given the messages that v receives along its
other edges f: with ``y_f = λ_f x_f`` (x_f from the other end of f) and E_k the sum of the products of k different y,

    x = (E_0 + ... + E_(b-1)) / (E_0 + ... + E_b),    which for b = 1 is 1 / (1 + Σ y_f)

At the fixed point e is in m with odds λ_e times the messages of its two ends. This is exact on a graph without cycles,
and where one side has no limit, because then each word of the other side decides alone.
"""

import numpy as np

from bilex.matching.auction_kernel import Booleans
from bilex.matching.solver_kernel import transpose
from bilex.numerics.compilation import njit
from bilex.numerics.types import Floats, Indices

NO_LIMIT = 0  # as a capacity
ODDS, FROM_SOURCE, FROM_TARGET = 0, 1, 2  # columns of what is known of an edge
MAX_LOGIT = 300.0  # of either sign: the product of two such odds is still finite
LARGEST = 1e300  # a product that may have overflowed
MIN_PASSED_ON = 0.1  # of the tolerance: a smaller change is kept, but not passed on
FORCED = 1e300  # the message of a word that must be matched and has only one edge


@njit(cache=True, nogil=True)
def to_probability(odds: float) -> float:
    """Convert odds, which may be infinite, into a probability."""
    return 1.0 - 1.0 / (1.0 + odds) if odds > 1.0 else odds / (1.0 + odds)


@njit(cache=True, nogil=True)
def add_field(before: Floats, field: float, after: Floats) -> None:
    """Extend the sums of products by one more field."""
    after[0] = before[0]
    for degree in range(1, before.size):
        after[degree] = before[degree] + field * before[degree - 1]


@njit(cache=True, nogil=True)
def compute_messages(
    fields: Floats, capacity: int, null: bool, prefix: Floats, suffix: Floats, messages: Floats
) -> None:
    """Compute a vertex's message along each of its edges from the fields of its other edges.

    The sums before and after an edge are combined, because subtracting its field from the total would lose precision.
    """
    n = fields.size
    prefix[0, :] = 0.0
    suffix[n, :] = 0.0
    prefix[0, 0] = suffix[n, 0] = 1.0
    for place in range(n):
        add_field(prefix[place], fields[place], prefix[place + 1])
    for place in range(n - 1, -1, -1):
        add_field(suffix[place + 1], fields[place], suffix[place])
    for place in range(n):
        willing, total = 0.0, 0.0
        for degree in range(capacity + 1):
            products = 0.0
            for part in range(degree + 1):
                products += prefix[place, part] * suffix[place + 1, degree - part]
            if degree < capacity:
                willing += products
            if null or degree == capacity:
                total += products
        messages[place] = willing / total if total > 0.0 else FORCED


@njit(cache=True, nogil=True)
def compute_single_messages(fields: Floats, messages: Floats) -> None:
    """Compute the same for a vertex that takes one edge or none: 1 / (1 + the sum of the other fields)."""
    before = 1.0
    for place in range(fields.size):
        messages[place] = before
        before += fields[place]
    after = 0.0
    for place in range(fields.size - 1, -1, -1):
        messages[place] = 1.0 / (messages[place] + after)
        after += fields[place]


@njit(cache=True, nogil=True, inline="always")
def change_of(field: float, before: float, after: float, least: float) -> float:
    """Return the change of ``1 / (1 + field · message)`` between two messages; 0 for the many that are below `least`.

    Only the others are divided.
    """
    one, other = 1.0 + field * before, 1.0 + field * after
    both = one * other
    if both > LARGEST:
        return abs(1.0 / one - 1.0 / other)
    difference = abs(one - other)
    return difference / both if difference > least * both else 0.0


@njit(cache=True, nogil=True)
def update_side(
    pointers: Indices,
    edges: Indices,
    far: Indices,
    state: Floats,
    columns: tuple[int, int],
    capacity: int,
    null: bool,
    waiting: tuple[Booleans, Booleans],
    least: float,
) -> float:
    """Update the messages of the waiting vertices of one side; return the largest change of an edge's probability.

    `state` has a row for each edge, because the edges of one side are far apart in memory: its odds, and the messages
    of its ends; `columns` are those of the incoming and of the outgoing ones. The `far` end of an edge waits for the
    next update if its message has changed by at least `least`.
    """
    own_waiting, far_waiting = waiting
    incoming, outgoing = columns
    widest = 0
    for vertex in range(pointers.size - 1):
        widest = max(widest, pointers[vertex + 1] - pointers[vertex])
    prefix, suffix = np.empty((widest + 1, capacity + 1)), np.empty((widest + 1, capacity + 1))
    fields, messages = np.empty(widest), np.empty(widest)
    largest = 0.0
    for vertex in range(pointers.size - 1):
        if not own_waiting[vertex]:
            continue
        own_waiting[vertex] = False
        start, degree = pointers[vertex], pointers[vertex + 1] - pointers[vertex]
        for place in range(degree):
            edge = edges[start + place]
            fields[place] = state[edge, ODDS] * state[edge, incoming]
        if capacity == 1 and null:
            compute_single_messages(fields[:degree], messages)
        else:
            compute_messages(fields[:degree], capacity, null, prefix, suffix, messages)
        for place in range(degree):
            edge = edges[start + place]
            change = change_of(fields[place], state[edge, outgoing], messages[place], least)
            state[edge, outgoing] = messages[place]
            if change > 0.0:
                far_waiting[far[edge]] = True
                largest = max(largest, change)
    return largest


@njit(cache=True, nogil=True)
def marginals(
    indptr: Indices,
    rows: Indices,
    indices: Indices,
    logits: Floats,
    n_targets: int,
    source_capacity: int,
    target_capacity: int,
    null: bool,
    tolerance: float,
    max_rounds: int,
) -> tuple[Floats, float]:
    """Return the probability of each edge, and the largest change in the last round.

    A capacity of 0 means no limit. Without `null` each word of the limited side has exactly one edge. Most words
    soon hear nothing new, and a few go on for long: a word is updated again when what it hears has changed by a
    part of the tolerance.
    """
    state = np.ones((indices.size, 3))
    for edge in range(indices.size):
        state[edge, ODDS] = np.exp(min(max(logits[edge], -MAX_LOGIT), MAX_LOGIT))
    by_source = np.arange(indices.size)
    pointers, by_target = transpose(indices, n_targets)
    sources, targets = np.ones(indptr.size - 1, np.bool_), np.ones(n_targets, np.bool_)
    to_targets, to_sources = (FROM_TARGET, FROM_SOURCE), (FROM_SOURCE, FROM_TARGET)
    change, least = 0.0, MIN_PASSED_ON * tolerance
    if target_capacity == NO_LIMIT:  # each source decides alone: one update is enough
        update_side(indptr, by_source, indices, state, to_targets, source_capacity, null, (sources, targets), least)
    elif source_capacity == NO_LIMIT:
        update_side(pointers, by_target, rows, state, to_sources, target_capacity, null, (targets, sources), least)
    else:
        for _ in range(max_rounds):
            change = update_side(
                indptr, by_source, indices, state, to_targets, source_capacity, null, (sources, targets), least
            )
            back = update_side(
                pointers, by_target, rows, state, to_sources, target_capacity, null, (targets, sources), least
            )
            change = max(change, back)
            if change < tolerance:
                break
    probabilities = np.empty(indices.size)
    for edge in range(indices.size):
        odds = state[edge, ODDS] * state[edge, FROM_SOURCE] * state[edge, FROM_TARGET]
        probabilities[edge] = to_probability(odds)
    return probabilities, change

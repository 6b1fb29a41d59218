"""Maximum-weight b-matching on a sparse bipartite graph, in numba on CSR arrays.

The problem: choose edges, each at most once, so that every vertex of side A has at most ``capacity_a`` of them,
every vertex of side B at most ``capacity_b``, and the sum of their (positive, integer) weights is largest. No
vertex has to be matched: the null option of weight 0 is implicit and no dummy vertex is ever built.

The method is primal-dual. With duals u, v >= 0 for the vertices, and the slack ``u + v - w`` of an edge, keep

1. unchosen edges at slack >= 0 and chosen edges at slack <= 0 (for capacities 1:1: exactly 0), and
2. ``u > 0`` only where a vertex of A has spent its capacity, ``v > 0`` only where one of B has.

(1) and (2) together are the complementary slackness conditions, so a state that has both is optimal. `auction` and
`lower_prices` find duals that are nearly right, and `settle` chooses edges so that (1) holds. A vertex that breaks (2)
is *exposed*; `repair` treats exposed vertices one after the other, each by a shortest-path search on the slacks that
either gives the vertex an edge or lowers its dual to 0, and never breaks (1). Weights are integers, so the arithmetic
is exact and there are no tolerances.
"""

from typing import NamedTuple

import numpy as np

from bilex.matching.auction_kernel import Booleans, Ints, auction, clear_slot, fill_slot, is_full, prefetch
from bilex.matching.heap_kernel import pop, push
from bilex.numerics.compilation import njit

UNREACHED = np.int64(1) << np.int64(62)
MAX_BIDS_PER_EDGE = 50
PRICE_ROUNDS = 3  # more lower few prices further


class SidedGraph(NamedTuple):
    """The graph as one side sees it: the places of the edges of each vertex of A, and the ends and weight of each edge.

    `far` and `worth` are the other end and the weight of the edge at each place, so that a vertex's are side by side.
    """

    pointers: Ints
    edges: Ints
    far: Ints
    worth: Ints
    ends_a: Ints
    ends_b: Ints
    weights: Ints


class SolverState(NamedTuple):
    """The chosen edges of each vertex (-1 for a free slot), the duals, and the chosen edges as flags."""

    slots_a: Ints
    slots_b: Ints
    u: Ints
    v: Ints
    chosen: Booleans


class PathSearch(NamedTuple):
    """The arrays of Dijkstra's algorithm. Vertices of B are numbered from 0, those of A from n_b on."""

    distance: Ints
    came_by: Ints
    touched: Ints
    heap_key: Ints
    heap_node: Ints


@njit(cache=True, nogil=True)
def transpose(indices: Ints, n_b: int) -> tuple[Ints, Ints]:
    """List the edges of each vertex of side B, in order: a counting sort of `indices`."""
    pointers = np.zeros(n_b + 1, np.int64)
    for edge in range(indices.size):
        pointers[indices[edge] + 1] += 1
    for b in range(n_b):
        pointers[b + 1] += pointers[b]
    place = pointers[:-1].copy()
    edges = np.empty(indices.size, np.int64)
    for edge in range(indices.size):
        b = indices[edge]
        edges[place[b]] = edge
        place[b] += 1
    return pointers, edges


@njit(cache=True, nogil=True)
def seen_from_b(ends_a: Ints, indices: Ints, weights: Ints, n_b: int) -> SidedGraph:
    """Return the graph as side B sees it."""
    pointers, edges = transpose(indices, n_b)
    return SidedGraph(pointers, edges, ends_a[edges], weights[edges], indices, ends_a, weights)


@njit(cache=True, nogil=True)
def lower_prices(indptr: Ints, graph: SidedGraph, state: SolverState) -> None:
    """Lower the price v of each vertex of B to what those who do not have it would pay, for capacities 1:1.

    The auction leaves prices too high, by epsilon or by a price war, and owners who would rather have something else.
    At the lower price most of them are content, so `settle` drops fewer edges. A few rounds: each raises the profits u
    that the next compares with. `graph` is seen from side B, `indptr` from side A.
    """
    slots_a, slots_b, u, v, _ = state
    for a in range(slots_a.shape[0]):
        u[a] = 0
        for edge in range(indptr[a], indptr[a + 1]):
            if slots_a[a, 0] < 0 or slots_a[a, 0] == edge:
                u[a] = max(u[a], graph.weights[edge] - v[graph.ends_a[edge]])
    for _ in range(PRICE_ROUNDS):
        for b in range(slots_b.shape[0]):
            own, price = slots_b[b, 0], np.int64(0)
            for place in range(graph.pointers[b], graph.pointers[b + 1]):
                if graph.edges[place] != own:
                    price = max(price, graph.worth[place] - u[graph.far[place]])
            if price < v[b]:
                if own >= 0:
                    u[graph.ends_b[own]] = max(0, graph.weights[own] - price)
                v[b] = price


@njit(cache=True, nogil=True)
def settle(indptr: Ints, indices: Ints, weights: Ints, state: SolverState) -> None:
    """Set u for the given v so that condition (1) holds, and drop the chosen edges that contradict it."""
    slots_a, slots_b, u, v, chosen = state
    for a in range(indptr.size - 1):
        need = np.int64(0)
        for edge in range(indptr[a], indptr[a + 1]):
            if not chosen[edge]:
                need = max(need, weights[edge] - v[indices[edge]])
        worst_kept = UNREACHED
        for edge in range(indptr[a], indptr[a + 1]):
            if chosen[edge]:
                profit = weights[edge] - v[indices[edge]]
                if profit < need:
                    chosen[edge] = False
                    clear_slot(slots_a, a, edge)
                    clear_slot(slots_b, indices[edge], edge)
                else:
                    worst_kept = min(worst_kept, profit)
        # A vertex at full capacity may have the largest u that its chosen edges allow: then they are tight.
        u[a] = worst_kept if is_full(slots_a, a) else need


@njit(cache=True, nogil=True)
def lower_unsold(graph: SidedGraph, state: SolverState) -> None:
    """Lower the price of each vertex of B that is not sold out to the least that condition (1) allows.

    `repair` has less to search for then. `graph` is seen from side B.
    """
    _, slots_b, u, v, chosen = state
    for b in range(slots_b.shape[0]):
        if v[b] > 0 and not is_full(slots_b, b):
            price = np.int64(0)
            for place in range(graph.pointers[b], graph.pointers[b + 1]):
                if not chosen[graph.edges[place]]:
                    price = max(price, graph.worth[place] - u[graph.far[place]])
            v[b] = min(v[b], price)


@njit(cache=True, nogil=True)
def cheapest_end(root: int, graph: SidedGraph, state: SolverState, search: PathSearch) -> tuple[int, int, int]:
    """Run Dijkstra's algorithm from `root` to the cheapest vertex where a path may end; see `repair`.

    Return the cost of that end, its vertex, and the number of touched vertices. A vertex's
    chosen edge is fetched from memory when the vertex enters the heap, the edges of its owner when it is next.
    """
    pointers, edges, far, worth, ends_a, _, weights = graph
    _, slots_b, u, v, chosen = state
    distance, came_by, touched, heap_key, heap_node = search
    n_b = slots_b.shape[0]
    limit, end = u[root], n_b + root
    distance[end] = 0
    touched[0] = end
    n_touched = 1
    size, here, following = 0, np.int64(0), end
    while (following >= 0 and here < limit) or (size > 0 and heap_key[0] < limit):
        if following >= 0:
            node, following = following, -1
        else:
            here, node = heap_key[0], heap_node[0]
            size = pop(heap_key, heap_node, size)
            if size > 0 and heap_node[0] < n_b:
                owner = ends_a[slots_b[heap_node[0], 0]]
                prefetch(far, pointers[owner])
                prefetch(worth, pointers[owner])
            if here > distance[node]:  # it was reached by a shorter path since
                continue
        if node >= n_b:
            a = node - n_b
            for place in range(pointers[a], pointers[a + 1]):
                b = far[place]
                there = here + u[a] + v[b] - worth[place]
                if there >= limit or there >= distance[b]:
                    continue
                edge = edges[place]
                if chosen[edge]:
                    continue
                if distance[b] == UNREACHED:
                    touched[n_touched] = b
                    n_touched += 1
                distance[b], came_by[b] = there, edge
                if is_full(slots_b, b):
                    prefetch(ends_a, slots_b[b, 0])
                    prefetch(weights, slots_b[b, 0])
                    size = push(heap_key, heap_node, size, there, b)
                else:
                    limit, end = there, b
        else:
            for slot in range(slots_b.shape[1]):
                edge = slots_b[node, slot]
                a = n_b + ends_a[edge]
                there = here + weights[edge] - u[a - n_b] - v[node]
                if there >= limit or there >= distance[a]:
                    continue
                if distance[a] == UNREACHED:
                    touched[n_touched] = a
                    n_touched += 1
                distance[a], came_by[a] = there, edge
                if there == here and following < 0:
                    following = a  # as near as here, so it is next and need not go through the heap
                else:
                    size = push(heap_key, heap_node, size, there, a)
                if there + u[a - n_b] < limit:
                    limit, end = there + u[a - n_b], a
    return limit, end, n_touched


@njit(cache=True, nogil=True)
def repair(graph: SidedGraph, state: SolverState) -> None:
    """Repair every exposed vertex of side A; call it with the sides exchanged for those of B.

    From an exposed vertex, Dijkstra's algorithm walks unchosen edges from A to B at cost ``u + v - w`` and chosen
    edges from B back to A at cost ``w - u - v``. A path may end at a vertex of B with room, at cost 0 more, or at
    any vertex of A by giving up the chosen edge it came by (the root: by staying unmatched), at cost u more. The
    cheapest end wins; duals of the vertices nearer than it move so that the path becomes tight, and the edges
    along it change between chosen and unchosen. No path longer than the root's own u is searched.
    """
    slots_a, slots_b, u, v, _ = state
    n_a, n_b = slots_a.shape[0], slots_b.shape[0]
    distance = np.full(n_b + n_a, UNREACHED, np.int64)
    came_by = np.full(n_b + n_a, -1, np.int64)
    touched = np.empty(n_b + n_a, np.int64)
    heap_size = graph.weights.size + n_a * slots_a.shape[1] + 1
    heap_key, heap_node = np.empty(heap_size, np.int64), np.empty(heap_size, np.int64)
    search = PathSearch(distance, came_by, touched, heap_key, heap_node)
    for root in range(n_a):
        while u[root] > 0 and not is_full(slots_a, root):
            limit, end, n_touched = cheapest_end(root, graph, state, search)
            for node in touched[:n_touched]:
                closer = max(0, limit - distance[node])
                if node < n_b:
                    v[node] += closer
                else:
                    u[node - n_b] -= closer
            flip_path(root, end, graph, state, came_by)
            for node in touched[:n_touched]:
                distance[node], came_by[node] = UNREACHED, -1


@njit(cache=True, nogil=True)
def flip_path(root: int, end: int, graph: SidedGraph, state: SolverState, came_by: Ints) -> None:
    """Exchange chosen and unchosen edges on the path from `root` to `end`."""
    ends_a, ends_b = graph.ends_a, graph.ends_b
    slots_a, slots_b, _, _, chosen = state
    n_b, node = slots_b.shape[0], end
    if node >= n_b:  # it ends on side A: the edge it came by is given up, and nothing replaces it
        if node == n_b + root:
            return
        edge = came_by[node]
        chosen[edge] = False
        clear_slot(slots_a, node - n_b, edge)
        node = ends_b[edge]
        clear_slot(slots_b, node, edge)
    while True:
        edge = came_by[node]
        a = ends_a[edge]
        chosen[edge] = True
        fill_slot(slots_b, node, edge)
        if a == root:
            fill_slot(slots_a, a, edge)
            return
        given_up = came_by[n_b + a]
        chosen[given_up] = False
        clear_slot(slots_a, a, given_up)
        fill_slot(slots_a, a, edge)
        node = ends_b[given_up]
        clear_slot(slots_b, node, given_up)


def solve_integers(
    indptr: Ints, indices: Ints, weights: Ints, n_b: int, capacity_a: int, capacity_b: int, prices: Ints, epsilon: int
) -> tuple[Booleans, Ints, Ints]:
    """Solve the b-matching problem to optimality.

    The graph is in CSR form: for each vertex of A its vertices of B, each once, and the edges' weights, positive.
    `prices` are duals of B to start from, >= 0. A smaller `epsilon`, the auction's step, gives better duals after more
    bids; neither changes the optimum. Return which edges were chosen, and the optimal duals u and v.
    """
    n_a = indptr.size - 1
    slots_a = np.full((n_a, capacity_a), -1, np.int64)
    slots_b = np.full((n_b, capacity_b), -1, np.int64)
    u = np.zeros(n_a, np.int64)
    v = prices.copy()
    ends_a = np.repeat(np.arange(n_a), np.diff(indptr))
    max_bids = MAX_BIDS_PER_EDGE * (indices.size + n_a * capacity_a)
    chosen = auction(indptr, indices, weights, slots_a, slots_b, v, epsilon, max_bids)
    state = SolverState(slots_a, slots_b, u, v, chosen)
    of_b = seen_from_b(ends_a, indices, weights, n_b)
    if capacity_a == capacity_b == 1:
        lower_prices(indptr, of_b, state)
    settle(indptr, indices, weights, state)
    lower_unsold(of_b, state)
    repair(SidedGraph(indptr, np.arange(indices.size), indices, weights, ends_a, indices, weights), state)
    repair(of_b, SolverState(slots_b, slots_a, v, u, chosen))
    return chosen, u, v

"""Other solvers of the E-step's problem, each with the formulation that suits it best.

They solve square assignment problems with a perfect matching, so the null options must be made explicit (the paper's
appendix): source j gets a dummy target of its own and target i a dummy source of its own, at weight 0. A dummy source
i may take the dummy target j, at weight 0, where (j, i) is an edge: if that edge is chosen, its two dummies are free
for each other, so every partial matching of the graph is a perfect one here and has the same weight. Edges of weight
<= 0 are never worth choosing and are left out: with them `lapmod` took up to 39 times as long (20,000 words, k = 10,
poor map).
"""

from __future__ import annotations

import math
import multiprocessing
import resource
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from benchmarks.results import stopwatch
from bilex.matching.graph import Graph

__all__ = ["PEERS", "Assignment", "Run", "assignment", "run"]


@dataclass(frozen=True, eq=False)
class Assignment:
    """Positive costs of a square assignment problem; a perfect matching of weight w costs ``constant - w``."""

    costs: csr_array
    constant: float


@dataclass(frozen=True)
class Run:
    """The objective and the time of one call of a solver."""

    objective: float
    cpu: float
    wall: float


def assignment(graph: Graph) -> Assignment:
    """Write the partial matching problem of a graph as an assignment problem."""
    n_sources, n_targets = graph.n_sources, graph.n_targets
    keep = graph.weights > 0
    rows, columns, weights = graph.rows[keep], graph.indices[keep], graph.weights[keep]
    sources, targets = np.arange(n_sources), np.arange(n_targets)
    all_rows = np.concatenate([rows, sources, n_sources + targets, n_sources + columns])
    all_columns = np.concatenate([columns, n_targets + sources, targets, n_targets + rows])
    all_weights = np.concatenate([weights, np.zeros(n_sources + n_targets + len(weights))])
    size = n_sources + n_targets
    top = 1 + all_weights.max(initial=0.0)
    costs = csr_array((top - all_weights, (all_rows.astype(np.int32), all_columns.astype(np.int32))), (size, size))
    costs.sort_indices()
    return Assignment(costs, top * size)


def lapmod(problem: Assignment) -> float:
    """Solve by Jonker and Volgenant's sparse algorithm, as in the PyPI package `lap`."""
    import lap

    costs = problem.costs
    cost, _, _ = lap.lapmod(costs.shape[0], costs.data, costs.indptr, costs.indices)
    return float(problem.constant - cost)


def scipy(problem: Assignment) -> float:
    """Solve by SciPy's LAPJVsp."""
    rows, columns = min_weight_full_bipartite_matching(problem.costs)
    return float(problem.constant - problem.costs[rows, columns].sum())


def ortools(problem: Assignment) -> float:
    """Solve by OR-Tools' cost-scaling push-relabel, on weights rounded to six decimals: more would overflow there."""
    from ortools.graph.python.linear_sum_assignment import SimpleLinearSumAssignment

    costs, scale, size = problem.costs.tocoo(), 1e6, problem.costs.shape[0]
    top = problem.constant / size
    weights = np.rint((top - costs.data) * scale).astype(np.int64)
    highest = round(top * scale)
    solver = SimpleLinearSumAssignment()
    solver.add_arcs_with_cost(costs.row, costs.col, highest - weights)
    if solver.solve() != solver.OPTIMAL:
        raise RuntimeError("OR-Tools found no optimum")
    return float(highest * size - solver.optimal_cost()) / scale


PEERS: dict[str, Callable[[Assignment], float]] = {"lapmod": lapmod, "ortools": ortools, "scipy": scipy}


def run(peer: str, problem: Assignment, limit: int) -> Run | None:
    """Run a peer in a process of its own; return None if it takes more than `limit` seconds of CPU time.

    Only the call of the solver is timed: neither the building of its problem nor the start of the process.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=work, args=(peer, problem, limit, sender))
    process.start()
    sender.close()
    try:
        answer: Run = receiver.recv()
    except EOFError:  # the process ended without an answer
        process.join()
        if process.exitcode == -signal.SIGXCPU:
            return None
        raise RuntimeError(f"{peer} failed, with exit code {process.exitcode}") from None
    finally:
        process.kill()
        process.join()
    return answer


def work(peer: str, problem: Assignment, limit: int, sender: Connection) -> None:
    """Solve and report, in the peer's process."""
    solver = PEERS[peer]
    solver(Assignment(csr_array(np.ones((2, 2))), 2.0))  # loads the libraries
    settle_allocator()
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time()) + limit, hard))
    sender.send(Run(*stopwatch(lambda: solver(problem))))


def settle_allocator() -> None:
    """Put the C library's allocator in the state it has in a program that has run for a while.

    A fresh process of glibc maps each block above 128 kB anew, until a larger one was freed. `lapmod` allocates such
    blocks for every path it searches, and at 100,000 words the page faults made it nine times slower.
    """
    np.ones(3_000_000)

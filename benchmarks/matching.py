"""The exact partial 1:1 matching, certificate included, beside assignment solvers on the same graph.

Ours and the peers take turns, and so do the graphs of a good and of a poor map.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from benchmarks import peers
from benchmarks.graphs import MAPS, candidate_graph
from benchmarks.results import Result, cpu_of, promise, single, taking_turns
from bilex.matching.graph import Capacities
from bilex.matching.solver import solve

__all__ = ["benchmark"]

WORDS, QUICK_WORDS = 200_000, 2_000
PEER_LIMIT = 60  # CPU seconds: a peer's run that takes longer is stopped and counts as this
PEER_BUDGET = 60  # seconds: a peer that has taken more than this in a case is not run again
AGREEMENT = 1e-6  # relative, of the objectives
FASTER = 10  # times faster than lapmod under a good map
POOR = 2  # times slower at most under a poor map than under a good one


@dataclass(frozen=True)
class Case:
    """One graph and the log-odds of its prior."""

    words: int
    map_name: str
    k: int
    log_odds: float

    def __str__(self) -> str:
        return f"{self.words:,} words, k={self.k}, {self.map_name} map, log-odds {self.log_odds:g}"


def benchmark(quick: bool) -> Iterator[Result]:
    """Measure all cases, one result for each and each peer."""
    words = QUICK_WORDS if quick else WORDS
    solve(candidate_graph(QUICK_WORDS, "good", 3), Capacities())  # compiles the kernels
    for k in (3, 10):
        for log_odds in (0.0, 0.5):
            for map_name in MAPS:
                yield from measure(Case(words, map_name, k, log_odds), quick)
            yield compare_maps(words, k, log_odds, quick)


def compare_maps(words: int, k: int, log_odds: float, quick: bool) -> Result:
    """Solve the graphs of both maps in turns."""
    graphs = {map_name: candidate_graph(words, map_name, k, log_odds) for map_name in MAPS}
    taken = taking_turns(
        {name: partial(cpu_of, partial(solve, graph, Capacities())) for name, graph in graphs.items()}, quick
    )
    return Result(
        name="matching",
        case=f"{words:,} words, k={k}, log-odds {log_odds:g}, good against poor map",
        unit="CPU s",
        ours=taken["poor"],
        peer_name="ours under a good map",
        peer=taken["good"],
        **promise(f"at most {POOR}x slower", taken["poor"].median <= POOR * taken["good"].median, quick),
    )


def measure(case: Case, quick: bool) -> Iterator[Result]:
    """Run ours and the peers in turn; raise if they do not agree on the optimum."""
    graph = candidate_graph(case.words, case.map_name, case.k, case.log_odds)
    problem, matching = peers.assignment(graph), solve(graph, Capacities())
    names = ["lapmod"]
    if case.map_name == "good" and case.log_odds == 0:
        names += ["ortools"]
        if case.k == 3:  # SciPy's solver is slower by far, and one kind of graph is enough to show it
            names += ["scipy"]
    differences = dict.fromkeys(names, 0.0)

    def run_peer(name: str) -> float | None:
        run = peers.run(name, problem, PEER_LIMIT)
        if run is None:
            return None
        differences[name] = check_agreement(case, matching.objective, name, run.objective)
        return run.cpu

    measures = {name: partial(run_peer, name) for name in names}
    ours = partial(cpu_of, partial(solve, graph, Capacities()))
    taken = taking_turns({"ours": ours, **measures}, quick, warm_up=False, budget=PEER_BUDGET)
    for name in names:
        exceeded = not taken[name].figures
        peer = single(PEER_LIMIT) if exceeded else taken[name]
        yield Result(
            name="matching",
            case=str(case),
            unit="CPU s",
            ours=taken["ours"],
            peer_name=name,
            peer=peer,
            exceeded=exceeded,
            details={
                "edges": len(graph.weights),
                "edges_worth_choosing": int((graph.weights > 0).sum()),
                "pairs": len(matching),
                "objective": matching.objective,
                "certificate_gap": matching.gap,
                "objective_difference": differences[name],
            },
            **promise(f"at least {FASTER}x", peer.median >= FASTER * taken["ours"].median, quick or name != "lapmod"),
        )


def check_agreement(case: Case, objective: float, peer: str, peer_objective: float) -> float:
    """Return the difference of two optima; raise if it is more than rounding."""
    difference = abs(objective - peer_objective)
    if difference > AGREEMENT * max(1.0, abs(peer_objective)):
        raise ArithmeticError(f"{case}: our optimum is {objective!r}, {peer}'s is {peer_objective!r}")
    return difference

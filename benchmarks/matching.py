"""The exact partial 1:1 matching, certificate included, beside assignment solvers on the same graph.

Ours and the peers take turns. The fastest run of each counts, in CPU time: other work on the machine only adds time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from benchmarks import peers
from benchmarks.graphs import MAPS, candidate_graph
from benchmarks.results import Result, promise, stopwatch
from bilex.matching.graph import Capacities, Graph, Matching
from bilex.matching.solver import solve

__all__ = ["benchmark"]

WORDS, QUICK_WORDS = 200_000, 2_000
ROUNDS = 3
PEER_LIMIT = 60  # CPU seconds: a peer's run that takes longer is stopped and counts as this
PEER_BUDGET = 30  # CPU seconds: a peer that has taken more than this in a case is not run again
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
            found = {}
            for map_name in MAPS:
                for result in measure(Case(words, map_name, k, log_odds), quick):
                    found[map_name] = result.ours
                    yield result
            yield Result(
                name="matching",
                case=f"{words:,} words, k={k}, log-odds {log_odds:g}, good against poor map",
                unit="CPU s",
                ours=found["poor"],
                peer_name="ours under a good map",
                peer=found["good"],
                **promise(f"at most {POOR}x slower", found["poor"] <= POOR * found["good"], quick),
            )


def measure(case: Case, quick: bool) -> Iterator[Result]:
    """Run ours and the peers in turn; raise if they do not agree on the optimum."""
    graph = candidate_graph(case.words, case.map_name, case.k, case.log_odds)
    problem = peers.assignment(graph)
    names = ["lapmod"]
    if case.map_name == "good" and case.log_odds == 0:
        names += ["ortools"]
        if case.k == 3:  # SciPy's solver is slower by far, and one kind of graph is enough to show it
            names += ["scipy"]
    ours: list[tuple[Matching, float, float]] = []
    theirs: dict[str, list[peers.Run]] = {name: [] for name in names}
    exceeded = set[str]()
    for _ in range(1 if quick else ROUNDS):
        ours.append(stopwatch(lambda: solve(graph, Capacities())))
        for name in names:
            if name in exceeded or sum(run.cpu for run in theirs[name]) > PEER_BUDGET:
                continue
            run = peers.run(name, problem, PEER_LIMIT)
            if run is None:
                exceeded.add(name)
            else:
                check_agreement(case, ours[0][0].objective, name, run.objective)
                theirs[name].append(run)
    for name in names:
        yield summarise(case, graph, ours, name, theirs[name], quick or name != "lapmod")


def check_agreement(case: Case, objective: float, peer: str, peer_objective: float) -> None:
    """Raise if two solvers found optima of different weight."""
    if abs(objective - peer_objective) > AGREEMENT * max(1.0, abs(peer_objective)):
        raise ArithmeticError(f"{case}: our optimum is {objective!r}, {peer}'s is {peer_objective!r}")


def summarise(
    case: Case,
    graph: Graph,
    ours: list[tuple[Matching, float, float]],
    name: str,
    theirs: list[peers.Run],
    quick: bool,
) -> Result:
    """Summarise the runs of one case."""
    matching = ours[0][0]
    our_cpu, our_wall = [cpu for _, cpu, _ in ours], [wall for _, _, wall in ours]
    runs = theirs or [peers.Run(matching.objective, PEER_LIMIT, PEER_LIMIT)]
    peer_cpu, peer_wall = [run.cpu for run in runs], [run.wall for run in runs]
    return Result(
        name="matching",
        case=str(case),
        unit="CPU s",
        ours=min(our_cpu),
        peer_name=name,
        peer=min(peer_cpu),
        exceeded=not theirs,
        details={
            "edges": len(graph.weights),
            "edges_worth_choosing": int((graph.weights > 0).sum()),
            "pairs": len(matching),
            "objective": matching.objective,
            "certificate_gap": matching.gap,
            "objective_difference": max(abs(run.objective - matching.objective) for run in theirs) if theirs else -1.0,
            "our_median_cpu": median(our_cpu),
            "our_wall": min(our_wall),
            "peer_median_cpu": median(peer_cpu),
            "peer_wall": min(peer_wall),
            "peer_runs": len(theirs),
        },
        **promise(f"at least {FASTER}x", min(peer_cpu) >= FASTER * min(our_cpu), quick),
    )

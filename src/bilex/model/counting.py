"""What the evidence for a pair is worth, counted in the run itself, without a label.

An edge (s, t) stands out in the shared space by x (CSLS, under maps that its own source word had no part in), and shows
evidence z that the maps know nothing of. Its weight is

    weight(s, t) = scale · x + Σ over the kinds of evidence of log p(z | right) / p(z | passed over) + log-odds

1. *Chosen* are the edges that stand out most for both of their words, by x alone; *passed over* are those that do for
   neither. The other evidence had no part in that choice, so its counts are fair.
2. *Purity*: some chosen pairs are wrong. Wrong ones are in the worst tenth by z (of the rivals of the same words) as
   often as rivals are; right ones hardly ever. So purity is about ``1 - share(chosen) / share(rivals)``, cross-fitted
   over halves of the words. In a failed run it is near 0.
3. *Ratios*: the chosen are a mixture, ``p(z | chosen) = purity · p(z | right) + (1 - purity) · p(z | passed over)``;
   solved for the right ones, smoothed, and monotone where that is known.
4. *Scale*: z teaches what x is worth. The scale makes the z of all words most probable, if each word takes one of its
   candidates, or none, with probability in proportion to exp(scale · x + offset).
5. *Log-odds*: such that the words of the chosen pairs have a translation with a mean probability of the purity.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bilex.matching.graph import Capacities, Graph
from bilex.model.evidence import Flags, Measured
from bilex.model.listwise import CandidateLists
from bilex.model.posterior import worthwhile_posterior
from bilex.numerics.types import Floats, Indices

WORST_RIVALS = 0.1  # the share of the rivals that their evidence speaks most against
RIGHT_AMONG_WORST = 0.1  # how often right pairs are as bad, beside rivals
MAX_RATIO, MIN_RATIO = 6.0, -3.0  # nats: one kind of evidence says no more for a pair, and no less against it
MIN_TELLING_PURITY = 0.1  # two deviations down; a run with fewer right pairs has failed
USUAL_PURITY, PURITY_SPREAD = 0.5, 0.3  # before anything is counted: it could be almost any
MAX_PURITY, MIN_PURITY = 0.99, 0.05  # counts cannot tell purities beyond these apart
START_SCALE, START_OFFSET = 15.0, -2.0  # Newton's method ends in the same place from others
MIN_SCALE = 1.0  # however weak the vectors, they decide where the other evidence is the same
MAX_COUNTED_WORDS = 20_000  # the most frequent source words: enough to count on
MAX_SCALE_ROUNDS = 40
SCALE_TOLERANCE = 0.005
LOG_ODDS_RANGE = (-16.0, 0.0)  # nothing is taken for more probable than its evidence
START_LOG_ODDS, LOG_ODDS_TOLERANCE, MIN_SLOPE, MAX_LOG_ODDS_ROUNDS = -4.0, 0.03, 0.01, 20
ROUGH_TOLERANCE = 0.01  # of the posterior, while the log-odds are sought


@dataclass(frozen=True, eq=False)
class CountedWeights:
    """What was counted: the scale of CSLS and a curve for each kind of evidence.

    `purity` is the share of right pairs among the chosen ones, near 0 in a failed run, and `deviation` its standard
    deviation.
    """

    scale: float
    curves: dict[str, Floats]
    purity: float
    deviation: float


def count_weights(graph: Graph, evidence: Sequence[Measured]) -> CountedWeights:
    """Learn the weight of a pair from a graph of candidates, whose weights are cross-fitted CSLS scores."""
    counted = graph.rows < MAX_COUNTED_WORDS
    graph, evidence = graph.where(counted), [each.where(counted) for each in evidence]
    mute = {each.name: np.zeros(len(each.knots)) for each in evidence}
    chosen, passed_over = choose_edges(graph)
    purity, deviation = estimate_purity(graph, evidence, chosen, passed_over)
    if not is_telling(purity, deviation):
        return CountedWeights(START_SCALE, mute, purity, deviation)
    bounded = bounded_purity(purity, deviation)
    curves = {each.name: decontaminate(log_ratio(each, chosen, passed_over), bounded) for each in evidence}
    total = np.sum([each.nats(curves[each.name]) for each in evidence], axis=0)
    return CountedWeights(learn_scale(graph, total), curves, purity, deviation)


def choose_edges(graph: Graph) -> tuple[Flags, Flags]:
    """Mark the edges that stand out most for both of their words, and those that do for neither."""
    first, other_first = heaviest_of(graph.weights, graph.rows), heaviest_of(graph.weights, graph.indices)
    return first & other_first & (graph.weights > 0), ~first & ~other_first


def is_telling(purity: float, deviation: float) -> bool:
    """Check that the evidence tells the chosen pairs from rivals; if not, its counts are noise."""
    return purity - 2 * deviation > MIN_TELLING_PURITY


def tells_failure(purity: float, deviation: float) -> bool:
    """Check that hardly any chosen pair can be right; with few pairs the evidence may tell neither this nor that."""
    return not is_telling(purity, deviation) and purity + deviation <= USUAL_PURITY


def tells_weakness(purity: float, deviation: float) -> bool:
    """Check that most of the chosen pairs are wrong."""
    return purity + 2 * deviation < USUAL_PURITY


def bounded_purity(purity: float, deviation: float) -> float:
    """Return the purity as far as counts can tell it: few pairs say little, and extremes cannot be told apart."""
    trust = PURITY_SPREAD**2 / (PURITY_SPREAD**2 + deviation**2)
    return float(np.clip(trust * purity + (1 - trust) * USUAL_PURITY, MIN_PURITY, MAX_PURITY))


def heaviest_of(weights: Floats, words: Indices) -> Flags:
    """Mark the heaviest edge of each word; ties go to the first."""
    from bilex.model.rivals_kernel import top_two

    heaviest, best = top_two(words, weights, int(words.max(initial=-1)) + 1)[0], np.zeros(len(weights), np.bool_)
    best[heaviest[heaviest >= 0]] = True
    return best


def log_ratio(evidence: Measured, chosen: Flags, passed_over: Flags) -> Floats:
    """Compare the histograms of chosen and passed-over edges: the logarithm of their ratio at each knot.

    Each knot starts with one count, spread as the two histograms are on average, so that few edges say little.
    """
    counts = [evidence.counts(marked) for marked in (chosen, passed_over)]
    shares = [each / max(each.sum(), 1.0) for each in counts]
    pooled = (shares[0] + shares[1]) / 2 if counts[0].any() else shares[1]
    counts = [each + pooled * len(evidence.knots) + np.finfo(float).tiny for each in counts]
    nats = np.log(counts[0] / counts[0].sum()) - np.log(counts[1] / counts[1].sum())
    if evidence.direction:
        precision = 1 / (1 / counts[0] + 1 / counts[1])
        nats = evidence.direction * never_falling(evidence.direction * nats, precision)
    return np.asarray(nats)


def never_falling(values: Floats, precision: Floats) -> Floats:
    """Find the nearest values that never fall, by pooling neighbours that do."""
    blocks = list[tuple[float, float, int]]()
    for value, weight in zip(values.tolist(), precision.tolist(), strict=True):
        block = (value, weight, 1)
        while blocks and blocks[-1][0] > block[0]:
            mean, total, size = blocks.pop()
            both = total + block[1]
            block = ((mean * total + block[0] * block[1]) / both, both, size + block[2])
        blocks.append(block)
    return np.repeat([block[0] for block in blocks], [block[2] for block in blocks])


def decontaminate(nats: Floats, purity: float) -> Floats:
    """Remove the wrong pairs from the counts of the chosen ones: the log-ratio of right pairs alone."""
    odds = 1 + (np.exp(nats) - 1) / purity
    lowest = np.exp(np.maximum(-MAX_RATIO, np.minimum(nats, MIN_RATIO)))  # never lower than counted, or than MIN_RATIO
    return np.asarray(np.log(np.clip(odds, lowest, np.exp(MAX_RATIO))))


def estimate_purity(
    graph: Graph, evidence: Sequence[Measured], chosen: Flags, passed_over: Flags
) -> tuple[float, float]:
    """Estimate the share of right pairs among the chosen ones, and its deviation, from the other evidence.

    The evidence of one half of the source words is read with the counts of the other half. The rivals of a chosen pair
    are the other candidates of its source word, and those of its target word; each word counts once.
    """
    pairs = int(chosen.sum())
    if not pairs:
        return 0.0, 1.0
    rows, total = graph.rows, np.zeros(len(graph.weights))
    for half in (rows % 2 == 0, rows % 2 == 1):
        for each in evidence:
            total[half] += each.where(half).nats(log_ratio(each, chosen & ~half, passed_over & ~half))
    sides = np.array([share_among_worst(total, words, chosen) for words in (rows, graph.indices)])
    ours, rivals = sides[:, 0], np.maximum(sides[:, 1], 1 / (pairs + 1))
    noise = np.sqrt((ours * (1 - ours) + 1 / pairs) / pairs) / rivals  # of a binomial count
    whole = 1 - RIGHT_AMONG_WORST
    return float(np.mean(1 - ours / rivals)) / whole, float(noise.mean()) / whole


def share_among_worst(evidence: Floats, words: Indices, chosen: Flags) -> tuple[float, float]:
    """Return the shares of chosen pairs, and of rivals of the same words, that are as bad as the worst rivals."""
    rivals = np.isin(words, words[chosen]) & ~chosen
    if not rivals.any():
        return 1.0, 1.0
    weight = 1 / np.bincount(words[rivals])[words[rivals]]
    order = np.argsort(-evidence[rivals], kind="stable")
    better = np.cumsum(weight[order]) / weight.sum()
    limit = evidence[rivals][order][min(int(np.searchsorted(better, 1 - WORST_RIVALS)), len(order) - 1)]
    share = float(weight[evidence[rivals] <= limit].sum() / weight.sum())
    return float((evidence[chosen] <= limit).mean()), share


def learn_scale(graph: Graph, evidence: Floats) -> float:
    """Learn what CSLS is worth from what the other evidence says, by EM with one Newton step in each M-step."""
    lists, csls, found = CandidateLists.of(graph.rows), graph.weights, np.array([START_SCALE, START_OFFSET])
    for _ in range(MAX_SCALE_ROUNDS):
        logits = found[0] * csls + found[1]
        chance = choice_probabilities(lists, logits)
        more = choice_probabilities(lists, logits + evidence) - chance
        weighted = chance * csls
        means = np.column_stack([lists.total(weighted), lists.total(chance)])
        squares = np.array([[weighted @ csls, weighted.sum()], [weighted.sum(), chance.sum()]])
        step = np.linalg.solve(squares - means.T @ means + 1e-3 * np.eye(2), [more @ csls, more.sum()])
        found = found + step
        if np.abs(step).max() < SCALE_TOLERANCE:
            break
    return float(max(found[0], MIN_SCALE)) if np.isfinite(found).all() else START_SCALE


def choice_probabilities(lists: CandidateLists, logits: Floats) -> Floats:
    """Compute the probability of each edge if every word takes one of its own, or none at logit 0."""
    largest = np.maximum(np.maximum.reduceat(logits, lists.starts[:-1]), 0)
    odds = np.exp(logits - largest[lists.owner])
    return np.asarray(odds / (np.exp(-largest) + lists.total(odds))[lists.owner])


def learn_log_odds(graph: Graph, weights: Floats, purity: float, capacities: Capacities) -> float:
    """Find the log-odds at which the words of the chosen pairs have a translation with mean probability `purity`.

    `graph` holds the CSLS scores that the pairs were chosen by, and `weights` what the edges weigh without log-odds.
    """
    counted = graph.rows < MAX_COUNTED_WORDS
    graph, weights = graph.where(counted), weights[counted]
    chosen = choose_edges(graph)[0]
    words = np.zeros(graph.n_sources, np.bool_)
    words[graph.rows[chosen]] = True
    low, high = LOG_ODDS_RANGE
    if not chosen.any():
        return low
    found = START_LOG_ODDS
    for _ in range(MAX_LOG_ODDS_ROUNDS):  # Newton's method, with the slope that words would have by themselves
        probable = worthwhile_posterior(replace(graph, weights=weights + found), capacities, ROUGH_TOLERANCE)
        translated = np.bincount(graph.rows, probable, graph.n_sources)[words]
        slope = max(float((translated * (1 - translated)).mean()), MIN_SLOPE)
        step = (purity - float(translated.mean())) / slope
        low, high = (found, high) if step > 0 else (low, found)
        near = found + step
        found = near if low < near < high else (low + high) / 2
        if min(abs(step), high - low) < LOG_ODDS_TOLERANCE:
            break
    return found

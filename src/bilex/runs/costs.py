"""Estimate the cost of each stage of a run from the sizes, for the expected time and the progress bar.

The search over all pairs of words for the lexicon grows with the product of the vocabularies. EM sees only the most
frequent words: it searches them in full where both maps move, and else twice in full and then a small part
(`bilex.search.reuse`). The rest grows with the number of words.
"""

from bilex.methods import Method
from bilex.model.pair_weights import FOLDS
from bilex.numerics.threads import thread_count
from bilex.seeds.coupling import SIZES

ITERATIONS, LATER_COST = 10, 0.1  # of EM, usually; the share of a full search that each costs from the third on
TRIALS = 3  # ways to use a dictionary that run EM when they are tried
FINAL_SEARCH = 1.3  # the search in both directions, and again for the few words that it leaves open
PAIR_COST = 1.4e-11  # CPU seconds to compare two words, for each dimension
WORD_COST, NUMBER_COST = 5e-6, 2e-8  # CPU seconds to map and compare a word, and more for each dimension
FIT_COST = 1.4e-8  # CPU seconds to fit maps, for each dimension cubed
SCORE_COST = 2e-5  # CPU seconds to weigh, match and judge the candidates of a word
ENTRY_COST = 5e-6  # CPU seconds to rank or to write a word
COUPLING_COST = 3e-6  # CPU seconds for each pair of words, where there is no seed
PARSE_RATE = 60e6  # numbers a second read from text, on two cores
REPORT_COST = 1.0  # CPU seconds


def stage_seconds(
    words: tuple[int, int],
    dimension: int,
    method: Method,
    pair_seconds: float | None = None,
    *,
    seedless: bool = False,
    tries: bool = False,
) -> dict[str, float]:
    """Estimate the seconds of each stage of a run, by the first word of its name.

    `pair_seconds` is the time to compare two words, if it was measured. Without a seed (`seedless`) EM first runs from
    several couplings of the frequent words; with a large dictionary the method tries (`tries`) several uses of it.
    """
    rows, columns = words
    most = method.e_step.max_rank or max(words)
    seen = min(rows, most), min(columns, most)
    pair = PAIR_COST * dimension / thread_count() if pair_seconds is None else pair_seconds
    word, fit = WORD_COST + NUMBER_COST * dimension, FIT_COST * dimension**3
    search, whole = pair * seen[0] * seen[1], pair * rows * columns
    searches = ITERATIONS if method.map.kind == "cca" else 2 + (ITERATIONS - 2) * LATER_COST
    em = searches * search + ITERATIONS * (fit + word * sum(seen))
    coupled = COUPLING_COST / thread_count() * sum(min(rows, columns, size) ** 2 for size in SIZES)
    learning, beyond = em if method.self_learning else search, method.e_step.match_all and max(words) > most
    stages = {
        "reading": (rows + columns) * dimension / PARSE_RATE,
        "looking": coupled * seedless,
        "starting": len(SIZES) * em * seedless,
        "trying": TRIALS * em * tries,
        "learning": learning + whole * (beyond and method.self_learning and not method.evidence),
        "weighing": (search + FOLDS * (fit + word * sum(seen))) * (method.evidence and method.self_learning),
        "measuring": FINAL_SEARCH * whole,
        "comparing": FOLDS * (fit + word * (rows + columns)),
        "scoring": SCORE_COST * (rows + columns),
        "ranking": ENTRY_COST * (rows + columns),
        "writing": ENTRY_COST * (rows + columns) + REPORT_COST,
    }
    return {name: seconds for name, seconds in stages.items() if seconds}

"""The denominators of precision: covered queries, all queries, or pairs; each against a loop over its own cases."""

from __future__ import annotations

import numpy as np
import pytest

from bilex.errors import BilexError
from bilex.evaluation.translation import CONVENTIONS, evaluate_translation
from bilex.search.local import LocalEngine
from bilex.search.space import CROWDING_NEIGHBOURS
from tests import oracles
from tests.evaluation.spaces import Pairs, Space, make_space

ENGINE = LocalEngine(threads=1, query_block=16, target_block=7)


def slow(space: Space, gold: Pairs, retrieval: str, convention: str) -> dict[str, float]:
    """List the place of every case; 0 is a case that cannot be answered."""
    scores = oracles.score_matrix(space.space.source, space.space.target)
    if retrieval == "csls":
        scores = oracles.csls(space.space.source, space.space.target, CROWDING_NEIGHBOURS)

    def place(query: str, translation: str) -> int:
        if query not in space.source.words or translation not in space.target.words:
            return 0
        row = scores[space.source.words.index(query)]
        return 1 + int(np.sum(row > row[space.target.words.index(translation)]))

    if convention == "pairs":
        places = [there for pair in sorted(set(gold)) if (there := place(*pair))]
    else:
        best = [
            min((there for query, word in gold if query == asked and (there := place(query, word))), default=0)
            for asked in sorted({query for query, _ in gold})
        ]
        places = best if convention == "all" else [there for there in best if there]
    return {
        **{f"p@{k}": sum(1 <= there <= k for there in places) / len(places) for k in (1, 5, 10)},
        "mrr": sum(1 / there for there in places if there) / len(places),
    }


def gold_for(random: int) -> Pairs:
    rng = np.random.default_rng(random)
    gold = [(f"s{rng.integers(45)}", f"t{rng.integers(55)}") for _ in range(120)]  # words up to s39, t49 exist
    return [*gold, *((f"s{row}", f"t{row}") for row in range(0, 40, 2)), gold[0]]


@pytest.mark.parametrize(("retrieval", "convention"), [("nn", "all"), ("nn", "pairs"), ("csls", "covered")])
def test_agrees_with_a_loop_over_the_cases(retrieval: str, convention: str) -> None:
    space, gold = make_space(1), gold_for(1)
    figures = evaluate_translation(space, gold, retrieval, ENGINE, convention).figures()
    expected = slow(space, gold, retrieval, convention)
    assert {name: figures[name] for name in expected} == pytest.approx(expected)
    assert figures["convention"] == convention
    for other in CONVENTIONS:  # always there, whichever was asked for
        assert figures[f"p@1_{other}"] == pytest.approx(slow(space, gold, retrieval, other)["p@1"])
    assert len({figures[f"p@1_{other}"] for other in CONVENTIONS}) == 3  # or this test could not tell them apart


def test_covered_is_the_default_and_pairs_are_counted_once() -> None:
    space, gold = make_space(0), [("s0", "t0"), ("s0", "t1"), ("s0", "t0"), ("s0", "none"), ("none", "t0")]
    result = evaluate_translation(space, gold, "nn", ENGINE)
    assert result.convention == "covered"
    figures = result.figures()
    assert (figures["queries"], figures["covered"], figures["pairs"], figures["covered_pairs"]) == (2, 1, 4, 2)


def test_an_unknown_convention_is_an_error() -> None:
    with pytest.raises(BilexError, match="'macro'"):
        evaluate_translation(make_space(0), [("s0", "t0")], "nn", ENGINE, "macro")

"""``bilex evaluate --convention`` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.helpers import Bilex, assert_error_line


def test_the_convention_decides_what_p_at_k_is_over(bilex: Bilex, work: Path) -> None:
    with (work / "gold.txt").open("a") as gold:
        gold.write("nowhere\tnothing\n" + "".join(f"s{row}\tt{row + 1}\n" for row in range(0, 100, 2)))
    by = {
        convention: json.loads(bilex("evaluate", "run", "gold.txt", "--json", "--convention", convention).out)
        for convention in ("covered", "all", "pairs")
    }
    assert json.loads(bilex("evaluate", "run", "gold.txt", "--json").out) == by["covered"]
    for convention, figures in by.items():
        assert figures["convention"] == convention
        assert figures["p@1"] == by["covered"][f"p@1_{convention}"]
        assert figures["p@1"] <= figures["p@5"] <= figures["p@10"] <= 1
    assert by["covered"]["p@10"] > by["all"]["p@10"] > by["pairs"]["p@10"]
    assert "convention     pairs\n" in bilex("evaluate", "run", "gold.txt", "--convention", "pairs").out
    assert_error_line(bilex("evaluate", "run", "gold.txt", "--convention", "macro"), "'macro'", code=2)

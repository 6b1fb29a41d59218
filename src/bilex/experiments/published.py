"""The figures that the paper reports, to compare with those measured here.

The numbers are in ``published/*.tsv``, the systems under bilex's names for them: ``ruder2018`` is "Ours (1:1)" and
``ruder2018-freq`` is "Ours (1:1, freq. constr.)". The text of the paper does not hold the curves of Figures 2 and 3.
"""

import csv
from functools import cache
from importlib.resources import files

ANALYSED_PAIR = ("en-de", "5000")
"""The pair and the seed of Tables 3 and 5."""
ERROR_ANALYSIS = {"artetxe2017": 36.38, "ruder2018-freq": 39.18}
"""P@1 from German to English on the test set of Table 5."""


@cache
def rows(name: str) -> tuple[dict[str, str], ...]:
    """Return the rows of a published table, by the names of its columns."""
    text = (files("bilex") / "experiments" / "published" / f"{name}.tsv").read_text("utf-8")
    return tuple(csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))


def figure(table: str, column: str, **wanted: str) -> float | None:
    """Return the figure in a column of the row with these values, such as ``pair="en-it"``; None without such a row."""
    found = (row[column] for row in rows(table) if all(row[name] == value for name, value in wanted.items()))
    return next(map(float, found), None)


def finding(name: str) -> str:
    """Return what the paper finds in a table or figure."""
    return next(row["finding"] for row in rows("findings") if row["name"] == name)

"""Long tests of what bilex promises: crashes, load, hostile input. ``make trust`` runs them, CI a short form of them.

Each part is a module of this folder, named in `PARTS`, with a ``TITLE``, a docstring that describes the test, and

    run(short: bool) -> dict

which runs it and returns the ``figures`` (a dict of label: figure), whether it passed (``ok``), and where they help
``tables`` (a list of dicts with ``title``, ``columns``, ``rows`` and, if the page is to have it, the number of a column
``shown``), all of it JSON. ``python -m trust NAME`` runs a part, keeps its result in docs/trust.json and writes
docs/trust.md from that file.
"""

from __future__ import annotations

__all__ = ["PARTS"]

PARTS: tuple[str, ...] = ("crash", "soak", "truncation", "fuzz", "mutation", "branches")

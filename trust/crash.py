"""`bilex induce` is killed with SIGKILL at random moments and before single steps in the file system.

Each time the run directory has to hold the old run or the new one, whole and with its checksums, or none if there was
none. Then `--resume` (or, where the kill came before the first checkpoint, the same command again) has to end with the
lexicon of an undisturbed run, byte for byte, and leave nothing else behind. Some are killed again while they
resume. Ctrl-C at random moments, also with ``--engine dask``, has to end the command within two seconds, with exit
code 130 and one line that says how to go on.
"""

from __future__ import annotations

import random
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bilex.errors import BilexError
from bilex.files.ownership import CHECKPOINT
from bilex.runs.run import Run
from tests.languages import make_languages, write_vec
from trust.fork_server import FinishedCommand, ForkServer

__all__ = ["Crashes", "run"]

TITLE = "Crashes"
OPTIONS = ("--tolerance", "0", "--max-iterations", "12", "--quiet")
COMMAND = ("induce", "src.vec", "trg.vec", "-o", "run", "--force", *OPTIONS)
RESUME = ("induce", "--resume", "run", "--quiet")
LINE = "bilex: error: interrupted; "
RESUMABLE, NOTHING = "go on with `bilex induce --resume run`\n", "nothing was written\n"
WHOLE = "the run was already finished\n"
MAX_INTERRUPT_SECONDS = 2.0


@dataclass
class Crashes:
    """A work folder with an old run, the lexicon that the command should write, and the outcomes so far."""

    server: ForkServer
    dice: random.Random = field(default_factory=lambda: random.Random(0))
    seen: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    slowest: float = 0.0

    def __post_init__(self) -> None:
        self.work = self.server.folder
        self.run, self.old = self.work / "run", self.work.parent / "old"
        self.server.run(*COMMAND[: -len(OPTIONS)], "--max-rank", "200", "--quiet")
        shutil.copytree(self.run, self.old)
        self.before = (self.run / "lexicon.tsv").read_bytes()
        self.undisturbed = self.server.run(*COMMAND)
        self.after = (self.run / "lexicon.tsv").read_bytes()
        assert self.undisturbed.code == 0
        assert self.before != self.after

    def reset(self) -> bool:
        """Restore the old run, or remove it; return whether there is one."""
        shutil.rmtree(self.run, ignore_errors=True)
        old = self.dice.random() < 0.5
        if old:
            shutil.copytree(self.old, self.run)
        return old

    def check(self, what: str, holds: bool) -> None:
        """Record a fault unless the condition holds."""
        if not holds:
            self.faults.append(f"{what}: {sorted(str(path.relative_to(self.work)) for path in self.work.rglob('*'))}")

    def look(self, what: str, old: bool) -> str:
        """Return which run is in place (old, new or none), and check that it is whole."""
        try:
            Run.load(self.run)
            lexicon = (self.run / "lexicon.tsv").read_bytes()
        except BilexError as error:
            self.check(f"{what}: {error}", not old and {path.name for path in self.run.glob("*")} <= {CHECKPOINT})
            return "none"
        self.check(f"{what}: half a lexicon", lexicon == self.after or (old and lexicon == self.before))
        return "new" if lexicon == self.after else "old"

    def kill(self, *, after: float | None = None, step: int | None = None) -> None:
        """Kill a run and resume it."""
        old = self.reset()
        what = f"killed after {after:.3f} s" if after is not None else f"killed before step {step}"
        ended = self.server.run(*COMMAND, after=after, step=step)
        self.seen["killed" if ended.code == -signal.SIGKILL else "too late"] += 1
        self.check(f"{what}: {ended.err}", ended.code in (0, -signal.SIGKILL))
        self.seen[f"found the {self.look(what, old)} run"] += 1
        while (self.run / CHECKPOINT).exists():
            again = after is not None and self.dice.random() < 0.3
            ended = self.server.run(*RESUME, after=self.dice.random() if again else None)
            self.seen["resumed"] += 1
            self.seen["killed"] += ended.code == -signal.SIGKILL
            self.check(f"{what}: resume: {ended.err}", again or ended.code == 0)
            self.look(what, old)
            if not again and ended.code:
                return
        unfinished = self.look(what, old) != "new"
        if unfinished or self.left():  # killed while it tidied up: the next run does that
            self.seen["begun again"] += unfinished
            self.server.run(*COMMAND)
        self.check(f"{what}: another lexicon", self.look(what, old) == "new")
        self.check(f"{what}: left {self.left()}", not self.left() and not (self.run / CHECKPOINT).exists())

    def left(self) -> set[str]:
        """Return the names of the files that should not be there."""
        return {path.name for path in self.work.iterdir()} - {"src.vec", "trg.vec", "run"}

    def interrupt(self, after: float, engine: str) -> FinishedCommand:
        """Send Ctrl-C after so many seconds."""
        old = self.reset()
        ended = self.server.run(*COMMAND, "--engine", engine, after=after, with_signal=signal.SIGINT)
        state = self.look("Ctrl-C", old)
        if ended.code == 0:
            return ended
        self.seen["Ctrl-C"] += 1
        self.slowest = max(self.slowest, ended.seconds - after)
        kept = (self.run / CHECKPOINT).exists()
        self.seen["Ctrl-C with a checkpoint"] += kept
        explained = ended.err == LINE + (RESUMABLE if kept else WHOLE if state == "new" else NOTHING)
        self.check(f"{engine}, Ctrl-C after {after:.3f} s: {ended.code} {ended.err}", ended.code == 130 and explained)
        self.check(f"Ctrl-C left {self.left()}", not self.left())
        return ended


def make_work(folder: Path) -> Path:
    """Write the vectors of two small languages."""
    work = folder / "work"
    work.mkdir()
    languages = make_languages(300, 20, 80)
    write_vec(work / "src.vec", languages.source)
    write_vec(work / "trg.vec", languages.target)
    return work


def try_crashes(
    crashes: Crashes, kills: int, every: int, interrupts: int, engines: Sequence[str] = ("local", "dask")
) -> None:
    """Kill at so many random moments and before every n-th step, and interrupt each engine so many times."""
    whole = crashes.undisturbed
    seconds, done = whole.seconds, 0
    while done < kills:
        late = crashes.seen["too late"]
        crashes.kill(after=crashes.dice.uniform(0, seconds))
        if crashes.seen["too late"] > late:  # the machine is quicker than it was
            seconds *= 0.9
        else:
            done += 1
    for step in range(crashes.dice.randrange(every), whole.steps, every):
        crashes.kill(step=step)
    for engine in engines:
        whole = crashes.server.run(*COMMAND, "--engine", engine)
        crashes.check(f"{engine}: {whole.err}", whole.code == 0)
        for _ in range(interrupts):
            crashes.interrupt(crashes.dice.uniform(0.1, whole.seconds), engine)


def run(short: bool) -> dict[str, Any]:
    """Run the trial."""
    with tempfile.TemporaryDirectory() as folder, ForkServer(make_work(Path(folder))) as server:
        crashes = Crashes(server)
        try_crashes(crashes, *((20, 10, 3) if short else (200, 1, 50)))
    seen = crashes.seen
    return {
        "ok": not crashes.faults and (short or crashes.slowest <= MAX_INTERRUPT_SECONDS),  # CI may be slow
        "figures": {
            "SIGKILL": seen["killed"],
            "the old run was there, whole": seen["found the old run"],
            "the new run was there, whole": seen["found the new run"],
            "no run was there before, and none after": seen["found the none run"],
            "taken up with --resume": seen["resumed"],
            "killed before the first checkpoint, and begun again": seen["begun again"],
            "faults": len(crashes.faults),
            "Ctrl-C": seen["Ctrl-C"],
            "of these with a checkpoint": seen["Ctrl-C with a checkpoint"],
            "the slowest end after Ctrl-C, s": round(crashes.slowest, 2),
        },
        "tables": [{"title": "Faults", "columns": ["what"], "rows": [[line] for line in crashes.faults[:20]]}]
        if crashes.faults
        else [],
    }

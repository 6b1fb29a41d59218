"""Odd surroundings: paths that are not UTF-8, closed streams, a locale without the words' letters."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bilex.cli.estimate import measure_memory
from bilex.cli.interrupts import install_signal_handlers
from bilex.cli.terminal import echo, open_streams
from bilex.runs import checkpoints
from tests.cli.helpers import COMMAND, Bilex, Outcome, assert_error_line, environment

ODD = os.fsdecode(b"n\xff\xe4")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system refuses such names")


@pytest.fixture
def odd(work: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with such a name as the current one, and in it the files, with such names."""
    folder = work.rename(work.parent / ODD)
    for path in list(folder.iterdir()):
        path.rename(folder / f"{ODD}{path.name}")
    monkeypatch.chdir(folder)
    return folder


def test_paths_that_are_not_utf_8(bilex: Bilex, odd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupted run goes on, and everything can be read and written."""
    write = checkpoints.write_checkpoint
    assert isinstance(sys.stderr, io.TextIOWrapper)
    sys.stderr.reconfigure(errors="backslashreplace")  # as Python opens it

    def write_and_stop(*arguments: Any) -> None:
        write(*arguments)
        raise KeyboardInterrupt

    files = [f"{ODD}{name}" for name in ("src.vec", "trg.vec")]
    seed, method, new = f"{ODD}gold.txt", f"{ODD}m.toml", f"{ODD}new"
    Path(method).write_text('base = "ruder2018"\n')
    monkeypatch.setattr(checkpoints, "write_checkpoint", write_and_stop)
    stopped = bilex("induce", *files, "-o", new, "--seed", seed, "--method", method)
    assert stopped.code == 130
    assert "--resume" in stopped.err  # although it came before the checkpoint was recorded
    monkeypatch.setattr(checkpoints, "write_checkpoint", write)
    monkeypatch.chdir(odd.parent)  # the files are found from the folder of the command
    assert bilex("induce", "--resume", odd / new, "--quiet").code == 0
    info = json.loads((odd / new / "run.json").read_bytes())
    assert info["configuration"]["seed"]["name"].endswith(r"n\xff\xe4gold.txt")
    assert r"n\xff\xe4new" in info["command"]
    for command in (["translate", odd / new, "s1"], ["report", odd / new], ["evaluate", odd / new, odd / seed]):
        assert bilex(*command, "--quiet").code == 0
    assert bilex("export", odd / new, "-o", odd / f"{ODD}.tsv", "--quiet").code == 0
    assert (odd / f"{ODD}.tsv").is_file()


def test_default_names_are_made_of_names_that_are_not_utf_8(bilex: Bilex, odd: Path) -> None:
    assert bilex("induce", f"{ODD}src.vec", f"{ODD}trg.vec", "--quiet", "--method", "ruder2018").code == 0
    assert (odd / r"n\udcff\udce4src-n\udcff\udce4trg" / "run.json").is_file()


def test_closed_streams_are_not_taken_by_files(made: Path) -> None:
    command = [*COMMAND, "translate", str(made / "run"), "s1", "unknown"]
    done = subprocess.run(["/bin/sh", "-c", '"$@" <&- >&- 2>&-', "sh", *command], timeout=60, check=False)
    assert done.returncode == 0


def test_a_system_without_free_file_numbers_is_not_blamed_on_the_run(made: Path) -> None:
    """A damaged run is made again; this one is whole."""
    command = [*COMMAND, "translate", str(made / "run"), "s1", "--retrieval", "csls"]
    limited = ["/bin/sh", "-c", 'ulimit -n 10; "$@"', "sh", *command]
    done = subprocess.run(limited, capture_output=True, text=True, timeout=60, check=False)
    assert_error_line(Outcome(done.returncode, done.stdout, done.stderr), "Too many open files")


def test_a_current_folder_that_was_removed(bilex: Bilex, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = work / "src.vec", work / "trg.vec"
    (work / "gone").mkdir()
    monkeypatch.chdir(work / "gone")
    (work / "gone").rmdir()
    assert_error_line(bilex("induce", source, target, "-o", "new", "--quiet"), "current folder")


def test_no_folder_for_temporary_files(bilex: Bilex, made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container whose disk is read-only; the current folder is not to blame."""
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("tempfile._candidate_tempdir_list", list)
    assert_error_line(bilex("export", made / "run", "-o", "/dev/null"), "TMPDIR")


def test_no_more_threads(bilex: Bilex, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container with a limit, or under ``ulimit -u``."""

    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("threading.Thread.start", refuse)
    induce = ("induce", work / "src.vec", work / "trg.vec", "-o", work / "new", "--quiet")
    assert_error_line(bilex(*induce), "BILEX_THREADS")


def test_streams_are_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    open_streams()
    with sys.stdin, sys.stdout, sys.stderr:
        assert sys.stdin.read() == ""
        print("\udcff é", file=sys.stdout)
        print("é", file=sys.stderr)


def test_data_is_utf_8_in_every_locale(made: Path) -> None:
    code = "from bilex.cli.terminal import echo, open_streams; open_streams(); echo('\\xe9')"
    translate = [*COMMAND, "translate", str(made / "run"), "s1", "é", "--json"]
    for command, printed in ((translate, b'"s1"'), ([sys.executable, "-c", code], "é\n".encode())):
        done = subprocess.run(
            command,
            env=environment(LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0", PYTHONIOENCODING="latin-1"),
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert printed in done.stdout


COMMANDS = [
    ["translate", "run", "s1"],
    ["export", "run"],
    ["evaluate", "run", "gold.txt", "--json"],
    ["hubness", "run"],
    ["induce", "src.vec", "trg.vec", "-o", "new", "--quiet", "--seed", "gold.txt"],
]
COMMANDS_IN_A_LOCALE = f"""
import locale
locale.setlocale(locale.LC_ALL, "comma")
assert f"{{1.5:n}}" == "1,5"
from bilex import cli
for command in {COMMANDS}:
    assert cli.run(command) == 0
"""


def test_a_locale_with_decimal_commas_changes_no_number(bilex: Bilex, work: Path, tmp_path: Path) -> None:
    """Python takes it over only if a program asks for it, as one that uses bilex may do."""
    compile_locale = ["localedef", "-i", "de_DE", "-f", "ISO-8859-1", str(tmp_path / "comma")]
    if shutil.which("localedef") is None or subprocess.run(compile_locale, capture_output=True, check=False).returncode:
        pytest.skip("no such locale can be made here; apt install locales")
    outcomes = [bilex(*command) for command in COMMANDS]
    lexicon = (work / "new" / "lexicon.tsv").read_bytes()
    shutil.rmtree(work / "new")
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS_IN_A_LOCALE],
        env=environment(LOCPATH=str(tmp_path)),
        cwd=work,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "".join(outcome.out for outcome in outcomes)), done.stderr
    assert (work / "new" / "lexicon.tsv").read_bytes() == lexicon


def test_where_the_system_has_fewer_functions(bilex: Bilex, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows: no locks, no exchange of folders, none of Unix's functions. mypy checks the names (make lint)."""
    for module, names in ((os, ("sched_getaffinity", "sysconf", "nice", "fork", "getuid")), (signal, ("SIGHUP",))):
        for name in names:
            monkeypatch.delattr(module, name)
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr("ctypes.CDLL", lambda _: object())
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    install_signal_handlers()
    induce = ("induce", "src.vec", "trg.vec", "-o", "run", "--method", "ruder2018", "--quiet")
    assert bilex(*induce, "--force").code == 0
    assert bilex(*induce).code == 1
    assert measure_memory(work).total is None
    for command in (["translate", "run", "s1"], ["report", "run"], ["export", "run", "-o", "lexicon.tsv"]):
        assert bilex(*command).code == 0
    assert not [path for path in work.iterdir() if path.name.startswith(".")]
    for number, handler in handlers.items():
        signal.signal(number, handler)


def test_words_give_no_orders_to_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for stream in (Terminal(), io.StringIO()):
        monkeypatch.setattr(sys, "stdout", stream)
        echo("a\x1b[2J\r\x9b\u202e\té\u200c", wrap=False)
        escaped = "a\\u001b[2J\\u000d\\u009b\\u202e\té\u200c\n"
        assert stream.getvalue() == (escaped if stream.isatty() else "a\x1b[2J\r\x9b\u202e\té\u200c\n")

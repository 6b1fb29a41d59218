"""Install the built wheel where nothing else is, and use it as a user would: ``make smoke``.

``python -m build`` makes the wheel from the sdist, so both are tried. The commands run in a folder of
their own, far from the repository; then mypy and pyright check `tests/user_script.py` against the wheel's types.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
USER_SCRIPT = ROOT / "tests" / "user_script.py"
MIN_PRECISION = 0.85  # of the demo, which has .92
MISSPELT = "import bilex\n\nbilex.indcue()\n"


def call(folder: Path, *command: object, code: int = 0) -> str:
    """Run a command in a folder, without the variables that would lead it back here; return its output."""
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV", "BILEX"))
    }
    ended = subprocess.run([*map(str, command)], cwd=folder, env=clean, text=True, capture_output=True, check=False)
    print(f"{Path(str(command[0])).name} {' '.join(map(str, command[1:4]))}: {ended.returncode}", flush=True)
    if ended.returncode != code:
        raise SystemExit(f"{ended.stdout[-3000:]}\n{ended.stderr[-3000:]}")
    return ended.stdout


def use(folder: Path, programs: Path) -> None:
    """Run the demo and the commands around it."""
    bilex = programs / "bilex"
    for argument in ("--version", "--help", "doctor"):
        assert call(folder, bilex, argument)
    demo = json.loads(call(folder, bilex, "demo", "-o", "demo", "--json"))
    assert demo["verdict"]["level"] == "sound" and demo["scores"]["model"]["p@1"] > MIN_PRECISION, demo["scores"]
    assert {path.name for path in (folder / "demo").iterdir()} >= {"lexicon.tsv", "report.html", "run.json"}
    assert "maison" in call(folder, bilex, "translate", "demo", "house")
    call(folder, bilex, "export", "demo", "--format", "csv", "-o", "demo.csv")
    assert (folder / "demo.csv").stat().st_size
    inside = call(
        folder, programs / "python", "-c", "import bilex; print(bilex.Run.load('demo').headline, bilex.__file__)"
    )
    assert str(ROOT) not in inside


def check_types(folder: Path, python: Path) -> None:
    """Check the user's script, and that a misspelt name is noticed, with both type checkers."""
    script = Path(shutil.copy(USER_SCRIPT, folder / "user_script.py"))
    misspelt = folder / "misspelt.py"
    misspelt.write_text(MISSPELT, "utf-8")
    mypy = (sys.executable, "-m", "mypy", "--strict", "--python-executable", python)
    pyright = ("pyright", "--pythonpath", python)
    checkers: list[tuple[object, ...]] = [mypy]
    if shutil.which("pyright"):
        checkers.append(pyright)
    else:
        print("pyright is missing: only mypy was asked (npm install --global pyright)")
    for checker in checkers:
        call(folder, *checker, script)
        call(folder, *checker, misspelt, code=1)


def main() -> None:
    """Install a wheel (the only one in dist, or as named) and try it."""
    wheels = [Path(name) for name in sys.argv[1:]] or [*(ROOT / "dist").glob("*.whl")]
    if len(wheels) != 1:
        raise SystemExit(f"one wheel is tried, not {len(wheels)}; `make smoke` builds it")
    with tempfile.TemporaryDirectory() as name:
        folder, environment = Path(name) / "user", Path(name) / "environment"
        folder.mkdir()
        call(folder, sys.executable, "-m", "venv", environment)
        programs = environment / "bin"
        call(folder, programs / "python", "-m", "pip", "install", "--quiet", wheels[0].absolute())
        use(folder, programs)
        check_types(folder, programs / "python")
    print("the wheel works")


if __name__ == "__main__":
    main()

"""docs/surface.txt lists what users script against, so that a change of it is a line in a diff."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_surface_is_as_the_code_has_it() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "surface"), "--check"]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert process.returncode == 0, f"{process.stderr}run `scripts/surface` and read what changed"


def test_every_kind_of_thing_is_listed() -> None:
    kinds = {line.split()[0] for line in (ROOT / "docs" / "surface.txt").read_text().splitlines()}
    assert kinds == {"command", "argument", "option", "exit", "json", "reference", "series", "alert", "metric"}

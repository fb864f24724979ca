"""`make go` installs Go where none is new enough for the modules of the bundle, and leaves a newer one alone."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = "/usr/bin:/bin"


def make_go(folder: Path, version: str) -> str:
    """Run `make go` with a Go of this version on the PATH, or none. Return what it would have installed."""
    installed_go = folder / "installed"
    programs = {"uv": f'echo "$@" >>{installed_go}', "go": f'[ "$*" = "env GOVERSION" ] && echo "{version}"'}
    for name in ("uv", "go") if version else ("uv",):
        (folder / name).write_text(f"#!/bin/sh\n{programs[name]}\n")
        (folder / name).chmod(0o755)
    process = subprocess.run(
        ["make", "--old-file=.venv/made", "go", f"PATH={folder}:{TOOLS}"],
        cwd=ROOT,
        env={"PATH": TOOLS, "HOME": os.environ.get("HOME", "/")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    return installed_go.read_text() if installed_go.exists() else ""


@pytest.mark.parametrize("version", ["go1.26.8", "go1.26.12", "go1.27.3", "go1.26.8 X:nodwarf5"])
def test_a_new_go_is_left_alone(tmp_path: Path, version: str) -> None:
    assert make_go(tmp_path, version) == ""


@pytest.mark.parametrize("version", ["", "go1.26.7", "go1.19.8", "go1.9"])
def test_go_is_installed_with_its_hash_where_none_is_new_enough(tmp_path: Path, version: str) -> None:
    words = make_go(tmp_path, version).split()
    assert words[-3:] == ["--require-hashes", "-r", "requirements/go.txt"]
    assert words[words.index("--python") + 1] == ".venv/bin/python"

"""Programs out of the bundle's cache or of PATH, and Prometheus' own checker."""

import shutil
import subprocess
from pathlib import Path

import platformdirs
import pytest


def find_program(name: str = "promtool", part: str = "prometheus") -> str:
    """Find a program of a `part` of the bundle, or in PATH. Skip the test where there is none."""
    parts = platformdirs.user_cache_path("gpustack") / "parts" / part
    binaries = sorted(parts.glob(f"*/out/{name}"), key=lambda path: path.stat().st_mtime)
    program = str(binaries[-1]) if binaries else shutil.which(name)
    if program is None:
        pytest.skip(f"{name} is neither in the bundle's cache (make bundle) nor on PATH")
    return program


def run_promtool(*arguments: str | Path, stdin: str = "") -> str:
    """Return the complaints of promtool, empty where it ends well. Skip the test where there is none."""
    command = [find_program(), *arguments]
    process = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=300, check=False)
    return process.stdout + process.stderr if process.returncode else ""

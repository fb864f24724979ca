"""Programs out of the bundle's cache or of PATH, and Prometheus' own checker."""

import shutil
import subprocess
from pathlib import Path

import platformdirs
import pytest


def program(name: str = "promtool", part: str = "prometheus") -> str:
    """Its path. `part` is that of the bundle that has it. Skips where there is none."""
    parts = platformdirs.user_cache_path("gpustack") / "parts" / part
    built = sorted(parts.glob(f"*/out/{name}"), key=lambda path: path.stat().st_mtime)
    found = str(built[-1]) if built else shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is neither in the bundle's cache (make bundle) nor on PATH")
    return found


def complaints(*arguments: str | Path, given: str = "") -> str:
    """Of promtool with these arguments and this standard input; empty where it ends well. Skips where there is none."""
    command = [program(), *arguments]
    done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=100, check=False)
    return done.stdout + done.stderr if done.returncode else ""

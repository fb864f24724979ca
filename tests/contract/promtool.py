"""Prometheus' own checker, out of the bundle's cache or of PATH."""

import shutil
import subprocess
from pathlib import Path

import platformdirs
import pytest


def complaints(*arguments: str | Path, given: str = "") -> str:
    """Of promtool with these arguments and this standard input; empty where it ends well. Skips where there is none."""
    parts = platformdirs.user_cache_path("gpustack") / "parts" / "prometheus"
    built = sorted(parts.glob("*/out/promtool"), key=lambda path: path.stat().st_mtime)
    program = str(built[-1]) if built else shutil.which("promtool")
    if program is None:
        pytest.skip("promtool is neither in the bundle's cache (make bundle) nor on PATH")
    done = subprocess.run([program, *arguments], input=given, capture_output=True, text=True, timeout=100, check=False)
    return done.stdout + done.stderr if done.returncode else ""

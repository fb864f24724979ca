"""Helm, where it is: on the PATH, or among the programs that the bundle compiled."""

import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import platformdirs
import pytest


@cache
def find_program() -> str:
    """Find helm, or skip the test where there is none."""
    built = sorted((platformdirs.user_cache_path("gpustack") / "parts" / "helm").glob("*/out/helm"))
    found = shutil.which("helm") or (str(built[-1]) if built else "")
    if not found:
        pytest.skip("no helm: `make bundle` compiles it")
    return found


def run_helm(*words: str | Path) -> str:
    """Run helm and return what it prints. Its failure fails the test with its words."""
    done = run(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run(*words: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([find_program(), *words], capture_output=True, text=True, timeout=60, check=False)


def render_chart(*words: str | Path) -> list[dict[str, Any]]:
    """Render the objects of `helm template`."""
    import yaml

    return [found for found in yaml.safe_load_all(run_helm("template", *words)) if found]

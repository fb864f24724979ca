"""Helm, where it is: on the PATH, or among the programs that the bundle compiled."""

import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import platformdirs
import pytest


@cache
def program() -> str:
    """Skips the test where there is none."""
    built = sorted((platformdirs.user_cache_path("gpustack") / "parts" / "helm").glob("*/out/helm"))
    found = shutil.which("helm") or (str(built[-1]) if built else "")
    if not found:
        pytest.skip("no helm: `make bundle` compiles it")
    return found


def helm(*words: str | Path) -> str:
    """What it prints. What it says in a failure is the failure of the test."""
    done = run(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run(*words: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([program(), *words], capture_output=True, text=True, timeout=60, check=False)


def rendered(*words: str | Path) -> list[dict[str, Any]]:
    """The objects of `helm template`."""
    import yaml

    return [found for found in yaml.safe_load_all(helm("template", *words)) if found]

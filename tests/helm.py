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
    binaries = sorted((platformdirs.user_cache_path("gpustack") / "parts" / "helm").glob("*/out/helm"))
    program = shutil.which("helm") or (str(binaries[-1]) if binaries else "")
    if not program:
        pytest.skip("no helm: `make bundle` compiles it")
    return program


def run_helm(*words: str | Path) -> str:
    """Run helm and return what it prints. Its failure fails the test with its words."""
    process = run(*words)
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


def run(*words: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([find_program(), *words], capture_output=True, text=True, timeout=60, check=False)


def render_chart(*words: str | Path) -> list[dict[str, Any]]:
    """Render the objects of `helm template`."""
    import yaml

    return [document for document in yaml.safe_load_all(run_helm("template", *words)) if document]

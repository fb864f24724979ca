"""Commands in a locale that Ansible refuses: not UTF-8, or not on this machine. Ansible itself runs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpustack.rollout.playbook import build_run_environment

pytestmark = pytest.mark.long
LOCALES = ("C", "POSIX", "xx_XX.UTF-8")


def run_line(*line: str, locale: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "gpustack.cli.app", *line]
    env = {**os.environ, "LC_ALL": locale}
    return subprocess.run(command, capture_output=True, encoding="utf-8", env=env, check=False, timeout=60)


@pytest.mark.parametrize("locale", LOCALES)
def test_an_inventory_is_read_in_every_locale(tmp_path: Path, locale: str) -> None:
    folder = tmp_path / "näme"
    assert run_line("init", str(folder), locale=locale).returncode == 0
    process = run_line("config", "validate", "-i", str(folder), locale=locale)
    assert (process.returncode, process.stderr) == (0, "")
    assert process.stdout.startswith("valid: 3 hosts")


@pytest.mark.parametrize("locale", LOCALES)
def test_plays_run_in_every_locale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, locale: str) -> None:
    monkeypatch.setenv("LC_ALL", locale)
    program = Path(sys.executable).with_name("ansible-playbook")
    env = {**os.environ, **build_run_environment(tmp_path, os.environ["PATH"])}
    process = subprocess.run([program, "--version"], capture_output=True, text=True, env=env, check=False, timeout=60)
    assert (process.returncode, process.stderr) == (0, "")

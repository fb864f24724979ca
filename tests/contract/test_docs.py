"""What the README and CONTRIBUTING name is there: make targets, paths and commands."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
every_text = pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])


@every_text
def test_make_targets_exist(name: str) -> None:
    named = set(re.findall(r"(?m)(?:`|^)make ([a-z-]+)", (ROOT / name).read_text()))
    targets = set(re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text()))
    assert named
    assert named - targets == set()


@every_text
def test_paths_exist(name: str) -> None:
    text = (ROOT / name).read_text()
    named = re.findall(r"`((?:gpustack|playbooks|tests|docs|requirements|inventories)/[\w./-]+)`", text)
    named += re.findall(r"\]\(([\w./-]+)\)", text)
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []


@every_text
def test_commands_exist(name: str) -> None:
    from typer.main import get_command

    from gpustack.cli.app import app

    known = set(get_command(app).commands)  # type: ignore[attr-defined]
    text = (ROOT / name).read_text()
    blocks = "\n".join(re.findall(r"(?s)```sh\n(.*?)```", text))
    named = set(re.findall(r"`gpustack ([a-z]+)", text) + re.findall(r"(?m)^gpustack ([a-z]+)", blocks))
    assert named
    assert named - known == set()

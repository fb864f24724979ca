"""The commands of examples/README.md, which `make tour` runs, read every recording in examples/ as it was recorded."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gpustack.cli.app import app

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)
COMMANDS = [
    line
    for block in BLOCK.findall((EXAMPLES / "README.md").read_text())
    for line in block.splitlines()
    if not line.startswith("#")
]
ROOT_CAUSES = {
    "gpustack doctor --from examples/recordings/gpu-fell-off-bus.jsonl": "gpu-fell-off-bus",
    "gpustack doctor --from examples/recordings/api-server-down.jsonl": "controlplane-certs-expired",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_prints_a_whole_answer(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 8 is refused: every question of this release has its answer in the recording. The healthy cluster may
    differ from rules and charts that changed since it was recorded."""
    monkeypatch.chdir(ROOT)
    words, _, file = command.partition(" > ")
    result = CliRunner().invoke(app, shlex.split(words)[1:])
    root_cause = ROOT_CAUSES.get(words.removesuffix(" -o html"), "")
    assert result.exit_code in ((1,) if root_cause else (0, 1 if "healthy" in words else 0)), result.exception
    assert root_cause in result.stdout
    assert ("ROOT CAUSE" in result.stdout.upper()) == bool(root_cause)
    assert result.stdout.lower().startswith("<!doctype html>") == file.endswith(".html")


def test_every_recording_is_read_by_a_command() -> None:
    files = [path.relative_to(ROOT) for path in EXAMPLES.rglob("*.json*")]
    assert files
    assert [path for path in files if not any(str(path) in command for command in COMMANDS)] == []

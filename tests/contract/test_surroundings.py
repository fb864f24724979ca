"""Commands in odd surroundings: a locale without UTF-8, a narrow terminal, a reader that ends, a full disk."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
LINES = {
    f"doctor -q --from {EXAMPLES}/recordings/gpu-fell-off-bus.jsonl": 1,
    f"plan -q --from {EXAMPLES}/recordings/api-server-down.jsonl": 1,
    f"status -q --from {EXAMPLES}/recordings/api-server-down.jsonl": 8,
    f"gpu list -q --from {EXAMPLES}/usage/gpus.jsonl": 0,
    f"profile analyze {EXAMPLES}/profiles/before.json": 0,
    f"profile compare {EXAMPLES}/profiles/before.json {EXAMPLES}/profiles/after.json": 0,
    f"cost report -q --since 30d --from {EXAMPLES}/usage/cost.jsonl": 0,
    "explain": 0,
    "explain metric 155": 0,
}
"""Exit statuses in usual surroundings."""
pytestmark = pytest.mark.long
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def run_line(line: str, **variables: str) -> "subprocess.CompletedProcess[bytes]":
    command = [sys.executable, "-m", "gpustack.cli.app", *line.split()]
    return subprocess.run(command, capture_output=True, cwd=ROOT, env={**os.environ, **variables}, check=False)


@pytest.mark.parametrize("line", LINES, ids=lambda line: " ".join(line.split()[:2]))
def test_a_locale_without_utf8_changes_no_result(line: str) -> None:
    process = run_line(line, **ASCII)
    assert (process.returncode, process.stderr) == (LINES[line], b"")
    assert process.stdout.isascii()


@pytest.mark.parametrize("line", LINES, ids=lambda line: " ".join(line.split()[:2]))
def test_a_narrow_terminal_loses_no_word(line: str) -> None:
    narrow, wide = (run_line(line, COLUMNS=columns) for columns in ("40", "160"))
    assert narrow.returncode == wide.returncode == LINES[line]
    text = "".join(narrow.stdout.decode().split())
    assert [word for word in wide.stdout.decode().split() if word not in text] == []


@pytest.mark.parametrize("line", [*LINES, f"plan --from {EXAMPLES}/recordings/healthy.jsonl", "version", "--help"])
@pytest.mark.parametrize("output", ["human", "json"])
def test_a_reader_that_ends_is_no_difference(line: str, output: str) -> None:
    options = ["-o", "json"] if output == "json" and "explain" not in line and line != "--help" else []
    command = [sys.executable, "-m", "gpustack.cli.app", *line.split(), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        errors = process.stderr.read()
        assert process.wait() == 141
        assert b"rror" not in errors


def test_a_full_disk_is_told() -> None:
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "gpustack.cli.app", "explain"]
        process = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, cwd=ROOT, check=False)
    assert process.returncode == 2
    assert b"No space left on device" in process.stderr

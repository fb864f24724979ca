"""Small files of a host leave it with what is read alone: no comment, and no line that is something else."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from gpustack.ask.probe import Answer, FactUnavailable, Probe, Shell
from gpustack.probes.containerd.daemon import CRICTL, SOCKET
from gpustack.probes.kernel.settings import SWAP

CRICTL_YAML = f"""\
# figleaf
---
runtime-endpoint: {SOCKET} # figleaf
"image-endpoint": {SOCKET}
timeout: 5
auth: figleaf
"""
FSTAB = """\
# figleaf none swap sw 0 0
UUID=1 / ext4 defaults 0 1 # figleaf
/swapfile none swap sw 0 0 # figleaf
\t#/old\tnone\tswap\tfigleaf
/dev/sdb2\tnone\tswap\tsw,pri=1
"""


def run_probe(probe: Probe[Any], file: Path, name: str) -> Answer:
    assert isinstance(probe.question, Shell)
    command = ["sh", "-c", probe.question.script.replace(name, str(file))]
    process = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    return Answer(probe.id, "h1", process.returncode, process.stdout)


def test_of_the_settings_of_crictl_those_it_knows_leave(tmp_path: Path) -> None:
    (tmp_path / "file").write_text(CRICTL_YAML)
    answer = run_probe(CRICTL, tmp_path / "file", "/etc/crictl.yaml")
    assert "figleaf" not in answer.stdout
    settings = {"runtime-endpoint": SOCKET, "image-endpoint": SOCKET, "timeout": "5", "auth": "REDACTED"}
    assert CRICTL.extract_fact(answer) == settings


@pytest.mark.parametrize("text", ["- figleaf\n", "timeout: 5\nfigleaf\n", "figleaf = 5\n", "timeout: [\n"])
def test_what_is_no_mapping_stays_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "file").write_text(text)
    answer = run_probe(CRICTL, tmp_path / "file", "/etc/crictl.yaml")
    assert "figleaf" not in answer.stdout
    with pytest.raises(FactUnavailable):
        CRICTL.extract_fact(answer)


def test_of_fstab_the_lines_of_swap_leave_without_comments(tmp_path: Path) -> None:
    (tmp_path / "file").write_text(FSTAB)
    answer = run_probe(SWAP, tmp_path / "file", "/etc/fstab")
    assert "figleaf" not in answer.stdout
    text = answer.stdout.partition("== fstab\n")[2].partition("== units")[0]
    assert text == "/swapfile none swap sw 0 0\n/dev/sdb2\tnone\tswap\tsw,pri=1\n"

"""The role's daemon.sh, run with a systemctl and a crictl of ours: when it lets containerd be started anew."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from gpustack.config.resources import locate_playbooks
from gpustack.probes.containerd.daemon import parse_runtime
from tests.worlds.snapshots.answers import read_case

SCRIPT = locate_playbooks() / "roles" / "containerd" / "files" / "daemon.sh"
RIGHT = read_case("containerd.runtime", "prepared-debian-12").stdout


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A containerd that is enabled, active, and started in the year 2100."""
    (tmp_path / "systemctl").write_text('#!/bin/sh\n[ "$1" != show ] || echo Fri 2100-01-01 00:00:00 UTC\n')
    (tmp_path / "crictl").write_text('#!/bin/sh\ncat "$0.json"\n')
    (tmp_path / "stat").write_text("#!/bin/sh\necho 0\n")
    for name in ("systemctl", "crictl", "stat"):
        (tmp_path / name).chmod(0o755)
    return tmp_path


def run_script(tools: Path, info: str) -> list[str]:
    (tools / "crictl.json").write_text(info)
    env = {"PATH": f"{tools}:{os.environ['PATH']}", "RESTRICT": "true"}
    process = subprocess.run(["sh", str(SCRIPT)], capture_output=True, text=True, env=env, timeout=20, check=True)
    return process.stdout.splitlines()


def test_a_daemon_with_our_settings_is_left_running(tools: Path) -> None:
    assert run_script(tools, RIGHT) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"SystemdCgroup": true', '"SystemdCgroup": false'),
        ('"/opt/cni/bin"\n', '"/usr/lib/cni"\n'),
        ('"restrictOOMScoreAdj": true', '"restrictOOMScoreAdj": false'),
    ],
)
def test_a_daemon_with_other_settings_is_started_anew(tools: Path, old: str, new: str) -> None:
    """The files are right and older than the daemon: only the daemon itself can tell."""
    assert old in RIGHT
    answer = read_case("containerd.runtime", "prepared-debian-12", (old, new))
    assert json.loads(answer.stdout)
    assert parse_runtime(answer) != parse_runtime(read_case("containerd.runtime", "prepared-debian-12"))
    (line,) = run_script(tools, answer.stdout)
    assert line.startswith("restart: ")


def test_a_setting_of_another_runtime_is_not_that_of_pods(tools: Path) -> None:
    """NVIDIA's container toolkit makes four runtimes, and three of them may say what the fourth does not."""
    answer = json.loads(read_case("containerd.runtime", "prepared-debian-12").stdout)
    runtimes = answer["config"]["containerd"]["runtimes"]
    runtimes["nvidia"] = json.loads(json.dumps(runtimes["runc"]))
    assert run_script(tools, json.dumps(answer)) == []
    runtimes["runc"]["options"]["SystemdCgroup"] = False
    (line,) = run_script(tools, json.dumps(answer))
    assert "SystemdCgroup" in line


def test_a_daemon_that_does_not_answer_is_started_anew(tools: Path) -> None:
    assert {line.split(":")[0] for line in run_script(tools, "")} == {"restart"}

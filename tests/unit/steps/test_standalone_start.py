"""standalone-start.sh with a systemctl of the test: Alertmanager is started anew where its proxy is older than the
file."""

import os
import subprocess
from pathlib import Path

import pytest

from gpustack.config.resources import locate_playbooks

SCRIPT = (locate_playbooks() / "files" / "standalone-start.sh").read_text()
# It runs since ten seconds after 1970 began.
SYSTEMCTL = """#!/bin/sh
case "$*" in
*NeedDaemonReload*) echo no ;;
*UnitFileState*) echo enabled ;;
*ActiveEnterTimestamp*) echo Thu 1970-01-01 00:00:10 UTC ;;
*is-active*) ;;
*) echo "$*" ;;
esac
"""
STARTED_ANEW = ["restart prometheus-alertmanager.service", "changed: started prometheus-alertmanager"]


@pytest.mark.parametrize(
    ("drop_in", "written_at", "lines"),
    [
        ("EnvironmentFile=PROXY\n", 20, STARTED_ANEW),
        ("EnvironmentFile=PROXY\n", 10, []),
        ("ExecStart=/bin/x\n", 20, []),
    ],
)
def test_a_newer_proxy_starts_it_anew(tmp_path: Path, drop_in: str, written_at: int, lines: list[str]) -> None:
    (tmp_path / "systemctl").write_text(SYSTEMCTL)
    (tmp_path / "systemctl").chmod(0o755)
    proxy = tmp_path / "proxy.env"
    proxy.touch()
    os.utime(proxy, (written_at, written_at))
    folder = tmp_path / "prometheus-alertmanager.service.d"
    folder.mkdir()
    (folder / "gpustack.conf").write_text(f"[Service]\n{drop_in.replace('PROXY', str(proxy))}")
    script = SCRIPT.replace("/etc/gpustack-cluster/proxy.env", str(proxy)).replace("/etc/systemd/system", str(tmp_path))
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PLAIN": "prometheus-alertmanager"}
    process = subprocess.run(
        ["sh", "-c", script], input="#\n", capture_output=True, text=True, env=env, check=True, timeout=20
    )
    assert process.stdout.splitlines() == lines

"""Probes that go through the proxy of the spec: curl reads it from its standard input alone."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gpustack.ask.probe import Probe
from gpustack.ask.script import format_command
from gpustack.probes.containerd.candidates import CONTAINERD_OFFERS
from gpustack.probes.containerd.mirror import MIRROR_STATE
from gpustack.probes.helm import CHARTS
from gpustack.probes.kubelet.join_endpoint import SOURCE

SECRET = "http://kube:n0tapassword@proxy.example:3128"
CURL = """#!/bin/sh
{ echo "arguments $*"; tr '\\0' '\\n' </proc/$$/environ; } >>"$WORLD/seen"
case " $* " in *' --config - '*) cat >>"$WORLD/read" ;; esac
"""


@pytest.mark.parametrize("probe", [CONTAINERD_OFFERS, CHARTS, MIRROR_STATE, SOURCE], ids=lambda probe: probe.id)
def test_its_password_is_in_no_argument_and_no_environment(tmp_path: Path, probe: Probe[Any]) -> None:
    (tmp_path / "curl").write_text(CURL)
    (tmp_path / "curl").chmod(0o755)
    (tmp_path / "admin.conf").touch()
    (tmp_path / "os-release").write_text("ID=debian\nVERSION_CODENAME=bookworm\n")
    lines = (f'HTTP_PROXY="{SECRET}"', f'HTTPS_PROXY="{SECRET}"', 'NO_PROXY=".svc,10.0.0.0/8"')
    (tmp_path / "proxy.env").write_text("".join(f"{line}\n" for line in lines))
    script = (
        format_command(probe).replace("/etc/gpustack-cluster", str(tmp_path)).replace("/etc/kubernetes", str(tmp_path))
    )
    script = script.replace("/etc/os-release", f"{tmp_path}/os-release").replace(
        "$(dpkg --print-architecture)", "amd64"
    )
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "WORLD": str(tmp_path), "CONTAINERD": "2.3", "MIRROR": "",
           "CONTAINERD_ROOT": "https://a.example/linux/{os}", "CHARTS": "https://a.example/x.tgz",
           "DPKG_ADMINDIR": str(tmp_path)}  # fmt: skip
    env |= {"MIRROR": "https://a.example"} if probe is MIRROR_STATE else {}
    subprocess.run(["sh", "-uc", script], env=env, capture_output=True, check=False, timeout=20)
    assert "n0tapassword" not in (tmp_path / "seen").read_text()
    assert f'proxy = "{SECRET}"\nnoproxy = ".svc,10.0.0.0/8"\n' in (tmp_path / "read").read_text()

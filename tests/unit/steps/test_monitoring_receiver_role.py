"""The script that puts the receiver's secret into the cluster, and the one that compares it: with a kubectl that keeps
one Secret in a file."""

import os
import subprocess
from pathlib import Path

import pytest
import yaml

from gpustack.ask.probe import Answer, Shell
from gpustack.config.egress import digests
from gpustack.config.host import CONTROL_PLANE, Host
from gpustack.config.inventory import Inventory
from gpustack.config.resources import playbooks
from gpustack.config.spec import Spec
from gpustack.probes.monitoring.alerting import SECRET

PUT = (playbooks() / "files" / "limits.sh").read_text()
PUT += (playbooks() / "roles" / "monitoring" / "files" / "receiver.sh").read_text()
# With all that a shell minds.
HOOK = "https://hooks.example.com/services/only-we-know?a=b%20c&d='\"$HOME`id`"
KUBECTL = """#!/bin/sh
echo "$*" >>"$WORLD/argv"
case "$*" in
*'get namespace'*) cat "$WORLD/namespace" ;;
*'create namespace'*) echo namespace/x >"$WORLD/namespace" ;;
*'get secret'*) sed -n 's/^data: {secret: \\(.*\\)}$/\\1/p' "$WORLD/secret" | tr -d '\\n' ;;
*apply*) cat >"$WORLD/secret" ;;
*) exit 1 ;;
esac
"""


@pytest.fixture
def world(tmp_path: Path) -> Path:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "kubectl"
    program.write_text(KUBECTL)
    program.chmod(0o755)
    for name in ("namespace", "secret", "argv"):
        (tmp_path / name).touch()
    return tmp_path


def run(world: Path, script: str, text: str = "", **variables: str) -> str:
    env = variables | {"PATH": f"{world}/bin:{os.environ['PATH']}", "WORLD": str(world)}
    done = subprocess.run(["sh", "-c", script], input=text, capture_output=True, text=True, env=env, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def put(world: Path, secret: str) -> str:
    return run(world, PUT, secret, NAMESPACE="monitoring")


def compared(world: Path, wanted: str) -> object:
    """As on a control plane: there is an admin.conf."""
    file = world / "wanted"
    file.touch(mode=0o600)
    file.write_text(f"{wanted}\n")
    spec = Spec.model_validate({"alerts": {"receiver": {"type": "webhook", "secret_file": str(file)}}})
    hosts = (Host("h1", "192.0.2.1", groups=frozenset({CONTROL_PLANE})),)
    assert isinstance(SECRET.ask, Shell)
    script = SECRET.ask.text.replace("/etc/kubernetes/admin.conf", str(file))
    output = run(world, script, MONITORING="monitoring", **digests(Inventory(None, hosts, spec), hosts[0]))
    return SECRET.fact(Answer(SECRET.id, "h1", 0, output))


def test_the_secret_is_put_once_and_found_the_same(world: Path) -> None:
    assert compared(world, HOOK) == "none"
    assert put(world, HOOK) == "changed: the receiver's secret\n"
    assert compared(world, HOOK) == "same"
    assert put(world, HOOK) == ""
    assert compared(world, f"{HOOK}2") == "other"
    assert put(world, f"{HOOK}2").startswith("changed")
    assert compared(world, f"{HOOK}2") == "same"


def test_it_is_in_no_argument(world: Path) -> None:
    put(world, HOOK)
    compared(world, HOOK)
    text = (world / "argv").read_text()
    document = yaml.safe_load((world / "secret").read_text())
    assert "only-we-know" not in text
    assert document["data"]["secret"] not in text
    assert document["metadata"] == {
        "name": "gpustack-receiver",
        "namespace": "monitoring",
        "labels": {"app.kubernetes.io/managed-by": "gpustack"},
    }


def test_where_no_secret_is_wanted_nobody_is_asked(world: Path) -> None:
    assert isinstance(SECRET.ask, Shell)
    there = SECRET.ask.text.replace("/etc/kubernetes/admin.conf", "/dev/null")
    assert run(world, there, MONITORING="monitoring", SALT="s") == ""
    worker = SECRET.ask.text.replace("/etc/kubernetes/admin.conf", str(world / "none"))
    assert run(world, worker, MONITORING="monitoring", SALT="s", RECEIVER="x") == ""
    assert (world / "argv").read_text() == ""

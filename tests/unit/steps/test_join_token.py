"""Check that the leftovers of a join go from a worker, and nothing of another cluster."""

import base64
import json
import os
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from gpustack.config.resources import locate_playbooks
from tests.unit.ownership.owned_root import PROGRAM, OwnedRoot
from tests.unit.ownership.test_agreed_removal import CERTIFICATE
from tests.worlds.programs.certificates import Authority

BOOTSTRAP, JOIN = "/etc/kubernetes/bootstrap-kubelet.conf", "/run/gpustack-join.yaml"
CA = "/etc/kubernetes/pki/ca.crt"
DECLARED_PATHS = {"file": [JOIN], "data": [BOOTSTRAP, CA]}
FILES = locate_playbooks() / "roles" / "workers" / "files"
# What limits.sh and the host bring. kubeadm refuses to join beside a CA.
PROGRAMS = """hold_lock() { :; }
systemctl() { :; }
run_limited() {
  [ ! -e "$ROOT/etc/kubernetes/pki/ca.crt" ] || { echo "ca.crt already exists" >&2; return 1; }
  echo joins
}
"""


@pytest.fixture
def root(tmp_path: Path) -> OwnedRoot:
    return OwnedRoot(tmp_path)


def run(root: OwnedRoot, name: str) -> subprocess.CompletedProcess[str]:
    script = (FILES / name).read_text().replace('"$file"', '"$ROOT$file"').replace(f" {JOIN}", f' "$ROOT{JOIN}"')
    script = script.replace("-e $etc", '-e "$ROOT"$etc')
    words = {
        "OWNERSHIP": PROGRAM,
        "OWNERSHIP_ROOT": str(root.path),
        "OWNERSHIP_REQUEST": json.dumps({"declared": DECLARED_PATHS}),
        "CLUSTER": "sha256:" + "0" * 64,
        "ROOT": str(root.path),
        "PATH": os.environ["PATH"],
    }
    return subprocess.run(
        ["sh", "-c", PROGRAMS + script], env=words, capture_output=True, text=True, timeout=30, check=False
    )


def clear(root: OwnedRoot) -> str:
    process = run(root, "no-token.sh")
    assert process.returncode == 0, process.stderr
    return process.stdout


def name_authority(certificate: str) -> str:
    """Write the part of a kubeconfig that names the CA, as kubeadm 1.36 does."""
    data = base64.b64encode(certificate.encode()).decode()
    return f"clusters:\n- cluster:\n    certificate-authority-data: {data}\n    server: https://10.78.0.11:6443\n"


def begin_join(root: OwnedRoot, certificate: str = CERTIFICATE) -> None:
    """Record as the step does before kubeadm writes its first byte, of the cluster with this CA."""
    root.record("begin", DECLARED_PATHS)
    root.write(CA, certificate)
    digest = root.read_lines()[0]
    (root.path / CA.lstrip("/")).unlink()
    assert root.run("cluster", digest, stdin_document={"declared": DECLARED_PATHS}).returncode == 0


@pytest.mark.parametrize("text", [name_authority(CERTIFICATE), "", "\0" * 4096], ids=["whole", "empty", "power cut"])
def test_what_a_join_left_goes(root: OwnedRoot, text: str) -> None:
    begin_join(root)
    root.write(BOOTSTRAP, text)
    root.write(JOIN, "a token\n")
    assert len(clear(root).splitlines()) == len((BOOTSTRAP, JOIN))
    assert (root.read(BOOTSTRAP), root.read(JOIN)) == (None, None)
    assert clear(root) == ""


@pytest.mark.parametrize("recorded", [True, False])
def test_a_kubeconfig_for_joining_that_was_there_before_stays(root: OwnedRoot, recorded: bool) -> None:
    root.write(BOOTSTRAP, "of another cluster\n")
    if recorded:
        root.record("begin", DECLARED_PATHS)
    assert clear(root) == ""
    assert root.read(BOOTSTRAP) == "of another cluster\n"


def test_a_broken_off_join_begins_anew(root: OwnedRoot) -> None:
    begin_join(root)
    root.write(BOOTSTRAP, name_authority(CERTIFICATE))
    root.write(CA, CERTIFICATE)
    process = run(root, "join.sh")
    assert (process.returncode, process.stdout) == (0, "joins\n"), process.stderr
    assert root.read(BOOTSTRAP) is None


@pytest.mark.parametrize("joined", [True, False])
def test_files_of_another_cluster_stay_whatever_an_old_record_says(root: OwnedRoot, joined: bool) -> None:
    """The host was prepared for this cluster once, and somebody took it to another one since."""
    if joined:
        begin_join(root)
    else:
        root.record("begin", DECLARED_PATHS)
    other_certificate = Authority().certificate.public_bytes(Encoding.PEM).decode()
    root.write(BOOTSTRAP, name_authority(other_certificate))
    root.write(CA, other_certificate)
    process = run(root, "join.sh")
    assert (process.returncode, process.stderr) == (1, "ca.crt already exists\n")
    assert clear(root) == ""
    assert (root.read(BOOTSTRAP), root.read(CA)) == (name_authority(other_certificate), other_certificate)

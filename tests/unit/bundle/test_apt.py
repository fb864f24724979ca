"""The repositories as apt on a host reads them."""

import subprocess
from pathlib import Path

import pytest

from tests.unit.bundle.apt_host import Host

KUBERNETES = "files/pkgs.k8s.io/core:/stable:/v1.36/deb"
DOCKER = "files/download.docker.com/linux"


def test_kubernetes_installs_as_from_the_official_place(shared_bundle: Path, tmp_path: Path) -> None:
    host = Host(tmp_path, shared_bundle / KUBERNETES / "Release.key", f"file:{shared_bundle}/{KUBERNETES}/ /")
    process = host.run("apt-get", "update")
    assert process.returncode == 0, process.stderr
    assert "W:" not in process.stderr
    description = host.run("apt-cache", "show", "kubelet=1.36.4-1.1").stdout
    assert "Depends: iptables (>= 1.4.21), kubernetes-cni (>= 1.2.0), mount, util-linux\n" in description
    policy = host.run("apt-cache", "policy", "kubeadm", "kubectl", "cri-tools", "kubernetes-cni").stdout
    for version in ("1.36.4-1.1", "1.36.0-1.1", "1.9.1-1.1"):
        assert f"Candidate: {version}" in policy
    download = subprocess.run(
        ["apt-get", *host.options, "download", "kubeadm=1.36.4-*"],
        capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert download.returncode == 0, download.stderr
    (deb,) = tmp_path.glob("*.deb")
    assert deb.name.startswith("kubeadm_1.36.4-1.1_")


@pytest.mark.parametrize(
    ("codename", "version"),
    [
        ("bookworm", "debian.12~bookworm"),
        ("trixie", "debian.13~trixie"),
        ("jammy", "ubuntu.22.04~jammy"),
        ("resolute", "ubuntu.26.04~resolute"),
    ],
)
def test_containerd_is_in_its_vendors_suites(shared_bundle: Path, tmp_path: Path, codename: str, version: str) -> None:
    place = f"{DOCKER}/{version.split('.', maxsplit=1)[0]}"
    host = Host(tmp_path, shared_bundle / place / "gpg", f"file:{shared_bundle}/{place} {codename} stable")
    process = host.run("apt-get", "update")
    assert process.returncode == 0, process.stderr
    assert "W:" not in process.stderr
    assert f"\nCodename: {codename}\n" in (shared_bundle / place / "dists" / codename / "Release").read_text()
    assert f"Candidate: 2.3.7-1~{version}\n" in host.run("apt-cache", "policy", "containerd.io").stdout


def test_apt_refuses_an_index_that_was_not_signed(bundle: Path, tmp_path: Path) -> None:
    index = bundle / KUBERNETES / "Packages"
    index.write_text(index.read_text().replace("1.36.4", "1.36.9"))
    (bundle / KUBERNETES / "Packages.gz").unlink()
    host = Host(tmp_path, bundle / KUBERNETES / "Release.key", f"file:{bundle}/{KUBERNETES}/ /")
    assert host.run("apt-get", "update").returncode != 0


def test_apt_refuses_another_key(shared_bundle: Path, tmp_path: Path) -> None:
    other_keyring = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
    if not other_keyring.exists():
        pytest.skip("no other key on this machine: debian-archive-keyring is not installed")
    host = Host(tmp_path, other_keyring, f"file:{shared_bundle}/{KUBERNETES}/ /")
    process = host.run("apt-get", "update")
    assert process.returncode != 0
    assert "NO_PUBKEY" in process.stderr

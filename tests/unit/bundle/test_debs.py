"""Packages as dpkg reads them."""

import subprocess
from pathlib import Path

import pytest

KUBERNETES = "files/pkgs.k8s.io/core:/stable:/v1.36/deb"
DOCKER = "files/download.docker.com/linux/debian/dists/bookworm/pool/stable"


def find_deb(bundle: Path, name: str) -> Path:
    (deb,) = [path for mirror in (KUBERNETES, DOCKER) for path in (bundle / mirror).rglob(f"{name}_*.deb")]
    return deb


def run_dpkg(*words: str | Path) -> str:
    return subprocess.run(["dpkg-deb", *words], capture_output=True, text=True, timeout=30, check=True).stdout


def list_contents(bundle: Path, name: str) -> set[str]:
    lines = run_dpkg("--contents", find_deb(bundle, name)).splitlines()
    return {line.split()[5].removeprefix(".") for line in lines if not line.startswith("d")}


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("kubeadm", {"/usr/bin/kubeadm", "/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf"}),
        ("kubelet", {"/usr/bin/kubelet", "/usr/lib/systemd/system/kubelet.service", "/etc/default/kubelet"}),
        ("kubectl", {"/usr/bin/kubectl"}),
        ("cri-tools", {"/usr/bin/crictl"}),
        ("kubernetes-cni", {"/opt/cni/bin/bridge", "/opt/cni/bin/portmap"}),
        (
            "containerd.io",
            {
                "/usr/bin/containerd", "/usr/bin/containerd-shim-runc-v2", "/usr/bin/ctr", "/usr/bin/runc",
                "/usr/lib/systemd/system/containerd.service", "/etc/containerd/config.toml",
            },
        ),
    ],
)  # fmt: skip
def test_a_package_installs_these_files(shared_bundle: Path, name: str, files: set[str]) -> None:
    assert list_contents(shared_bundle, name) == files
    assert run_dpkg("--field", find_deb(shared_bundle, name), "Package").strip() == name


def test_containerd_is_as_its_vendors(shared_bundle: Path, tmp_path: Path) -> None:
    package = find_deb(shared_bundle, "containerd.io")
    assert run_dpkg("--field", package, "Version").strip() == "2.3.7-1~debian.12~bookworm"
    for relation in ("Provides", "Conflicts", "Replaces"):
        assert run_dpkg("--field", package, relation).strip() == "containerd, runc"
    run_dpkg("--raw-extract", package, tmp_path / "root")
    assert 'disabled_plugins = ["cri"]' in (tmp_path / "root/etc/containerd/config.toml").read_text()
    assert (tmp_path / "root/DEBIAN/conffiles").read_text() == "/etc/containerd/config.toml\n"


def test_packages_belong_to_root_and_say_what_they_are(shared_bundle: Path) -> None:
    for package in (shared_bundle / KUBERNETES).rglob("*.deb"):
        assert all(" root/root " in line for line in run_dpkg("--contents", package).splitlines())
        assert "for labs and tests, not for production" in run_dpkg("--field", package, "Description")


@pytest.mark.parametrize("name", ["kubelet", "containerd.io"])
def test_maintainer_scripts_are_sound(shared_bundle: Path, tmp_path: Path, name: str) -> None:
    run_dpkg("--control", find_deb(shared_bundle, name), tmp_path / "control")
    scripts = [tmp_path / "control" / script for script in ("postinst", "prerm", "postrm")]
    process = subprocess.run(["shellcheck", *scripts], capture_output=True, text=True, timeout=30, check=False)
    assert process.returncode == 0, process.stdout
    assert all(script.stat().st_mode & 0o111 for script in scripts)

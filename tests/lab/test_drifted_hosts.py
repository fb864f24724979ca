"""Hosts that drifted in every way the host steps judge: the next install fixes them, and what is not ours survives.

The witness is testinfra. The tests of this file stand in the order of the story and share one lab; no cluster is made.
"""

import json
import tomllib
from collections.abc import Callable
from typing import Any

import pytest

from gpustack_lab import lab
from tests.lab import witness
from tests.lab.conftest import Run

pytestmark = [pytest.mark.lab, pytest.mark.slow]
STEPS = "prereqs,containerd,kubernetes"
HOSTS = ("host1", "host2")
FSTAB = "UUID=3d1b3f0a-8f3f-4d57-9d3b-2c5f7a0c1e11 none\tswap  sw  0 0"
MAIN = """# kept by hand
version = 3
disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.snapshotter.v1.zfs"]
imports = ["/etc/containerd/site/*.toml"]

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
  BinaryName = "/usr/bin/runc"
  SystemdCgroup = false
[plugins.'io.containerd.cri.v1.runtime'.cni]
  bin_dir = "/usr/lib/cni"
"""
DRIFT = f"""
printf '%s\\n' '{FSTAB}' >>/etc/fstab
printf '[Swap]\\nWhat=/var/extra\\n[Install]\\nWantedBy=swap.target\\n' >/etc/systemd/system/var-extra.swap
systemctl daemon-reload && systemctl -q enable var-extra.swap
sysctl -qw net.ipv4.ip_forward=0 net.bridge.bridge-nf-call-iptables=0
rm /etc/modules-load.d/gpustack.conf /etc/sysctl.d/90-gpustack.conf
DEBIAN_FRONTEND=noninteractive apt-get -qq remove -y socat >/dev/null
dpkg-query -s curl >/var/lib/dpkg/updates/0000 # what a dpkg that was killed leaves: apt refuses to work
cat >/etc/containerd/config.toml <<'EOF'
{MAIN}EOF
printf 'version = 3\\nimports = []\\n' >/etc/containerd/conf.d/10-site.toml
cd /etc/containerd/certs.d && rm -r quay.io && mkdir harbor.example
echo 'server = "https://harbor.example"' >harbor.example/hosts.toml
cat /etc/apt/keyrings/gpustack-containerd.gpg >>/etc/apt/keyrings/gpustack-kubernetes.gpg
: >/etc/apt/keyrings/gpustack-containerd.gpg
apt-mark -q unhold kubelet containerd.io
printf 'Types: deb\\nURIs\\n' >/etc/apt/sources.list.d/gpustack-kubernetes.sources # with it apt reads no list at all
printf 'runtime-endpoint: unix:///run/dockershim.sock\\ntimeout: 5\\n' >/etc/crictl.yaml
systemctl -q disable kubelet containerd && systemctl restart containerd
"""


@pytest.fixture(scope="module")
def two(make_lab: Callable[..., lab.Lab], gpustack: Run) -> lab.Lab:
    lab = make_lab("drift", ["debian-12", "debian-13"])
    install(lab, gpustack)
    return lab


@pytest.fixture(params=HOSTS)
def host(two: lab.Lab, request: pytest.FixtureRequest) -> Any:
    return witness.connect_host(two, request.param)


def install(two: lab.Lab, gpustack: Run, *words: str) -> dict[str, Any]:
    process = gpustack("install", "-i", two.inventory, "--only", STEPS, "--yes", "-o", "json", *words)
    values: dict[str, Any] = json.loads(process.stdout)
    return values


def list_starts(two: lab.Lab) -> dict[str, str]:
    show = "systemctl show -p ExecMainStartTimestampMonotonic --value containerd"
    return {name: witness.connect_host(two, name).check_output(show) for name in HOSTS}


def test_kinds_of_drift_are_distinguished(two: lab.Lab, gpustack: Run) -> None:
    for name in HOSTS:
        assert witness.connect_host(two, name).run(f"set -e\n{DRIFT}").rc == 0
    process = gpustack("plan", "-i", two.inventory, "--only", STEPS, "-o", "json", code=1)
    states = json.loads(process.stdout)["states"]
    failed_checks = {
        (state["step"], check["check"]) for state in states for check in state["checks"] if check["outcome"] == "failed"
    }
    assert failed_checks >= {
        ("prereqs", "packages"), ("prereqs", "modules-at-boot"), ("prereqs", "sysctls"), ("prereqs", "sysctls-at-boot"),
        ("prereqs", "swap-stays-off"), ("containerd", "repository"), ("containerd", "packages-held"),
        ("containerd", "configuration"), ("containerd", "mirrors"), ("containerd", "running"), ("containerd", "cri"),
        ("kubernetes", "repository"), ("kubernetes", "packages-held"), ("kubernetes", "kubelet-at-boot"),
        ("kubernetes", "crictl-endpoint"),
    }  # fmt: skip
    assert {check["outcome"] for state in states for check in state["checks"]} == {"ok", "failed"}


def test_install_fixes_all_drift(two: lab.Lab, gpustack: Run) -> None:
    install(two, gpustack)
    assert gpustack("plan", "-i", two.inventory, "--only", STEPS).returncode == 0


def test_the_witness_agrees(host: Any) -> None:
    assert host.sysctl("net.ipv4.ip_forward") == 1
    assert host.sysctl("net.bridge.bridge-nf-call-iptables") == 1
    assert host.package("socat").is_installed
    assert host.service("containerd").is_running
    assert host.service("containerd").is_enabled
    assert host.service("kubelet").is_enabled
    assert not host.service("var-extra.swap").is_enabled
    held_packages = set(host.check_output("apt-mark showhold").split())
    assert held_packages == {"containerd.io", "cri-tools", "kubeadm", "kubectl", "kubelet", "kubernetes-cni"}
    config = json.loads(host.check_output("crictl info"))["config"]
    assert config["containerd"]["runtimes"]["runc"]["options"]["SystemdCgroup"] is True
    assert config["cni"]["binDirs"] == ["/opt/cni/bin"]


def test_what_is_not_ours_survives(host: Any) -> None:
    main = tomllib.loads(host.file("/etc/containerd/config.toml").content_string)
    before = tomllib.loads(MAIN)
    assert main["plugins"] == before["plugins"]
    assert main["disabled_plugins"] == ["io.containerd.snapshotter.v1.zfs"]
    assert set(main["imports"]) == {"/etc/containerd/site/*.toml", "/etc/containerd/conf.d/*.toml"}
    assert host.file("/etc/containerd/config.toml").content_string.startswith("# kept by hand\n")
    options = json.loads(host.check_output("crictl info"))["config"]["containerd"]["runtimes"]["runc"]["options"]
    assert options["BinaryName"] == "/usr/bin/runc"
    assert host.file("/etc/containerd/conf.d/10-site.toml").exists
    assert host.file("/etc/containerd/certs.d/harbor.example/hosts.toml").exists
    assert "timeout: 5" in host.file("/etc/crictl.yaml").content_string
    assert f"# {FSTAB}" in host.file("/etc/fstab").content_string.splitlines()
    assert host.check_output("grep -c '^UUID=3d1b' /etc/fstab.*~") == "1", "a copy of what was there"


def test_a_forced_install_changes_nothing(two: lab.Lab, gpustack: Run) -> None:
    before = list_starts(two)
    values = install(two, gpustack, "--force")
    assert [(play["step"], play["changed_hosts"]) for play in values["playbook_runs"]] == [
        (step, []) for step in STEPS.split(",")
    ]
    assert list_starts(two) == before


def test_a_key_that_is_not_the_expected_one_is_not_trusted(two: lab.Lab, gpustack: Run) -> None:
    """The keyring stays as it was, apt is not asked, and the message names both keys."""
    settings = two.inventory / "group_vars" / "all" / "gpustack.yml"
    text = settings.read_text()
    fingerprint = text.split("fingerprint: ")[1].split()[0]
    settings.write_text(text.replace(fingerprint, "F" * 40))
    try:
        process = gpustack("install", "-i", two.inventory, "--only", STEPS, "--yes", code=5)
        assert f"expected the key {'F' * 40} and no other, actual {fingerprint}" in " ".join(process.stdout.split())
    finally:
        settings.write_text(text)
    assert gpustack("plan", "-i", two.inventory, "--only", STEPS).returncode == 0

"""A host with a kernel of its own, from nothing through a reboot to a cluster, and back.

An hour where QEMU emulates it; what an emulated machine cannot carry is left out there: monitoring, and a reboot of the
whole cluster (docs/decisions/0003-lab.md). The tests of this file are the chapters of one story, in this order.
VM_RECORD=FOLDER keeps what doctor judged there, for tests/snapshots. VM_LAB names a lab that stays up, for a second
look at a chapter.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpustack_lab import lab
from tests.lab import witness
from tests.lab.conftest import Run, disable_monitoring
from tests.lab.footprint import find_leftovers, list_footprint

pytestmark = pytest.mark.vm

NAME = "vm-test"
RUN_LIMIT = 5400
HOST_STEPS = "prereqs,firewall,containerd,kubernetes"
# The clock of a machine that was paused for twenty minutes and does not go on.
STANDING = """then=$(($(date +%s) - 1200))
systemd-run --quiet --unit=standing sh -c "while :; do date -s @$then; sleep 0.2; done"
sleep 2"""
# What only a kernel of one's own lets happen: the fault, how it comes, how it goes. `modprobe -r` would take the module
# bridge along, and with it cni0.
FAULTS = (
    ("host-swap-on", "swapon LABEL=swap", "swapoff LABEL=swap"),
    ("flannel-br-netfilter-missing", "rmmod br_netfilter", "modprobe br_netfilter"),
    ("host-time-skew", STANDING, "systemctl stop standing; date -s @$(cat /sys/class/rtc/rtc0/since_epoch)"),
)


@pytest.fixture(scope="module")
def before() -> set[str]:
    return list_footprint()


@pytest.fixture(scope="module")
def one_host(before: set[str], mirror: lab.Mirror) -> Iterator[lab.Lab]:
    kept_lab = os.environ.get("VM_LAB")
    if not kept_lab:
        lab.remove_lab(NAME)
    made_lab = lab.create_lab(kept_lab or NAME, releases=["debian-13"], vm=True, mirror=mirror)
    if made_lab.record.emulated:
        disable_monitoring(made_lab)
    yield made_lab
    if not kept_lab:
        made_lab.remove()
        assert find_leftovers(NAME, before) == set()


def on(running_lab: lab.Lab, script: str) -> str:
    process = running_lab.exec("host1", ["sudo", "sh", "-c", f"set -e\n{script}"], limit=600)
    assert process.returncode == 0, (script, process.stdout, process.stderr)
    return process.stdout.strip()


def list_roots(running_lab: lab.Lab, gpustack: Run, folder: Path, name: str) -> set[str]:
    recording = Path(os.environ.get("VM_RECORD", folder)) / f"{name}.jsonl"
    gpustack("snapshot", "-i", running_lab.inventory, "--out", recording, "--force", limit=RUN_LIMIT)
    process = gpustack("doctor", "--from", recording, "-o", "json", code=None, limit=RUN_LIMIT)
    return {root["id"] for root in json.loads(process.stdout)["roots"]}


def test_it_has_what_a_container_has_not(one_host: lab.Lab) -> None:
    assert on(one_host, "stat -fc %T /sys/fs/cgroup") == "cgroup2fs"
    assert on(one_host, "cat /sys/module/apparmor/parameters/enabled") == "Y"
    assert on(one_host, "uname -r") in on(one_host, "ls /lib/modules")
    assert "/dev/vdb" in on(one_host, "cat /proc/swaps")
    assert on(one_host, "systemctl is-system-running --wait") == "running"


def reboot(running_lab: lab.Lab) -> None:
    """Reboot the host, and wait until it answers; its units may still be starting."""
    first = on(running_lab, "cat /proc/sys/kernel/random/boot_id")
    running_lab.exec("host1", ["sudo", "systemctl", "reboot"])

    def has_booted() -> bool:
        boot_id = running_lab.exec("host1", ["cat", "/proc/sys/kernel/random/boot_id"])
        return boot_id.returncode == 0 and boot_id.stdout.strip() != first

    witness.wait_until("the host boots", has_booted, limit=900)


def test_its_host_is_made_ready(one_host: lab.Lab, gpustack: Run) -> None:
    gpustack("install", "-i", one_host.inventory, "--only", HOST_STEPS, "--yes", limit=RUN_LIMIT)
    assert len(on(one_host, "cat /proc/swaps").splitlines()) == 1


def test_a_reboot_changes_nothing_of_its_host(one_host: lab.Lab, gpustack: Run) -> None:
    """A container's reboot does not prove that modules, swap and kernel settings are those of a new kernel."""
    reboot(one_host)
    on(one_host, "systemctl is-system-running --wait || true")
    gpustack("verify", "-i", one_host.inventory, "--only", HOST_STEPS, limit=RUN_LIMIT)
    assert len(on(one_host, "cat /proc/swaps").splitlines()) == 1
    assert on(one_host, "cat /proc/sys/net/bridge/bridge-nf-call-iptables /proc/sys/net/ipv4/ip_forward") == "1\n1"


def test_a_saved_disk_comes_back(one_host: lab.Lab) -> None:
    on(one_host, "touch /root/before; sync")
    one_host.save("cluster")
    on(one_host, "rm /root/before; sync")
    one_host.restore("cluster")
    assert on(one_host, "ls /root/before") == "/root/before"


def test_it_becomes_a_cluster(one_host: lab.Lab, gpustack: Run) -> None:
    """kubeadm gives each of its requests ten seconds, whatever its timeouts are (cmd/kubeadm/app/util/kubeconfig):
    where QEMU emulates it may give up, and the next install resumes."""
    tries = 3 if one_host.record.emulated else 1
    codes = list[int]()
    while len(codes) < tries and 0 not in codes:
        codes.append(gpustack("install", "-i", one_host.inventory, "--yes", code=None, limit=RUN_LIMIT).returncode)
    assert codes[-1] == 0, codes
    nodes = on(one_host, "kubectl --kubeconfig /etc/kubernetes/admin.conf get nodes --no-headers")
    assert " Ready " in nodes


def test_a_second_run_has_nothing_to_do(one_host: lab.Lab, gpustack: Run) -> None:
    process = gpustack("install", "-i", one_host.inventory, "--yes", limit=RUN_LIMIT)
    assert "nothing to do" in process.stdout


def test_nothing_is_wrong_with_it(one_host: lab.Lab, gpustack: Run, tmp_path: Path) -> None:
    assert list_roots(one_host, gpustack, tmp_path, "healthy") == set()


@pytest.mark.parametrize(("fault", "come", "go"), FAULTS, ids=[fault for fault, _, _ in FAULTS])
def test_what_happens_to_its_kernel_is_found(
    one_host: lab.Lab, gpustack: Run, tmp_path: Path, fault: str, come: str, go: str
) -> None:
    on(one_host, come)
    try:
        assert list_roots(one_host, gpustack, tmp_path, fault) == {fault}
    finally:
        on(one_host, go)


def test_its_cluster_comes_back_from_a_reboot(one_host: lab.Lab, gpustack: Run) -> None:
    if one_host.record.emulated:
        pytest.skip("an emulated API server does not start beside a whole cluster (docs/decisions/0003-lab.md)")
    reboot(one_host)

    def is_verified() -> bool:
        return gpustack("verify", "-i", one_host.inventory, code=None, limit=RUN_LIMIT).returncode == 0

    witness.wait_until("the cluster is as it was", is_verified, limit=900)


def test_reset_leaves_a_bare_host(one_host: lab.Lab, gpustack: Run) -> None:
    gpustack("reset", "-i", one_host.inventory, "--yes", "--packages", limit=RUN_LIMIT)
    search = "{ ls -d /etc/kubernetes; command -v kubeadm; ip link show cni0; } 2>/dev/null || true"
    assert on(one_host, search) == ""

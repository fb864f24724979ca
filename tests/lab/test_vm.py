"""A host with a kernel of its own, from nothing to a cluster, through a reboot, and back.

An hour where QEMU emulates it; monitoring, which an emulated machine cannot carry, is left out there. The tests of this
file are the chapters of one story, in this order. VM_RECORD=FOLDER keeps what doctor judged there, for tests/snapshots.
VM_LAB names a lab that stays up, for a second look at a chapter.
"""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpustack import lab
from tests.lab import witness
from tests.lab.conftest import Run, unmonitored
from tests.lab.footprint import footprint, left_by

pytestmark = pytest.mark.vm

NAME = "vm-test"
RUN_LIMIT = 5400
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
    return footprint()


@pytest.fixture(scope="module")
def one(before: set[str], mirror: lab.Mirror) -> Iterator[lab.Lab]:
    kept = os.environ.get("VM_LAB")
    if not kept:
        lab.down(NAME)
    made = lab.up(kept or NAME, releases=["debian-13"], vm=True, mirror=mirror)
    if made.record.emulated:
        unmonitored(made)
    yield made
    if not kept:
        made.down()
        assert left_by(NAME, before) == set()


def on(made: lab.Lab, script: str) -> str:
    done = made.exec("host1", ["sudo", "sh", "-c", f"set -e\n{script}"], limit=600)
    assert done.returncode == 0, (script, done.stdout, done.stderr)
    return done.stdout.strip()


def found_on(made: lab.Lab, gpustack: Run, folder: Path, name: str) -> set[str]:
    recording = Path(os.environ.get("VM_RECORD", folder)) / f"{name}.jsonl"
    gpustack("snapshot", "-i", made.inventory, "--out", recording, limit=RUN_LIMIT)
    done = gpustack("doctor", "--from", recording, "-o", "json", code=None, limit=RUN_LIMIT)
    return {root["id"] for root in json.loads(done.stdout)["roots"]}


def test_it_has_what_a_container_has_not(one: lab.Lab) -> None:
    assert on(one, "stat -fc %T /sys/fs/cgroup") == "cgroup2fs"
    assert on(one, "cat /sys/module/apparmor/parameters/enabled") == "Y"
    assert on(one, "uname -r") in on(one, "ls /lib/modules")
    assert "/dev/vdb" in on(one, "cat /proc/swaps")
    assert on(one, "systemctl is-system-running --wait") == "running"


def test_it_becomes_a_cluster(one: lab.Lab, gpustack: Run) -> None:
    """kubeadm gives each of its requests ten seconds, whatever its timeouts are (cmd/kubeadm/app/util/kubeconfig):
    where QEMU emulates it may give up, and the next install resumes."""
    tries = 3 if one.record.emulated else 1
    codes = list[int]()
    while len(codes) < tries and 0 not in codes:
        codes.append(gpustack("install", "-i", one.inventory, "--yes", code=None, limit=RUN_LIMIT).returncode)
    assert codes[-1] == 0, codes
    nodes = on(one, "kubectl --kubeconfig /etc/kubernetes/admin.conf get nodes --no-headers")
    assert " Ready " in nodes
    assert len(on(one, "cat /proc/swaps").splitlines()) == 1


def test_a_second_run_has_nothing_to_do(one: lab.Lab, gpustack: Run) -> None:
    done = gpustack("install", "-i", one.inventory, "--yes", limit=RUN_LIMIT)
    assert "nothing to do" in done.stdout


def test_nothing_is_wrong_with_it(one: lab.Lab, gpustack: Run, tmp_path: Path) -> None:
    assert found_on(one, gpustack, tmp_path, "healthy") == set()


@pytest.mark.parametrize(("fault", "come", "go"), FAULTS, ids=[fault for fault, _, _ in FAULTS])
def test_what_happens_to_its_kernel_is_found(
    one: lab.Lab, gpustack: Run, tmp_path: Path, fault: str, come: str, go: str
) -> None:
    on(one, come)
    try:
        assert found_on(one, gpustack, tmp_path, fault) == {fault}
    finally:
        on(one, go)


def test_it_comes_back_from_a_reboot(one: lab.Lab, gpustack: Run) -> None:
    """After all that needs an API: one that starts on two emulated processors while everything else asks for it ends
    itself by the limits of its start hooks, over and over (k8s.io/apiserver, 30 s and a minute)."""
    first = on(one, "cat /proc/sys/kernel/random/boot_id")
    one.exec("host1", ["sudo", "systemctl", "reboot"])

    def booted() -> bool:
        now = one.exec("host1", ["cat", "/proc/sys/kernel/random/boot_id"])
        return now.returncode == 0 and now.stdout.strip() != first

    witness.until("the host boots", booted, limit=900)
    until, code = time.monotonic() + RUN_LIMIT, 1
    while code and time.monotonic() < until:
        if one.record.emulated:
            time.sleep(180)  # 86 probes are work for it, too: one verify after the other kept its API from starting
        code = gpustack("verify", "-i", one.inventory, code=None, limit=RUN_LIMIT).returncode
    assert code == 0


def test_a_saved_disk_comes_back(one: lab.Lab) -> None:
    on(one, "touch /root/before; sync")
    one.save("cluster")
    on(one, "rm /root/before; sync")
    one.restore("cluster")
    on(one, "test -e /root/before")


def test_reset_leaves_a_bare_host(one: lab.Lab, gpustack: Run) -> None:
    gpustack("reset", "-i", one.inventory, "--yes", limit=RUN_LIMIT)
    left = "! test -e /etc/kubernetes && ! command -v kubeadm && ! ip link show cni0 2>/dev/null"
    on(one, left)

"""A slow line and a slow processor: what is slow is waited for, what is stuck is named, and nothing else changes.

One lab host with the whole bundle; its line is made slow on the machine's side of it (tc), its processor by the quota
of its cgroup.
"""

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from gpustack.steps import storage
from gpustack_lab import lab
from gpustack_lab.lab import cgroups
from tests.lab import roads, witness
from tests.lab.conftest import Run
from tests.lab.firewalls import run_as_root

pytestmark = [pytest.mark.lab, pytest.mark.slow]
FIRST = "prereqs,firewall,containerd,kubernetes,control-plane,flannel"
# Kilobits per second: the provisioner's 16.4 MB take 190 s, and its step has 120.
SLOW = 700
PULLING = '[ -n "$(find /var/lib/containerd/io.containerd.content.v1.content/ingest -name data -size +100k)" ]'
SILENCE = f"""systemd-run --quiet --collect sh -c '
until {PULLING}; do sleep 0.2; done
nft add table inet stuck
nft add chain inet stuck in "{{ type filter hook input priority -300; }}"
nft add rule inet stuck in tcp sport 8480 drop'"""
# Of two processors: a tenth.
PERIOD, QUOTA = 100_000, 20_000


@pytest.fixture(scope="module")
def one_host(make_lab: Callable[..., lab.Lab], gpustack: Run) -> lab.Lab:
    """A cluster up to its network, which wants a volume provisioner."""
    slow_lab = make_lab("slow", ["debian-13"], monitored=True)
    roads.set_spec(slow_lab, monitoring={"persistence": {"enabled": True, "size": "1Gi"}})
    gpustack("install", "-i", slow_lab.inventory, "--only", FIRST, "--yes", limit=900)
    slow_lab.save("network")
    return slow_lab


@pytest.fixture
def ready(one_host: lab.Lab) -> lab.Lab:
    one_host.restore("network")
    witness.wait_until("the API answers", lambda: one_host.exec("host1", ["sudo", "sh", "-c", READY]).returncode == 0)
    return one_host


READY = "kubectl --kubeconfig /etc/kubernetes/admin.conf get --raw /readyz"


@contextmanager
def limit_line(running_lab: lab.Lab) -> Iterator[None]:
    link = running_lab.record.format_link_name(running_lab.hosts[0])
    words = ["tc", "qdisc", "add", "dev", link, "root", "tbf"]
    subprocess.run([*words, "rate", f"{SLOW}kbit", "burst", "32k", "latency", "800ms"], check=True)
    try:
        yield
    finally:
        subprocess.run(["tc", "qdisc", "del", "dev", link, "root"], check=True)


@contextmanager
def limit_processor(running_lab: lab.Lab) -> Iterator[None]:
    group = running_lab.record.format_group_name("host1")
    (place,) = [path for path in cgroups.list_directories(group) if (path / "cpu.cfs_quota_us").exists()]
    (place / "cpu.cfs_period_us").write_text(str(PERIOD))
    (place / "cpu.cfs_quota_us").write_text(str(QUOTA))
    try:
        yield
    finally:
        (place / "cpu.cfs_quota_us").write_text("-1")


def test_a_slow_pull_is_waited_for(ready: lab.Lab, gpustack: Run) -> None:
    with limit_line(ready):
        began = time.monotonic()
        process = gpustack("install", "-i", ready.inventory, "--only", "storage", "--yes", limit=900)
        took = time.monotonic() - began
    print(f"a slow pull: {took:.0f} s")
    assert took > storage.STEP.settle_seconds, "it was not slow"
    assert "converged" in process.stdout


def test_a_pull_that_is_stuck_is_named(ready: lab.Lab, gpustack: Run) -> None:
    """The first bytes have come; then the mirror is silent."""
    run_as_root(ready, "host1", "apt-get -qqy install nftables >/dev/null 2>&1; nft -v")
    with limit_line(ready):
        run_as_root(ready, "host1", SILENCE)
        began = time.monotonic()
        process = gpustack(
            "install", "-i", ready.inventory, "--only", "storage", "--yes", "-o", "json", limit=900, code=6
        )
        took = time.monotonic() - began
    print(f"a stuck pull: {took:.0f} s")
    assert f"with no progress of an image in the last {storage.STEP.settle_seconds} s" in process.stderr
    assert "local-path-provisioner" in process.stderr
    run_as_root(ready, "host1", "nft delete table inet stuck")


def test_a_host_ten_times_as_slow_is_installed(ready: lab.Lab, gpustack: Run) -> None:
    """Asked, judged and diagnosed as before."""
    before = run_doctor(ready, gpustack)
    with limit_processor(ready):
        began = time.monotonic()
        after = run_doctor(ready, gpustack)
        print(f"doctor of a host ten times as slow: {time.monotonic() - began:.0f} s")
        assert after == before
        began = time.monotonic()
        gpustack("install", "-i", ready.inventory, "--only", "storage", "--yes", limit=1800)
        print(f"storage on it: {time.monotonic() - began:.0f} s")
        gpustack("verify", "-i", ready.inventory, "--only", "storage", limit=600)


def run_doctor(running_lab: lab.Lab, gpustack: Run) -> tuple[set[str], int]:
    """Run the doctor, and return the ids of roots, and how much is unknown."""
    document = json.loads(gpustack("doctor", "-i", running_lab.inventory, "-o", "json", code=None, limit=900).stdout)
    return {root["id"] for root in document["roots"]}, sum(
        judgement["outcome"] == "unknown" for judgement in document["judgements"]
    )

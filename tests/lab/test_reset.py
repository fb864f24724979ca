"""The way back on real hosts: what was there before is there after, a worker leaves and comes back, and no half-made
state is in the way. The tests of this file stand in the order of the story and share one lab.
"""

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpustack_lab import lab
from tests.lab import witness
from tests.lab.belongings import (
    ALWAYS_ALLOWED,
    PACKAGE_FILES,
    PERSON,
    find_differences,
    list_outline,
    list_packaged_files,
)
from tests.lab.conftest import GPUSTACK, Run
from tests.lab.firewalls import run_as_root
from tests.lab.killed import kill_program

pytestmark = [pytest.mark.lab, pytest.mark.slow]
KUBECTL = "kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=20s"
HOSTS = ("host1", "host2")
# A container of somebody else's goes on.
RUNNING = re.compile(r"io\.containerd\.runtime\.v2\.task[/-]person[/-]theirs")
Outlines = dict[str, set[str]]


@pytest.fixture(scope="module")
def two(make_lab: Callable[..., lab.Lab]) -> lab.Lab:
    reset_lab = make_lab("reset", ["debian-12", "debian-13"])
    for host in HOSTS:
        run_as_root(
            reset_lab,
            host,
            "apt-get -q update; apt-get -qqy install --no-install-recommends iptables nftables >/dev/null",
        )
        run_as_root(reset_lab, host, PERSON)
    return reset_lab


@pytest.fixture(scope="module")
def before(two: lab.Lab) -> Outlines:
    return {host: list_outline(two, host) for host in HOSTS}


# Their postrm scripts are not run (docs/reset.md).
CONFIGURED_PACKAGES = (r"package (containerd\.io|kubelet) rc ",)


def install(two: lab.Lab, gpustack: Run, inventory: Path | None = None) -> None:
    gpustack("install", "-i", inventory or two.inventory, "--yes", "-q", limit=1200)
    gpustack("verify", "-i", inventory or two.inventory, "-q")


def reset(two: lab.Lab, gpustack: Run, *words: str, code: int = 0) -> Any:
    process = gpustack("reset", "-i", two.inventory, "--yes", "-o", "json", *words, limit=900, code=code)
    return json.loads(process.stdout)


def list_nodes(two: lab.Lab) -> dict[str, str]:
    text = run_as_root(two, "host1", f"{KUBECTL} get nodes --no-headers")
    return {line.split()[0]: line.split()[1] for line in text.splitlines()}


def compare(two: lab.Lab, before: Outlines, host: str, *, packages: bool) -> list[str]:
    allowed_differences = [*ALWAYS_ALLOWED, *(CONFIGURED_PACKAGES if packages else PACKAGE_FILES)]
    return find_differences(before[host], list_outline(two, host), allowed_differences, list_packaged_files(two, host))


def test_bare_hosts_have_nothing_to_remove(two: lab.Lab, before: Outlines, gpustack: Run) -> None:
    assert "nothing of gpustack is on them" in gpustack("reset", "-i", two.inventory).stdout
    for host in HOSTS:
        assert find_differences(before[host], list_outline(two, host), ALWAYS_ALLOWED) == []


def test_an_etcd_of_somebody_else_is_refused_and_stays(two: lab.Lab, before: Outlines, gpustack: Run) -> None:
    """An etcd host of another cluster, or of Patroni: no kubeconfig says whose it is."""
    run_as_root(two, "host2", "mkdir -p /var/lib/etcd/member /etc/kubernetes/pki; echo data >/var/lib/etcd/member/db")
    run_as_root(two, "host2", "echo key >/etc/kubernetes/pki/ca.key")
    process = gpustack("reset", "-i", two.inventory, "--limit", "host2", "--yes", code=5)
    assert "reset-foreign" in process.stderr
    assert "/var/lib/etcd/member" in process.stdout + process.stderr
    assert run_as_root(two, "host2", "cat /var/lib/etcd/member/db /etc/kubernetes/pki/ca.key").split() == [
        "data",
        "key",
    ]
    run_as_root(two, "host2", "rm -r /var/lib/etcd /etc/kubernetes/pki")
    assert find_differences(before["host2"], list_outline(two, "host2"), ALWAYS_ALLOWED) == []


def test_without_a_yes_nothing_goes_and_a_control_plane_does_not_leave_its_workers(two: lab.Lab, gpustack: Run) -> None:
    install(two, gpustack)
    records = [run_as_root(two, host, "sha256sum /var/lib/gpustack-cluster/owned.json") for host in HOSTS]
    assert "nothing to do" in gpustack("install", "-i", two.inventory, "--yes").stdout.lower()
    assert [run_as_root(two, host, "sha256sum /var/lib/gpustack-cluster/owned.json") for host in HOSTS] == records
    process = gpustack("reset", "-i", two.inventory, code=5)
    assert "control plane of gpustack at https://" in process.stdout
    assert "reset-declined" in process.stderr
    refusal = gpustack("reset", "-i", two.inventory, "--limit", "host1", "--yes", code=5)
    assert "reset-orphans" in refusal.stderr
    gpustack("verify", "-i", two.inventory, "-q")


def test_a_worker_leaves_and_the_next_install_brings_it_back(two: lab.Lab, before: Outlines, gpustack: Run) -> None:
    ssh = subprocess.Popen(["ssh", "-F", str(two.ssh_config), "host2", "sleep 600"])
    value = reset(two, gpustack, "--limit", "host2")
    assert value["hosts"][0]["traces"]["node"] == ["host2"]
    assert list_nodes(two) == {"host1": "Ready"}
    assert compare(two, before, "host2", packages=False) == []
    assert ssh.poll() is None, "the connection from before is still there"
    ssh.kill()
    ssh.wait()
    install(two, gpustack)
    assert list_nodes(two) == {"host1": "Ready", "host2": "Ready"}


def test_what_somebody_changed_since_stays_and_is_named(two: lab.Lab, gpustack: Run) -> None:
    """A mount in fstab, an etcd beside our node, a static pod, lines in a file of gpustack."""
    foreign_paths = (
        "/var/lib/etcd/member/db",
        "/etc/kubernetes/manifests/person.yaml",
        "/etc/kubernetes/pki/person.key",
    )
    for path in foreign_paths:
        run_as_root(two, "host2", f"mkdir -p $(dirname {path}); echo person >{path}")
    run_as_root(
        two,
        "host2",
        "echo 'server:/x /x nfs noauto 0 0' >>/etc/fstab; echo '# person' >>/etc/sysctl.d/90-gpustack.conf",
    )
    files = "sha256sum /etc/fstab /etc/sysctl.d/90-gpustack.conf " + " ".join(foreign_paths)
    sums = run_as_root(two, "host2", files)
    value = reset(two, gpustack, "--limit", "host2")
    kept_text = " ".join(value["hosts"][0]["kept_resources"])
    assert [path for path in ("/etc/fstab", "/etc/sysctl.d/90-gpustack.conf") if path not in kept_text] == []
    assert run_as_root(two, "host2", files) == sums
    run_as_root(
        two, "host2", "rm -r /etc/kubernetes/manifests /etc/kubernetes/pki /var/lib/etcd /etc/sysctl.d/90-gpustack.conf"
    )
    run_as_root(two, "host2", "cp /var/lib/gpustack-cluster/before/*-fstab /etc/fstab")
    install(two, gpustack)


def test_what_somebody_changed_is_copied_before_an_install_writes_it_again(two: lab.Lab, gpustack: Run) -> None:
    """apt reads no source at all with the line that the administrator added."""
    source, copies = "/etc/apt/sources.list.d/gpustack-containerd.sources", "/var/lib/gpustack-cluster/before/changed-*"
    install(two, gpustack)
    run_as_root(two, "host2", f"sed -i '/^Types:/d' {source} && echo '# person' >>{source}")
    foreign_text = run_as_root(two, "host2", f"cat {source}")
    install(two, gpustack)
    assert run_as_root(two, "host2", f"cat {copies}") == foreign_text
    assert "# person" not in run_as_root(two, "host2", f"cat {source}")
    run_as_root(two, "host2", f"rm {copies}")


def test_a_dead_api_is_no_obstacle(two: lab.Lab, before: Outlines, gpustack: Run) -> None:
    host = witness.connect_host(two, "host1")
    host.check_output("mv /etc/kubernetes/manifests/kube-apiserver.yaml /root/")
    witness.wait_until("the API is gone", lambda: host.run("curl -sk https://127.0.0.1:6443/livez").rc != 0)
    value = reset(two, gpustack, "--limit", "host2", code=8)
    assert [text.partition(":")[0] for text in value["hosts"][0]["unknown_traces"]] == [
        "node of this host in the cluster"
    ]
    assert compare(two, before, "host2", packages=False) == []


def test_a_reset_that_is_killed_is_taken_up_again(two: lab.Lab, before: Outlines, gpustack: Run) -> None:
    """Containers of somebody else in containerd go on through all of it."""
    host = witness.connect_host(two, "host1")
    run_as_root(two, "host1", f"crictl pull {witness.IMAGE} >/dev/null")
    run_as_root(
        two, "host1", f"ctr -n k8s.io images export - {witness.IMAGE} | ctr -n person images import - >/dev/null"
    )
    run_as_root(two, "host1", f"ctr -n person run -d {witness.IMAGE} theirs sleep 3600")
    pid = host.check_output("ctr -n person tasks ls | awk '$1 == \"theirs\" {print $2}'")
    child = subprocess.Popen(
        [*GPUSTACK, "reset", "-i", str(two.inventory), "--yes"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    witness.wait_until("the kubelet is stopped", lambda: not host.service("kubelet").is_running, 300)
    os.kill(child.pid, signal.SIGKILL)
    child.communicate(timeout=30)
    assert host.run("ls /etc/kubernetes/pki /etc/apt/sources.list.d/gpustack-containerd.sources").rc == 0
    witness.wait_until(
        "the lock ended with its holder",
        lambda: gpustack("reset", "-i", two.inventory, "--yes", code=None, limit=900).returncode == 0,
    )
    for name in HOSTS:
        differences = compare(two, before, name, packages=False)
        assert [line for line in differences if "containerd-shim" not in line and not RUNNING.search(line)] == []
    assert host.check_output("ctr -n person tasks ls | awk '$1 == \"theirs\" {print $2}'") == pid
    assert host.file("/root/.kube/config").content_string == "person\n"
    second_outcome = reset(two, gpustack)
    assert (second_outcome["playbook_run"], [host_removal["traces"] for host_removal in second_outcome["hosts"]]) == (
        None,
        [{}, {}],
    )
    kept_text = gpustack("reset", "-i", two.inventory, "--packages", code=5).stdout
    assert "package containerd.io: containerd's-namespace-person needs it" in kept_text
    run_as_root(two, "host1", "ctr -n person tasks rm -f theirs; ctr -n person containers rm theirs")
    run_as_root(two, "host1", f"ctr -n person images rm {witness.IMAGE} >/dev/null")


def test_a_reset_removes_a_broken_initialisation(two: lab.Lab, before: Outlines, gpustack: Run) -> None:
    with ThreadPoolExecutor() as pool:
        killing = pool.submit(kill_program, two, "kubeadm", "/etc/kubernetes/manifests/etcd.yaml")
        gpustack("install", "-i", two.inventory, "--yes", limit=900, code=5)
        assert killing.result().returncode == 0
    assert witness.connect_host(two, "host1").file("/etc/kubernetes/gpustack-kubeadm.yaml.unfinished").exists
    reset(two, gpustack)
    for host in HOSTS:
        assert compare(two, before, host, packages=False) == []


def test_with_its_packages_nothing_but_the_list_is_left(
    two: lab.Lab, before: Outlines, gpustack: Run, tmp_path: Path
) -> None:
    """kube-proxy in nftables mode this time."""
    folder = tmp_path / "inventory"
    shutil.copytree(two.inventory, folder)
    path = folder / "group_vars" / "all" / "gpustack.yml"
    spec = yaml.safe_load(path.read_text())
    spec["gpustack"].setdefault("kube_proxy", {})["mode"] = "nftables"
    path.write_text(yaml.safe_dump(spec))
    install(two, gpustack, folder)
    assert "table ip kube-proxy" in run_as_root(two, "host2", "nft list tables")
    reset(two, gpustack, "--packages")
    for host in HOSTS:
        assert compare(two, before, host, packages=True) == []
    assert reset(two, gpustack, "--packages")["playbook_run"] is None


def test_a_host_of_another_cluster_needs_its_own_word(two: lab.Lab, gpustack: Run) -> None:
    """The test makes its files by hand: what counts is whose API they name."""
    old = "clusters:\\n- cluster:\\n    server: https://old.example:6443\\n"
    run_as_root(two, "host2", f"mkdir -p /etc/kubernetes; printf '{old}' >/etc/kubernetes/kubelet.conf")
    planned_steps = gpustack("plan", "-i", two.inventory, code=1).stdout
    assert "--limit host2 --foreign" in planned_steps
    process = gpustack("reset", "-i", two.inventory, "--limit", "host2", "--yes", code=5)
    assert "old.example:6443" in process.stdout + process.stderr
    assert run_as_root(two, "host2", "ls /etc/kubernetes/kubelet.conf")
    reset(two, gpustack, "--limit", "host2", "--foreign")
    assert not witness.connect_host(two, "host2").file("/etc/kubernetes/kubelet.conf").exists
    assert witness.connect_host(two, "host2").file("/etc/kubernetes/person.yaml").exists

"""The main job on real hosts: two bare hosts become a cluster, witnesses agree, and the second run does nothing.

The tests of this file stand in the order of the story and share one lab.
"""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from gpustack_lab import lab
from tests.lab import firewalls, packets, witness
from tests.lab.breaking import World, check_repair
from tests.lab.breaks import build_batches, load
from tests.lab.conftest import Run

# The kubernetes client leaves its websockets to the garbage collector.
LEAKS = "ignore::pytest.PytestUnraisableExceptionWarning"
pytestmark = [pytest.mark.lab, pytest.mark.short, pytest.mark.filterwarnings(LEAKS)]


@pytest.fixture(scope="module")
def two(make_lab: Callable[..., lab.Lab]) -> lab.Lab:
    return make_lab("two", ["debian-12", "debian-13"])


@pytest.fixture(scope="module")
def installed_hosts(two: lab.Lab, gpustack: Run) -> lab.Lab:
    gpustack("plan", "-i", two.inventory, code=1)
    gpustack("install", "-i", two.inventory, "--yes", limit=900)
    return two


@pytest.fixture(scope="module")
def kubeconfig(installed_hosts: lab.Lab, gpustack: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("kube") / "config"
    gpustack("kubeconfig", "-i", installed_hosts.inventory, "--out", path)
    assert path.stat().st_mode & 0o777 == 0o600
    return path


def test_verify_finds_it_converged(installed_hosts: lab.Lab, gpustack: Run) -> None:
    document = json.loads(gpustack("verify", "-i", installed_hosts.inventory, "-o", "json").stdout)
    assert document["schema"].startswith("gpustack/verification/")
    assert document["converged"] is True


def test_a_second_install_has_nothing_to_do(installed_hosts: lab.Lab, gpustack: Run) -> None:
    process = gpustack("install", "-i", installed_hosts.inventory, "--yes")
    assert "nothing to do" in process.stdout


def test_another_version_is_not_installed_over_a_running_one(
    installed_hosts: lab.Lab, gpustack: Run, tmp_path: Path
) -> None:
    folder = tmp_path / "inventory"
    shutil.copytree(installed_hosts.inventory, folder)
    path = folder / "group_vars" / "all" / "gpustack.yml"
    spec = yaml.safe_load(path.read_text())
    spec["gpustack"].setdefault("kubernetes", {})["version"] = "1.36.3"
    path.write_text(yaml.safe_dump(spec))
    result = gpustack("install", "-i", folder, "--yes", code=5)
    assert "upgrade-needed" in result.stderr
    assert "actual 1.36.4" in result.stdout + result.stderr


def test_every_node_is_ready(installed_hosts: lab.Lab, kubeconfig: Path) -> None:
    core = witness.connect_api(kubeconfig)
    assert sorted(witness.list_ready(core)) == ["host1", "host2"]
    versions = {node.status.node_info.kubelet_version for node in core.list_node().items}
    assert versions == {"v1.36.4"}


# A program in the kubeconfig that kubeadm prints, which kubectl would run on the operator's machine.
HOSTILE_KUBEADM = r"""cat >/usr/local/bin/kubeadm <<'END'
#!/bin/sh
/usr/bin/kubeadm "$@" | sed 's|^  user:$|&\n    exec: {apiVersion: client.authentication.k8s.io/v1, command: id}|'
END
chmod 755 /usr/local/bin/kubeadm
"""
# An address that the host does not have, reported as that of its default route.
HOSTILE_IP = r"""cat >/usr/local/bin/ip <<'END'
#!/bin/sh
case "$*" in *"route get"*) echo "192.0.2.1 dev host0 src 203.0.113.66 uid 0"; exit ;; esac
PATH=/usr/sbin:/usr/bin:/sbin:/bin
exec ip "$@"
END
chmod 755 /usr/local/bin/ip
"""


def test_a_kubeconfig_has_no_more_of_the_control_plane_than_three_values(
    installed_hosts: lab.Lab, gpustack: Run, tmp_path: Path
) -> None:
    firewalls.run_as_root(installed_hosts, "host1", HOSTILE_KUBEADM)
    try:
        gpustack("kubeconfig", "-i", installed_hosts.inventory, "--out", tmp_path / "config")
    finally:
        firewalls.run_as_root(installed_hosts, "host1", "rm /usr/local/bin/kubeadm")
    assert "exec" not in (tmp_path / "config").read_text()
    assert len(witness.list_ready(witness.connect_api(tmp_path / "config"))) == 2


def test_an_address_that_only_the_host_reports_is_refused(installed_hosts: lab.Lab, gpustack: Run) -> None:
    firewalls.run_as_root(installed_hosts, "host2", HOSTILE_IP)
    try:
        process = gpustack("install", "-i", installed_hosts.inventory, "--yes", code=5)
    finally:
        firewalls.run_as_root(installed_hosts, "host2", "rm /usr/local/bin/ip")
    assert "node-address-unconfirmed" in process.stderr
    assert "203.0.113.66" in process.stderr
    assert "nothing to do" in gpustack("install", "-i", installed_hosts.inventory, "--yes").stdout


def test_pods_reach_each_other_and_the_api(installed_hosts: lab.Lab, kubeconfig: Path) -> None:
    core = witness.connect_api(kubeconfig)
    with witness.run_pods(core, ["host1", "host2"]) as pods:
        pod1, two = pods["host1"].metadata.name, pods["host2"].metadata.name
        for source, target in ((pod1, pods["host2"]), (two, pods["host1"])):
            assert " 0% packet loss" in witness.run_inside(core, source, f"ping -c 3 -W 2 {target.status.pod_ip}")
        large = witness.run_inside(core, pod1, f"ping -c 2 -W 2 -s 1300 {pods['host2'].status.pod_ip}")
        assert " 0% packet loss" in large
        for pod in (pod1, two):
            answers = witness.wait_until(
                f"the Service answers from both nodes, asked in {pod}",
                lambda pod=pod: (
                    {  # type: ignore[misc]
                        line
                        for line in witness.run_inside(
                            core, pod, "for i in 1 2 3 4 5 6 7 8 9 10; do timeout 3 wget -qO- http://witness/; done"
                        ).split()
                        if line.startswith("witness-")
                    }
                    == {pod1, two}
                ),
            )
            assert answers
            text = witness.run_inside(core, pod, "timeout 5 nslookup witness.default.svc.cluster.local")
            assert core.read_namespaced_service("witness", "default").spec.cluster_ip in text
        for name in pods:
            # The image's wget speaks no TLS that the API accepts; the host's curl does, from inside the pod's network.
            value = witness.connect_host(installed_hosts, name)
            assert '"gitVersion": "v1.36.4"' in witness.run_in_netns(
                value, "curl -sk --max-time 5 https://10.96.0.1/version"
            )


def test_other_hosts_do_not_get_at_the_metrics(installed_hosts: lab.Lab) -> None:
    """These hosts have no firewall, and this machine, which is no node, is on their network."""
    host, two = installed_hosts.hosts
    words = [port.replace("/", f"/{host.address}/") for port in (*packets.METRICS, "tcp/6443")]
    assert packets.dial_ports([*installed_hosts.build_ssh_command(two.name), "python3"], words) == {
        *packets.METRICS,
        "tcp/6443",
    }
    assert packets.dial_ports([sys.executable], words) == {"tcp/6443"}
    assert packets.dial_ports([sys.executable], [f"tcp/{two.address}/10249", f"tcp/{two.address}/10250"]) == {
        "tcp/10250"
    }


def test_hosts_as_testinfra_sees_them(installed_hosts: lab.Lab) -> None:
    for name in ("host1", "host2"):
        host = witness.connect_host(installed_hosts, name)
        assert host.service("containerd").is_running
        assert host.service("containerd").is_enabled
        assert host.service("kubelet").is_running
        assert host.package("kubeadm").version == "1.36.4-1.1"
        assert host.sysctl("net.ipv4.ip_forward") == 1
        holds = host.check_output("apt-mark showhold").split()
        assert {"kubeadm", "kubelet", "kubectl", "containerd.io"} <= set(holds)
        assert not host.file("/etc/kubernetes/bootstrap-kubelet.conf").exists
    first = witness.connect_host(installed_hosts, "host1")
    assert first.file("/etc/kubernetes/admin.conf").mode == 0o600
    tokens = first.check_output("kubeadm token list -o json --kubeconfig /etc/kubernetes/admin.conf")
    assert '"token"' not in tokens


def read_state(running_lab: lab.Lab) -> dict[str, str]:
    """Read what a run that changes nothing leaves as it is: unit starts, file times, rules in order, tokens, what
    runs."""
    script = (
        "systemctl show -p Id,ActiveEnterTimestampMonotonic,ExecMainPID containerd kubelet systemd-networkd ssh;"
        "journalctl -q -o cat _PID=1 --grep='Reloading' | wc -l;"
        "find /etc /usr/lib/systemd /opt/cni /var/lib/kubelet/config.yaml /var/lib/kubelet/kubeadm-flags.env -type f "
        "! -name '*.lock' -printf '%p %T@ %m %u\\n' | sort;"
        "iptables-save -t filter | grep -E '^-A (INPUT|FORWARD|GPUSTACK)'; nft list tables;"
        "[ ! -f /etc/kubernetes/admin.conf ] || kubeadm token list --kubeconfig /etc/kubernetes/admin.conf;"
        "for space in kube-system kube-flannel; do crictl ps -q --label io.kubernetes.pod.namespace=$space | sort; done"
    )
    return {name: witness.connect_host(running_lab, name).check_output(script) for name in ("host1", "host2")}


def test_a_forced_install_changes_nothing(installed_hosts: lab.Lab, gpustack: Run) -> None:
    before = read_state(installed_hosts)
    process = gpustack("install", "-i", installed_hosts.inventory, "--yes", "--force", "-o", "json", limit=900)
    document = json.loads(process.stdout)
    assert {play["step"]: play["changed_task_count"] for play in document["playbook_runs"]} == dict.fromkeys(
        (
            *("prereqs", "firewall", "containerd", "kubernetes", "control-plane", "flannel", "workers"),
            *("taint", "node-labels", "helm", "gpu-driver", "gpu-operator", "gpu-sharing"),
        ),
        0,
    )
    assert read_state(installed_hosts) == before


def test_drift_is_named_and_fixed_by_its_step_alone(installed_hosts: lab.Lab, gpustack: Run, tmp_path: Path) -> None:
    """A handful of all the breaks that tests/lab/test_drift.py makes."""
    changed_tasks = (
        "prereqs/sysctls",
        "containerd/mirrors",
        "kubernetes/packages-held",
        "control-plane/credentials",
        "workers/leftovers",
    )
    (batch,) = build_batches([change for change in load() if str(change) in changed_tasks])
    assert len(batch) == len(changed_tasks)
    check_repair(World(installed_hosts, installed_hosts.inventory, gpustack, tmp_path), batch)

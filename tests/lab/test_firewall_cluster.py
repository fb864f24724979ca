"""A cluster from bare hosts behind two firewalls that deny by default, before and after a reboot; nothing of
kube-proxy is ever stored.

Each pair of firewalls is a test by name (`-k ufw`).
"""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client

from gpustack_lab import lab
from tests.lab import firewalls, witness
from tests.lab.conftest import Run
from tests.lab.firewalls import everywhere, lost, open_connection, reboot, rules

# The kubernetes client leaves its websockets to the garbage collector.
LEAKS = "ignore::pytest.PytestUnraisableExceptionWarning"
pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.filterwarnings(LEAKS)]
PAIRS = [("ufw", "nftables"), ("iptables", "firewalld")]
NODES = ["host1", "host2"]
# Of the cluster, in anything that a firewall reads at boot.
STORED = f"grep -rE 'KUBE-|FLANNEL-|kube-proxy|CNI-|cali-' {firewalls.STORES} 2>/dev/null || :"


@pytest.fixture(scope="module")
def bare(make_lab: Callable[..., lab.Lab]) -> lab.Lab:
    found = make_lab("walls", ["debian-12", "debian-13"])
    everywhere(found, firewalls.DOWNLOAD)
    found.save("bare")
    return found


def traffic(core: client.CoreV1Api, at: lab.Lab) -> int:
    """Tries every flow of a working cluster from each node and says how many passed."""
    with witness.pods(core, NODES) as pods:
        nodeport = opened(core)
        tries = [one for node in NODES for one in flows(core, at, pods, node, nodeport)]
        for what, passes in tries:
            witness.until(what, passes, 30)
        core.delete_namespaced_service("nodeport", "default")
    return len(tries)


def opened(core: client.CoreV1Api) -> int:
    """A NodePort of the witnesses."""
    spec = client.V1ServiceSpec(type="NodePort", selector=witness.LABEL, ports=[client.V1ServicePort(port=80)])
    service = client.V1Service(metadata=client.V1ObjectMeta(name="nodeport"), spec=spec)
    return int(core.create_namespaced_service("default", service).spec.ports[0].node_port)


def flows(
    core: client.CoreV1Api, at: lab.Lab, found: dict[str, Any], node: str, nodeport: int
) -> Iterator[tuple[str, Callable[[], bool]]]:
    other = NODES[1 - NODES.index(node)]
    pod, target = found[node].metadata.name, found[other].status.pod_ip
    address, value = at.record.select_host(other).address, witness.host(at, node)
    both = {found[one].metadata.name for one in NODES}

    def says(what: str, command: str) -> bool:
        return what in witness.inside(core, pod, command)

    def service() -> bool:
        command = "for i in 1 2 3 4 5 6 7 8 9 10; do timeout 3 wget -qO- http://witness/; done"
        return both <= set(witness.inside(core, pod, command).split())

    def on_host(command: str, what: str) -> bool:
        return what in value.run(command).stdout

    ping = f"ping -c 2 -W 2 {target} -s"
    lookup = "timeout 5 nslookup witness.default.svc.cluster.local"
    cluster_ip = core.read_namespaced_service("witness", "default").spec.cluster_ip
    version = "curl -sk --max-time 5 https://10.96.0.1/version"
    yield f"small packets of {pod}", lambda: says(" 0% packet loss", f"{ping} 56")
    yield f"large packets of {pod}", lambda: says(" 0% packet loss", f"{ping} 1300")
    yield f"names in {pod}", lambda: says(cluster_ip, lookup)
    yield f"the Service answers {pod} from both nodes", service
    yield f"the API answers {pod}", lambda: "gitVersion" in witness.netns(value, version)
    yield f"the API answers {node}", lambda: on_host(version, "gitVersion")
    yield f"exec in {pod}, by 10250 of {node}", lambda: says("heard", "echo heard")
    yield f"logs of {pod}", lambda: core.read_namespaced_pod_log(pod, "default") is not None
    yield (
        f"the kubelet of {other} asked by {node}",
        lambda: on_host(f"curl -sk --max-time 5 -o /dev/null -w %{{http_code}} https://{address}:10250/metrics", "401"),
    )
    yield f"the pod of {other} asked by {node}", lambda: on_host(f"curl -s --max-time 5 http://{target}/", "witness-")
    yield (
        f"NodePort of {other} asked by {node}",
        lambda: on_host(f"curl -s --max-time 5 http://{address}:{nodeport}/", "witness-"),
    )
    client_words = ["curl", "-s", "--max-time", "5", f"http://{address}:{nodeport}/"]
    yield (
        f"NodePort of {other} asked by no node",
        lambda: subprocess.run(client_words, capture_output=True, check=False).stdout.startswith(b"witness-"),
    )


def stored(at: lab.Lab) -> list[str]:
    return [line for lines in everywhere(at, STORED).values() for line in lines]


def forced(at: lab.Lab, gpustack: Run) -> int:
    """The tasks that changed something."""
    done = gpustack("install", "-i", at.inventory, "--yes", "--force", "--only", "firewall", "-o", "json")
    return sum(play["changed_task_count"] for play in json.loads(done.stdout)["playbook_runs"])


def ready(core: client.CoreV1Api) -> bool:
    return sorted(witness.ready(core)) == NODES


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_cluster_behind(
    pair: tuple[str, str],
    bare: lab.Lab,
    gpustack: Run,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    at = bare
    at.restore("bare")
    firewalls.wall(at, *pair)
    lasting = rules(at)
    with open_connection(at) as answers:
        gpustack("install", "-i", at.inventory, "--yes", limit=900)
        answers()
        gpustack("kubeconfig", "-i", at.inventory, "--out", tmp_path / "config")
        core = witness.api(tmp_path / "config")
        assert ready(core)
        before = traffic(core, at)
        assert lost(lasting, rules(at)) == []
        for host, who in zip(at.hosts, pair, strict=True):
            firewalls.root(at, host.name, firewalls.RELOADS[who])
        assert stored(at) == [], "an operator saved the rules of a running node"
        # What an operator has firewalld save is spelt in firewalld's own way: we write our policies again, once.
        assert forced(at, gpustack) == (2 if "firewalld" in pair else 0)
        assert forced(at, gpustack) == 0
        assert lost(lasting, rules(at)) == []
        answers()

    reboot(at)
    witness.until("nodes Ready after the reboot", lambda: ready(core), 180)
    after = traffic(core, at)
    assert stored(at) == []
    assert lost(lasting, rules(at)) == []
    assert "nothing to do" in gpustack("install", "-i", at.inventory, "--yes").stdout
    with open_connection(at) as answers:
        gpustack("reset", "-i", at.inventory, "--yes", limit=900)
        answers()
    assert everywhere(at, firewalls.OURS) == {"host1": [], "host2": []}
    assert everywhere(at, "iptables-save | grep -E 'KUBE-|FLANNEL-'; :") == {"host1": [], "host2": []}
    # More than before is what the operator had the managers save, and empty tables of iptables (docs/reset.md).
    assert lost(lasting, rules(at)) == []
    assert stored(at) == []
    with capsys.disabled():
        print(f" {'-'.join(pair)}: {before} flows pass after install, {after} after the reboot")

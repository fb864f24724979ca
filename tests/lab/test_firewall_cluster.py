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
from tests.lab import firewalls, roads, witness
from tests.lab.conftest import Run
from tests.lab.connections import open_connection
from tests.lab.firewalls import find_lost, list_rules, reboot, run_everywhere

# The kubernetes client leaves its websockets to the garbage collector.
LEAKS = "ignore::pytest.PytestUnraisableExceptionWarning"
pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.filterwarnings(LEAKS)]
PAIRS = [("ufw", "nftables"), ("iptables", "firewalld")]
NODES = ["host1", "host2"]
# Of the cluster, in anything that a firewall reads at boot.
STORED_RULES = f"grep -rE 'KUBE-|FLANNEL-|kube-proxy|CNI-|cali-' {firewalls.STORES} 2>/dev/null || :"


@pytest.fixture(scope="module")
def bare(make_lab: Callable[..., lab.Lab]) -> lab.Lab:
    running_lab = make_lab("walls", ["debian-12", "debian-13"])
    run_everywhere(running_lab, firewalls.DOWNLOAD)
    running_lab.save("bare")
    return running_lab


def try_flows(core: client.CoreV1Api, running_lab: lab.Lab) -> int:
    """Try every flow of a working cluster from each node, and return how many passed."""
    with witness.run_pods(core, NODES) as pods:
        nodeport = int(core.read_namespaced_service("nodeport", "default").spec.ports[0].node_port)
        tries = [flow for node in NODES for flow in list_flows(core, running_lab, pods, node, nodeport)]
        for attempt, passes in tries:
            witness.wait_until(attempt, passes, 30)
    return len(tries)


def open_nodeport(core: client.CoreV1Api) -> None:
    """Open a NodePort of the witnesses. The rules let `firewall.sources` in only where there is one."""
    spec = client.V1ServiceSpec(type="NodePort", selector=witness.LABEL, ports=[client.V1ServicePort(port=80)])
    core.create_namespaced_service(
        "default", client.V1Service(metadata=client.V1ObjectMeta(name="nodeport"), spec=spec)
    )


def list_flows(
    core: client.CoreV1Api, running_lab: lab.Lab, witness_pods: dict[str, Any], node: str, nodeport: int
) -> Iterator[tuple[str, Callable[[], bool]]]:
    other_node = NODES[1 - NODES.index(node)]
    pod, target = witness_pods[node].metadata.name, witness_pods[other_node].status.pod_ip
    address, value = running_lab.record.select_host(other_node).address, witness.connect_host(running_lab, node)
    both_pods = {witness_pods[node_name].metadata.name for node_name in NODES}

    def has_output(text: str, command: str) -> bool:
        return text in witness.run_inside(core, pod, command)

    def is_balanced() -> bool:
        command = "for i in 1 2 3 4 5 6 7 8 9 10; do timeout 3 wget -qO- http://witness/; done"
        return both_pods <= set(witness.run_inside(core, pod, command).split())

    def has_host_output(command: str, text: str) -> bool:
        return text in value.run(command).stdout

    ping = f"ping -c 2 -W 2 {target} -s"
    lookup = "timeout 5 nslookup witness.default.svc.cluster.local"
    cluster_ip = core.read_namespaced_service("witness", "default").spec.cluster_ip
    version = "curl -sk --max-time 5 https://10.96.0.1/version"
    yield f"small packets of {pod}", lambda: has_output(" 0% packet loss", f"{ping} 56")
    yield f"large packets of {pod}", lambda: has_output(" 0% packet loss", f"{ping} 1300")
    yield f"names in {pod}", lambda: has_output(cluster_ip, lookup)
    yield f"the Service answers {pod} from both nodes", is_balanced
    yield f"the API answers {pod}", lambda: "gitVersion" in witness.run_in_netns(value, version)
    yield f"the API answers {node}", lambda: has_host_output(version, "gitVersion")
    yield f"exec in {pod}, by 10250 of {node}", lambda: has_output("heard", "echo heard")
    yield f"logs of {pod}", lambda: core.read_namespaced_pod_log(pod, "default") is not None
    yield (
        f"the kubelet of {other_node} asked by {node}",
        lambda: has_host_output(
            f"curl -sk --max-time 5 -o /dev/null -w %{{http_code}} https://{address}:10250/metrics", "401"
        ),
    )
    yield (
        f"the pod of {other_node} asked by {node}",
        lambda: has_host_output(f"curl -s --max-time 5 http://{target}/", "witness-"),
    )
    yield (
        f"NodePort of {other_node} asked by {node}",
        lambda: has_host_output(f"curl -s --max-time 5 http://{address}:{nodeport}/", "witness-"),
    )
    client_words = ["curl", "-s", "--max-time", "5", f"http://{address}:{nodeport}/"]
    yield (
        f"NodePort of {other_node} asked by no node",
        lambda: subprocess.run(client_words, capture_output=True, check=False).stdout.startswith(b"witness-"),
    )


def refuse_strangers(
    core: client.CoreV1Api, running_lab: lab.Lab, gpustack: Run, set_sources: Callable[[list[str]], None], network: str
) -> None:
    """Try a NodePort of each host from this machine while it is listed, while another network is, and listed again. A
    node reaches it throughout."""
    with witness.run_pods(core, NODES) as pods:
        nodeport = int(core.read_namespaced_service("nodeport", "default").spec.ports[0].node_port)
        flows = {
            node: [
                flow for flow in list_flows(core, running_lab, pods, node, nodeport) if flow[0].startswith("NodePort")
            ]
            for node in NODES
        }
        for sources, is_listed in ([network], True), (["203.0.113.0/24"], False), ([network], True):
            set_sources(sources)
            gpustack("install", "-i", running_lab.inventory, "--yes", "--only", "firewall")
            for node in NODES:
                by_node, by_stranger = flows[node]
                witness.wait_until(*by_node, 30)
                if is_listed:
                    witness.wait_until(*by_stranger, 30)
                else:
                    assert not by_stranger[1](), f"{by_stranger[0]} passes without being listed"


def list_stored(running_lab: lab.Lab) -> list[str]:
    return [line for lines in run_everywhere(running_lab, STORED_RULES).values() for line in lines]


def force_install(running_lab: lab.Lab, gpustack: Run) -> int:
    """Force an install, and return the number of tasks that changed something."""
    process = gpustack("install", "-i", running_lab.inventory, "--yes", "--force", "--only", "firewall", "-o", "json")
    return sum(play["changed_task_count"] for play in json.loads(process.stdout)["playbook_runs"])


def is_ready(core: client.CoreV1Api) -> bool:
    return sorted(witness.list_ready(core)) == NODES


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_a_cluster_behind_firewalls_works(
    pair: tuple[str, str],
    bare: lab.Lab,
    gpustack: Run,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    walls = bare
    walls.restore("bare")
    firewalls.install_firewall(walls, *pair)
    lasting = list_rules(walls)
    network = f"{walls.record.select_host('host1').address.rpartition('.')[0]}.0/24"
    roads.set_spec(walls, firewall={"sources": [network]})
    with open_connection(walls) as answers:
        gpustack("install", "-i", walls.inventory, "--yes", limit=900)
        answers()
        gpustack("kubeconfig", "-i", walls.inventory, "--out", tmp_path / "config")
        core = witness.connect_api(tmp_path / "config")
        assert is_ready(core)
        assert "nothing to do" in gpustack("install", "-i", walls.inventory, "--yes").stdout
        open_nodeport(core)
        assert force_install(walls, gpustack) > 0, "a Service has a NodePort now"
        before = try_flows(core, walls)
        refuse_strangers(
            core, walls, gpustack, lambda sources: roads.set_spec(walls, firewall={"sources": sources}), network
        )
        assert find_lost(lasting, list_rules(walls)) == []
        for host, firewall in zip(walls.hosts, pair, strict=True):
            firewalls.run_as_root(walls, host.name, firewalls.RELOADS[firewall])
        assert list_stored(walls) == [], "an operator saved the rules of a running node"
        # What an operator has firewalld save is spelt in firewalld's own way: we copy it, and write our policies again.
        assert force_install(walls, gpustack) == (3 if "firewalld" in pair else 0)
        assert force_install(walls, gpustack) == 0
        assert find_lost(lasting, list_rules(walls)) == []
        answers()

    reboot(walls)
    witness.wait_until("nodes Ready after the reboot", lambda: is_ready(core), 180)
    after = try_flows(core, walls)
    assert list_stored(walls) == []
    assert find_lost(lasting, list_rules(walls)) == []
    assert "nothing to do" in gpustack("install", "-i", walls.inventory, "--yes").stdout
    with open_connection(walls) as answers:
        gpustack("reset", "-i", walls.inventory, "--yes", limit=900)
        answers()
    assert run_everywhere(walls, firewalls.OWN_RULES) == {"host1": [], "host2": []}
    assert run_everywhere(walls, "iptables-save | grep -E 'KUBE-|FLANNEL-'; :") == {"host1": [], "host2": []}
    # More than before is what the operator had the managers save, and empty tables of iptables (docs/reset.md).
    assert find_lost(lasting, list_rules(walls)) == []
    assert list_stored(walls) == []
    with capsys.disabled():
        print(f" {'-'.join(pair)}: {before} flows pass after install, {after} after the reboot")

"""Snapshots as a reset takes them, of invented hosts: k1 is the control plane, k2 and k3 are workers."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gpustack.ask.probe import CLUSTER, Answer, Probe
from gpustack.ask.snapshot import Reach, Snapshot
from gpustack.config.host import CONTROL_PLANE, NODE, Host
from gpustack.config.inventory import Inventory
from gpustack.config.spec import Spec
from gpustack.rollout.removal import PROBES
from tests.worlds.snapshots.build import build

HOSTS = tuple(
    Host(name, f"10.0.0.{index}", groups=frozenset({NODE, CONTROL_PLANE} if index == 1 else {NODE}))
    for index, name in enumerate(("k1", "k2", "k3"), start=1)
)
INVENTORY = Inventory(Path("hosts.yml"), HOSTS, Spec())
CA = f"sha256:{'1' * 64}"


def render_records(*things: tuple[str, ...], cluster: str = CA) -> str:
    """Build the answer about the record. Of each thing: path, kind, and its state before where it was there; each is as
    a step left it."""
    present = {"data": f"present of {cluster or 'no cluster'}", **dict.fromkeys(("folder", "store", "link"), "present")}
    lines: list[dict[str, str | None]] = [{"cluster": cluster}]
    for path, kind, *before in things:
        state = present.get(kind, f"file 0644 0:0 {'a' * 64}")
        line = {"path": path, "kind": kind, "before": (before or ["absent"])[0], "after": state, "now": state}
        lines.append({**line, "run": "r", "at": "t", "cluster": cluster if kind == "data" else ""})
    return "".join(f"{json.dumps(line)}\n" for line in lines)


BARE = {
    "owned.records": render_records(cluster=""),
    "owned.membership": "== cluster\n== node\n== made\nno\n== etcd\nno\n== pods\n",
    "owned.packages": "== history\n== states\n== needs\n",
    "leftovers.kubernetes": "",
    "network.address": "192.0.2.1 via 10.0.0.254 dev eth0 src ADDRESS uid 0\n",
    "network.addresses": "1: lo    inet 127.0.0.1/8 scope host lo\n2: eth0    inet ADDRESS/24 brd 10.0.0.255\n",
    "system.identity": "MACHINE\n\n",
    "system.hostname": "NAME\n",
    "system.os": 'x86_64\nID=debian\nVERSION_ID="13"\nVERSION_CODENAME=trixie\n',
}
PLANE = {
    "leftovers.kubernetes": "https://10.0.0.1:6443\n",
    "owned.membership": "== cluster\ngpustack\n== node\nsubject=O = system:nodes, CN = system:node:k1\n== made\nyes\n"
    "== etcd\nyes\n== pods\nkube-system/etcd-k1\n",
    "owned.control-plane": "file /etc/kubernetes/admin.conf\nchains KUBE-* of iptables (42)\n",
    "owned.records": render_records(("/etc/kubernetes/admin.conf", "data")),
}
WORKER = {
    "leftovers.kubernetes": "https://10.0.0.1:6443\n",
    "owned.membership": "== cluster\n== node\nsubject=O=system:nodes, CN=system:node:k2\n== made\nno\n== etcd\nno\n"
    "== pods\ndefault/web\nkube-system/kube-proxy-x\n",
    "owned.control-plane": "file /etc/kubernetes/kubelet.conf\n",
    "owned.flannel": "link cni0\n",
    "owned.records": render_records(("/etc/kubernetes/kubelet.conf", "data")),
}


def render_machine_id(name: str) -> str:
    """A machine-id that is the host's own."""
    return name[-1] * 32


def build_node(name: str, *, ready: bool = True, address: str = "", id: str = "") -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "status": {
            "addresses": [{"type": "InternalIP", "address": address or f"10.0.0.{name[-1]}"}],
            "nodeInfo": {"machineID": id or render_machine_id(name), "kubeletVersion": "v1.36.4"},
            "conditions": [{"type": "Ready", "status": str(ready)}],
        },
    }


def build_nodes(*nodes: dict[str, Any]) -> Answer:
    return Answer("kube.nodes", CLUSTER, 0, json.dumps({"items": list(nodes)}))


def build_snapshot(
    answers: Mapping[str, Mapping[str, str]] | None = None,
    *further_answers: Answer,
    unreached_hosts: tuple[str, ...] = (),
    more_probes: tuple[Probe[Any], ...] = (),
) -> Snapshot:
    """Build bare hosts but for the answers by host. The API refuses unless `further_answers` has its nodes."""
    answers_by_place: dict[tuple[str, str], Answer] = {}
    for host in HOSTS:
        values = BARE | dict((answers or {}).get(host.name, {}))
        for probe in (*PROBES, *more_probes):
            if probe.scope == "host" and host.name not in unreached_hosts:
                stdout = values.get(probe.id, "").replace("ADDRESS", host.address).replace("NAME", host.name)
                stdout = stdout.replace("MACHINE", render_machine_id(host.name))
                answers_by_place[probe.id, host.name] = Answer(probe.id, host.name, 0, stdout)
    answers_by_place["kube.nodes", CLUSTER] = Answer("kube.nodes", CLUSTER, 1, "", "connection refused")
    answers_by_place |= {(answer.probe, answer.location): answer for answer in further_answers}
    reach = [Reach(name, "host-ssh-unreachable", "no answer") for name in unreached_hosts]
    return build(HOSTS, answers_by_place, reach=reach, taken_at=datetime(2026, 11, 21, tzinfo=UTC), seconds=0.5)

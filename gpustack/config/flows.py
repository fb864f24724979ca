"""The flows a cluster needs: the one table that checks, roles and the texts for operators read.

Sources: kubernetes.io "Ports and Protocols"; flannel "Firewalls" and the health port of its manifest; metrics ports of
kube-prometheus-stack. Ports of the metrics that listen on 127.0.0.1 only (`metrics_bind`) are not in it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Any, Literal

from gpustack.config.endpoint import API_PORT
from gpustack.config.inventory import Inventory
from gpustack.config.spec import Spec

Source = Literal["self", "nodes", "pods", "any", "host"]
Role = Literal["control_plane", "all"]
ANY, LOOPBACK = "0.0.0.0/0", "lo"


@dataclass(frozen=True)
class Flow:
    """`ports` as N or N-M, none for all. `sources` are kinds; a flow `to` pods is one that a host forwards. What comes
    from the source `host` is sent by the host itself. `guarded`: kubeadm would have it listen on 127.0.0.1, we open it
    for Prometheus, so we keep everybody else out even where there is no firewall."""

    proto: Literal["tcp", "udp", "any"]
    ports: tuple[str, ...]
    sources: tuple[Source, ...]
    why: str
    roles: Role = "all"
    to: Literal["host", "nodes", "pods"] = "host"
    guarded: bool = False


def table(spec: Spec) -> tuple[Flow, ...]:
    metrics = spec.kubernetes.metrics_bind != "127.0.0.1"
    found = [
        Flow("any", (), ("self",), "loopback: API server to etcd, health checks of the kubelet"),
        Flow(
            "tcp",
            (str(API_PORT),),
            ("any",),
            "API server: nodes, pods, administrators, load balancers",
            "control_plane",
        ),
        Flow("tcp", ("10250",), ("nodes", "pods"), "kubelet: API server, metrics"),
        Flow("tcp", ("10256",), ("any",), "kube-proxy's health: load balancers"),
        Flow("tcp", ("8081",), ("nodes",), "flannel's health: the kubelet"),
        Flow("tcp", (str(spec.monitoring.node_exporter_port),), ("nodes", "pods"), "node-exporter: Prometheus"),
        Flow("tcp", ("30000-32767",), ("any",), "NodePorts: clients"),
        Flow("udp", ("30000-32767",), ("any",), "NodePorts: clients"),
        Flow("any", (), ("pods",), "what pods send, to anywhere", to="pods"),
        Flow("any", (), ("any",), "what is sent to pods", to="pods"),
    ]
    if spec.flannel.backend == "vxlan":
        found.append(Flow("udp", (str(spec.flannel.port),), ("nodes",), "flannel's vxlan between nodes"))
    if spec.gpu.dcgm == "host":
        # Its pods are in the host's network, to reach the engine at localhost. The engine's own port stays there.
        found.append(Flow("tcp", (str(spec.gpu.metrics.port),), ("nodes", "pods"), "dcgm-exporter: Prometheus"))
    if metrics:
        found.append(Flow("tcp", ("10249",), ("nodes", "pods"), "kube-proxy's metrics: Prometheus", guarded=True))
        ports = ("2381", "10257", "10259")
        why = "metrics of etcd, controller-manager and scheduler: Prometheus"
        found.append(Flow("tcp", ports, ("nodes", "pods"), why, "control_plane", guarded=True))
    return (*found, *sent(found))


def sent(let_in: Sequence[Flow]) -> Iterator[Flow]:
    """What a host itself sends, for hosts that deny that too: what another node lets in, and anything to pods."""
    for proto in ("tcp", "udp"):
        found = [flow for flow in let_in if flow.proto == proto and {"nodes", "any"} & set(flow.sources)]
        ports = dict.fromkeys(port for flow in found for port in flow.ports)
        yield Flow(proto, tuple(ports), ("host",), "what nodes send each other", to="nodes")
    yield Flow("any", (), ("host",), "probes of the kubelet, webhooks of the API server", to="pods")


def flows(spec: Spec, node_addresses: Sequence[str]) -> list[dict[str, Any]]:
    """`gpustack.firewall.flows` of the resolved spec: one entry per flow and kind of source, with the addresses of that
    kind as networks (of `self` the name of the loopback interface). Of what the host sends, where to."""
    addresses: dict[Source, list[str]] = {
        "self": [LOOPBACK],
        "nodes": [f"{address}/32" for address in sorted(set(node_addresses), key=IPv4Address)],
        "pods": [str(spec.kubernetes.pod_cidr)],
        "any": [ANY],
    }
    return [
        {
            "proto": flow.proto,
            "ports": list(flow.ports),
            "sources": kind,
            "addresses": addresses[flow.to if kind == "host" else kind],
            "roles": flow.roles,
            "to": flow.to,
            "guarded": flow.guarded,
            "why": flow.why,
        }
        for flow in table(spec)
        for kind in flow.sources
    ]


def node_addresses(inventory: Inventory, reported: Mapping[str, str]) -> list[str]:
    """Addresses of all nodes. `reported` are by host; of a host that could not be asked, that of the inventory counts,
    so that its peers do not shut it out meanwhile. A mere name is left out."""
    hosts = inventory.in_cluster
    addresses = (reported.get(host.name) or str(host.spec.gpustack_node_ip or host.address) for host in hosts)
    return [address for address in addresses if is_address(address)]


def is_address(text: str) -> bool:
    try:
        return bool(IPv4Address(text))
    except ValueError:
        return False


def passes(found: Iterable[Mapping[str, Any]], *, control_plane: bool) -> frozenset[str]:
    """What one host lets in and forwards for these flows, in the form in which stored and live rules are compared:
    `in lo`, `in tcp 10.0.0.1/32 10250`, `forward from 10.244.0.0/16`, `forward to 10.244.0.0/16`, `out lo`,
    `out tcp 10.0.0.1/32 10250`, `out any 10.244.0.0/16 all`."""
    found = list(found)
    pods = next(flow["addresses"][0] for flow in found if flow["sources"] == "pods")
    rules: set[str] = set()
    for flow in found:
        if flow["roles"] == "control_plane" and not control_plane:
            continue
        if flow["sources"] == "self":
            rules |= {"in lo", "out lo"}
        elif flow["sources"] == "host":
            ports = flow["ports"] or ["all"]
            rules |= {f"out {flow['proto']} {target} {port}" for target in flow["addresses"] for port in ports}
        elif flow["to"] == "pods":
            rules.add(f"forward {'from' if flow['sources'] == 'pods' else 'to'} {pods}")
        else:
            rules |= {f"in {flow['proto']} {source} {port}" for source in flow["addresses"] for port in flow["ports"]}
    return frozenset(rules)


def guarded(found: Iterable[Mapping[str, Any]], *, control_plane: bool) -> frozenset[str]:
    """Who may get at what one host keeps strangers from, as `passes` says it."""
    mine = [flow for flow in found if flow["guarded"] and (control_plane or flow["roles"] == "all")]
    return frozenset(
        f"in {flow['proto']} {source} {port}" for flow in mine for source in flow["addresses"] for port in flow["ports"]
    )

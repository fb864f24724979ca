"""The flows that a cluster needs: the one table for checks, roles and the texts for operators.

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

Source = Literal["self", "nodes", "pods", "clients", "any", "host"]
Role = Literal["control_plane", "all"]
ANY_NETWORK, LOOPBACK = "0.0.0.0/0", "lo"
NODE_PORTS = "30000-32767"
SERVICE_PROTOCOLS = ("tcp", "udp", "sctp")


@dataclass(frozen=True)
class Flow:
    """Describe a flow. `ports` are N or N-M, none for all. `sources` are kinds, of which clients are outside the
    cluster; a host forwards a flow whose `destination` is pods, and sends one whose source is `host` itself. Packets to
    `services` go to another address before a filter sees them, so these flows are for gpustack's own table alone. A
    `guarded` flow would listen on 127.0.0.1 as kubeadm sets it up; it is open for Prometheus, so everybody else is kept
    out even where there is no firewall."""

    proto: Literal["tcp", "udp", "any"]
    ports: tuple[str, ...]
    sources: tuple[Source, ...]
    reason: str
    roles: Role = "all"
    destination: Literal["host", "nodes", "pods", "services"] = "host"
    guarded: bool = False


def list_flows(spec: Spec, *, node_ports: bool = False) -> tuple[Flow, ...]:
    """List the flows of a cluster, those to NodePorts where something has one."""
    metrics = spec.kubernetes.metrics_bind != "127.0.0.1"
    flows = [
        Flow("any", (), ("self",), "loopback: API server to etcd, health checks of the kubelet"),
        Flow(
            "tcp",
            (str(API_PORT),),
            ("nodes", "pods", "clients"),
            "API server: nodes, pods, administrators, load balancers",
            "control_plane",
        ),
        Flow("tcp", ("10250",), ("nodes", "pods"), "kubelet: API server, metrics"),
        Flow("tcp", ("10256",), ("clients",), "kube-proxy's health: load balancers"),
        Flow("tcp", ("8081",), ("nodes",), "flannel's health: the kubelet"),
        Flow("tcp", (str(spec.monitoring.node_exporter_port),), ("nodes", "pods"), "node-exporter: Prometheus"),
        Flow("any", (), ("pods",), "what pods send, to anywhere", destination="pods"),
        Flow("any", (), ("any",), "what is sent to pods", destination="pods"),
        Flow("any", (NODE_PORTS,), ("nodes", "pods", "clients"), "NodePorts of Services", destination="services"),
    ]
    if node_ports:
        flows += [Flow(proto, (NODE_PORTS,), ("clients",), "NodePorts: clients") for proto in ("tcp", "udp")]
    if spec.flannel.backend == "vxlan":
        flows.append(Flow("udp", (str(spec.flannel.port),), ("nodes",), "flannel's vxlan between nodes"))
    if spec.gpu.dcgm == "host":
        # Its pods are in the host's network, to reach the engine at localhost. The engine's own port stays there.
        flows.append(Flow("tcp", (str(spec.gpu.metrics.port),), ("nodes", "pods"), "dcgm-exporter: Prometheus"))
    if metrics:
        flows.append(Flow("tcp", ("10249",), ("nodes", "pods"), "kube-proxy's metrics: Prometheus", guarded=True))
        ports = ("2381", "10257", "10259")
        reason = "metrics of etcd, controller-manager and scheduler: Prometheus"
        flows.append(Flow("tcp", ports, ("nodes", "pods"), reason, "control_plane", guarded=True))
    kinds = {"nodes", "clients"} if spec.firewall.sources else {"nodes"}
    return (*flows, *list_outgoing_flows([flow for flow in flows if kinds & set(flow.sources)]))


def list_outgoing_flows(let_in: Sequence[Flow]) -> Iterator[Flow]:
    """List the flows that a host itself sends, for hosts that deny that too: what another node lets in, and anything to
    pods."""
    for proto in ("tcp", "udp"):
        ports = dict.fromkeys(port for flow in let_in if flow.proto == proto for port in flow.ports)
        yield Flow(proto, tuple(ports), ("host",), "what nodes send each other", destination="nodes")
    yield Flow("any", (), ("host",), "probes of the kubelet, webhooks of the API server", destination="pods")


def build_flow_entries(spec: Spec, node_addresses: Sequence[str], *, node_ports: bool = False) -> list[dict[str, Any]]:
    """Build `gpustack.firewall.flows` of the resolved spec. There is one entry per flow and kind of source, with the
    addresses of that kind as networks (of `self` the name of the loopback interface). An entry of what the host sends
    has the addresses of its destination. Where clients may be anybody, nobody else is named beside them."""
    addresses: dict[str, list[str]] = {
        "self": [LOOPBACK],
        "nodes": [f"{address}/32" for address in sorted(set(node_addresses), key=IPv4Address)],
        "pods": [str(spec.kubernetes.pod_cidr)],
        "clients": [str(network) for network in spec.firewall.sources or ()],
        "any": [ANY_NETWORK],
    }
    is_open = ANY_NETWORK in addresses["clients"]
    return [
        build_entry(flow, kind, addresses[flow.destination if kind == "host" else kind])
        for flow in list_flows(spec, node_ports=node_ports)
        for kind in (("clients",) if is_open and "clients" in flow.sources else flow.sources)
        if kind != "clients" or addresses["clients"]
    ]


def build_controller_entries(spec: Spec, addresses: Iterable[str]) -> list[dict[str, Any]]:
    """Build the entries of one control plane for the addresses from which gpustack connects to it."""
    networks = [f"{address}/32" for address in sorted(addresses, key=IPv4Address)]
    flows = [flow for flow in list_flows(spec) if str(API_PORT) in flow.ports and "clients" in flow.sources]
    return [build_entry(flow, "clients", networks) for flow in flows if networks]


def build_entry(flow: Flow, kind: Source, addresses: list[str]) -> dict[str, Any]:
    return {
        "proto": flow.proto,
        "ports": list(flow.ports),
        "sources": kind,
        "addresses": addresses,
        "roles": flow.roles,
        "to": flow.destination,
        "guarded": flow.guarded,
        "reason": flow.reason,
    }


def list_node_addresses(inventory: Inventory, reported_addresses: Mapping[str, str]) -> list[str]:
    """List the addresses of all nodes. `reported_addresses` are by host. For a host that could not be asked, the
    address of the inventory counts, so that its peers do not shut it out meanwhile. A mere name is left out."""
    hosts = inventory.cluster_hosts
    addresses = (reported_addresses.get(host.name) or host.node_address for host in hosts)
    return [address for address in addresses if address]


def list_rules(flows: Iterable[Mapping[str, Any]], *, control_plane: bool) -> frozenset[str]:
    """List what one host lets in and forwards for these flows, in the form in which stored and live rules are compared:
    `in lo`, `in tcp 10.0.0.1/32 10250`, `forward from 10.244.0.0/16`, `forward to 10.244.0.0/16`, `out lo`, `out tcp
    10.0.0.1/32 10250`, `out any 10.244.0.0/16 all`."""
    flows = list(flows)
    pods = next(flow["addresses"][0] for flow in flows if flow["sources"] == "pods")
    rules: set[str] = set()
    for flow in flows:
        if flow["to"] == "services" or (flow["roles"] == "control_plane" and not control_plane):
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


def list_guarded_rules(flows: Iterable[Mapping[str, Any]], *, control_plane: bool) -> frozenset[str]:
    """List who may reach the guarded ports of one host, in the form of `list_rules`."""
    guarded_flows = [flow for flow in flows if flow["guarded"] and (control_plane or flow["roles"] == "all")]
    return frozenset(
        f"in {flow['proto']} {source} {port}"
        for flow in guarded_flows
        for source in flow["addresses"]
        for port in flow["ports"]
    )


def list_service_rules(flows: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """List who may reach NodePorts of Services, in the form of `list_rules`; nobody is named where anybody may."""
    networks = {address for flow in flows if flow["to"] == "services" for address in flow["addresses"]}
    if ANY_NETWORK in networks:
        return frozenset()
    return frozenset(f"in {proto} {network} {NODE_PORTS}" for network in networks for proto in SERVICE_PROTOCOLS)

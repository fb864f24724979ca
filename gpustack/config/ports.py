"""The ports of a host: the one table of those that components have anyway, and the collisions of the spec's with them.

Sources: kubernetes.io, "Ports and Protocols", and the addresses at which the same programs serve health and metrics;
8081 is the health of Flannel's manifest.
"""

from collections.abc import Iterator, Sequence

from gpustack.config.complaint import Complaint
from gpustack.config.endpoint import API_PORT
from gpustack.config.host import Host
from gpustack.config.spec import Spec

NODE_PORTS = {
    8081: "flannel's, for its health",
    10248: "the kubelet's, for its health",
    10249: "kube-proxy's, for its metrics",
    10250: "the kubelet's",
    10256: "kube-proxy's, for its health",
}
PLANE_PORTS = {
    2379: "etcd's",
    2380: "etcd's, between its members",
    2381: "etcd's, for its metrics",
    API_PORT: "the API server's",
    10257: "kube-controller-manager's",
    10259: "kube-scheduler's",
}
UNIT_PORTS = {"prometheus": 9090, "prometheus-alertmanager": 9093}
"""These are the ports of hosts without Kubernetes, by the unit that listens."""


def find_port_collisions(file: str, spec: Spec, hosts: Sequence[Host]) -> Iterator[tuple[set[str], Complaint]]:
    """Yield settings with a port that another program of the same host has, as the keys and the complaint. Exporters of
    pods have a port of the host with gpu.dcgm: host alone."""
    standalone = any(host.standalone for host in hosts)
    cluster = not standalone or any(not host.standalone for host in hosts)
    access, metrics = spec.monitoring.access, spec.gpu.metrics
    own_engine = standalone or spec.gpu.dcgm == "host"
    ports = {
        "monitoring.node_exporter_port": spec.monitoring.node_exporter_port if spec.monitoring.enabled else None,
        "gpu.metrics.listen": metrics.port if own_engine else None,
        "gpu.metrics.engine": int(metrics.engine.rpartition(":")[2]) if own_engine else None,
        "monitoring.access.node_port": access.node_port if access.type == "node-port" else None,
        "monitoring.access.prometheus_node_port": access.prometheus_node_port,
    }
    unit_ports = {port: f"that of the unit {name}" for name, port in UNIT_PORTS.items()}
    owners = {**(NODE_PORTS | PLANE_PORTS if cluster else {}), **(unit_ports if standalone else {})}
    for key, port in ports.items():
        if port is None:
            continue
        if owner := owners.get(port):
            text = f"{port}, which is {owner}"
            yield {key, owner.removeprefix("that of ")}, Complaint(file, f"gpustack.{key}", text, "a port of its own")
        owners.setdefault(port, f"that of {key}")

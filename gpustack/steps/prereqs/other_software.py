"""Checks of step prereqs that need a person to fix: other software on the host."""

from gpustack.ask.judge import Result, format_value
from gpustack.ask.view import View
from gpustack.command import Command, Prose
from gpustack.config.ports import NODE_PORTS, PLANE_PORTS
from gpustack.probes.kubernetes.cluster_leftovers import LEFTOVERS
from gpustack.probes.network.addresses import LISTENERS
from gpustack.steps.other_cluster import build_reset_command, find_foreign_servers

# As the kernel keeps names, 15 characters.
PORT_OWNERS = ("kubelet", "kube-", "etcd", "flanneld")

# What each distribution removes itself with, by its own documentation.
REMOVAL = {
    "cri-dockerd": Command("apt-get", "purge", "cri-dockerd"),
    "k0s": Prose("k0s stop; k0s reset"),
    "k3s": Prose("k3s-uninstall.sh || k3s-agent-uninstall.sh; rm -rf /etc/rancher/k3s /var/lib/rancher/k3s"),
    "microk8s": Command("snap", "remove", "--purge", "microk8s"),
    "rke2": Prose("rke2-uninstall.sh; rm -rf /etc/rancher/rke2 /var/lib/rancher/rke2"),
}


def ports(view: View) -> Result | None:
    """The ports of Kubernetes and Flannel are free, or used by them."""
    tcp_ports = (*NODE_PORTS, *(PLANE_PORTS if view.host.control_plane else ()))
    expected_ports = {*(("tcp", port) for port in tcp_ports), ("udp", view.spec.flannel.port)}
    used_ports = [
        f"{listener.port}/{listener.protocol} by {listener.process or 'an unknown process'}"
        for listener in view[LISTENERS]
        if (listener.protocol, listener.port) in expected_ports
        and not listener.process.startswith(PORT_OWNERS)
        # The kernel's own vxlan socket belongs to no process.
        and (listener.process or listener.protocol == "tcp")
    ]
    if not used_ports:
        return None
    return Result(
        "ports",
        "free",
        f"taken: {format_value(used_ports)}",
        "operator",
        fault="host-port-in-use",
        hint=Command("ss", "-tulpn"),
    )


def other_clusters(view: View) -> Result | None:
    """The host has no other Kubernetes, and no remains of one."""
    leftovers = view[LEFTOVERS]
    distributions = [
        *leftovers.distributions,
        *(f"a node of the cluster at {server}" for server in find_foreign_servers(view)),
    ]
    if not distributions:
        return None
    reset = build_reset_command(view, foreign=True, note="after kubectl drain and kubectl delete node in that cluster")
    hint = REMOVAL.get(distributions[0], reset)
    return Result("other Kubernetes on the host", "none", format_value(distributions), "operator", hint=hint)


CHECKS = (ports, other_clusters)

"""Checks of step prereqs that need a person to fix: other software on the host."""

from gpustack.ask.judge import Result, as_text
from gpustack.ask.view import View
from gpustack.command import Command, Prose
from gpustack.probes.kubernetes.cluster_leftovers import LEFTOVERS
from gpustack.probes.network.addresses import LISTENERS
from gpustack.steps.other_cluster import reset_of, servers_of_others

# kubernetes.io reference/networking/ports-and-protocols, and what the same programs serve health and metrics on. 8081
# is Flannel's health; its vxlan port comes from the spec.
NODE_PORTS = (("tcp", 8081), ("tcp", 10248), ("tcp", 10249), ("tcp", 10250), ("tcp", 10256))
PLANE_PORTS = (("tcp", 2379), ("tcp", 2380), ("tcp", 2381), ("tcp", 6443), ("tcp", 10257), ("tcp", 10259))
# As the kernel keeps names, 15 characters.
OWNERS = ("kubelet", "kube-", "etcd", "flanneld")

# What each distribution removes itself with, by its own documentation.
REMOVAL = {
    "cri-dockerd": Command("apt-get", "purge", "cri-dockerd"),
    "k0s": Prose("k0s stop; k0s reset"),
    "k3s": Prose("k3s-uninstall.sh || k3s-agent-uninstall.sh; rm -rf /etc/rancher/k3s /var/lib/rancher/k3s"),
    "microk8s": Command("snap", "remove", "--purge", "microk8s"),
    "rke2": Prose("rke2-uninstall.sh; rm -rf /etc/rancher/rke2 /var/lib/rancher/rke2"),
}


def ports(here: View) -> Result | None:
    """The ports of Kubernetes and Flannel are free, or used by them."""
    wanted = {*NODE_PORTS, *(PLANE_PORTS if here.host.control_plane else ()), ("udp", here.spec.flannel.port)}
    taken = [
        f"{found.port}/{found.protocol} by {found.process or 'an unknown process'}"
        for found in here[LISTENERS]
        if (found.protocol, found.port) in wanted
        and not found.process.startswith(OWNERS)
        # The kernel's own vxlan socket belongs to no process.
        and (found.process or found.protocol == "tcp")
    ]
    if not taken:
        return None
    return Result(
        "ports", "free", f"taken: {as_text(taken)}", "operator", fault="host-port-in-use", hint=Command("ss", "-tulpn")
    )


def other_clusters(here: View) -> Result | None:
    """The host has no other Kubernetes, and no remains of one."""
    found = here[LEFTOVERS]
    distributions = [
        *found.distributions,
        *(f"a node of the cluster at {server}" for server in servers_of_others(here)),
    ]
    if not distributions:
        return None
    reset = reset_of(here, foreign=True, note="after kubectl drain and kubectl delete node in that cluster")
    hint = REMOVAL.get(distributions[0], reset)
    return Result("other Kubernetes on the host", "none", as_text(distributions), "operator", hint=hint)


CHECKS = (ports, other_clusters)

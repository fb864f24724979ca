"""Taint: a control plane that is listed in kube_node as well, or is the only host, runs ordinary pods too.

kubeadm keeps them off control plane nodes with a taint. Exactly that taint is removed from the node of such a host, as
Kubespray does; any other taint stays. A host in kube_control_plane alone keeps it: no ordinary pod gets its GPUs, and
`plan` says so.

Settings: none; the groups of the inventory decide. Sources: kubeadm's well-known taint
node-role.kubernetes.io/control-plane; kubernetes-sigs/kubespray, roles/kubernetes/control-plane.
"""

from gpustack.ask.judge import Result, expect
from gpustack.ask.view import View
from gpustack.config.host import NODE, Host
from gpustack.config.inventory import Inventory
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.steps.own_node import find_node
from gpustack.steps.step import Step, check_where

TAINT = "node-role.kubernetes.io/control-plane:NoSchedule"


def is_only_host(inventory: Inventory) -> bool:
    return len(inventory.cluster_hosts) == 1


def runs_pods(host: Host, inventory: Inventory) -> bool:
    """Tell whether ordinary pods run on a host of the cluster."""
    return NODE in host.groups or is_only_host(inventory)


def schedulable(view: View) -> Result | None:
    """The only node does not have the taint of the control plane."""
    tainted_nodes = {node.name for node in view[NODES] if TAINT in node.taints}
    actual = ", ".join(sorted(tainted_nodes)) or "none"
    return expect(f"nodes with {TAINT}", "none", actual, fault="control-plane-taint-single-node")


def node_group(view: View) -> Result | None:
    """A control plane that is listed in kube_node, among the hosts that run pods, does not have the taint: otherwise no
    ordinary pod gets its GPUs, although they are allocatable."""
    planes = [view.select_host(host.name) for host in view.snapshot.inventory.control_planes if NODE in host.groups]
    nodes = [node for plane in planes if (node := find_node(plane))]
    actual = ", ".join(sorted(node.name for node in nodes if TAINT in node.taints)) or "none"
    return expect(f"nodes of kube_node with {TAINT}", "none", actual)


STEP = Step(
    "taint",
    scope="cluster",
    probes=(NODES, IDENTITY),
    checks=(
        *check_where(lambda view: is_only_host(view.snapshot.inventory), schedulable),
        *check_where(lambda view: not is_only_host(view.snapshot.inventory), node_group),
    ),
    needs=("control-plane",),
    settle_seconds=10,
    is_enabled=lambda inventory: any(runs_pods(host, inventory) for host in inventory.control_planes),
)

"""States of the layer `kubeadm`: the API, the kubelets and the nodes, by their own statements."""

from gpustack.ask.judge import Result, build_ok_result
from gpustack.ask.view import View
from gpustack.doctor.check import check, expect_none
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.host.units import UNITS
from gpustack.probes.kubelet.kubelet import HEALTH
from gpustack.probes.kubernetes.cluster_leftovers import LEFTOVERS
from gpustack.probes.kubernetes.nodes import NODES, READYZ
from gpustack.steps.own_node import find_node


@check("st-apiserver-down", READYZ)
def apiserver_down(view: View) -> Result:
    """Check that the API server responds and is ready."""
    readiness = view[READYZ]
    return Result("readyz of the API server", "ok", readiness.reason or "ok", ok=bool(readiness.ready))


@check("st-kubelet-down", HEALTH, UNITS, LEFTOVERS)
def kubelet_down(view: View) -> Result:
    """Check the health of an installed kubelet on a host that is in a cluster."""
    if view[UNITS].get("kubelet") is None:
        return build_ok_result("kubelet.service", "not installed")
    if not view[LEFTOVERS].servers:
        return build_ok_result("kubelet.service", "the host is not in a cluster yet")
    health = view[HEALTH]
    return Result("health of the kubelet", "ok", health, ok=health == "ok")


@check("node-not-in-inventory", NODES, IDENTITY)
def unknown_nodes(cluster_view: View) -> Result:
    """Look for nodes of unknown hosts. Raise FactUnavailable if a node may belong to a host that was not reached."""
    views = [cluster_view.select_host(host.name) for host in cluster_view.hosts]
    machine_ids = {view[IDENTITY].machine_id for view in views if view.has_fact(IDENTITY)}
    if any(node.machine_id not in machine_ids for node in cluster_view[NODES]):
        machine_ids = {view[IDENTITY].machine_id for view in views}
    unknown_names = [node.name for node in cluster_view[NODES] if node.machine_id not in machine_ids]
    return expect_none("nodes", "hosts of the inventory", unknown_names, "hosts of the inventory")


@check("st-node-notready", NODES, IDENTITY)
def node_notready(view: View) -> Result:
    """Check that the node is ready. A host that is not a node yet is another fault."""
    node = find_node(view)
    if node is None:
        return build_ok_result("node", "the host is not a node")
    return Result(f"node {node.name}", "ready", node.reason or "ready", ok=bool(node.ready))

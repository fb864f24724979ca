"""States of the layer `kubeadm`: the API, the kubelets and the nodes, as they say it themselves."""

from gpustack.ask.judge import Result, as_text, ok
from gpustack.ask.view import View
from gpustack.doctor.check import check
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.host.units import UNITS
from gpustack.probes.kubelet.kubelet import HEALTH
from gpustack.probes.kubernetes.cluster_leftovers import LEFTOVERS
from gpustack.probes.kubernetes.nodes import NODES, READYZ
from gpustack.steps.own_node import own


@check("st-apiserver-down", READYZ)
def apiserver_down(here: View) -> Result:
    """Nobody answers, or what answers is not ready."""
    found = here[READYZ]
    return Result("readyz of the API server", "ok", found.why or "ok", ok=bool(found.ready))


@check("st-kubelet-down", HEALTH, UNITS, LEFTOVERS)
def kubelet_down(here: View) -> Result:
    """Not applicable where it is not installed, or has no cluster to belong to yet: then it cannot run."""
    if here[UNITS].get("kubelet") is None:
        return ok("kubelet.service", "not installed")
    if not here[LEFTOVERS].servers:
        return ok("kubelet.service", "the host belongs to no cluster yet")
    found = here[HEALTH]
    return Result("health of the kubelet", "ok", found, ok=found == "ok")


@check("node-not-in-inventory", NODES, IDENTITY)
def unknown_nodes(here: View) -> Result:
    """An address of no reached host may be that of an unreached one: then the result is unknown."""
    views = [here.on(host.name) for host in here.hosts]
    known = {view[IDENTITY].machine_id for view in views if view.available(IDENTITY)}
    if any(node.machine_id not in known for node in here[NODES]):
        known = {view[IDENTITY].machine_id for view in views}
    others = [node.name for node in here[NODES] if node.machine_id not in known]
    return Result(
        "nodes", "hosts of the inventory", as_text(others) if others else "hosts of the inventory", ok=not others
    )


@check("st-node-notready", NODES, IDENTITY)
def node_notready(here: View) -> Result:
    """A host that is no node yet is another fault."""
    node = own(here)
    if node is None:
        return ok("node", "the host is no node")
    return Result(f"node {node.name}", "ready", node.reason or "ready", ok=bool(node.ready))


CHECKS = (apiserver_down, kubelet_down, unknown_nodes, node_notready)

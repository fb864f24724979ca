"""States of the layer `kubeadm`: the API, the kubelets and the nodes, as they say it themselves."""

from gpustack.ask.view import View
from gpustack.doctor.tells import Told, refuted, tells
from gpustack.probes.kube import NODES, READYZ
from gpustack.probes.kubelet import HEALTH
from gpustack.probes.leftovers import LEFTOVERS
from gpustack.probes.system import IDENTITY
from gpustack.probes.units import UNITS
from gpustack.steps.own_node import own


@tells("st-apiserver-down", READYZ)
def apiserver_down(here: View) -> Told:
    """Nobody answers, or what answers is not ready."""
    found = here[READYZ]
    return Told(not found.ready, "readyz of the API server", "ok", found.why or "ok")


@tells("st-kubelet-down", HEALTH, UNITS, LEFTOVERS)
def kubelet_down(here: View) -> Told:
    """Not applicable where it is not installed, or has no cluster to belong to yet: then it cannot run."""
    if here[UNITS].get("kubelet") is None:
        return refuted("kubelet.service", "not installed")
    if not here[LEFTOVERS].servers:
        return refuted("kubelet.service", "the host belongs to no cluster yet")
    found = here[HEALTH]
    return Told(found != "ok", "health of the kubelet", "ok", found)


@tells("st-node-notready", NODES, IDENTITY)
def node_notready(here: View) -> Told:
    """A host that is no node yet is another fault."""
    node = own(here)
    if node is None:
        return refuted("node", "the host is no node")
    return Told(not node.ready, f"node {node.name}", "ready", node.reason or "ready")

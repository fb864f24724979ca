"""Faults of the layer `scheduling`. Of pods that wait only those of the platform count, not users'."""

import re
from datetime import timedelta

from gpustack.ask.judge import Result, as_text, ok
from gpustack.ask.view import View
from gpustack.doctor.check import check
from gpustack.doctor.checks.platform_namespaces import namespaces
from gpustack.probes.gpu.cluster import GPU_NODES
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubernetes.nodes import NODES, Node
from gpustack.probes.kubernetes.pods_waiting import GPU, WAITING, UnscheduledPod
from gpustack.steps.gpu.hosts import expected, silent
from gpustack.steps.own_node import own
from gpustack.steps.taint import TAINT

LIFECYCLE = "node.kubernetes.io/"
CORDON = f"{LIFECYCLE}unschedulable"
CORDONED = "were unschedulable"
SHORT = re.compile(r"Insufficient ([\w-]+(?:[./][\w-]+)*)|Too many (pods)")
# Reasons that the graph knows. Others are a wish of somebody: a selector, an affinity, a taint of theirs.
NAMED = re.compile(rf"untolerated taint \{{(node-role\.kubernetes\.io/control-plane|{LIFECYCLE}(?!unschedulable))")
# Kubernetes 1.34 and newer do not say which.
UNNAMED = "untolerated taint(s)"
A_WHILE = timedelta(seconds=60)


def lifecycle(node: Node) -> list[str]:
    return [one for one in node.taints if one.startswith(LIFECYCLE) and not one.startswith(CORDON)]


def known(here: View, why: str) -> bool:
    """Whether it is the cluster's doing, as far as the graph knows it; a cordoned node is somebody's wish."""
    if CORDONED in why:
        return False
    if SHORT.search(why) or NAMED.search(why):
        return True
    nodes = here[NODES] if UNNAMED in why else ()
    return any(map(lifecycle, nodes)) or bool(nodes and all(TAINT in node.taints for node in nodes))


def platform(here: View) -> list[UnscheduledPod]:
    """Those that wait for a while."""
    ours = namespaces(here)
    waiting = [one for one in here[WAITING] if one.namespace in ours and here.taken - one.since > A_WHILE]
    return [one for one in waiting if known(here, one.why)]


def shown(found: list[UnscheduledPod]) -> str:
    return f"{as_text([f'{one.namespace}/{one.name}' for one in found[:5]])}: {found[0].why[:200]}" if found else "none"


@check("st-pods-pending", WAITING, NODES)
def pods_pending(here: View) -> Result:
    found = platform(here)
    return Result("pods of the platform without a node", "none", shown(found), ok=not found)


def short(here: View) -> list[tuple[UnscheduledPod, str]]:
    """With what there is not enough of."""
    return [(one, name or pods) for one in platform(here) for name, pods in SHORT.findall(one.why)]


@check("insufficient-resources", WAITING, NODES)
def insufficient(here: View) -> Result:
    found = [one for one, _ in short(here)]
    return Result("pods of the platform that find too little", "none", shown(found), ok=not found)


@check("insufficient-resources guard", WAITING, NODES, GPU_NODES)
def in_use(here: View) -> Result:
    """Of GPUs there are some; of everything else there always is."""
    lacking = {what for _, what in short(here)}
    total = sum(node.allocatable for node in here[GPU_NODES])
    if lacking - {GPU}:
        return Result("what is short", "CPU, memory or pods", as_text(lacking))
    return Result(
        "GPUs on offer",
        "some, all in use",
        f"{total}, short is {as_text(lacking)}",
        ok=not (lacking and total > 0),
    )


@check("st-gpu-pods-pending", WAITING, GPU_NODES, GPU_DEVICES, IDENTITY)
def gpu_pods_pending(here: View) -> Result:
    """Only while no node offers a GPU. Where all are in use, pods just wait; where no host has one, the scheduler's
    own message says so."""
    found = [one for one in here[WAITING] if one.gpu and f"Insufficient {GPU}" in one.why]
    total = sum(node.allocatable for node in here[GPU_NODES])
    if total:
        return ok("GPU pods without a node", f"{total} GPUs are on offer")
    if found and not silent(here) and not expected(here):
        return ok("GPU pods without a node", "no host has a GPU")
    return Result("GPU pods without a node", "none", shown(found), ok=not found)


@check("node-lifecycle-taints", NODES, IDENTITY)
def lifecycle_taints(here: View) -> Result:
    """A cordoned node has a taint too, which is what somebody wanted."""
    node = own(here)
    taints = lifecycle(node) if node else []
    return Result("taints of the node's condition", "none", as_text(taints) if taints else "none", ok=not taints)


@check("node-cordoned", NODES, IDENTITY, WAITING, GPU_NODES)
def cordoned(here: View) -> Result:
    """With what it keeps: GPUs, and pods of anybody for which the scheduler passed over a cordoned node."""
    node = own(here)
    if not node or not any(one.startswith(CORDON) for one in node.taints):
        return ok("node", "takes pods" if node else "there is none")
    offers = sum(one.allocatable for one in here[GPU_NODES] if one.name == node.name)
    waits = [f"{one.namespace}/{one.name}" for one in here[WAITING] if CORDONED in one.why]
    keeps = [f"{node.name} is cordoned", f"{offers} GPUs there take no new pod" if offers else ""]
    keeps.append(f"{as_text(waits[:5])} {'wait' if len(waits) > 1 else 'waits'} for a node" if waits else "")
    return Result("node", "takes pods", "; ".join(filter(None, keeps)))


@check("st-pods-pending -> op-nodes-not-labelled", WAITING, NODES)
def labeller_waits(here: View) -> Result:
    found = [one for one in platform(here) if re.search(r"node-feature-discovery|gpu-feature-discovery", one.name)]
    return Result("pods that label nodes", "wait", shown(found), ok=not found)


@check("st-pods-pending -> st-no-metrics", WAITING, NODES)
def prometheus_waits(here: View) -> Result:
    space = here.spec.monitoring.namespace
    found = [one for one in platform(here) if one.namespace == space and one.name.startswith("prometheus-")]
    return Result("Prometheus", "waits", shown(found), ok=not found)


CHECKS = (
    pods_pending,
    insufficient,
    in_use,
    gpu_pods_pending,
    lifecycle_taints,
    cordoned,
    labeller_waits,
    prometheus_waits,
)

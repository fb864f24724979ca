"""Labels of nodes by which NVIDIA's components talk to each other: what is excluded, paused, or was given up; and
taints that keep them away.

Labels and values: gpu-operator controllers/state_manager.go (gpu.deploy.*), mig-parted deployments/container
(paused-for-mig-change, mig.config.state), k8s-operator-libs pkg/upgrade/consts.go (driver-upgrade-state).
"""

from collections.abc import Iterator

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.node_hosts import locate_node
from gpustack.doctor.states.state import AbnormalState, Observer, Severity
from gpustack.probes.gpu.cluster import GPU_NODES, GpuNode
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.kubernetes.taints import GATE, find_repelling_taints
from gpustack.steps.taint import TAINT

DEPLOY = "nvidia.com/gpu.deploy."
EXCLUDED_VALUE, PAUSED_PREFIX = "false", "paused-"
MIG_STATE, UPGRADE_STATE = "nvidia.com/mig.config.state", "nvidia.com/gpu-driver-upgrade-state"
FAILED_STATES = ("failed", "upgrade-failed")
FINISHED_STATES = ("", "success", "upgrade-done")


def observe_labels(view: View) -> Iterator[AbnormalState]:
    for node in view[GPU_NODES]:
        for label, value in sorted(node.labels.items()):
            if severity := judge_label(node, label, value):
                yield build_state(view, node, label, value, severity)


def judge_label(node: GpuNode, label: str, value: str) -> Severity | None:
    """Judge a label; None for one that is as it should be. A component that is paused or busy takes a moment: it is
    broken where the node offers no GPU meanwhile. Somebody may have excluded the node on purpose."""
    if label.startswith(DEPLOY):
        if value == EXCLUDED_VALUE:
            return "note"
        return ("broken" if not node.offers_gpus else "risk") if value.startswith(PAUSED_PREFIX) else None
    if label not in (MIG_STATE, UPGRADE_STATE) or value in FINISHED_STATES:
        return None
    return "broken" if value in FAILED_STATES or not node.offers_gpus else "risk"


def observe_taints(view: View) -> Iterator[AbnormalState]:
    """List taints that somebody set on a node of a host with GPUs, while the node offers none of them. Where it offers
    them, the operands of the GPU operator tolerate the taint, and it is there on purpose."""
    offers_gpus = {node.name: node.offers_gpus for node in view[GPU_NODES]}
    for node in view[NODES]:
        host = locate_node(view, node.name)
        taints = [taint for taint in find_repelling_taints(node.taints) if taint not in (TAINT, GATE)]
        if host == CLUSTER or not taints or offers_gpus.get(node.name):
            continue
        if (host_view := view.select_host(host)).has_fact(GPU_DEVICES) and host_view[GPU_DEVICES]:
            message = f"the node offers no GPU, and has the taint {', '.join(taints)}"
            command = Command("kubectl", "describe", "node", node.name)
            yield AbnormalState("node-taint", "note", (host,), (f"node {node.name}",), message, command)


def build_state(view: View, node: GpuNode, label: str, value: str, severity: Severity) -> AbnormalState:
    return AbnormalState(
        "node-label",
        severity,
        (locate_node(view, node.name),),
        (f"node {node.name}",),
        f"{label}={value}",
        Command("kubectl", "get", "node", node.name, "-L", label),
    )


OBSERVERS = (
    Observer("node-labels", "Labels of NVIDIA's components", observe_labels, (GPU_NODES,)),
    Observer("node-taints", "Taints of nodes with GPUs", observe_taints, (GPU_NODES, NODES, GPU_DEVICES), yields=True),
)

"""The verification of a node after its reboot: another boot, Ready since then, its GPUs, its exporter."""

from collections.abc import Mapping

from gpustack.ask.probe import CLUSTER, FactUnavailable
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.errors import GpustackError
from gpustack.nodes.node_host import require_node
from gpustack.nodes.reboot_record import RebootRecord
from gpustack.probes.host.boot_identity import BOOT_IDENTITY
from gpustack.probes.kubernetes.node_pods import NODE_PODS, NodePod
from gpustack.proof.services import LABELS


def has_ready_exporter(snapshot: Snapshot) -> bool:
    """Tell whether an exporter of GPUs is ready on the node. Raise FactUnavailable where its pods are unknown."""
    return any(is_exporter(pod) and pod.ready and not pod.leaves for pod in View(snapshot, CLUSTER)[NODE_PODS])


def is_exporter(pod: NodePod) -> bool:
    key, value = LABELS["exporter"]
    return pod.labels.get(key) == value


def explain_unfinished(snapshot: Snapshot, name: str, host: str, record: RebootRecord) -> str:
    """Explain what a node still lacks after its reboot; empty where it lacks nothing. What is unknown counts as
    lacking."""
    try:
        boot = View(snapshot, host)[BOOT_IDENTITY]
    except FactUnavailable as error:
        return f"its host gives no answer: {error}"
    if boot.identity == record.boot:
        return "its host has not rebooted yet"
    try:
        node = require_node(snapshot, name)
        has_exporter = has_ready_exporter(snapshot)
    except GpustackError as error:
        return f"{error.message} {error.reason}"
    except FactUnavailable as error:
        return f"its pods are unknown: {error}"
    if not node.ready:
        return f"it is not Ready: {node.reason}"
    if node.reported_at is None or node.reported_at < boot.booted_at:
        return "its kubelet has not reported since the boot"
    if reason := describe_lost_devices(record.devices, node.devices):
        return reason
    return "its exporter of GPUs is not ready" if record.has_exporter and not has_exporter else ""


def describe_lost_devices(before: Mapping[str, int], current: Mapping[str, int]) -> str:
    """Describe the GPUs that are no longer allocatable; empty where there are as many as before."""
    lost_devices = [
        f"{current.get(resource, 0)} of {count} {resource}"
        for resource, count in sorted(before.items())
        if current.get(resource, 0) < count
    ]
    return f"it offers {', '.join(lost_devices)}" if lost_devices else ""

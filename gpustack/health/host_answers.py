"""Reading the sources of verdicts that hosts and the API have from their answers."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from gpustack.ask.probe import CLUSTER, FactUnavailable, Probe
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.health.host_signs import shorten_bus
from gpustack.health.host_sources import HostSources
from gpustack.probes.gpu.driver import GPU_SMI
from gpustack.probes.gpu.logs import KERNEL_LOG, XidLine
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubernetes.device_health import DEVICE_HEALTH, DeviceHealth
from gpustack.probes.kubernetes.node_hosts import index_hosts_by_node
from gpustack.probes.kubernetes.node_records import NODE_RECORDS, parse_proven_gpus
from gpustack.probes.kubernetes.nodes import NODES

Fact = TypeVar("Fact")
HOST_SOURCE_PROBES: tuple[Probe[Any], ...] = (
    KERNEL_LOG, GPU_SMI, IDENTITY, NODES, NODE_RECORDS, DEVICE_HEALTH,
)  # fmt: skip
DEVICES, PROOFS = "The health of devices by the kubelets", "The record of proven GPUs"


def read_host_sources(snapshot: Snapshot) -> HostSources:
    """Read the answers to HOST_SOURCE_PROBES. What is unknown is a doubt."""
    doubts: list[str] = []
    nodes_by_host = map_nodes(snapshot)
    logs = read_kernel_logs(snapshot, nodes_by_host, doubts)
    recovery_actions = read_recovery_actions(snapshot, nodes_by_host, doubts)
    if not snapshot.inventory.cluster_hosts:
        return HostSources(logs, doubts=tuple(doubts), recovery_actions=recovery_actions)
    view = View(snapshot, CLUSTER)
    devices = read_fact(view, DEVICE_HEALTH, DEVICES, doubts) or ()
    records = read_fact(view, NODE_RECORDS, PROOFS, doubts) or ()
    proven_gpus = {record.name: parse_proven_gpus(record.proof_record) for record in records}
    unready_nodes = {record.name for record in records if not record.ready}
    return HostSources(
        logs,
        {device.uuid: forget_health(device) if device.node in unready_nodes else device for device in devices},
        {name: gpus for name, gpus in proven_gpus.items() if gpus},
        tuple(doubts),
        recovery_actions,
    )


def forget_health(device: DeviceHealth) -> DeviceHealth:
    """Return a device without the health that its kubelet told before its node was not Ready."""
    return replace(device, health="Unknown", message="its node is not Ready")


def map_nodes(snapshot: Snapshot) -> dict[str, str]:
    """Map each host to its node, as far as that is known. A host without Kubernetes has its own name in the exporter's
    values."""
    cluster_hosts = {host.name for host in snapshot.inventory.cluster_hosts}
    nodes = {host.name: host.name for host in snapshot.inventory.hosts if host.name not in cluster_hosts}
    if cluster_hosts:
        nodes |= {host: node for node, host in index_hosts_by_node(View(snapshot, CLUSTER)).items()}
    return nodes


def read_recovery_actions(
    snapshot: Snapshot, nodes_by_host: Mapping[str, str], doubts: list[str]
) -> dict[str, dict[str, str]]:
    """Read what the driver asks for by nvidia-smi, by node and short PCI address. Add a doubt about hosts whose
    nvidia-smi hangs or is unknown. A driver that does not know the field is no doubt: DCGM has none either then."""
    actions, reasons = {}, {}
    for name in snapshot.reach:
        try:
            smi = View(snapshot, name)[GPU_SMI]
        except FactUnavailable as error:
            reasons[name] = str(error)
            continue
        if smi.state == "hangs":
            reasons[name] = "it hangs, and cannot be killed"
        elif name in nodes_by_host:
            actions[nodes_by_host[name]] = {shorten_bus(bus): word for bus, word in smi.recovery_actions.items()}
    if reasons:
        first_reason = next(iter(reasons.values()))
        doubts.append(f"nvidia-smi gave no answer on {', '.join(sorted(reasons))}: {first_reason.rstrip('.')}.")
    return actions


def read_kernel_logs(
    snapshot: Snapshot, nodes_by_host: Mapping[str, str], doubts: list[str]
) -> dict[str, tuple[XidLine, ...]]:
    """Read the kernel logs by node. Add a doubt about hosts whose log, or whose node, is unknown."""
    logs, reasons = {}, {}
    for name in snapshot.reach:
        node = nodes_by_host.get(name)
        try:
            lines = View(snapshot, name)[KERNEL_LOG].xid_lines
        except FactUnavailable as error:
            reasons[name] = str(error)
            continue
        if node is not None:
            logs[node] = lines
        elif lines:
            reasons[name] = f"{name} has Xids, and which node it is is unknown"
    if reasons:
        first = next(iter(reasons.values()))
        doubts.append(f"The kernel log is missing of {', '.join(sorted(reasons))}: {first.rstrip('.')}.")
    return logs


def read_fact(view: View, probe: Probe[Fact], subject: str, doubts: list[str]) -> Fact | None:
    """Read a fact of the cluster. Return None, and add a doubt, where it is unknown."""
    try:
        return view[probe]
    except FactUnavailable as error:
        doubts.append(f"{subject} is missing: {str(error).rstrip('.')}.")
        return None

"""GPUs that a node has and does not offer or offers and does not have, that do not respond, or with worn memory; and
hosts with fewer GPUs than others of their model."""

from collections import Counter
from collections.abc import Iterator

from gpustack.ask.judge import format_value
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.checks.gpu.health import collect_xids
from gpustack.doctor.states.node_hosts import locate_node
from gpustack.doctor.states.state import AbnormalState, Observer
from gpustack.probes.gpu.cluster import GPU_NODES
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.gpu.driver import GPU_SMI
from gpustack.probes.gpu.logs import KERNEL_LOG, LOGS
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.monitoring.scrape import ROW_REMAP, XIDS
from gpustack.steps.gpu.count import list_gpus

FEWEST_HOSTS = 3
"""A smaller group of hosts has no usual number of GPUs: either of two hosts may be the one that lacks some."""
MAJORITY = 2 / 3
"""The share of the hosts of a model that have the usual number. Below it they are of several kinds."""


def observe_withheld_gpus(view: View) -> Iterator[AbnormalState]:
    """List resources of which a node has more than it offers. One of which it offers none may be of a removed device
    plugin, or of another MIG layout: the kubelet counts it for minutes."""
    for node in view[GPU_NODES]:
        for resource, (capacity, allocatable) in sorted(node.withheld.items()):
            if not allocatable:
                continue
            yield AbnormalState(
                "gpus-withheld",
                "broken",
                (locate_node(view, node.name),),
                (f"node {node.name}, {resource}",),
                f"{allocatable} of {capacity} are allocatable: the device plugin calls the others unhealthy",
                Command("kubectl", "describe", "node", node.name),
                symptom="st-gpu-unhealthy",
            )


def observe_fewer_gpus(view: View) -> Iterator[AbnormalState]:
    """List hosts with fewer GPUs on the PCI bus than most hosts with the same models. A host for which the inventory
    sets the number has what it is to have."""
    host_views = [view.select_host(host.name) for host in view.hosts if host.spec.gpustack_gpus is None]
    counts: dict[tuple[str, ...], dict[str, int]] = {}
    for host_view in host_views:
        if host_view.has_fact(GPU_DEVICES) and (devices := host_view[GPU_DEVICES]):
            models = tuple(sorted({device.device for device in devices}))
            counts.setdefault(models, {})[host_view.location] = len(devices)
    for host_counts in counts.values():
        ((usual_count, share),) = Counter(host_counts.values()).most_common(1)
        if len(host_counts) < FEWEST_HOSTS or share < MAJORITY * len(host_counts):
            continue
        for host, count in host_counts.items():
            if count < usual_count:
                yield build_fewer_state(host, count, usual_count, share)


def observe_missing_gpus(view: View) -> Iterator[AbnormalState]:
    """List nodes that offer GPUs although their host has none on the PCI bus, so that pods with GPUs fail there."""
    hosts_without_gpus = {
        host.name
        for host in view.hosts
        if (host_view := view.select_host(host.name)).has_fact(GPU_DEVICES) and not host_view[GPU_DEVICES]
    }
    for node in view[GPU_NODES]:
        host = locate_node(view, node.name)
        if node.allocatable and host in hosts_without_gpus:
            message = f"{node.allocatable} are allocatable, and none is on the PCI bus of the host"
            command = Command("lspci", "-nn", "-d", "10de:")
            yield AbnormalState("gpus-missing", "broken", (host,), (f"node {node.name}",), message, command)


def observe_tool(view: View) -> Iterator[AbnormalState]:
    """Report an nvidia-smi that fails or hangs on a host with GPUs, with its first words. Other programs ask the driver
    as it does."""
    smi = view[GPU_SMI]
    if list_gpus(view) and (smi.state == "hangs" or (smi.state == "ended" and smi.rc)):
        status = "it hangs" if smi.state == "hangs" else f"exit status {smi.rc}"
        message = ": ".join(filter(None, (status, smi.message)))
        command = Command("nvidia-smi")
        yield AbnormalState("gpu-tool-failed", "broken", (view.location,), ("nvidia-smi",), message, command)


def observe_compute_modes(view: View) -> Iterator[AbnormalState]:
    """List GPUs whose compute mode refuses programs: all with Prohibited, and all but one with the exclusive modes,
    which a site may want. The mode lasts until the driver is loaded anew, or somebody sets it."""
    smi = view[GPU_SMI]
    for address, mode in zip(smi.gpus, smi.modes, strict=False):
        if mode == "Default":
            continue
        consequence = "no program can compute on it" if mode == "Prohibited" else "a second program on it is refused"
        message = f"compute mode {mode}: {consequence} (CUDA: devices are busy or unavailable)"
        yield AbnormalState(
            "gpu-compute-mode",
            "broken" if mode == "Prohibited" else "note",
            (view.location,),
            (f"GPU {address}",),
            message,
            Command("nvidia-smi", "-i", address, "-c", "DEFAULT"),
        )


def observe_recovery_actions(view: View) -> Iterator[AbnormalState]:
    """List GPUs that the driver asks to recover. One that waits for a reset is busy for every program, while DCGM's
    health checks may pass (NVIDIA/DCGM#263)."""
    for address, action in view[GPU_SMI].recovery_actions.items():
        if action != "None":
            message = f"the driver's recovery action is {action}: until then the GPU may refuse every program"
            command, subject = Command("gpustack", "gpu", "health"), f"GPU {address}"
            yield AbnormalState("gpu-recovery-action", "broken", (view.location,), (subject,), message, command)


def observe_memory(view: View) -> Iterator[AbnormalState]:
    """List GPUs with rows of memory to replace, as DCGM reports them: none suffers yet, and a reset is due."""
    for sample in view[ROW_REMAP]:
        message = f"{sample.name} is {sample.value:g}"
        command = Command("nvidia-smi", "-q", "-d", "ROW_REMAPPER")
        subject = f"GPU {sample.gpu} of {sample.host}"
        yield AbnormalState("gpu-memory", "risk", (locate_node(view, sample.host),), (subject,), message, command)


def observe_xids(view: View) -> Iterator[AbnormalState]:
    """Report the Xids of a host since its boot. What suffers from one has a state of its own."""
    if codes := sorted(collect_xids(view)):
        message = f"Xid {format_value(codes)} since the boot"
        subject, command = f"GPUs of {view.location}", Command("journalctl", "-k", "-b", "--grep", "NVRM: Xid")
        yield AbnormalState("gpu-xid", "note", (view.location,), (subject,), message, command)


def build_fewer_state(host: str, count: int, usual_count: int, host_count: int) -> AbnormalState:
    message = f"{count} on the PCI bus; {host_count} hosts of the same model have {usual_count}"
    return AbnormalState(
        "gpus-fewer", "note", (host,), (f"GPUs of {host}",), message, Command("lspci", "-nn", "-d", "10de:")
    )


OBSERVERS = (
    Observer("withheld-gpus", "GPUs that nodes do not offer", observe_withheld_gpus, (GPU_NODES,)),
    Observer("fewer-gpus", "Hosts with fewer GPUs than others", observe_fewer_gpus, (GPU_DEVICES,)),
    Observer("missing-gpus", "GPUs on no bus", observe_missing_gpus, (GPU_NODES, GPU_DEVICES), yields=True),
    Observer(
        "gpu-xids",
        "Xids of GPUs",
        observe_xids,
        (XIDS, LOGS, KERNEL_LOG, GPU_NODES, IDENTITY),
        scope="host",
        is_needed=lambda spec: spec.monitoring.enabled,
        yields=True,
    ),
    Observer("gpu-tools", "nvidia-smi of hosts", observe_tool, (GPU_SMI, GPU_DEVICES), scope="host", yields=True),
    Observer("gpu-compute-modes", "Compute modes of GPUs", observe_compute_modes, (GPU_SMI,), scope="host"),
    Observer("gpu-recovery-actions", "Recovery actions of GPUs", observe_recovery_actions, (GPU_SMI,), scope="host"),
    Observer(
        "gpu-memories",
        "Memory of GPUs",
        observe_memory,
        (ROW_REMAP,),
        is_needed=lambda spec: spec.monitoring.enabled,
        yields=True,
    ),
)

"""Faults of the layer `gpu-host` of the GPUs themselves: on the bus, in the kernel's log, in what DCGM reads."""

import re

from gpustack.ask.judge import Result, as_text, ok
from gpustack.ask.view import View
from gpustack.doctor.check import check
from gpustack.doctor.checks.gpu.driver import LOST, NO_GPU, gpu_node
from gpustack.doctor.checks.monitoring.exporter import find_log_lines
from gpustack.doctor.checks.node_lookup import on_node
from gpustack.probes.gpu.cluster import GPU_NODES
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.gpu.driver import GPU_SMI
from gpustack.probes.gpu.logs import KERNEL_WORDS, LOGS
from gpustack.probes.gpu.plugin_files import PLUGIN_FILES
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubernetes.pod_states import GPU_PODS, PENDING_PODS
from gpustack.probes.monitoring.scrape import ROW_REMAP, XIDS
from gpustack.steps.gpu.count import gpu_count, gpus
from gpustack.steps.gpu.hosts import PRESENT

OFF_THE_BUS = 79
# Mostly of programs; the device plugin passes over them (NVIDIA/k8s-device-plugin internal/rm/health.go).
OF_PROGRAMS = {13, 31, 43, 45, 68, 109}
DEMAND = "unsatisfied condition: cuda"


def xids(here: View) -> set[int]:
    """Codes of this host's GPUs: of the kernel's log, of the device plugin's, and what DCGM read last."""
    node = gpu_node(here)
    read = {int(one.value) for one in on_node(here, XIDS, node.name if node else "", lambda one: one.host)}
    plugin = {int(match[1]) for one in find_log_lines(here, "xid") if (match := re.search(r"Xid=(\d+)", one.line))}
    return read | plugin | {code for _, code in here[KERNEL_WORDS].xids}


def missing(here: View) -> int:
    """GPUs that the node has and cannot allocate."""
    node = gpu_node(here)
    return node.capacity - node.allocatable if node else 0


@check("gpu-fell-off-bus", GPU_DEVICES, GPU_SMI, GPU_NODES, IDENTITY, XIDS, LOGS, KERNEL_WORDS)
def off_the_bus(here: View) -> Result:
    """nvidia-smi reports a lost GPU; or there is an Xid 79 and a GPU is still missing."""
    devices = gpu_count(here)
    if not devices:
        return ok("GPUs on the bus", NO_GPU)
    shown = here[GPU_SMI]
    if shown.rc == LOST:
        return Result("GPUs on the bus", "accessible", shown.message or f"exit status {LOST} of nvidia-smi")
    fewer = shown.state == "ended" and 0 < len(shown.gpus) < devices
    if OFF_THE_BUS in xids(here) and (fewer or missing(here) > 0):
        return Result("GPUs on the bus", "accessible", f"Xid {OFF_THE_BUS}")
    return ok("GPUs on the bus", "accessible")


@check("gpu-xid-critical", GPU_DEVICES, GPU_NODES, IDENTITY, XIDS, LOGS, KERNEL_WORDS)
def critical(here: View) -> Result:
    """An Xid, and GPUs that are not allocatable because of it. A GPU that fell off the bus is another fault."""
    if not gpus(here):
        return ok("Xids", NO_GPU)
    codes = sorted(xids(here) - OF_PROGRAMS - {OFF_THE_BUS})
    if not codes or missing(here) <= 0:
        return ok("Xids", f"{as_text(codes)}; all GPUs healthy" if codes else "none that is critical")
    return Result("Xids", "none", f"{as_text(codes)}; {missing(here)} GPUs not allocatable")


@check("gpu-ecc-row-remap-pending", GPU_DEVICES, GPU_SMI, GPU_NODES, IDENTITY, ROW_REMAP)
def row_remap(here: View) -> Result:
    """By the driver of the host, or by DCGM if the driver is in a container or does not report it."""
    if not gpus(here):
        return ok("rows of GPU memory to remap", NO_GPU)
    rows = here[GPU_SMI].rows
    if rows is not None:
        return Result("rows of GPU memory to remap", "none", as_text(rows), ok=not rows)
    node = gpu_node(here)
    mine = on_node(here, ROW_REMAP, node.name if node else "", lambda one: one.host)
    found = [f"GPU {one.gpu}: {one.name}" for one in mine]
    return Result("rows of GPU memory to remap", "none", as_text(found), ok=not found)


@check("gpu-fabricmanager-down", PLUGIN_FILES)
def fabric_manager(here: View) -> Result:
    """Not needed without NVSwitches: it then stops by itself."""
    found = here[PLUGIN_FILES]
    if found is None or not found.switches:
        return ok("nvidia-fabricmanager", "no NVSwitch on this host")
    unit = "not installed" if found.fabric_manager == "none" else found.fabric_manager
    return Result(f"nvidia-fabricmanager, for {found.switches} switches", "active", unit, ok=unit == "active")


@check("gpu-none-on-node", GPU_DEVICES, GPU_NODES, IDENTITY)
def none_there(here: View) -> Result:
    """The inventory or the labels of the node expect GPUs on this host."""
    if found := here[GPU_DEVICES]:
        return ok("GPUs on the bus", str(len(found)))
    node, reasons = gpu_node(here), []
    if node and (node.capacity or node.labels.get(PRESENT) == "true"):
        reasons.append(f"node {node.name} has them")
    if here.host.spec.gpustack_mig or here.host.spec.gpustack_sharing:
        reasons.append("the inventory shares them")
    if here.host.spec.gpustack_gpus:
        reasons.append(f"the inventory expects {here.host.spec.gpustack_gpus}")
    return Result(
        "GPUs on the bus",
        "1 or more",
        f"0, but {as_text(reasons)}" if reasons else "0, none expected",
        ok=not reasons,
    )


@check("gpu-driver-too-old-for-cuda", GPU_DEVICES, GPU_NODES, IDENTITY, PENDING_PODS, GPU_PODS)
def too_old(here: View) -> Result:
    """By the errors of the container toolkit for pods of this node."""
    if not gpus(here):
        return ok("CUDA version of images", NO_GPU)
    node = gpu_node(here)
    name = node.name if node else ""
    pods = (*on_node(here, PENDING_PODS, name), *on_node(here, GPU_PODS, name))
    found = [f"{pod}: {one.words}" for pod in pods for one in pod.containers if DEMAND in one.words]
    return Result("CUDA version of images", "supported by the driver", found[0] if found else "supported", ok=not found)


@check("st-gpu-unhealthy", GPU_DEVICES, GPU_NODES, IDENTITY, PLUGIN_FILES)
def unhealthy(here: View) -> Result:
    """A device plugin that is not registered is another state."""
    if not gpus(here):
        return ok("GPUs", NO_GPU)
    files = here[PLUGIN_FILES]
    if files is None or not files.plugin or files.plugin < files.kubelet:
        return ok("GPUs", "the device plugin is not registered")
    lost = missing(here)
    return Result("GPUs that are not allocatable", "0", str(lost), ok=lost <= 0)


@check("st-gpu-unhealthy -> insufficient-resources", PENDING_PODS)
def more_is_wanted(here: View) -> Result:
    found = [str(pod) for pod in here[PENDING_PODS] if "Insufficient nvidia.com/" in pod.unscheduled]
    return Result("pods that wait for a GPU", "none", as_text(found[:3]), ok=not found)


@check("st-cuda-fails", PLUGIN_FILES, LOGS)
def cuda_fails(here: View) -> Result:
    """By the operator's test, which failed and has not passed since."""
    files = here[PLUGIN_FILES]
    if files is None or "cuda-ready" in files.marks:
        return ok("CUDA", NO_GPU if files is None else "test of the operator passed")
    words = find_log_lines(here, "cuda")
    return Result("CUDA", "working", words[0].line if words else "no error logged", ok=not words)


CHECKS = (off_the_bus, critical, row_remap, fabric_manager, none_there, too_old, unhealthy, more_is_wanted, cuda_fails)

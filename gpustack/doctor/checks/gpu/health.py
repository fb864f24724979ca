"""Faults of the layer `gpu-host` in the GPUs themselves: on the bus, in the kernel log, and in the readings of DCGM."""

import re

from gpustack.ask.judge import Result, build_ok_result, format_value
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.doctor.check import check
from gpustack.doctor.checks.gpu.driver import LOST_GPU_STATUS, NO_GPU, find_gpu_node
from gpustack.doctor.checks.last_words import find_last_words
from gpustack.doctor.checks.monitoring.exporter import find_log_lines
from gpustack.doctor.checks.node_lookup import list_node_entries
from gpustack.probes.gpu.cluster import GPU_NODES
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.gpu.driver import GPU_SMI
from gpustack.probes.gpu.logs import KERNEL_LOG, LOGS
from gpustack.probes.gpu.plugin_files import PLUGIN_FILES
from gpustack.probes.host.failed_units import FAILED_UNITS
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubernetes.pod_states import GPU_PODS, PENDING_PODS
from gpustack.probes.monitoring.scrape import ROW_REMAP, XIDS
from gpustack.steps.gpu.count import count_gpus, list_gpus
from gpustack.steps.gpu.fabric import list_nvlink_devices
from gpustack.steps.gpu.hosts import PRESENCE_LABEL

OFF_THE_BUS = 79
# Codes that programs cause mostly; the device plugin ignores them (NVIDIA/k8s-device-plugin internal/rm/health.go).
OF_PROGRAMS = {13, 31, 43, 45, 68, 109}
DEMAND = "unsatisfied condition: cuda"


def collect_xids(view: View) -> set[int]:
    """Collect the Xid codes of this host's GPUs from the kernel log, the log of the device plugin, and the last reading
    of DCGM."""
    node = find_gpu_node(view)
    read = {
        int(measurement.value)
        for measurement in list_node_entries(view, XIDS, node.name if node else "", lambda sample: sample.host)
    }
    plugin = {
        int(match[1]) for log_line in find_log_lines(view, "xid") if (match := re.search(r"Xid=(\d+)", log_line.line))
    }
    return read | plugin | {code for _, code in view[KERNEL_LOG].xids}


def count_missing_gpus(view: View) -> int:
    """Count the GPUs that the node has and cannot allocate."""
    node = find_gpu_node(view)
    return node.capacity - node.allocatable if node else 0


@check("gpu-fell-off-bus", GPU_DEVICES, GPU_SMI, GPU_NODES, IDENTITY, XIDS, LOGS, KERNEL_LOG)
def off_the_bus(view: View) -> Result:
    """Look for a lost GPU in nvidia-smi, or for an Xid 79 while a GPU is still missing. A GPU that nvidia-smi lists is
    not lost, whatever the kernel log says of an earlier time."""
    devices = count_gpus(view)
    if not devices:
        return build_ok_result("GPUs on the bus", NO_GPU)
    smi = view[GPU_SMI]
    if smi.rc == LOST_GPU_STATUS:
        return Result("GPUs on the bus", "accessible", smi.message or f"exit status {LOST_GPU_STATUS} of nvidia-smi")
    if OFF_THE_BUS not in collect_xids(view):
        return build_ok_result("GPUs on the bus", "accessible")
    has_fewer = smi.state == "ended" and 0 < len(smi.gpus) < devices
    # The device plugin withholds a GPU that is well again until its pod is restarted (NVIDIA/k8s-device-plugin#1014).
    node = find_gpu_node(view)
    if not has_fewer and smi.state == "ended" and node and len(smi.gpus) >= node.capacity:
        return build_ok_result("GPUs on the bus", f"accessible again after an Xid {OFF_THE_BUS}")
    if has_fewer or count_missing_gpus(view) > 0:
        return Result("GPUs on the bus", "accessible", f"Xid {OFF_THE_BUS}")
    return build_ok_result("GPUs on the bus", "accessible")


@check("gpu-xid-critical", GPU_DEVICES, GPU_NODES, IDENTITY, XIDS, LOGS, KERNEL_LOG)
def critical(view: View) -> Result:
    """Look for an Xid, and GPUs that are not allocatable because of it. A GPU that fell off the bus is another
    fault."""
    if not list_gpus(view):
        return build_ok_result("Xids", NO_GPU)
    codes = sorted(collect_xids(view) - OF_PROGRAMS - {OFF_THE_BUS})
    if not codes or count_missing_gpus(view) <= 0:
        return build_ok_result("Xids", f"{format_value(codes)}; all GPUs healthy" if codes else "none that is critical")
    return Result("Xids", "none", f"{format_value(codes)}; {count_missing_gpus(view)} GPUs not allocatable")


@check("gpu-ecc-row-remap-pending", GPU_DEVICES, GPU_SMI, GPU_NODES, IDENTITY, ROW_REMAP)
def row_remap(view: View) -> Result:
    """Look for rows to remap in the driver of the host, or in DCGM if the driver is in a container or does not report
    them."""
    if not list_gpus(view):
        return build_ok_result("rows of GPU memory to remap", NO_GPU)
    rows = view[GPU_SMI].rows
    if rows is not None:
        return Result("rows of GPU memory to remap", "none", format_value(rows), ok=not rows)
    node = find_gpu_node(view)
    measurements = list_node_entries(view, ROW_REMAP, node.name if node else "", lambda sample: sample.host)
    pending_rows = [f"GPU {measurement.gpu}: {measurement.name}" for measurement in measurements]
    return Result("rows of GPU memory to remap", "none", format_value(pending_rows), ok=not pending_rows)


@check("gpu-fabricmanager-down", PLUGIN_FILES, GPU_DEVICES, FAILED_UNITS)
def fabric_manager(view: View) -> Result:
    """Check that the fabric manager is running. It stops by itself without NVSwitches, and is not needed there. The
    switches of NVLink 5 are on no bus of the host, and its GPUs may be joined or not."""
    plugin_files = view[PLUGIN_FILES]
    if plugin_files is None:
        return build_ok_result("nvidia-fabricmanager", NO_GPU)
    if not plugin_files.switches and plugin_files.fabric_manager != "active" and (gpus := list_nvlink_devices(view)):
        raise FactUnavailable(f"switches of NVLink 5 are on no bus of the host (10de:{format_value(gpus)})")
    if not plugin_files.switches:
        return build_ok_result("nvidia-fabricmanager", "no NVSwitch on the bus")
    unit = "not installed" if plugin_files.fabric_manager == "none" else plugin_files.fabric_manager
    # One that ended by itself has a cause of its own, as a driver of another version.
    last_words = find_last_words(view, "nvidia-fabricmanager.service") if unit == "failed" else ""
    return Result(
        f"nvidia-fabricmanager, for {plugin_files.switches} switches",
        "active",
        "; ".join(filter(None, (unit, last_words))),
        ok=unit == "active",
        certain=unit in ("inactive", "not installed"),
    )


@check("gpu-none-on-node", GPU_DEVICES, GPU_NODES, IDENTITY)
def none_there(view: View) -> Result:
    """Look for GPUs on a host where the inventory or the labels of the node expect them."""
    if devices := view[GPU_DEVICES]:
        return build_ok_result("GPUs on the bus", str(len(devices)))
    node, reasons = find_gpu_node(view), []
    if node and (node.capacity or node.labels.get(PRESENCE_LABEL) == "true"):
        reasons.append(f"node {node.name} has them")
    if view.host.spec.gpustack_mig or view.host.spec.gpustack_sharing:
        reasons.append("the inventory shares them")
    if view.host.spec.gpustack_gpus:
        reasons.append(f"the inventory expects {view.host.spec.gpustack_gpus}")
    return Result(
        "GPUs on the bus",
        "1 or more",
        f"0, but {format_value(reasons)}" if reasons else "0, none expected",
        ok=not reasons,
    )


@check("gpu-driver-too-old-for-cuda", GPU_DEVICES, GPU_NODES, IDENTITY, PENDING_PODS, GPU_PODS)
def too_old(view: View) -> Result:
    """Look for errors of the container toolkit about pods of this node."""
    if not list_gpus(view):
        return build_ok_result("CUDA version of images", NO_GPU)
    node = find_gpu_node(view)
    name = node.name if node else ""
    pods = (*list_node_entries(view, PENDING_PODS, name), *list_node_entries(view, GPU_PODS, name))
    errors = [f"{pod}: {container.words}" for pod in pods for container in pod.containers if DEMAND in container.words]
    return Result(
        "CUDA version of images", "supported by the driver", errors[0] if errors else "supported", ok=not errors
    )


@check("st-gpu-unhealthy", GPU_DEVICES, GPU_NODES, IDENTITY, PLUGIN_FILES)
def unhealthy(view: View) -> Result:
    """Count the GPUs that are not allocatable. A device plugin that is not registered reports none of them, so that
    nothing says whether they are healthy."""
    if not list_gpus(view):
        return build_ok_result("GPUs", NO_GPU)
    files = view[PLUGIN_FILES]
    if files is None or not files.plugin or files.plugin < files.kubelet:
        raise FactUnavailable("the device plugin is not registered, and reports no health of GPUs")
    missing_count = count_missing_gpus(view)
    return Result("GPUs that are not allocatable", "0", str(missing_count), ok=missing_count <= 0)


@check("st-gpu-unhealthy -> insufficient-resources", PENDING_PODS)
def more_is_wanted(view: View) -> Result:
    waiting_pods = [str(pod) for pod in view[PENDING_PODS] if "Insufficient nvidia.com/" in pod.unscheduled_reason]
    return Result("pods that wait for a GPU", "none", format_value(waiting_pods[:3]), ok=not waiting_pods)


@check("st-cuda-fails", PLUGIN_FILES, LOGS)
def cuda_fails(view: View) -> Result:
    """Judge the operator's test, which failed and has not passed since."""
    files = view[PLUGIN_FILES]
    if files is None or "cuda-ready" in files.marks:
        return build_ok_result("CUDA", NO_GPU if files is None else "test of the operator passed")
    words = find_log_lines(view, "cuda")
    return Result("CUDA", "working", words[0].line if words else "no error logged", ok=not words)

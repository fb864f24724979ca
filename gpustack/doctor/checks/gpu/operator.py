"""Faults of the layer `gpu-operator` on a node: files that its pods wait for, and the registration of the device
plugin."""

import re

from gpustack.ask.judge import Result, build_ok_result, format_value
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.command import NO_HINT, Command, Hint, Prose
from gpustack.doctor.check import build_names, check, expect_none
from gpustack.doctor.checks.gpu.driver import DRIVER_PODS, NO_GPU, find_gpu_node
from gpustack.doctor.checks.monitoring.exporter import find_log_lines, list_own_pods
from gpustack.doctor.checks.node_lookup import list_own_node_entries
from gpustack.doctor.checks.startup import is_new
from gpustack.probes.gpu.cluster import GPU_DAEMON_SETS, GPU_LABELS, GPU_NODES
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.gpu.driver import GPU_DRIVER
from gpustack.probes.gpu.logs import KERNEL_LOG, LOGS
from gpustack.probes.gpu.plugin_files import MARKS, PLUGIN_FILES, WATCHERS
from gpustack.probes.gpu.settings import SETTINGS
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.kubernetes.pod_states import GPU_PODS, PENDING_PODS, PodState
from gpustack.steps.gpu.count import list_gpus
from gpustack.steps.gpu.hosts import PRESENCE_LABEL
from gpustack.steps.gpu.operator import OPERANDS_LABEL
from gpustack.steps.own_node import find_node

TOOLKIT = "nvidia-container-toolkit-daemonset"
NFD = "node-feature-discovery"
PLUGIN_CONTAINER = "nvidia-device-plugin"
NO_DEVICES = "No devices found"
CDI = re.compile(r"unresolvable CDI devices [^ ]*nvidia\.com/")
MIXED_VERSIONS = ((570, 124), (570, 158))
"""Driver versions, first and last, that report GPUs wrongly beside slices (NVIDIA/gpu-operator#1361)."""


def list_node_pods(view: View, word: str) -> list[PodState]:
    """List pods of the GPU stack on this host's node with the word in their name."""
    return [pod for pod in list_own_node_entries(view, GPU_PODS) if word in pod.name]


@check("op-nodes-not-labelled", GPU_DEVICES, SETTINGS, GPU_NODES, IDENTITY, GPU_PODS, GPU_DAEMON_SETS, NODES)
def not_labelled(view: View) -> Result:
    """Check that the node has the label of Node Feature Discovery that the operator uses."""
    node = find_gpu_node(view)
    if not list_gpus(view) or not view[SETTINGS] or node is None:
        return build_ok_result("label of the node", "not needed" if view[SETTINGS] else "no operator")
    labels = [name for name in GPU_LABELS if node.labels.get(name) == "true"]
    subject, expected = f"NFD's label of {node.name}", f"one of {format_value(GPU_LABELS)}"
    if labels:
        return build_ok_result(subject, format_value(labels))
    unread_labels = [f"{name}={value}" for name, value in node.labels.items() if "10de" in name]
    if not unread_labels:
        return Result(subject, expected, "nothing", person=explain_absence(view))
    # NVIDIA/gpu-operator#1469: the fields of the key are those of deviceLabelFields.
    person = Prose("set sources.pci.deviceLabelFields in nfd-worker.conf to vendor, or to class and vendor")
    actual = f"{format_value(unread_labels)}, from other deviceLabelFields of nfd-worker.conf"
    return Result(subject, expected, actual, person=person)


def explain_absence(view: View) -> Hint:
    """Explain why an install does not bring the labeller to this node: Helm does not change what its chart does not
    set. Return an empty hint where that is not so, or unknown."""
    if not all(view.has_fact(probe) for probe in (GPU_DAEMON_SETS, GPU_PODS, NODES)):
        return NO_HINT
    sets = {
        name: workload for name, workload in view[GPU_DAEMON_SETS].items() if NFD in name and name.endswith("worker")
    }
    if any(pod.app == NFD for pod in list_node_pods(view, "worker")):
        return NO_HINT
    excluding_set = next((name for name, workload in sets.items() if workload.desired_pods < len(view[NODES])), "")
    change = Command("kubectl", "-n", view.spec.gpu.namespace, "edit", "daemonset", excluding_set)
    reason = Prose("an affinity, selector or taint excludes the node from its DaemonSet; {}", change)
    return reason if excluding_set else NO_HINT


@check("op-nodes-not-labelled guard", GPU_PODS, NODES, IDENTITY)
def labeller(view: View) -> Result:
    workers = [pod for pod in list_node_pods(view, "worker") if pod.app == NFD]
    runs = any(pod.ready for pod in workers)
    actual = "running" if runs else "not running" if workers else "missing"
    return Result("Node Feature Discovery on the node", "not running", actual, ok=bool(runs))


@check("op-gpu-node-tainted", GPU_DEVICES, SETTINGS, NODES, IDENTITY)
def has_untolerated_taints(view: View) -> Result:
    """Check that the operator tolerates the taints of the node. DaemonSets tolerate those of Kubernetes itself."""
    policies, node = view[SETTINGS], find_node(view)
    if not list_gpus(view) or not policies or node is None:
        return build_ok_result("taints of the node", "none to tolerate" if policies else "no operator")
    tolerated_keys = {key for policy in policies for key in policy.tolerations}
    taints = [
        taint
        for taint in node.taints
        if not taint.startswith("node.kubernetes.io/")
        and not taint.endswith(":PreferNoSchedule")
        and not {"", taint.rpartition(":")[0].partition("=")[0]} & tolerated_keys
    ]
    subject = f"taints of {node.name}"
    if not taints:
        return build_ok_result(subject, "tolerated")
    keys = build_names(KEY=[taint.rpartition(":")[0].partition("=")[0] for taint in taints])
    # A taint NoSchedule ends no pod: the node offers its GPUs until one of the operator's pods starts anew.
    gpu_node = find_gpu_node(view) if view.has_fact(GPU_NODES) else None
    has_all_gpus = gpu_node is not None and gpu_node.offers_gpus and not gpu_node.withheld
    return Result(subject, "tolerated by the operator", format_value(taints), names=keys, latent=has_all_gpus)


@check("op-validator-waits-driver", PLUGIN_FILES, GPU_PODS, NODES, IDENTITY)
def waits(view: View) -> Result:
    """Find the first missing file that the operator's validator waits for."""
    files = view[PLUGIN_FILES]
    waiting_pods = [pod for pod in list_own_pods(view, "nvidia-operator-validator") if not pod.ready]
    if files is None or not waiting_pods:
        return build_ok_result("validator", NO_GPU if files is None else "not waiting")
    first = next((mark for mark in MARKS if mark not in files.marks), "")
    return Result(
        "files in /run/nvidia/validations", format_value(MARKS), f"no {first}" if first else "all present", ok=not first
    )


@check("op-device-plugin-no-nvml", LOGS, GPU_DRIVER, PLUGIN_FILES)
def no_nvml(view: View) -> Result:
    """Look for a device plugin that does not find a working driver. That it found no devices does not say whether it
    found the driver's library: CDI may have no description of the devices (kaito-project/kaito#2326)."""
    lines = find_log_lines(view, "no-nvml")
    words = [line for line in lines if NO_DEVICES not in line.line]
    if lines and not words:
        raise FactUnavailable("the device plugin found no devices, and does not say whether it found the library")
    files, driver = view[PLUGIN_FILES], view[GPU_DRIVER]
    is_driver_ready = (files is not None and "driver-ready" in files.marks) or bool(driver.module and driver.library)
    actual = words[0].line if words and is_driver_ready else "the driver is not working" if words else "no such message"
    return Result("log of the device plugin", "no error of NVML", actual, ok=not (words and is_driver_ready))


@check("op-kubelet-restart-lost-devices", PLUGIN_FILES, GPU_PODS, GPU_NODES, NODES, IDENTITY)
def lost_devices(view: View) -> Result:
    """Look for a running device plugin whose socket is missing or older than the kubelet's start. A pod that has just
    started may not have created its socket yet, and one that started after the kubelet has missed no restart of it."""
    files, node = view[PLUGIN_FILES], find_gpu_node(view)
    running_pods = [pod for pod in list_node_pods(view, "device-plugin") if pod.ready and "mps" not in pod.name]
    if files is None or node is None or not running_pods:
        return build_ok_result("device plugin", "no running pod on this node")
    is_stale = not files.plugin or files.plugin < files.kubelet
    is_lost = is_stale and node.allocatable == 0 and not any(node.slices.values())
    if is_lost and files.kubelet and all(has_started_since(pod, files.kubelet) for pod in running_pods):
        return build_ok_result("device plugin", "started after the kubelet, and has registered nothing")
    if is_lost and all(is_new(view, pod) for pod in running_pods):
        raise FactUnavailable("the device plugin has just started")
    actual = "not registered since the kubelet started" if is_stale else "registered"
    return Result(f"device plugin {running_pods[0].name}", "registered with the kubelet", actual, ok=not is_lost)


def has_started_since(pod: PodState, time: int) -> bool:
    """Tell whether all containers of a pod started after a time, in seconds of the epoch."""
    starts = [container.started_at for container in pod.containers if not container.init]
    return bool(starts) and all(start is not None and start.timestamp() > time for start in starts)


@check("op-kubelet-restart-lost-devices guard", WATCHERS)
def watchers_left(view: View) -> Result:
    """Check that inotify instances are left. Without one, the device plugin cannot detect a restart of the kubelet,
    which is another fault."""
    watchers = view[WATCHERS]
    if watchers is None:
        return build_ok_result("inotify instances", NO_GPU)
    return Result(
        "inotify instances",
        "used up",
        f"{watchers.used_instances} of {watchers.limit}",
        ok=watchers.used_instances >= watchers.limit,
    )


@check("op-device-plugin-restart-race", LOGS, KERNEL_LOG, PLUGIN_FILES, GPU_PODS, GPU_NODES, NODES, IDENTITY)
def restart_race(view: View) -> Result:
    """Look for a registered device plugin that was told to restart, on a node without an allocatable GPU. After an Xid
    the plugin itself withdraws GPUs."""
    files, node, xids = view[PLUGIN_FILES], find_gpu_node(view), view[KERNEL_LOG].xids
    running_pods = [pod for pod in list_node_pods(view, "device-plugin") if pod.ready and "mps" not in pod.name]
    restarts = [line for line in find_log_lines(view, "plugin-restarted") if line.container == PLUGIN_CONTAINER]
    if files is None or node is None or not running_pods or not restarts:
        return build_ok_result("device plugin", "not restarted" if running_pods else "no running pod on this node")
    is_registered = bool(files.plugin) and files.plugin >= files.kubelet
    if not is_registered or xids or node.allocatable or any(node.slices.values()):
        return build_ok_result("device plugin", "not registered" if not is_registered else "restarted")
    if all(is_new(view, pod) for pod in running_pods):
        raise FactUnavailable("the device plugin has just started")
    return Result(f"GPUs of {running_pods[0].name}", "allocatable", f"none, after: {restarts[-1].line}")


@check("op-mig-mixed-nvml-regression", GPU_NODES, IDENTITY)
def has_mig_regression(view: View) -> Result:
    """Look for MIG instances and whole GPUs with an affected driver version, by the labels and resources of the
    node."""
    node = find_gpu_node(view)
    version = node.labels.get("nvidia.com/cuda.driver-version.full", "") if node else ""
    parts = tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
    if node is None or not MIXED_VERSIONS[0] <= parts <= MIXED_VERSIONS[1]:
        return build_ok_result("driver", version or "no version label on the node")
    is_mixed = node.labels.get("nvidia.com/mig.strategy") == "mixed" and any(node.slices.values())
    return Result("driver of a node with MIG instances and whole GPUs", "570.172.08 or later", version, ok=not is_mixed)


@check("op-cdi-unresolvable", GPU_DEVICES, PENDING_PODS, GPU_PODS, NODES, IDENTITY)
def cdi(view: View) -> Result:
    """Look for errors of containerd about pods of this node. Devices of other vendors do not count."""
    node = find_node(view)
    if not list_gpus(view) or node is None:
        return build_ok_result("CDI devices", NO_GPU)
    pods = (*list_own_node_entries(view, PENDING_PODS), *list_own_node_entries(view, GPU_PODS))
    errors = [
        f"{pod}: {container.words}" for pod in pods for container in pod.containers if CDI.search(container.words)
    ]
    return Result("CDI devices of pods", "resolvable", errors[0] if errors else "no error", ok=not errors)


@check("st-driver-not-ready -> op-cdi-unresolvable", PLUGIN_FILES)
def toolkit_first(view: View) -> Result:
    files = view[PLUGIN_FILES]
    marks = files.marks if files else ()
    first = "toolkit-ready" in marks and "driver-ready" not in marks
    return Result(
        "toolkit",
        "ready after the driver",
        "ready before the driver" if first else "not ready before the driver",
        ok=not first,
    )


@check("op-cuda-validation-failed", PLUGIN_FILES, LOGS)
def cuda_test(view: View) -> Result:
    files, words = view[PLUGIN_FILES], find_log_lines(view, "cuda")
    open_yet = files is not None and "cuda-ready" not in files.marks
    return Result(
        "CUDA test", "passed", words[0].line if words and open_yet else "no failure", ok=not (words and open_yet)
    )


@check("st-gpu-operands-init", GPU_PODS, NODES, IDENTITY)
def operands_init(view: View) -> Result:
    pods = [pod for pod in list_node_pods(view, "") if pod.phase == "Pending"]
    waiting_pods = [
        pod.name for pod in pods if any(container.init and not container.ready for container in pod.containers)
    ]
    return expect_none("pods of the GPU stack", "initialised", waiting_pods, "initialised")


@check("gpu-host-driver-conflict -> st-gpu-operands-init", GPU_PODS, NODES, IDENTITY)
def driver_waits(view: View) -> Result:
    """Look for a pod of the driver that waits: the others wait for it."""
    waiting_pods = [pod.name for pod in list_node_pods(view, "") if pod.phase == "Pending" and DRIVER_PODS in pod.app]
    return expect_none("pods of the operator's driver", "waiting", waiting_pods, "none waits")


@check("st-no-gpu-labels", GPU_DEVICES, GPU_DAEMON_SETS, GPU_NODES, IDENTITY)
def no_labels(view: View) -> Result:
    node = find_gpu_node(view)
    if not list_gpus(view) or not view[GPU_DAEMON_SETS] or node is None:
        return build_ok_result(f"label {PRESENCE_LABEL}", "not needed")
    actual = node.labels.get(PRESENCE_LABEL, "")
    return Result(f"label {PRESENCE_LABEL} of {node.name}", "true", format_value(actual), ok=actual == "true")


@check("st-gpu-operands-init -> st-no-gpu-labels", GPU_NODES, IDENTITY)
def lacks_discovery_labels(view: View) -> Result:
    """Check that the labels of GPU feature discovery are present beside the operator's label."""
    node = find_gpu_node(view)
    labels = node.labels if node else {}
    lacks_label = labels.get(PRESENCE_LABEL) == "true" and "nvidia.com/gpu.product" not in labels
    actual = "missing" if lacks_label else "not missing alone"
    return Result("labels of GPU feature discovery", "present", actual, ok=not lacks_label)


@check("st-device-plugin-down", PLUGIN_FILES, GPU_PODS, NODES, IDENTITY)
def plugin_down(view: View) -> Result:
    """Check that the device plugin is registered, where it has a pod."""
    files = view[PLUGIN_FILES]
    pods = [pod for pod in list_node_pods(view, "device-plugin") if "mps" not in pod.name]
    if files is None or not pods:
        return build_ok_result("device plugin", NO_GPU if files is None else "no pod on this node")
    is_registered = files.plugin > 0 and files.plugin >= files.kubelet
    actual = "registered" if is_registered else "not registered"
    return Result("device plugin", "registered with the kubelet", actual, ok=bool(is_registered))


@check("st-no-gpu-allocatable", GPU_DEVICES, GPU_DAEMON_SETS, GPU_NODES, IDENTITY)
def nothing_allocatable(view: View) -> Result:
    node = find_gpu_node(view)
    if not list_gpus(view) or not view[GPU_DAEMON_SETS] or node is None:
        return build_ok_result("nvidia.com/gpu", "none yet")
    count, subject = node.allocatable + sum(node.slices.values()), f"nvidia.com/gpu of {node.name}"
    if not count and view.spec.gpu.stack == "operator" and node.labels.get(OPERANDS_LABEL) == "false":
        reason = f"0: excluded from the operator by label {OPERANDS_LABEL}=false"
        return Result(subject, "1 or more", reason)
    return Result(subject, "1 or more", str(count), ok=bool(count))

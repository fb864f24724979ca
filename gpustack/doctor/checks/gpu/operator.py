"""Faults of the layer `gpu-operator` on a node: what its pods wait for, and whether the kubelet knows the plugin."""

import re

from gpustack.ask.judge import Result, as_text, ok
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.command import NO_HINT, Command, Hint, Prose
from gpustack.doctor.check import check, names
from gpustack.doctor.checks.gpu.driver import NO_GPU, gpu_node
from gpustack.doctor.checks.monitoring.exporter import find_log_lines, own_pods
from gpustack.doctor.checks.node_lookup import on_own_node
from gpustack.doctor.checks.startup import new
from gpustack.probes.gpu.cluster import GPU_DAEMON_SETS, GPU_NODES
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.gpu.driver import GPU_DRIVER
from gpustack.probes.gpu.logs import LOGS
from gpustack.probes.gpu.plugin_files import MARKS, PLUGIN_FILES, WATCHERS
from gpustack.probes.gpu.settings import SETTINGS
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.kubernetes.pod_states import GPU_PODS, PENDING_PODS, PodState
from gpustack.steps.gpu.count import gpus
from gpustack.steps.gpu.hosts import PRESENT
from gpustack.steps.gpu.operator import OPERANDS_LABEL
from gpustack.steps.own_node import own

TOOLKIT = "nvidia-container-toolkit-daemonset"
NFD = "node-feature-discovery"
CDI = re.compile(r"unresolvable CDI devices [^ ]*nvidia\.com/")
MIXED = ((570, 124), (570, 158))
"""Driver versions, first and last, that report GPUs wrongly beside slices (NVIDIA/gpu-operator#1361)."""


def list_node_pods(here: View, word: str) -> list[PodState]:
    """Pods of the GPU stack on this host's node whose name has the word."""
    return [pod for pod in on_own_node(here, GPU_PODS) if word in pod.name]


@check("op-nodes-not-labelled", GPU_DEVICES, SETTINGS, GPU_NODES, IDENTITY, GPU_PODS, GPU_DAEMON_SETS, NODES)
def not_labelled(here: View) -> Result:
    """By the label of Node Feature Discovery that the operator uses."""
    node = gpu_node(here)
    if not gpus(here) or not here[SETTINGS] or node is None:
        return ok("label of the node", "not needed" if here[SETTINGS] else "no operator")
    found = [name for name in node.labels if "10de" in name and name.endswith(".present")]
    what = f"NFD's label of {node.name}"
    if found:
        return ok(what, as_text(found))
    return Result(what, "…pci-10de.present", "nothing", person=explain_absence(here))


def explain_absence(here: View) -> Hint:
    """Why an install does not bring the labeller here: Helm leaves alone what its chart does not set. Empty where that
    is not so, or unknown."""
    if not all(here.available(probe) for probe in (GPU_DAEMON_SETS, GPU_PODS, NODES)):
        return NO_HINT
    sets = {name: one for name, one in here[GPU_DAEMON_SETS].items() if NFD in name and name.endswith("worker")}
    if any(pod.app == NFD for pod in list_node_pods(here, "worker")):
        return NO_HINT
    away = next((name for name, one in sets.items() if one.wanted < len(here[NODES])), "")
    change = Command("kubectl", "-n", here.spec.gpu.namespace, "edit", "daemonset", away)
    why = Prose("an affinity, selector or taint excludes the node from its DaemonSet; {}", change)
    return why if away else NO_HINT


@check("op-nodes-not-labelled guard", GPU_PODS, NODES, IDENTITY)
def labeller(here: View) -> Result:
    workers = [pod for pod in list_node_pods(here, "worker") if pod.app == NFD]
    runs = any(pod.ready for pod in workers)
    found = "running" if runs else "not running" if workers else "missing"
    return Result("Node Feature Discovery on the node", "not running", found, ok=bool(runs))


@check("op-gpu-node-tainted", GPU_DEVICES, SETTINGS, NODES, IDENTITY)
def tainted(here: View) -> Result:
    """Every DaemonSet tolerates the taints of Kubernetes itself."""
    policies, node = here[SETTINGS], own(here)
    if not gpus(here) or not policies or node is None:
        return ok("taints of the node", "none to tolerate" if policies else "no operator")
    tolerated = {key for one in policies for key in one.tolerated}
    found = [
        taint
        for taint in node.taints
        if not taint.startswith("node.kubernetes.io/")
        and not taint.endswith(":PreferNoSchedule")
        and not {"", taint.rpartition(":")[0].partition("=")[0]} & tolerated
    ]
    what = f"taints of {node.name}"
    if not found:
        return ok(what, "tolerated")
    keys = names(KEY=[taint.rpartition(":")[0].partition("=")[0] for taint in found])
    return Result(what, "tolerated by the operator", as_text(found), names=keys)


@check("op-validator-waits-driver", PLUGIN_FILES, GPU_PODS, NODES, IDENTITY)
def waits(here: View) -> Result:
    """The first missing file that the operator's validator waits for."""
    files = here[PLUGIN_FILES]
    waiting = [pod for pod in own_pods(here, "nvidia-operator-validator") if not pod.ready]
    if files is None or not waiting:
        return ok("validator", NO_GPU if files is None else "not waiting")
    first = next((mark for mark in MARKS if mark not in files.marks), "")
    return Result(
        "files in /run/nvidia/validations", as_text(MARKS), f"no {first}" if first else "all present", ok=not first
    )


@check("op-device-plugin-no-nvml", LOGS, GPU_DRIVER, PLUGIN_FILES)
def no_nvml(here: View) -> Result:
    """The driver works, but the device plugin does not find it."""
    words = find_log_lines(here, "no-nvml")
    files, driver = here[PLUGIN_FILES], here[GPU_DRIVER]
    there = (files is not None and "driver-ready" in files.marks) or bool(driver.module and driver.library)
    found = words[0].line if words and there else "the driver is not working" if words else "no such message"
    return Result("log of the device plugin", "no error of NVML", found, ok=not (words and there))


@check("op-kubelet-restart-lost-devices", PLUGIN_FILES, GPU_PODS, GPU_NODES, NODES, IDENTITY)
def lost_devices(here: View) -> Result:
    """The device plugin is running, but its socket is missing or older than the kubelet's start. A pod that has just
    started may not have created its socket yet."""
    files, node = here[PLUGIN_FILES], gpu_node(here)
    running = [pod for pod in list_node_pods(here, "device-plugin") if pod.ready and "mps" not in pod.name]
    if files is None or node is None or not running:
        return ok("device plugin", "no running pod on this node")
    stale = not files.plugin or files.plugin < files.kubelet
    lost = stale and node.allocatable == 0 and not any(node.slices.values())
    if lost and all(new(here, pod) for pod in running):
        raise FactUnavailable("the device plugin has just started")
    found = "not registered since the kubelet started" if stale else "registered"
    return Result(
        f"device plugin {running[0].name}",
        "registered with the kubelet",
        found,
        ok=not lost,
    )


@check("op-kubelet-restart-lost-devices guard", WATCHERS)
def watchers_left(here: View) -> Result:
    """Without an inotify instance the device plugin cannot detect a restart of the kubelet, which is another fault."""
    found = here[WATCHERS]
    if found is None:
        return ok("inotify instances", NO_GPU)
    return Result("inotify instances", "used up", f"{found.used} of {found.limit}", ok=found.used >= found.limit)


@check("op-mig-mixed-nvml-regression", GPU_NODES, IDENTITY)
def mixed(here: View) -> Result:
    """By the labels and resources of the node: MIG instances and whole GPUs, with an affected driver version."""
    node = gpu_node(here)
    version = node.labels.get("nvidia.com/cuda.driver-version.full", "") if node else ""
    parts = tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
    if node is None or not MIXED[0] <= parts <= MIXED[1]:
        return ok("driver", version or "no version label on the node")
    whole = node.labels.get("nvidia.com/mig.strategy") == "mixed" and any(node.slices.values())
    return Result("driver of a node with MIG instances and whole GPUs", "570.172.08 or later", version, ok=not whole)


@check("op-cdi-unresolvable", GPU_DEVICES, PENDING_PODS, GPU_PODS, NODES, IDENTITY)
def cdi(here: View) -> Result:
    """By the errors of containerd for pods of this node. Devices of other vendors do not count."""
    node = own(here)
    if not gpus(here) or node is None:
        return ok("CDI devices", NO_GPU)
    pods = (*on_own_node(here, PENDING_PODS), *on_own_node(here, GPU_PODS))
    found = [f"{pod}: {one.words}" for pod in pods for one in pod.containers if CDI.search(one.words)]
    return Result("CDI devices of pods", "resolvable", found[0] if found else "no error", ok=not found)


@check("st-driver-not-ready -> op-cdi-unresolvable", PLUGIN_FILES)
def toolkit_first(here: View) -> Result:
    files = here[PLUGIN_FILES]
    marks = files.marks if files else ()
    first = "toolkit-ready" in marks and "driver-ready" not in marks
    return Result(
        "toolkit",
        "ready after the driver",
        "ready before the driver" if first else "not ready before the driver",
        ok=not first,
    )


@check("op-cuda-validation-failed", PLUGIN_FILES, LOGS)
def cuda_test(here: View) -> Result:
    files, words = here[PLUGIN_FILES], find_log_lines(here, "cuda")
    open_yet = files is not None and "cuda-ready" not in files.marks
    return Result(
        "CUDA test", "passed", words[0].line if words and open_yet else "no failure", ok=not (words and open_yet)
    )


@check("st-gpu-operands-init", GPU_PODS, NODES, IDENTITY)
def operands_init(here: View) -> Result:
    pods = [pod for pod in list_node_pods(here, "") if pod.phase == "Pending"]
    found = [pod.name for pod in pods if any(one.init and not one.ready for one in pod.containers)]
    return Result(
        "pods of the GPU stack",
        "initialised",
        as_text(found) if found else "initialised",
        ok=not found,
    )


@check("st-no-gpu-labels", GPU_DEVICES, GPU_DAEMON_SETS, GPU_NODES, IDENTITY)
def no_labels(here: View) -> Result:
    node = gpu_node(here)
    if not gpus(here) or not here[GPU_DAEMON_SETS] or node is None:
        return ok(f"label {PRESENT}", "not needed")
    found = node.labels.get(PRESENT, "")
    return Result(f"label {PRESENT} of {node.name}", "true", as_text(found), ok=found == "true")


@check("st-gpu-operands-init -> st-no-gpu-labels", GPU_NODES, IDENTITY)
def discovered(here: View) -> Result:
    """The operator's label is present, but the labels of GPU feature discovery are not."""
    node = gpu_node(here)
    labels = node.labels if node else {}
    lacks = labels.get(PRESENT) == "true" and "nvidia.com/gpu.product" not in labels
    return Result(
        "labels of GPU feature discovery", "present", "missing" if lacks else "not missing alone", ok=not lacks
    )


@check("st-device-plugin-down", PLUGIN_FILES, GPU_PODS, NODES, IDENTITY)
def plugin_down(here: View) -> Result:
    """Checked where the device plugin has a pod."""
    files = here[PLUGIN_FILES]
    pods = [pod for pod in list_node_pods(here, "device-plugin") if "mps" not in pod.name]
    if files is None or not pods:
        return ok("device plugin", NO_GPU if files is None else "no pod on this node")
    fine = files.plugin > 0 and files.plugin >= files.kubelet
    return Result(
        "device plugin", "registered with the kubelet", "registered" if fine else "not registered", ok=bool(fine)
    )


@check("st-no-gpu-allocatable", GPU_DEVICES, GPU_DAEMON_SETS, GPU_NODES, IDENTITY)
def nothing_allocatable(here: View) -> Result:
    node = gpu_node(here)
    if not gpus(here) or not here[GPU_DAEMON_SETS] or node is None:
        return ok("nvidia.com/gpu", "none yet")
    count, what = node.allocatable + sum(node.slices.values()), f"nvidia.com/gpu of {node.name}"
    if not count and here.spec.gpu.stack == "operator" and node.labels.get(OPERANDS_LABEL) == "false":
        why = f"0: excluded from the operator by label {OPERANDS_LABEL}=false"
        return Result(what, "1 or more", why)
    return Result(what, "1 or more", str(count), ok=bool(count))


CHECKS = (
    not_labelled,
    labeller,
    tainted,
    waits,
    no_nvml,
    lost_devices,
    watchers_left,
    mixed,
    cdi,
    toolkit_first,
    cuda_test,
    operands_init,
    no_labels,
    discovered,
    plugin_down,
    nothing_allocatable,
)

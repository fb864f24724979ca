"""Allocatable GPUs that no ordinary pod gets: those of a node that is cordoned, or has a taint that somebody set.

The kubelet counts them as allocatable, and so do all sums; a pod without a toleration waits for ever.

A RuntimeClass keeps no ordinary pod away. Both stacks hand GPUs out by CDI to pods of containerd's default runtime,
which stays runc: the operator with cdi.enabled, the default of its chart (NVIDIA/gpu-operator v26.7.0,
controllers/object_controls.go, transformToolkitCtrForCDI, transformDevicePluginCtrForCDI), gpustack's device plugin
with DEVICE_LIST_STRATEGY cdi-cri. Only pods of the stacks name the class nvidia. Where it or its handler is missing,
their checks say so: gpu-plugin/objects-applied, gpu-runtime/running, gpu-operator/operands, and the fault
op-nvidia-runtime-handler-missing.
"""

from collections.abc import Sequence
from contextlib import suppress

from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.config.host import NODE
from gpustack.events import format_count
from gpustack.probes.kubernetes.taints import CORDON, find_repelling_taints
from gpustack.steps.gpu.hosts import map_gpu_nodes
from gpustack.steps.own_node import index_nodes
from gpustack.steps.taint import TAINT


def describe_unoffered_gpus(view: View) -> Sequence[str]:
    """Describe the GPUs of each such node; nothing where the nodes are unknown, because checks report that."""
    with suppress(FactUnavailable):
        nodes = view.compute_once(index_nodes)
        gpu_nodes = map_gpu_nodes(view).items()
        taints = {host: nodes[node.machine_id].taints for host, node in gpu_nodes if node.machine_id in nodes}
        counts = {host: node.allocatable + sum(node.slices.values()) for host, node in gpu_nodes}
        return [
            f"{host}: no ordinary pod gets its {format_count(counts[host], 'allocatable GPU')}: {reason}"
            for host in taints
            if counts[host] and (reason := explain_refusal(view.select_host(host), taints[host]))
        ]
    return ()


def explain_refusal(view: View, taints: Sequence[str]) -> str:
    """Explain why a node takes no ordinary pod; empty where it takes them."""
    if any(taint.startswith(f"{CORDON}:") for taint in taints):
        return "the node is cordoned"
    repelling_taints = find_repelling_taints(taints)
    if not repelling_taints:
        return ""
    advice = " (a control plane that is listed in kube_node as well runs pods)"
    is_plane_alone = TAINT in repelling_taints and NODE not in view.host.groups
    return f"taint {', '.join(repelling_taints)}{advice if is_plane_alone else ''}"

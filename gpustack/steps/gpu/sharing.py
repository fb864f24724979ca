"""GPU sharing: whether several pods use one GPU (time-slicing, MPS) or parts of one (MIG), node by node.

One line of the inventory sets it: `gpu.sharing` for all hosts, `gpustack_sharing: time-slicing:4` or `mps:4` for one,
`gpustack_mig: all-1g.10gb` for the MIG layout of one host's GPUs. The node gets the label that the device plugin or the
MIG manager evaluates, and must then offer the resulting GPUs or instances. With a layout that differs between the GPUs
of a host, such as all-balanced, the operator's MIG strategy is `mixed`: instances are then nvidia.com/mig-PROFILE.

With time-slicing all replicas but one of a dead GPU stay allocatable, so the count alone proves nothing: `gpustack
prove` runs a test on each GPU.

Without the operator (`gpu.stack: host`) the step gpu-plugin does the part that is possible: time-slicing.

We have not yet tested MPS and MIG on hardware.

Settings: gpu.sharing, gpustack_sharing, gpustack_mig. Sources: NVIDIA/k8s-device-plugin README; GPU Operator
documentation, gpu-sharing and gpu-operator-mig.
"""

from typing import Any

from gpustack.ask.judge import Result, format_value
from gpustack.ask.view import View
from gpustack.config.host import Host
from gpustack.probes.gpu.cluster import GPU_DAEMON_SETS, GPU_NODES
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.gpu.driver import GPU_DRIVER, GPU_SMI
from gpustack.probes.gpu.packages import GPU_PACKAGES
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.network.addresses import ADDRESS
from gpustack.steps.gpu.hosts import (
    build_hosts_result,
    count_host_gpus,
    count_node_gpus,
    count_shared_gpus,
    find_allocatable_mismatch,
    map_gpu_nodes,
    map_writable_nodes,
    select_sharing,
)
from gpustack.steps.gpu.operator import PLUGIN
from gpustack.steps.gpu.operator_values import NO_SHARING, format_sharing
from gpustack.steps.step import Step

CONFIG, MIG, MIG_STATE = "nvidia.com/device-plugin.config", "nvidia.com/mig.config", "nvidia.com/mig.config.state"
MIG_DISABLED = "all-disabled"


def build_node_labels(view: View, host: Host) -> dict[str, str]:
    """Build the labels of a node by which the device plugin and the MIG manager choose; an empty value means no such
    label."""
    sharing_name = format_sharing(*select_sharing(view, host))
    return {CONFIG: "" if sharing_name == NO_SHARING else sharing_name, MIG: host.spec.gpustack_mig or ""}


def build_variables(view: View) -> dict[str, Any]:
    """Build lines `NODE LABEL VALUE` for the role; the value `-` is none."""
    return {
        "labels": [
            f"{node.name} {label} {value or '-'}"
            for host, node in map_writable_nodes(view).items()
            for label, value in build_node_labels(view, view.select_host(host).host).items()
            if (label, value, node.labels.get(label)) != (MIG, "", MIG_DISABLED)
        ]
    }


def find_mislabelled_hosts(view: View) -> dict[str, str]:
    """Find hosts whose node has other labels, with the labels."""
    nodes, mislabelled_hosts = map_writable_nodes(view), {}
    for host, node in nodes.items():
        differences = [
            f"{label}={node.labels.get(label) or 'none'} instead of {value or 'none'}"
            for label, value in build_node_labels(view, view.select_host(host).host).items()
            # The MIG manager leaves its own word for no layout.
            if node.labels.get(label, "") != value and (label, value, node.labels.get(label)) != (MIG, "", MIG_DISABLED)
        ]
        if differences:
            mislabelled_hosts[host] = format_value(differences)
    return mislabelled_hosts


def labels(view: View) -> Result | None:
    """The nodes each have the labels for the sharing mode of their host, and no others."""
    return build_hosts_result("labels of GPU nodes", "those of the sharing mode", find_mislabelled_hosts(view))


def layout(view: View) -> Result | None:
    """The MIG manager has applied the layout of every node."""
    nodes, actual_states = map_gpu_nodes(view), {}
    for host, node in nodes.items():
        state = node.labels.get(MIG_STATE, "nothing")
        if view.select_host(host).host.spec.gpustack_mig and state != "success":
            actual_states[host] = state
    return build_hosts_result(MIG_STATE, "success", actual_states, passing=True)


def slices(view: View) -> Result | None:
    """A node with a MIG layout offers instances."""
    nodes = map_gpu_nodes(view)
    actual_states = {
        host: "no MIG instance"
        for host in count_host_gpus(view)
        if view.select_host(host).host.spec.gpustack_mig
        and host in nodes
        and not sum(nodes[host].slices.values()) + nodes[host].allocatable
    }
    return build_hosts_result("MIG instances", "allocatable", actual_states, passing=True)


def shares(view: View) -> Result | None:
    """The nodes each have as many allocatable GPUs as their host has for Kubernetes, times the pods that share one. The
    labels of the node set the sharing; a node with fewer than its GPUs is reported by the step gpu-operator."""
    nodes, minimum, mislabelled_hosts = map_gpu_nodes(view), count_node_gpus(view), find_mislabelled_hosts(view)
    offering = {
        host: count for host, count in count_shared_gpus(view).items() if nodes[host].allocatable >= minimum[host]
    }
    expected_counts = {host: count for host, count in offering.items() if host not in mislabelled_hosts}
    return find_allocatable_mismatch(view, "gpu-operator", [PLUGIN], expected_counts)


STEP = Step(
    "gpu-sharing",
    scope="cluster",
    probes=(GPU_NODES, NODES, ADDRESS, IDENTITY, GPU_DEVICES, GPU_DAEMON_SETS, GPU_PACKAGES, GPU_DRIVER, GPU_SMI),
    checks=(labels, layout, slices, shares),
    needs=("gpu-operator",),
    settle_seconds=300,
    pulls=True,
    is_enabled=lambda inventory: inventory.spec.gpu.stack == "operator",
    interrupts="the device plugin is made anew; new pods with GPUs wait for it",
)

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

from gpustack.ask.judge import Result, as_text
from gpustack.ask.view import View
from gpustack.config.host import Host
from gpustack.config.inventory import Inventory
from gpustack.probes.gpu.cluster import GPU_DAEMON_SETS, GPU_NODES
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.gpu.driver import GPU_DRIVER, GPU_SMI
from gpustack.probes.gpu.packages import GPU_PACKAGES
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.network.addresses import ADDRESS
from gpustack.steps.control_plane.step import control_planes
from gpustack.steps.gpu.hosts import (
    allocatable_mismatch,
    expected,
    gpu_nodes,
    on_hosts,
    shared,
    sharing,
    whole,
    writable_nodes,
)
from gpustack.steps.gpu.operator import PLUGIN
from gpustack.steps.gpu.operator_values import WHOLE, key
from gpustack.steps.step import Step

CONFIG, MIG, MIG_STATE = "nvidia.com/device-plugin.config", "nvidia.com/mig.config", "nvidia.com/mig.config.state"
OFF = "all-disabled"


def applies(inventory: Inventory, host: Host) -> bool:
    return inventory.spec.gpu.stack == "operator" and control_planes(inventory, host)


def wanted_labels(here: View, host: Host) -> dict[str, str]:
    """The labels of its node by which the device plugin and the MIG manager choose; empty means no such label."""
    way = key(*sharing(here, host))
    return {CONFIG: "" if way == WHOLE else way, MIG: host.spec.gpustack_mig or ""}


def wanted(here: View) -> dict[str, Any]:
    """Lines `NODE LABEL VALUE` for the role; the value `-` is none."""
    return {
        "labels": [
            f"{node.name} {label} {value or '-'}"
            for host, node in writable_nodes(here).items()
            for label, value in wanted_labels(here, here.on(host).host).items()
            if (label, value, node.labels.get(label)) != (MIG, "", OFF)
        ]
    }


def mislabelled(here: View) -> dict[str, str]:
    """By host."""
    nodes, wrong = writable_nodes(here), {}
    for host, node in nodes.items():
        others = [
            f"{label}={node.labels.get(label) or 'none'} instead of {value or 'none'}"
            for label, value in wanted_labels(here, here.on(host).host).items()
            # The MIG manager leaves its own word for no layout.
            if node.labels.get(label, "") != value and (label, value, node.labels.get(label)) != (MIG, "", OFF)
        ]
        if others:
            wrong[host] = as_text(others)
    return wrong


def labels(here: View) -> Result | None:
    """Each node has the labels for the sharing mode of its host, and no others."""
    return on_hosts("labels of GPU nodes", "those of the sharing mode", mislabelled(here))


def layout(here: View) -> Result | None:
    """The MIG manager has applied the layout of every node."""
    nodes, wrong = gpu_nodes(here), {}
    for host, node in nodes.items():
        state = node.labels.get(MIG_STATE, "nothing")
        if here.on(host).host.spec.gpustack_mig and state != "success":
            wrong[host] = state
    return on_hosts(MIG_STATE, "success", wrong, passing=True)


def slices(here: View) -> Result | None:
    """A node with a MIG layout offers instances."""
    nodes = gpu_nodes(here)
    wrong = {
        host: "no MIG instance"
        for host in expected(here)
        if here.on(host).host.spec.gpustack_mig
        and host in nodes
        and not sum(nodes[host].slices.values()) + nodes[host].allocatable
    }
    return on_hosts("MIG instances", "allocatable", wrong, passing=True)


def shares(here: View) -> Result | None:
    """Each node has as many allocatable GPUs as its host has for Kubernetes, times the pods that share one. The labels
    of the node set the sharing; a node with fewer than its GPUs is reported by the step gpu-operator."""
    nodes, least, wrong = gpu_nodes(here), whole(here), mislabelled(here)
    offering = {host: count for host, count in shared(here).items() if nodes[host].allocatable >= least[host]}
    wanted = {host: count for host, count in offering.items() if host not in wrong}
    return allocatable_mismatch(here, "gpu-operator", [PLUGIN], wanted)


STEP = Step(
    "gpu-sharing",
    scope="cluster",
    probes=(GPU_NODES, NODES, ADDRESS, IDENTITY, GPU_DEVICES, GPU_DAEMON_SETS, GPU_PACKAGES, GPU_DRIVER, GPU_SMI),
    checks=(labels, layout, slices, shares),
    needs=("gpu-operator",),
    settle=300,
    pulls=True,
    applies=applies,
    interrupts="the device plugin is made anew; new pods with GPUs wait for it",
)

"""Tolerations of what serves the GPUs of a node, so that no taint of the inventory takes them away."""

from collections.abc import Iterable
from typing import Any

from gpustack.config.host import Host
from gpustack.config.node_marks import split_taint
from gpustack.probes.kubernetes.taints import GPU_TAINT

CONTROL_PLANE_TAINT = "node-role.kubernetes.io/control-plane"


def build_tolerations(hosts: Iterable[Host]) -> list[dict[str, Any]]:
    """Build the tolerations of DaemonSets: the taints of GPU nodes and control planes, and those that the inventory
    gives hosts."""
    keys = [GPU_TAINT, CONTROL_PLANE_TAINT, *list_taint_keys(hosts)]
    return [{"key": key, "operator": "Exists", "effect": "NoSchedule"} for key in dict.fromkeys(keys)]


def list_taint_keys(hosts: Iterable[Host]) -> list[str]:
    """List the keys of the taints of hosts that keep pods away."""
    taints = (split_taint(taint) for host in hosts for taint in host.spec.gpustack_taints)
    return sorted({key for key, _, effect in taints if effect == "NoSchedule"})

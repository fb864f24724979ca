"""Tolerations of what serves the GPUs of a node and of the platform, so that neither a taint of the inventory nor the
gate takes them away."""

from typing import Any

from gpustack.ask.view import View
from gpustack.config.node_marks import split_taint
from gpustack.config.spec import Spec
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.kubernetes.taints import GATE, GATE_TAINT, GATE_TOLERATION, GPU_TAINT

CONTROL_PLANE_TAINT = "node-role.kubernetes.io/control-plane"


def build_tolerations(view: View) -> list[dict[str, Any]]:
    """Build the tolerations of DaemonSets: the taints of GPU nodes and control planes, those that the inventory gives
    hosts, and the gate where the spec or a node has one."""
    keys = [GPU_TAINT, CONTROL_PLANE_TAINT, *list_further_keys(view)]
    return [{"key": key, "operator": "Exists", "effect": "NoSchedule"} for key in dict.fromkeys(keys)]


def list_further_keys(view: View) -> list[str]:
    """List the keys of the taints of hosts that keep pods away, and that of the gate."""
    taints = (split_taint(taint) for host in view.hosts for taint in host.spec.gpustack_taints)
    keys = {key for key, _, effect in taints if effect == "NoSchedule"}
    return sorted(keys | ({GATE_TAINT} if view.spec.gpu.gate or has_gate(view) else set()))


def has_gate(view: View) -> bool:
    """Tell whether a node is known to be behind the gate: what serves its GPUs is needed to prove them, whatever the
    spec says since."""
    return any(GATE in node.taints for node in view[NODES])


def build_platform_tolerations(spec: Spec) -> list[dict[str, Any]]:
    """Build the tolerations of what a proof needs, and of the other pods without a GPU that steps wait for: where every
    worker has GPUs, they run behind the gate, and an installation ends before a proof. Empty without a gate."""
    return [dict(GATE_TOLERATION)] if spec.gpu.gate else []

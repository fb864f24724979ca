"""The gate of a node, which gpustack closes before it reboots the host or resets GPUs."""

from datetime import UTC, datetime

from gpustack.config.host import Host
from gpustack.config.spec import Spec
from gpustack.nodes.cordon import build_patch_command
from gpustack.probes.kubernetes.gate import Cause, add_gate
from gpustack.probes.kubernetes.node_records import NodeRecord


def needs_gate(spec: Spec, host: Host) -> bool:
    """Tell whether the node of a host gets a gate. Pods that every cluster needs run on control planes, also before
    anything is proven."""
    return spec.gpu.gate and not host.control_plane


def build_gate_command(node: NodeRecord, cause: Cause) -> str:
    """Build the command that closes the gate of a node of this version, or changes its cause. Its other taints stay."""
    return build_patch_command(node, {}, {"taints": add_gate(node.taints, cause, datetime.now(UTC))})

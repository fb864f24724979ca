"""Taints of nodes, as an ordinary pod that requests a GPU meets them.

Such a pod has a limit of nvidia.com/gpu and no toleration but that of the taint of the same name, by which nodes with
GPUs keep other pods away: NVIDIA's charts tolerate it, and the admission plugin ExtendedResourceToleration adds it to
each pod that requests the resource (https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers).
"""

from collections.abc import Iterable
from typing import Any

GPU_TAINT = "nvidia.com/gpu"
GATE_TAINT = "gpustack.io/unproven"
"""The taint of gpustack on a node whose GPUs are to be proven before ordinary pods come."""
GATE = f"{GATE_TAINT}:NoSchedule"
"""This taint as the nodes have it."""
CORDON = "node.kubernetes.io/unschedulable"
LIFECYCLE = "node.kubernetes.io/"
"""The beginning of the taints by which Kubernetes itself marks a node that is not ready, or short of something."""
REPELLING_EFFECTS = ("NoSchedule", "NoExecute")
USER_TOLERATIONS = ({"key": GPU_TAINT, "operator": "Exists", "effect": "NoSchedule"},)
GATE_TOLERATION = {"key": GATE_TAINT, "operator": "Exists", "effect": "NoSchedule"}
CORDON_TOLERATION = {"key": CORDON, "operator": "Exists", "effect": "NoSchedule"}


def format_taint(taint: Any) -> str:
    """Format a taint of the API as `key:effect`."""
    return f"{taint['key']}:{taint['effect']}"


def find_repelling_taints(taints: Iterable[str]) -> tuple[str, ...]:
    """Find the taints (`key:effect`) that somebody set and that keep ordinary pods with GPUs away."""
    return tuple(taint for taint in taints if is_repelling(*taint.rsplit(":", 1)))


def is_repelling(key: str, effect: str) -> bool:
    is_tolerated = key == GPU_TAINT and effect == "NoSchedule"
    return effect in REPELLING_EFFECTS and not is_tolerated and not key.startswith(LIFECYCLE)

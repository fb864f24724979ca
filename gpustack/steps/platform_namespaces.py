"""Namespaces of the platform. Objects in other namespaces belong to users."""

from collections.abc import Sequence

from gpustack.ask.view import View
from gpustack.probes.kubernetes.namespaces import NAMESPACES

# Reserved for Kubernetes: https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces
RESERVED_PREFIX = "kube-"


def list_platform_namespaces(view: View) -> frozenset[str]:
    spec = view.spec
    scaling = {spec.autoscaling.namespace} if spec.autoscaling.enabled else set[str]()
    fixed_namespaces = {
        "kube-system",
        "kube-flannel",
        "local-path-storage",
        spec.monitoring.namespace,
        spec.gpu.namespace,
    }
    return frozenset(fixed_namespaces | scaling)


def list_user_namespaces(view: View) -> Sequence[str]:
    """List the namespaces for users, without those that are being deleted."""
    platform_namespaces = list_platform_namespaces(view)
    return sorted(
        name
        for name, (phase, _) in view[NAMESPACES].items()
        if phase == "Active" and name not in platform_namespaces and not name.startswith(RESERVED_PREFIX)
    )

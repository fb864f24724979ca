"""Namespaces of the platform. Objects in other namespaces belong to users."""

from gpustack.ask.view import View


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

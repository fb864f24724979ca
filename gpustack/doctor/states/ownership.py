"""Pods of the platform, told from those of users in the same namespaces by the labels that the programs which create
them set.

Static pods: kubeadm (cmd/kubeadm/app/util/staticpod). kube-proxy and CoreDNS: kubeadm (cmd/kubeadm/app/phases/addons).
Flannel and local-path-provisioner: their manifests. Charts: app.kubernetes.io/instance is the release. Prometheus and
Alertmanager: prometheus-operator (pkg/operator). Operands: gpu-operator (assets).
"""

from collections.abc import Mapping

from gpustack.ask.view import View
from gpustack.config.spec import Spec
from gpustack.probes.kubernetes.pod_states import PodState

INSTANCE, MANAGED_BY = "app.kubernetes.io/instance", "app.kubernetes.io/managed-by"
ADDON_LABELS = {("k8s-app", "kube-proxy"), ("k8s-app", "kube-dns"), ("tier", "control-plane")}
OPERAND_PREFIXES = ("nvidia-", "gpu-feature-discovery")
"""The beginnings of the label app of the pods that the GPU operator and its validator create."""


def is_platform_pod(view: View, pod: PodState) -> bool:
    return is_platform_label_set(view.spec, pod.namespace, pod.labels)


def is_platform_label_set(spec: Spec, namespace: str, labels: Mapping[str, str]) -> bool:
    """Tell whether a pod of this namespace with these labels belongs to the platform."""
    app, instance, manager = (labels.get(name, "") for name in ("app", INSTANCE, MANAGED_BY))
    if namespace == "kube-system":
        return any(label in ADDON_LABELS for label in labels.items())
    if namespace == "kube-flannel":
        return app == "flannel"
    if namespace == "local-path-storage":
        return app == "local-path-provisioner"
    if namespace == spec.gpu.namespace and (manager == "gpustack" or app.startswith(OPERAND_PREFIXES)):
        return True
    if namespace == spec.monitoring.namespace and manager == "prometheus-operator":
        return instance.startswith(f"{spec.monitoring.release}-")
    return bool(instance) and (namespace, instance) in list_releases(spec)


def list_releases(spec: Spec) -> set[tuple[str, str]]:
    """List the namespaces and names of the Helm releases of gpustack."""
    releases = {(spec.monitoring.namespace, spec.monitoring.release), (spec.gpu.namespace, spec.gpu.release)}
    if spec.autoscaling.enabled:
        releases.add((spec.autoscaling.namespace, spec.autoscaling.release))
    return releases

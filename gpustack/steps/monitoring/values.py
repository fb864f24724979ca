"""The values for the chart kube-prometheus-stack: gpustack's < those that follow from the spec < the operator's."""

from typing import Any

from gpustack.ask.view import View
from gpustack.config.inventory import Inventory
from gpustack.config.spec import Spec
from gpustack.probes.monitoring.grafana_rights import ROLE
from gpustack.steps.chart_values import merge_values, read_own_values
from gpustack.steps.monitoring.receiver import build_alertmanager_values
from gpustack.steps.release import Release
from gpustack.steps.tolerations import build_platform_tolerations

CHART = "kube-prometheus-stack"
GRAFANA_SIZE = "1Gi"
PORT = 9090  # of Prometheus' Service, where the chart's values have no other
# Of a kubeadm cluster, with kubernetes.metrics_bind 127.0.0.1 out of Prometheus' reach.
CONTROL_PLANE = ("kubeEtcd", "kubeScheduler", "kubeControllerManager", "kubeProxy")
# What Grafana's sidecars read: dashboards and data sources, in all namespaces.
GRAFANA_RESOURCES, READ_VERBS = ("configmaps",), ("get", "list", "watch")
MIB = {"Mi": 1, "Gi": 1024, "Ti": 1024 * 1024}
NODE_LABELS = ("nvidia.com/gpu.deploy.operands", "nvidia.com/gpu.present", "nvidia.com/gpu.sharing-strategy")
RULES = {
    "kubeEtcd": "etcd",
    "kubeScheduler": "kubeSchedulerAlerting",
    "kubeControllerManager": "kubeControllerManager",
    "kubeProxy": "kubeProxy",
}


def needs_release(view: View) -> bool:
    return view.spec.monitoring.enabled


def build_release(view: View) -> Release:
    monitoring = view.spec.monitoring
    values = build_chart_values(view.snapshot.inventory)
    return Release(monitoring.release, monitoring.namespace, CHART, values, privileged=True)


def build_chart_values(inventory: Inventory) -> dict[str, Any]:
    spec = inventory.spec
    operator_values = inventory.values.get(spec.monitoring.release, {})
    return add_cluster_role(
        spec,
        merge_values(
            read_own_values("monitoring"),
            compute_values(spec),
            compute_tolerations(spec),
            {"alertmanager": build_alertmanager_values(inventory)},
            operator_values,
        ),
    )


def compute_tolerations(spec: Spec) -> dict[str, Any]:
    """Compute the tolerations of what a proof asks, where the spec has a gate."""
    if not (tolerations := build_platform_tolerations(spec)):
        return {}
    part = {"tolerations": tolerations}
    return {
        "prometheus": {"prometheusSpec": part},
        "alertmanager": {"alertmanagerSpec": part},
        **dict.fromkeys(("prometheusOperator", "grafana", "kube-state-metrics"), part),
    }


def add_cluster_role(spec: Spec, values: dict[str, Any]) -> dict[str, Any]:
    """Add the ClusterRole of Grafana's sidecars to the objects of the release. The chart's own one includes Secrets. It
    keeps that one's name, so that the release changes it in place: the role of a ClusterRoleBinding is immutable."""
    manifests = values.get("extraManifests") or []
    if not values["grafana"].get("enabled", True):
        return values
    rule = {"apiGroups": [""], "resources": list(GRAFANA_RESOURCES), "verbs": list(READ_VERBS)}
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": format_role_name(spec)},
        "rules": [rule],
    }
    return values | {"extraManifests": [*(manifests.values() if isinstance(manifests, dict) else manifests), role]}


def format_role_name(spec: Spec) -> str:
    """Format the name of the ClusterRole of Grafana's sidecars."""
    return f"{spec.monitoring.release}-{ROLE}"


def format_prometheus_name(spec: Spec) -> str:
    """Format the name of the Prometheus object, which is that of its Service."""
    return f"{spec.monitoring.release}-prometheus"


def format_prometheus_url(inventory: Inventory) -> str:
    """Format the address of Prometheus inside the cluster."""
    port = build_chart_values(inventory)["prometheus"].get("service", {}).get("port", PORT)
    return f"http://{format_prometheus_name(inventory.spec)}.{inventory.spec.monitoring.namespace}.svc:{port}"


def compute_values(spec: Spec) -> dict[str, Any]:
    monitoring = spec.monitoring
    prometheus: dict[str, Any] = {
        "retention": monitoring.retention,
        "retentionSize": format_size_limit(spec),
        "externalLabels": {"cluster": spec.cluster_name, **monitoring.external_labels},
        "scrapeInterval": monitoring.scrape_interval,
        "resources": {"requests": {"memory": monitoring.memory}},
    }
    alertmanager: dict[str, Any] = {}
    if monitoring.persistence.enabled:
        prometheus["storageSpec"] = build_volume_claim(spec, monitoring.persistence.size)
        alertmanager["storage"] = build_volume_claim(spec, "1Gi")
    values: dict[str, Any] = {
        "fullnameOverride": monitoring.release,
        "prometheus": {"prometheusSpec": prometheus, **build_prometheus_access(spec)},
        "alertmanager": {"alertmanagerSpec": alertmanager},
        "prometheus-node-exporter": {
            "service": {"port": monitoring.node_exporter_port, "targetPort": monitoring.node_exporter_port}
        },
        "kube-state-metrics": {"metricLabelsAllowlist": list_allowed_labels(spec)},
        "grafana": {
            "fullnameOverride": f"{monitoring.release}-grafana",
            "rbac": {"useExistingClusterRole": format_role_name(spec)},
            **build_grafana_access(spec),
            **build_grafana_volume(spec),
        },
    }
    if spec.kubernetes.metrics_bind == "127.0.0.1":
        values |= {part: {"enabled": False} for part in CONTROL_PLANE}
        values["defaultRules"] = {"rules": dict.fromkeys(RULES.values(), False)}
    return values


def list_allowed_labels(spec: Spec) -> list[str]:
    """List the labels that kube-state-metrics exports: of nodes, the GPUs that they should offer and how; pools and
    teams."""
    nodes = [*NODE_LABELS, *filter(None, (spec.capacity.pool_label,))]
    team = spec.capacity.team_label
    return [f"nodes=[{','.join(nodes)}]", f"pods=[{team}]", f"namespaces=[{team}]"]


def format_size_limit(spec: Spec) -> str:
    """Format the size beyond which Prometheus deletes its oldest data. It counts in powers of two, and needs the rest
    of a volume for what it writes at the moment
    (https://prometheus.io/docs/prometheus/latest/storage/#right-sizing-retention-size). The limit is the same without a
    volume: else the disk of the node would fill."""
    monitoring = spec.monitoring
    number, unit = monitoring.persistence.size[:-2], monitoring.persistence.size[-2:]
    return monitoring.retention_size or f"{int(number) * MIB[unit] * 85 // 100}MB"


def describe_lost_history(view: View) -> str:
    """Describe what is lost where Prometheus has no volume; empty where it has one, or is not gpustack's."""
    if not needs_release(view) or view.spec.monitoring.persistence.enabled:
        return ""
    prometheus = build_release(view).values["prometheus"]["prometheusSpec"]
    if prometheus.get("storageSpec"):
        return ""
    return (
        f"Prometheus keeps its data in its pod, {prometheus['retention']} or {prometheus['retentionSize']} of it: lost "
        "whenever the pod restarts (monitoring.persistence.enabled is false)"
    )


def build_prometheus_access(spec: Spec) -> dict[str, Any]:
    port = spec.monitoring.access.prometheus_node_port
    return {"service": {"type": "NodePort", "nodePort": port}} if port else {}


def build_volume_claim(spec: Spec, size: str) -> dict[str, Any]:
    """Build a volume claim template, of the given class or of the cluster's default."""
    claim: dict[str, Any] = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    if spec.monitoring.persistence.storage_class:
        claim["storageClassName"] = spec.monitoring.persistence.storage_class
    return {"volumeClaimTemplate": {"spec": claim}}


def build_grafana_volume(spec: Spec) -> dict[str, Any]:
    """Build the values of a volume for what people make in Grafana. Its database is SQLite, so the old pod ends before
    the new one starts; type Recreate could not be set where the Deployment rolled before. The volume belongs to
    Grafana's group, without a container that runs as root."""
    persistence = spec.monitoring.persistence
    if not persistence.grafana:
        return {}
    volume = {"enabled": True, "size": GRAFANA_SIZE}
    if persistence.storage_class:
        volume["storageClassName"] = persistence.storage_class
    return {
        "persistence": volume,
        "initChownData": {"enabled": False},
        "deploymentStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
    }


def build_grafana_access(spec: Spec) -> dict[str, Any]:
    """Build the values by which Grafana is reached from outside."""
    settings = spec.monitoring.access
    if settings.type == "node-port":
        return {"service": {"type": "NodePort", "nodePort": settings.node_port}}
    if settings.type == "ingress":
        ingress: dict[str, Any] = {"enabled": True, "hosts": [settings.host]}
        return {"ingress": ingress | ({"ingressClassName": settings.ingress_class} if settings.ingress_class else {})}
    return {}

"""The values for the chart kube-prometheus-stack: ours < those that follow from the spec < the operator's."""

from typing import Any

from gpustack.ask.view import View
from gpustack.config.inventory import Inventory
from gpustack.config.spec import Spec
from gpustack.config.values import merged, ours
from gpustack.probes.monitoring.grafana_rights import ROLE
from gpustack.steps.monitoring.receiver import alertmanager
from gpustack.steps.release import Release

CHART = "kube-prometheus-stack"
PORT = 9090  # of Prometheus' Service, where the chart's values have no other
# Of a kubeadm cluster, with kubernetes.metrics_bind 127.0.0.1 out of Prometheus' reach.
CONTROL_PLANE = ("kubeEtcd", "kubeScheduler", "kubeControllerManager", "kubeProxy")
# What Grafana's sidecars read: dashboards and data sources, in all namespaces.
GRAFANA_READS, READ = ("configmaps",), ("get", "list", "watch")
MIB = {"Mi": 1, "Gi": 1024, "Ti": 1024 * 1024}
NODE_LABELS = ("nvidia.com/gpu.present", "nvidia.com/gpu.sharing-strategy")
RULES = {
    "kubeEtcd": "etcd",
    "kubeScheduler": "kubeSchedulerAlerting",
    "kubeControllerManager": "kubeControllerManager",
    "kubeProxy": "kubeProxy",
}


def wanted(here: View) -> bool:
    return here.spec.monitoring.enabled


def release(here: View) -> Release:
    monitoring = here.spec.monitoring
    values = chart_values(here.snapshot.inventory)
    return Release(monitoring.release, monitoring.namespace, CHART, values, privileged=True)


def chart_values(inventory: Inventory) -> dict[str, Any]:
    spec = inventory.spec
    theirs = inventory.values.get(spec.monitoring.release, {})
    return with_rights(spec, merged(ours("monitoring"), computed(spec), {"alertmanager": alertmanager(spec)}, theirs))


def with_rights(spec: Spec, values: dict[str, Any]) -> dict[str, Any]:
    """Add the ClusterRole of Grafana's sidecars to the objects of the release. The chart's own one includes Secrets.
    It keeps that one's name, so that the release changes it in place: the role of a ClusterRoleBinding is immutable."""
    further = values.get("extraManifests") or []
    if not values["grafana"].get("enabled", True):
        return values
    rule = {"apiGroups": [""], "resources": list(GRAFANA_READS), "verbs": list(READ)}
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": grafana_role(spec)},
        "rules": [rule],
    }
    return values | {"extraManifests": [*(further.values() if isinstance(further, dict) else further), role]}


def grafana_role(spec: Spec) -> str:
    """Name the ClusterRole of Grafana's sidecars."""
    return f"{spec.monitoring.release}-{ROLE}"


def prometheus_name(spec: Spec) -> str:
    """Of the Prometheus object, and of its Service."""
    return f"{spec.monitoring.release}-prometheus"


def prometheus_url(inventory: Inventory) -> str:
    """Its address inside the cluster."""
    port = chart_values(inventory)["prometheus"].get("service", {}).get("port", PORT)
    return f"http://{prometheus_name(inventory.spec)}.{inventory.spec.monitoring.namespace}.svc:{port}"


def computed(spec: Spec) -> dict[str, Any]:
    monitoring = spec.monitoring
    prometheus: dict[str, Any] = {
        "retention": monitoring.retention,
        "retentionSize": size_limit(spec),
        "externalLabels": {"cluster": spec.cluster_name, **monitoring.external_labels},
        "scrapeInterval": monitoring.scrape_interval,
        "resources": {"requests": {"memory": monitoring.memory}},
    }
    alertmanager: dict[str, Any] = {}
    if monitoring.persistence.enabled:
        prometheus["storageSpec"] = volume(spec, monitoring.persistence.size)
        alertmanager["storage"] = volume(spec, "1Gi")
    values: dict[str, Any] = {
        "fullnameOverride": monitoring.release,
        "prometheus": {"prometheusSpec": prometheus, **prometheus_access(spec)},
        "alertmanager": {"alertmanagerSpec": alertmanager},
        "prometheus-node-exporter": {
            "service": {"port": monitoring.node_exporter_port, "targetPort": monitoring.node_exporter_port}
        },
        "kube-state-metrics": {"metricLabelsAllowlist": allowed_labels(spec)},
        "grafana": {
            "fullnameOverride": f"{monitoring.release}-grafana",
            "rbac": {"useExistingClusterRole": grafana_role(spec)},
            **access(spec),
        },
    }
    if spec.kubernetes.metrics_bind == "127.0.0.1":
        values |= {part: {"enabled": False} for part in CONTROL_PLANE}
        values["defaultRules"] = {"rules": dict.fromkeys(RULES.values(), False)}
    return values


def allowed_labels(spec: Spec) -> list[str]:
    """Labels that kube-state-metrics exports: of nodes, what GPUs they should offer and how; pools and teams."""
    nodes = [*NODE_LABELS, *filter(None, (spec.capacity.pool_label,))]
    team = spec.capacity.team_label
    return [f"nodes=[{','.join(nodes)}]", f"pods=[{team}]", f"namespaces=[{team}]"]


def size_limit(spec: Spec) -> str:
    """Prometheus deletes its oldest data beyond it. It counts in powers of two, and needs the rest of a volume for what
    it writes at the moment (https://prometheus.io/docs/prometheus/latest/storage/#right-sizing-retention-size). The
    same without a volume: else the disk of the node would fill."""
    monitoring = spec.monitoring
    number, unit = monitoring.persistence.size[:-2], monitoring.persistence.size[-2:]
    return monitoring.retention_size or f"{int(number) * MIB[unit] * 85 // 100}MB"


def lost_history(here: View) -> str:
    """What there is to know where Prometheus has no volume; empty where it has one, or is not ours."""
    if not wanted(here) or here.spec.monitoring.persistence.enabled:
        return ""
    prometheus = release(here).values["prometheus"]["prometheusSpec"]
    if prometheus.get("storageSpec"):
        return ""
    return (
        f"Prometheus keeps its data in its pod, {prometheus['retention']} or {prometheus['retentionSize']} of it: lost "
        "whenever the pod restarts (monitoring.persistence.enabled is false)"
    )


def prometheus_access(spec: Spec) -> dict[str, Any]:
    port = spec.monitoring.access.prometheus_node_port
    return {"service": {"type": "NodePort", "nodePort": port}} if port else {}


def volume(spec: Spec, size: str) -> dict[str, Any]:
    """A volume claim template, of the given class or of the cluster's default."""
    claim: dict[str, Any] = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    if spec.monitoring.persistence.storage_class:
        claim["storageClassName"] = spec.monitoring.persistence.storage_class
    return {"volumeClaimTemplate": {"spec": claim}}


def access(spec: Spec) -> dict[str, Any]:
    """How Grafana is reached from outside."""
    settings = spec.monitoring.access
    if settings.type == "node-port":
        return {"service": {"type": "NodePort", "nodePort": settings.node_port}}
    if settings.type == "ingress":
        ingress: dict[str, Any] = {"enabled": True, "hosts": [settings.host]}
        return {"ingress": ingress | ({"ingressClassName": settings.ingress_class} if settings.ingress_class else {})}
    return {}

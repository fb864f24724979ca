"""The values for the chart kube-prometheus-stack: ours < those that follow from the spec < the operator's."""

from typing import Any

from gpustack.ask.view import View
from gpustack.config.spec import Spec
from gpustack.config.values import merged, ours
from gpustack.steps.monitoring.receiver import alertmanager
from gpustack.steps.release import Release

CHART = "kube-prometheus-stack"
# Of a kubeadm cluster, with kubernetes.metrics_bind 127.0.0.1 out of Prometheus' reach.
CONTROL_PLANE = ("kubeEtcd", "kubeScheduler", "kubeControllerManager", "kubeProxy")
RULES = {
    "kubeEtcd": "etcd",
    "kubeScheduler": "kubeSchedulerAlerting",
    "kubeControllerManager": "kubeControllerManager",
    "kubeProxy": "kubeProxy",
}


def wanted(here: View) -> bool:
    return here.spec.monitoring.enabled


def release(here: View) -> Release:
    spec = here.spec
    name = spec.monitoring.release
    theirs = here.snapshot.inventory.values.get(name, {})
    values = merged(ours("monitoring"), computed(spec), {"alertmanager": alertmanager(spec)}, theirs)
    return Release(name, spec.monitoring.namespace, CHART, values, privileged=True)


def computed(spec: Spec) -> dict[str, Any]:
    monitoring = spec.monitoring
    prometheus: dict[str, Any] = {
        "retention": monitoring.retention,
        "retentionSize": monitoring.retention_size,
        "scrapeInterval": monitoring.scrape_interval,
        "resources": {"requests": {"memory": monitoring.memory}},
    }
    alertmanager: dict[str, Any] = {}
    if monitoring.persistence.enabled:
        prometheus["storageSpec"] = volume(spec, monitoring.persistence.size)
        alertmanager["storage"] = volume(spec, "1Gi")
    values: dict[str, Any] = {
        "fullnameOverride": monitoring.release,
        "prometheus": {"prometheusSpec": prometheus},
        "alertmanager": {"alertmanagerSpec": alertmanager},
        "prometheus-node-exporter": {
            "service": {"port": monitoring.node_exporter_port, "targetPort": monitoring.node_exporter_port}
        },
        "grafana": {"fullnameOverride": f"{monitoring.release}-grafana", **access(spec)},
    }
    if spec.kubernetes.metrics_bind == "127.0.0.1":
        values |= {part: {"enabled": False} for part in CONTROL_PLANE}
        values["defaultRules"] = {"rules": dict.fromkeys(RULES.values(), False)}
    return values


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

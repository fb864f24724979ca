"""Monitoring: Prometheus, Alertmanager, Grafana, node-exporter and kube-state-metrics, by the chart
kube-prometheus-stack.

The CRDs of the operator are applied first, server-side (Helm never upgrades CRDs); newer ones in the cluster stay.
Prometheus selects all monitors and rules, not only those with the label of this release. The components that kubeadm
binds to 127.0.0.1 only were opened when the cluster was created (kubernetes.metrics_bind), and the step `firewall`
restricts them to nodes and pods; so all targets are up, and no alert fires except Watchdog, which always fires.

The step is ready when Prometheus says so, not Helm: the objects are reconciled, and every target responds. Put your own
values into values/<release>.yaml next to the inventory; a key that the chart does not know is rejected, because Helm
would ignore it.

The spec defines the receivers of alerts; their secrets are in files on this machine and become a Secret in the
cluster, which Alertmanager reads as files. It reaches them through the proxy of the spec, if it has one.
Grafana gets one data source, with the uid that the dashboards use.

Settings: monitoring, alerts.receivers, proxy. Sources: kube-prometheus-stack 88.5.3, its README and values.
"""

from collections.abc import Mapping

from gpustack.ask.judge import Result, build_ok_result, expect, format_value
from gpustack.ask.view import View
from gpustack.command import Command, Prose
from gpustack.config.dashboards.json_model import DATA_SOURCE
from gpustack.config.sections.receiver import NULL_RECEIVER, locate_secret
from gpustack.config.versions import parse_minor
from gpustack.probes.helm import RELEASES
from gpustack.probes.kubernetes.namespaces import NAMESPACES
from gpustack.probes.kubernetes.pod_egress import POD_EGRESS
from gpustack.probes.kubernetes.workloads import MONITORING_DAEMON_SETS, MONITORING_DEPLOYMENTS
from gpustack.probes.monitoring.alerting import RECEIVERS, SECRETS
from gpustack.probes.monitoring.grafana import DATA_SOURCES
from gpustack.probes.monitoring.grafana_rights import GRAFANA_RULES
from gpustack.probes.monitoring.workloads import (
    ALERTMANAGERS,
    DEFINITIONS,
    GROUP,
    PROMETHEUSES,
    SAMPLE_RATE,
    TARGETS,
    CustomResource,
)
from gpustack.probes.network.addresses import LISTENERS
from gpustack.steps.egress_files import find_object_mismatch
from gpustack.steps.kubernetes.versions import parse_version
from gpustack.steps.monitoring.values import (
    CONTROL_PLANE,
    GRAFANA_RESOURCES,
    READ_VERBS,
    build_release,
    format_prometheus_name,
    format_role_name,
)  # fmt: skip
from gpustack.steps.release import find_release, find_release_mismatch
from gpustack.steps.step import Step
from gpustack.steps.workloads import find_stopped_workloads

KINDS = (
    "alertmanagerconfigs", "alertmanagers", "podmonitors", "probes", "prometheusagents", "prometheuses",
    "prometheusrules", "scrapeconfigs", "servicemonitors", "thanosrulers",
)  # fmt: skip
EXPORTER = "node_exporter"
JOBS = {
    "kubeEtcd": "kube-etcd",
    "kubeScheduler": "kube-scheduler",
    "kubeControllerManager": "kube-controller-manager",
    "kubeProxy": "kube-proxy",
}


def port(view: View) -> Result | None:
    """The port of node-exporter is free on every host, or used by gpustack's node-exporter."""
    expected_port = view.spec.monitoring.node_exporter_port
    managed_processes = {EXPORTER} if find_release(view, build_release(view)) else set()
    foreign_processes = {}
    for host in view.hosts:
        host_view = view.select_host(host.name)
        listeners = host_view[LISTENERS] if host_view.reached and host_view.has_fact(LISTENERS) else ()
        if (
            foreign_users := {
                listener.process
                for listener in listeners
                if (listener.protocol, listener.port) == ("tcp", expected_port)
            }
            - managed_processes
        ):
            foreign_processes[host.name] = format_value(foreign_users)
    if not foreign_processes:
        return None
    actual = ", ".join(f"{name} on {host}" for host, name in foreign_processes.items())
    hint = Prose(
        "stop it there, or set monitoring.node_exporter_port of the spec to another port than {}", str(expected_port)
    )
    return Result(f"port {expected_port} of the hosts", "free for node-exporter", actual, cure="operator", hint=hint)


def definitions(view: View) -> Result | None:
    """The API server has the ten CRDs of the Prometheus operator, in the version of the chart's operator or newer.

    A patch version of the operator does not change them, so only the minor version is compared. Newer ones belong to
    another Prometheus operator and are never replaced by older ones.
    """
    subject, actual = "CRDs of the Prometheus operator", view[DEFINITIONS]
    expected = parse_minor(view.versions.components["prometheus-operator"])
    if missing_kinds := [kind for kind in KINDS if f"{kind}.{GROUP}" not in actual]:
        return Result(subject, "all ten", f"no {format_value(missing_kinds)}")
    versions = {parse_minor(actual[f"{kind}.{GROUP}"]) or "no version" for kind in KINDS}
    if any(parse_version(version) < parse_version(expected) for version in versions):
        return Result(subject, expected, format_value(versions), fault="mon-crd-stale")
    newer_versions = versions - {expected}
    if newer_versions:
        return build_ok_result(
            subject, f"{format_value(newer_versions)}, newer than {expected}: they are left as they are"
        )
    return None


def chart(view: View) -> Result | None:
    """The Helm release is deployed, with the chart of the version set and the values of the spec."""
    return find_release_mismatch(view, build_release(view))


def receiver_secrets(view: View) -> Result | None:
    """The Secrets that Alertmanager reads have the content of the receivers' files on this machine; those that the spec
    names have their keys."""
    named_receivers = view.spec.alerts.receivers.name_receivers()
    if not any(locate_secret(name, receiver) for name, receiver in named_receivers.items()):
        return None
    secret_states = view[SECRETS]
    missing_secrets = [
        f"no {receiver.secret}"
        for name, receiver in named_receivers.items()
        if receiver.secret and secret_states.get(name) == "none"
    ]
    if missing_secrets:
        listing = Command("kubectl", "-n", view.spec.monitoring.namespace, "get", "secrets")
        hint = Prose("{}; then correct alerts.receivers", listing)
        return Result(
            "Secrets of the receivers",
            "those of alerts.receivers",
            format_value(missing_secrets),
            "operator",
            hint=hint,
        )
    wrong_secrets = [
        name for name, receiver in named_receivers.items() if receiver.secret_file and secret_states.get(name) != "same"
    ]
    if not wrong_secrets:
        return None
    actual = [f"{name} {'different' if secret_states.get(name) == 'other' else 'none'}" for name in wrong_secrets]
    return Result("Secrets of the receivers", "those of their files", format_value(actual))


def alertmanager_egress(view: View) -> Result | None:
    """Alertmanager can reach its receivers: the cluster has the login of the proxy and the CAs of the spec, if it has
    any."""
    return find_object_mismatch(view, "monitoring")


def receivers(view: View) -> Result | None:
    """Alertmanager has the receivers of the spec."""
    expected_names = list(view.spec.alerts.receivers.name_receivers()) or [NULL_RECEIVER]
    actual_names = view[RECEIVERS]
    if set(expected_names) <= set(actual_names):
        return None
    return Result("receivers of Alertmanager", format_value(expected_names), format_value(actual_names))


def data_source(view: View) -> Result | None:
    """Grafana has one data source with the uid that the dashboards use."""
    count = sum(source.uid == DATA_SOURCE for source in view[DATA_SOURCES])
    hint = Prose(
        "grafana.sidecar.datasources.uid of values/<release>.yaml has another value, or a second source has this uid"
    )
    return expect(f"data sources with uid {DATA_SOURCE}", 1, count, "operator" if count else "install", hint=hint)


def grafana_rules(view: View) -> Result | None:
    """Grafana may read ConfigMaps of all namespaces, and nothing else: no Secret."""
    values = build_release(view).values["grafana"]
    rbac = values.get("rbac", {})
    is_named = rbac.get("useExistingClusterRole") == format_role_name(view.spec) and not rbac.get("namespaced")
    if not (is_named and values.get("enabled", True)):
        return None
    expected = tuple(f"{verb} {resource}" for verb in READ_VERBS for resource in GRAFANA_RESOURCES)
    actual = view[GRAFANA_RULES]
    if actual is None:
        return Result(f"ClusterRole {format_role_name(view.spec)}", format_value(expected), "nothing")
    return expect(f"ClusterRole {format_role_name(view.spec)}", format_value(set(expected)), format_value(set(actual)))


def namespace(view: View) -> Result | None:
    """The namespace does not forbid node-exporter's pods; a missing one is created, and a level that is set stays."""
    name = view.spec.monitoring.namespace
    phase, level = view[NAMESPACES].get(name, ("", ""))
    if phase != "Active" or level in ("", "privileged"):
        return None
    hint = Command("gpustack", "explain", "namespace-restricted")
    return Result(f"namespace {name}", "Pod Security level privileged", level, cure="operator", hint=hint)


def workloads(view: View) -> Result | None:
    """The operator, Grafana and kube-state-metrics are running, and node-exporter is running on every node."""
    names = [
        f"{view.spec.monitoring.release}-{part}"
        for part in ("operator", "grafana", "kube-state-metrics", "prometheus-node-exporter")
    ]
    return find_stopped_workloads(
        "workloads of the monitoring", names, view[MONITORING_DEPLOYMENTS], view[MONITORING_DAEMON_SETS]
    )


def prometheus(view: View) -> Result | None:
    """The operator has reconciled Prometheus, and it is available."""
    return find_reconcile_mismatch("Prometheus", view[PROMETHEUSES], format_prometheus_name(view.spec))


def selectors(view: View) -> Result | None:
    """Prometheus selects monitors and rules of all labels and namespaces, unless your own values restrict them."""
    custom = (view[PROMETHEUSES] or {}).get(format_prometheus_name(view.spec))
    in_values = build_release(view).values.get("prometheus", {}).get("prometheusSpec", {})
    narrow_selectors = [
        name
        for name in (custom.narrow if custom else ())
        if name not in in_values and not in_values.get(f"{name}NilUsesHelmValues")
    ]
    if narrow_selectors:
        return Result(
            "monitors and rules for Prometheus", "all selected", f"restricted by {format_value(narrow_selectors)}"
        )
    return None


def alertmanager(view: View) -> Result | None:
    """The operator has reconciled Alertmanager, and it is available."""
    return find_reconcile_mismatch("Alertmanager", view[ALERTMANAGERS], f"{view.spec.monitoring.release}-alertmanager")


def find_reconcile_mismatch(subject: str, customs: Mapping[str, CustomResource] | None, name: str) -> Result | None:
    custom = (customs or {}).get(name)
    if custom is None:
        return Result(subject, "present", f"no {name}")
    if custom.available and custom.reconciled:
        return None
    return Result(subject, "available and reconciled", custom.reason or "not reconciled yet", passing=True)


def targets(view: View) -> Result | None:
    """Prometheus discovers every component of the cluster, and each responds when it is scraped."""
    spec, job_states = view.spec, view[TARGETS]
    expected_jobs = {"apiserver", "kubelet", "coredns", "node-exporter", "kube-state-metrics"}
    if spec.kubernetes.metrics_bind != "127.0.0.1":
        expected_jobs |= {JOBS[part] for part in CONTROL_PLANE}
    expected_jobs |= {
        f"{spec.monitoring.release}-{part}" for part in ("prometheus", "alertmanager", "operator", "grafana")
    }
    missing_jobs = sorted(expected_jobs - set(job_states))
    down_jobs = sorted(job for job, is_up in job_states.items() if job in expected_jobs and not is_up)
    if not missing_jobs and not down_jobs:
        return None
    words = [
        f"{format_value(down_jobs)} down" if down_jobs else "",
        f"no {format_value(missing_jobs)}" if missing_jobs else "",
    ]
    return Result("targets of Prometheus", "all up", "; ".join(word for word in words if word), passing=True)


STEP = Step(
    "monitoring",
    scope="cluster",
    probes=(
        RELEASES, DEFINITIONS, MONITORING_DEPLOYMENTS, MONITORING_DAEMON_SETS, PROMETHEUSES, ALERTMANAGERS, TARGETS,
        SAMPLE_RATE, LISTENERS, SECRETS, RECEIVERS, DATA_SOURCES, GRAFANA_RULES, NAMESPACES, POD_EGRESS,
    ),
    checks=(
        port, namespace, definitions, chart, grafana_rules, receiver_secrets, alertmanager_egress, workloads,
        prometheus, selectors, alertmanager, receivers, data_source, targets,
    ),
    needs=("helm", "workers"),
    predecessors=("storage", "flannel"),
    settle_seconds=300,
    pulls=True,
    is_enabled=lambda inventory: inventory.spec.monitoring.enabled,
    interrupts="Prometheus and Grafana may be made anew; their series pause",
)  # fmt: skip

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
cluster, which Alertmanager reads as files. Grafana gets one data source, with the uid that the dashboards use.

Settings: monitoring, alerts.receivers. Sources: kube-prometheus-stack 88.5.3, its README and values.
"""

from collections.abc import Mapping

from gpustack.ask.judge import Result, as_text, expect, ok
from gpustack.ask.view import View
from gpustack.command import Command, Prose
from gpustack.config.dashboards.json_model import DATA_SOURCE
from gpustack.config.host import Host
from gpustack.config.inventory import Inventory
from gpustack.config.sections.receiver import place_of
from gpustack.config.versions import minor
from gpustack.probes.helm import RELEASES
from gpustack.probes.kubernetes.namespaces import NAMESPACES
from gpustack.probes.kubernetes.nodes import add_reason
from gpustack.probes.kubernetes.workloads import MONITORING_DAEMON_SETS, MONITORING_DEPLOYMENTS
from gpustack.probes.monitoring.alerting import RECEIVERS, SECRETS
from gpustack.probes.monitoring.grafana import DATA_SOURCES
from gpustack.probes.monitoring.grafana_rights import GRAFANA_RULES
from gpustack.probes.monitoring.workloads import ALERTMANAGERS, DEFINITIONS, GROUP, PROMETHEUSES, TARGETS, Custom
from gpustack.probes.network.addresses import LISTENERS
from gpustack.steps.control_plane.step import control_planes
from gpustack.steps.kubernetes.versions import numbers
from gpustack.steps.monitoring.receiver import NOBODY
from gpustack.steps.monitoring.values import (
    CONTROL_PLANE,
    GRAFANA_READS,
    READ,
    grafana_role,
    prometheus_name,
    release,
)  # fmt: skip
from gpustack.steps.release import compared, in_cluster
from gpustack.steps.step import Step

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


def applies(inventory: Inventory, host: Host) -> bool:
    return inventory.spec.monitoring.enabled and control_planes(inventory, host)


def port(here: View) -> Result | None:
    """On every host the port of node-exporter is free, or used by our node-exporter."""
    wanted = here.spec.monitoring.node_exporter_port
    ours = {EXPORTER} if in_cluster(here, release(here)) else set()
    others = {}
    for host in here.hosts:
        there = here.on(host.name)
        listeners = there[LISTENERS] if there.reached and there.available(LISTENERS) else ()
        if foreign := {one.process for one in listeners if (one.protocol, one.port) == ("tcp", wanted)} - ours:
            others[host.name] = as_text(foreign)
    if not others:
        return None
    found = ", ".join(f"{name} on {host}" for host, name in others.items())
    hint = Prose("stop it there, or set monitoring.node_exporter_port of the spec to another port than {}", str(wanted))
    return Result(f"port {wanted} of the hosts", "free for node-exporter", found, cure="operator", hint=hint)


def definitions(here: View) -> Result | None:
    """The API server has the ten CRDs of the Prometheus operator, in the version of the chart's operator or newer.

    A patch version of the operator does not change them, so only the minor version is compared. Newer ones belong to
    another Prometheus operator and are never replaced by older ones.
    """
    what, actual = "CRDs of the Prometheus operator", here[DEFINITIONS]
    expected = minor(here.versions.components["prometheus-operator"])
    if missing := [kind for kind in KINDS if f"{kind}.{GROUP}" not in actual]:
        return Result(what, "all ten", f"no {as_text(missing)}")
    versions = {minor(actual[f"{kind}.{GROUP}"]) or "no version" for kind in KINDS}
    if any(numbers(version) < numbers(expected) for version in versions):
        return Result(what, expected, as_text(versions), fault="mon-crd-stale")
    newer = versions - {expected}
    return ok(what, f"{as_text(newer)}, newer than {expected}: they are left as they are") if newer else None


def chart(here: View) -> Result | None:
    """The Helm release is deployed, with the chart of the version set and the values of the spec."""
    return compared(here, release(here))


def receiver_secrets(here: View) -> Result | None:
    """The Secrets that Alertmanager reads have the content of the receivers' files on this machine; those that the spec
    names have their keys."""
    named = here.spec.alerts.receivers.named()
    if not any(place_of(name, one) for name, one in named.items()):
        return None
    found = here[SECRETS]
    theirs = [f"no {one.secret}" for name, one in named.items() if one.secret and found.get(name) == "none"]
    if theirs:
        listing = Command("kubectl", "-n", here.spec.monitoring.namespace, "get", "secrets")
        hint = Prose("{}; then correct alerts.receivers", listing)
        return Result("Secrets of the receivers", "those of alerts.receivers", as_text(theirs), "operator", hint=hint)
    ours = [name for name, one in named.items() if one.secret_file and found.get(name) != "same"]
    if not ours:
        return None
    is_now = [f"{name} {'different' if found.get(name) == 'other' else 'none'}" for name in ours]
    return Result("Secrets of the receivers", "those of their files", as_text(is_now))


def receivers(here: View) -> Result | None:
    """Alertmanager has the receivers of the spec."""
    wanted = list(here.spec.alerts.receivers.named()) or [NOBODY]
    found = here[RECEIVERS]
    return None if set(wanted) <= set(found) else Result("receivers of Alertmanager", as_text(wanted), as_text(found))


def data_source(here: View) -> Result | None:
    """Grafana has one data source with the uid that the dashboards use."""
    count = sum(one.uid == DATA_SOURCE for one in here[DATA_SOURCES])
    hint = Prose(
        "grafana.sidecar.datasources.uid of values/<release>.yaml has another value, or a second source has this uid"
    )
    return expect(f"data sources with uid {DATA_SOURCE}", 1, count, "operator" if count else "install", hint=hint)


def grafana_rules(here: View) -> Result | None:
    """Grafana may read ConfigMaps of all namespaces, and nothing else: no Secret."""
    values = release(here).values["grafana"]
    rbac = values.get("rbac", {})
    named = rbac.get("useExistingClusterRole") == grafana_role(here.spec) and not rbac.get("namespaced")
    if not (named and values.get("enabled", True)):
        return None
    expected = tuple(f"{verb} {resource}" for verb in READ for resource in GRAFANA_READS)
    actual = here[GRAFANA_RULES]
    if actual is None:
        return Result(f"ClusterRole {grafana_role(here.spec)}", as_text(expected), "nothing")
    return expect(f"ClusterRole {grafana_role(here.spec)}", as_text(set(expected)), as_text(set(actual)))


def namespace(here: View) -> Result | None:
    """The namespace does not forbid node-exporter's pods; a missing one is created, and a level that is set stays."""
    name = here.spec.monitoring.namespace
    phase, level = here[NAMESPACES].get(name, ("", ""))
    if phase != "Active" or level in ("", "privileged"):
        return None
    hint = Command("gpustack", "explain", "namespace-restricted")
    return Result(f"namespace {name}", "Pod Security level privileged", level, cure="operator", hint=hint)


def workloads(here: View) -> Result | None:
    """The operator, Grafana and kube-state-metrics are running, and node-exporter is running on every node."""
    deployments, daemon_sets = here[MONITORING_DEPLOYMENTS], here[MONITORING_DAEMON_SETS]
    found = {**deployments, **daemon_sets}
    name = here.spec.monitoring.release
    wanted = [f"{name}-{part}" for part in ("operator", "grafana", "kube-state-metrics", "prometheus-node-exporter")]
    missing = [part for part in wanted if part not in found]
    if missing:
        return Result("workloads of the monitoring", "all present", f"no {as_text(missing)}")
    # A DaemonSet that nobody has looked at yet wants no pod either: that one is on its way.
    if idle := [part for part in wanted if part in here[MONITORING_DEPLOYMENTS] and not found[part].wanted]:
        return Result("workloads of the monitoring", "all running", f"{as_text(idle)} scaled to 0")
    late = {part: found[part] for part in wanted if not found[part].runs}
    down = [add_reason(f"{part} {one.ready} of {one.wanted}", one.refused) for part, one in late.items()]
    return Result("workloads of the monitoring", "all running", as_text(down), passing=True) if down else None


def prometheus(here: View) -> Result | None:
    """The operator has reconciled Prometheus, and it is available."""
    return reconciled("Prometheus", here[PROMETHEUSES], prometheus_name(here.spec))


def selectors(here: View) -> Result | None:
    """Prometheus selects monitors and rules of all labels and namespaces, unless your own values restrict them."""
    one = (here[PROMETHEUSES] or {}).get(prometheus_name(here.spec))
    in_values = release(here).values.get("prometheus", {}).get("prometheusSpec", {})
    narrow = [
        name
        for name in (one.narrow if one else ())
        if name not in in_values and not in_values.get(f"{name}NilUsesHelmValues")
    ]
    return (
        Result("monitors and rules for Prometheus", "all selected", f"restricted by {as_text(narrow)}")
        if narrow
        else None
    )


def alertmanager(here: View) -> Result | None:
    """The operator has reconciled Alertmanager, and it is available."""
    return reconciled("Alertmanager", here[ALERTMANAGERS], f"{here.spec.monitoring.release}-alertmanager")


def reconciled(what: str, found: Mapping[str, Custom] | None, name: str) -> Result | None:
    one = (found or {}).get(name)
    if one is None:
        return Result(what, "present", f"no {name}")
    if one.available and one.reconciled:
        return None
    return Result(what, "available and reconciled", one.why or "not reconciled yet", passing=True)


def targets(here: View) -> Result | None:
    """Prometheus discovers every component of the cluster, and each responds when it is scraped."""
    spec, found = here.spec, here[TARGETS]
    wanted = {"apiserver", "kubelet", "coredns", "node-exporter", "kube-state-metrics"}
    if spec.kubernetes.metrics_bind != "127.0.0.1":
        wanted |= {JOBS[part] for part in CONTROL_PLANE}
    wanted |= {f"{spec.monitoring.release}-{part}" for part in ("prometheus", "alertmanager", "operator", "grafana")}
    missing = sorted(wanted - set(found))
    down = sorted(job for job, up in found.items() if job in wanted and not up)
    if not missing and not down:
        return None
    words = [f"{as_text(down)} down" if down else "", f"no {as_text(missing)}" if missing else ""]
    return Result("targets of Prometheus", "all up", "; ".join(word for word in words if word), passing=True)


STEP = Step(
    "monitoring",
    scope="cluster",
    probes=(
        RELEASES, DEFINITIONS, MONITORING_DEPLOYMENTS, MONITORING_DAEMON_SETS, PROMETHEUSES, ALERTMANAGERS, TARGETS,
        LISTENERS, SECRETS, RECEIVERS, DATA_SOURCES, GRAFANA_RULES, NAMESPACES,
    ),
    checks=(
        port, namespace, definitions, chart, grafana_rules, receiver_secrets, workloads, prometheus, selectors,
        alertmanager, receivers, data_source, targets,
    ),
    needs=("helm", "workers"),
    follows=("storage", "flannel"),
    settle=300,
    pulls=True,
    applies=applies,
    interrupts="Prometheus and Grafana may be made anew; their series pause",
)  # fmt: skip

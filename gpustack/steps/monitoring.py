"""Monitoring: Prometheus, Alertmanager, Grafana, node-exporter, kube-state-metrics, by the chart kube-prometheus-stack.

The definitions of the operator are applied first, server-side (Helm would never bring them to another version).
Monitors and rules of everybody are taken, not only those with the label of this release. What kubeadm lets listen on
127.0.0.1 only was opened when the cluster was made (kubernetes.metrics_bind) and is shut for everybody but nodes and
pods by the step `firewall`; so every target is up, and no alert fires but Watchdog, which always does.

Ready is what Prometheus says, not Helm: the objects are reconciled, and every target answers. Your own values go to
values/<release>.yaml beside the inventory; a key that the chart does not know is refused: Helm would pass over it.

Who gets alerts stands in the spec, the secret for it in a file on this machine; it becomes a Secret in the cluster,
which Alertmanager reads as a file. Grafana gets one data source, with the uid that dashboards ask.

Settings: monitoring, alerts.receiver. Sources: kube-prometheus-stack 88.5.3, its README and values.
"""

from collections.abc import Mapping

from gpustack.ask.judge import Mismatch, expect, said
from gpustack.ask.view import View
from gpustack.config.host import Host
from gpustack.config.inventory import Inventory
from gpustack.config.versions import minor
from gpustack.probes.alerting import RECEIVERS, SECRET
from gpustack.probes.grafana import DATA_SOURCES
from gpustack.probes.helm import RELEASES
from gpustack.probes.kube import add_reason
from gpustack.probes.monitoring import ALERTMANAGERS, DEFINITIONS, GROUP, PROMETHEUSES, TARGETS, Custom
from gpustack.probes.network import LISTENERS
from gpustack.probes.workloads import MONITORING_DAEMON_SETS, MONITORING_DEPLOYMENTS
from gpustack.steps.control_plane import control_planes
from gpustack.steps.kubernetes_versions import numbers
from gpustack.steps.monitoring_receiver import NOBODY, RECEIVER
from gpustack.steps.monitoring_values import CONTROL_PLANE, release
from gpustack.steps.release import compared, in_cluster
from gpustack.steps.step import Step

KINDS = (
    "alertmanagerconfigs", "alertmanagers", "podmonitors", "probes", "prometheusagents", "prometheuses",
    "prometheusrules", "scrapeconfigs", "servicemonitors", "thanosrulers",
)  # fmt: skip
EXPORTER = "node_exporter"
DATA_SOURCE = "prometheus"  # the uid that the chart gives it
JOBS = {
    "kubeEtcd": "kube-etcd",
    "kubeScheduler": "kube-scheduler",
    "kubeControllerManager": "kube-controller-manager",
    "kubeProxy": "kube-proxy",
}


def applies(inventory: Inventory, host: Host) -> bool:
    return inventory.spec.monitoring.enabled and control_planes(inventory, host)


def port(here: View) -> Mismatch | None:
    """On every host the port of node-exporter is free, or our node-exporter's."""
    wanted = here.spec.monitoring.node_exporter_port
    ours = {EXPORTER} if in_cluster(here, release(here)) else set()
    others = {}
    for host in here.hosts:
        there = here.on(host.name)
        heard = there[LISTENERS] if there.reached and there.told(LISTENERS) else ()
        if foreign := {one.process for one in heard if (one.protocol, one.port) == ("tcp", wanted)} - ours:
            others[host.name] = said(foreign)
    if not others:
        return None
    found = ", ".join(f"{name} on {host}" for host, name in others.items())
    hint = f"stop it there, or set monitoring.node_exporter_port of the spec to another port than {wanted}"
    return Mismatch(f"port {wanted} of the hosts", "free for node-exporter", found, cure="operator", hint=hint)


def definitions(here: View) -> Mismatch | None:
    """The ten kinds of the Prometheus operator are known to the API, in the version of the chart's operator.

    A patch of the operator changes none of them, so the minor is compared.
    """
    what, found = "definitions of the Prometheus operator", here[DEFINITIONS]
    wanted = minor(here.versions.components["prometheus-operator"])
    if missing := [kind for kind in KINDS if f"{kind}.{GROUP}" not in found]:
        return Mismatch(what, "all ten", f"no {said(missing)}")
    versions = {minor(found[f"{kind}.{GROUP}"]) or "no version" for kind in KINDS}
    older = any(numbers(one) < numbers(wanted) for one in versions)
    return expect(what, wanted, said(versions), fault="mon-crd-stale" if older else "")


def chart(here: View) -> Mismatch | None:
    """The Helm release is there, deployed, with the chart of the version set and the values of the spec."""
    return compared(here, release(here))


def receiver_secret(here: View) -> Mismatch | None:
    """The Secret that Alertmanager reads holds what the receiver's file on this machine holds."""
    found, wanted = here[SECRET], here.spec.alerts.receiver
    if wanted.type == "none" or not wanted.secret_file or found == "same":
        return None
    is_now = "another" if found == "other" else "none"
    return Mismatch("secret of the receiver", "that of alerts.receiver.secret_file", is_now)


def receiver(here: View) -> Mismatch | None:
    """Alertmanager has the receiver of the spec."""
    wanted = RECEIVER if here.spec.alerts.receiver.type != "none" else NOBODY
    found = here[RECEIVERS]
    return None if wanted in found else Mismatch("receivers of Alertmanager", wanted, said(found))


def data_source(here: View) -> Mismatch | None:
    """Grafana is given one data source with the uid that the dashboards ask."""
    count = sum(one.uid == DATA_SOURCE for one in here[DATA_SOURCES])
    hint = "grafana.sidecar.datasources.uid of values/<release>.yaml has another value, or a second source has this uid"
    return expect(f"data sources with uid {DATA_SOURCE}", 1, count, "operator" if count else "install", hint=hint)


def workloads(here: View) -> Mismatch | None:
    """The operator, Grafana and kube-state-metrics run, and node-exporter on every node."""
    deployments, daemon_sets = here[MONITORING_DEPLOYMENTS], here[MONITORING_DAEMON_SETS]
    found = {**deployments, **daemon_sets}
    name = here.spec.monitoring.release
    wanted = [f"{name}-{part}" for part in ("operator", "grafana", "kube-state-metrics", "prometheus-node-exporter")]
    missing = [part for part in wanted if part not in found]
    if missing:
        return Mismatch("monitoring", "all of it there", f"no {said(missing)}")
    # A DaemonSet that nobody has looked at yet wants no pod either: that one is on its way.
    if idle := [part for part in wanted if part in here[MONITORING_DEPLOYMENTS] and not found[part].wanted]:
        return Mismatch("monitoring", "all of it running", f"{said(idle)} scaled to nothing")
    late = {part: found[part] for part in wanted if not found[part].runs}
    down = [add_reason(f"{part} {one.ready} of {one.wanted}", one.refused) for part, one in late.items()]
    return Mismatch("monitoring", "all of it running", said(down), passing=True) if down else None


def prometheus(here: View) -> Mismatch | None:
    """The operator has made Prometheus as it was told, and it is available."""
    return reconciled("Prometheus", here[PROMETHEUSES], f"{here.spec.monitoring.release}-prometheus")


def selectors(here: View) -> Mismatch | None:
    """Prometheus takes the monitors and rules of every label and namespace, but for what your own values narrow."""
    one = (here[PROMETHEUSES] or {}).get(f"{here.spec.monitoring.release}-prometheus")
    said_so = release(here).values.get("prometheus", {}).get("prometheusSpec", {})
    narrow = [
        name
        for name in (one.narrow if one else ())
        if name not in said_so and not said_so.get(f"{name}NilUsesHelmValues")
    ]
    return Mismatch("what Prometheus takes", "everybody's", f"not all, by {said(narrow)}") if narrow else None


def alertmanager(here: View) -> Mismatch | None:
    """The operator has made Alertmanager as it was told, and it is available."""
    return reconciled("Alertmanager", here[ALERTMANAGERS], f"{here.spec.monitoring.release}-alertmanager")


def reconciled(what: str, found: Mapping[str, Custom] | None, name: str) -> Mismatch | None:
    one = (found or {}).get(name)
    if one is None:
        return Mismatch(what, "there", f"no {name}")
    if one.available and one.reconciled:
        return None
    return Mismatch(what, "available and reconciled", one.why or "not yet", passing=True)


def targets(here: View) -> Mismatch | None:
    """Prometheus finds every part of the cluster, and each answers when it is scraped."""
    spec, found = here.spec, here[TARGETS]
    wanted = {"apiserver", "kubelet", "coredns", "node-exporter", "kube-state-metrics"}
    if spec.kubernetes.metrics_bind != "127.0.0.1":
        wanted |= {JOBS[part] for part in CONTROL_PLANE}
    wanted |= {f"{spec.monitoring.release}-{part}" for part in ("prometheus", "alertmanager", "operator", "grafana")}
    missing = sorted(wanted - set(found))
    down = sorted(job for job, up in found.items() if job in wanted and not up)
    if not missing and not down:
        return None
    words = [f"{said(down)} down" if down else "", f"no {said(missing)}" if missing else ""]
    return Mismatch("targets of Prometheus", "all up", "; ".join(word for word in words if word), passing=True)


STEP = Step(
    "monitoring",
    scope="cluster",
    probes=(
        RELEASES, DEFINITIONS, MONITORING_DEPLOYMENTS, MONITORING_DAEMON_SETS, PROMETHEUSES, ALERTMANAGERS, TARGETS,
        LISTENERS, SECRET, RECEIVERS, DATA_SOURCES,
    ),
    checks=(
        port, definitions, chart, receiver_secret, workloads, prometheus, selectors, alertmanager, receiver,
        data_source, targets,
    ),
    needs=("helm", "storage", "flannel", "workers"),
    settle=300,
    applies=applies,
)  # fmt: skip

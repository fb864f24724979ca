"""Objects of the monitoring that have no effect: what its operator rejects, monitors without a Service, dashboards
without series, rights that Prometheus lacks, operators that overlap, and answers of Grafana that are refusals."""

from collections.abc import Iterator

from gpustack.ask.api import fill_path
from gpustack.ask.probe import CLUSTER
from gpustack.ask.variables import build_name_variables
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.config.spec import Spec
from gpustack.doctor.checks.monitoring.targets import NEEDED_KINDS
from gpustack.doctor.checks.node_lookup import PROMETHEUS
from gpustack.doctor.states.ownership import is_platform_label_set
from gpustack.doctor.states.state import AbnormalState, Observer, Severity
from gpustack.probes.kubernetes.pod_states import MONITORING_PODS
from gpustack.probes.monitoring.grafana import DASHBOARDS, DATA_SOURCES, RESPONSE
from gpustack.probes.monitoring.prometheus_rights import OPERATORS, RIGHTS
from gpustack.probes.monitoring.scrape import DCGM_NAMES, HOST_LABELS, REJECTION_EVENTS
from gpustack.probes.monitoring.service_monitors import SERVICE_MONITORS, ServiceMonitor
from gpustack.probes.monitoring.workloads import ALERTMANAGERS, PROMETHEUSES
from gpustack.probes.monitoring.workloads import PROMETHEUS as PROMETHEUS_PATH
from gpustack.probes.proof import SERVICES, Service

SUCCESS = 200
DATA_SOURCE = "prometheus"
"""The uid of the data source that dashboards name."""


def has_monitoring(spec: Spec) -> bool:
    return spec.monitoring.enabled


def build_prometheus_command(view: View, path: str) -> Command:
    """Build the command that asks Prometheus through the API server. `path` begins below /api/v1/."""
    server = fill_path(PROMETHEUS_PATH, build_name_variables(view.spec))
    return Command("kubectl", "get", "--raw", f"{server}/api/v1/{path}")


def observe_rejections(view: View) -> Iterator[AbnormalState]:
    """List rejected objects in the operator's words. Their authors may be users."""
    for event in view[REJECTION_EVENTS]:
        kind = event.kind.lower()
        command = Command("kubectl", "-n", event.namespace, "get", kind, event.name, "-o", "yaml")
        subject = f"{kind} {event.namespace}/{event.name}"
        yield AbnormalState("object-rejected", "note", (CLUSTER,), (subject,), event.reason, command)


def observe_reconciliations(view: View) -> Iterator[AbnormalState]:
    """List objects that the operator does not apply, in the words of their condition. What runs keeps its former
    settings, so that no pod shows it."""
    for kind, probe in {"prometheus": PROMETHEUSES, "alertmanager": ALERTMANAGERS}.items():
        for name, resource in (view[probe] or {}).items():
            if not resource.reconciled and resource.reason:
                namespace = view.spec.monitoring.namespace
                command = Command("kubectl", "-n", namespace, "describe", kind, name)
                subject = f"{kind} {namespace}/{name}"
                yield AbnormalState("object-unreconciled", "broken", (CLUSTER,), (subject,), resource.reason, command)


def observe_monitors(view: View) -> Iterator[AbnormalState]:
    """List monitors that no Service fits. Those of users may be for Services that come later."""
    for monitor in view[SERVICE_MONITORS] or ():
        if trouble := find_trouble(monitor, view[SERVICES]):
            is_ours = is_platform_label_set(view.spec, monitor.namespace, monitor.labels)
            severity: Severity = "risk" if is_ours else "note"
            command = Command("kubectl", "-n", monitor.namespace, "get", "servicemonitor", monitor.name, "-o", "yaml")
            subject = f"servicemonitor {monitor.namespace}/{monitor.name}"
            yield AbnormalState("monitor-without-service", severity, (CLUSTER,), (subject,), trouble, command)


def find_trouble(monitor: ServiceMonitor, services: tuple[Service, ...]) -> str:
    """Find why a monitor has no target, empty where a Service fits. A port that is not named may be any."""
    namespaces = (monitor.namespace,) if monitor.spaces == () else monitor.spaces
    fitting_services = [
        service
        for service in services
        if (namespaces is None or service.namespace in namespaces)
        and monitor.match_labels.items() <= service.labels.items()
    ]
    labels = ", ".join(f"{name}={value}" for name, value in monitor.match_labels.items())
    if not fitting_services:
        return f"no Service has its labels {labels}"
    names = {name for service in fitting_services for name in service.ports}
    missing_ports = [port for port in monitor.ports if port is not None and port not in names]
    return f"no Service with its labels {labels} has a port {', '.join(missing_ports)}" if missing_ports else ""


def observe_dashboards(view: View) -> Iterator[AbnormalState]:
    """List dashboards with metrics of DCGM of which Prometheus has no series: their panels are empty. Some metrics
    exist only after something happened, such as the first Xid."""
    series = view[DCGM_NAMES]
    for dashboard in view[DASHBOARDS] if series else ():
        if missing_names := [name for name in dashboard.metrics if name not in series]:
            message = f"Prometheus has no series of {', '.join(missing_names)}"
            command = Command("kubectl", "-n", dashboard.namespace, "get", "configmap", dashboard.name, "-o", "yaml")
            subject = f"dashboard {dashboard.namespace}/{dashboard.name}"
            yield AbnormalState("dashboard-without-series", "note", (CLUSTER,), (subject,), message, command)


def observe_labels(view: View) -> Iterator[AbnormalState]:
    """List dashboards that name the host of a GPU by a label that no series has: their panels are empty."""
    labels = view[HOST_LABELS]
    for dashboard in view[DASHBOARDS] if labels else ():
        if dashboard.labels and not set(labels) & set(dashboard.labels):
            message = f"it asks for the label {', '.join(dashboard.labels)}; the series have {', '.join(labels)}"
            command = Command("kubectl", "-n", dashboard.namespace, "get", "configmap", dashboard.name, "-o", "yaml")
            subject = f"dashboard {dashboard.namespace}/{dashboard.name}"
            yield AbnormalState("dashboard-without-series", "note", (CLUSTER,), (subject,), message, command)


def observe_rights(view: View) -> Iterator[AbnormalState]:
    """Report what Prometheus may not list of what it discovers its targets by. An answer that is unknown is none."""
    rights = view[RIGHTS]
    if rights is None:
        return
    namespaces = dict.fromkeys((view.spec.gpu.namespace, view.spec.monitoring.namespace))
    missing_rights = [
        f"{kinds[0]} in {namespace}"
        for namespace in namespaces
        for kinds in NEEDED_KINDS
        if all(rights.lists.get((kind, namespace)) is False for kind in kinds)
    ]
    if missing_rights:
        namespace, _, account = rights.account.partition("/")
        user = f"system:serviceaccount:{namespace}:{account}"
        message = f"it may not list {', '.join(missing_rights)}, so that Prometheus finds no new target there"
        command = Command("kubectl", "auth", "can-i", "--list", f"--as={user}")
        subject = f"serviceaccount {rights.account}"
        yield AbnormalState("right-missing", "risk", (CLUSTER,), (subject,), message, command)


def observe_operators(view: View) -> Iterator[AbnormalState]:
    """Report running Prometheus operators of which each watches all namespaces: they write the same objects in turn."""
    operators = [operator for operator in view[OPERATORS] if operator.running and not operator.narrowed]
    if len(operators) > 1:
        names = tuple(f"deployment {operator.namespace}/{operator.name}" for operator in operators)
        message = f"{' and '.join(names)} watch all namespaces, and write the same objects in turn"
        command = Command("kubectl", "get", "deployments", "-A")
        yield AbnormalState("operators-overlap", "risk", (CLUSTER,), names, message, command)


def observe_grafana(view: View) -> Iterator[AbnormalState]:
    """Report a status of Grafana that is no success. Where no answer came, it is for other observers to say why, and so
    it is where no pod of Prometheus is ready to answer Grafana."""
    response = view[RESPONSE]
    if response is None:
        return
    url = next((source.url for source in view[DATA_SOURCES] if source.uid == DATA_SOURCE), "")
    statuses = {"login from its Secret": response.login}
    if any(pod.app == PROMETHEUS and pod.ready for pod in view[MONITORING_PODS]):
        statuses[f"health of its data source prometheus ({url})"] = response.health
    for subject, status in statuses.items():
        if status not in (0, SUCCESS):
            command = Command(
                "kubectl", "-n", view.spec.monitoring.namespace, "logs", "-l", "app.kubernetes.io/name=grafana"
            )
            yield AbnormalState(
                "answer-refused", "broken", (CLUSTER,), (f"Grafana, {subject}",), f"HTTP {status}", command
            )


OBSERVERS = (
    Observer(
        "rejected-objects", "Objects for the Prometheus operator", observe_rejections, (REJECTION_EVENTS,),
        is_needed=has_monitoring, yields=True,
    ),
    Observer(
        "reconciliations", "Objects that the Prometheus operator applies", observe_reconciliations,
        (PROMETHEUSES, ALERTMANAGERS), is_needed=has_monitoring, yields=True,
    ),
    Observer(
        "service-monitors", "ServiceMonitors", observe_monitors, (SERVICE_MONITORS, SERVICES),
        is_needed=has_monitoring, yields=True,
    ),
    Observer(
        "dashboards", "Dashboards", observe_dashboards, (DASHBOARDS, DCGM_NAMES), is_needed=has_monitoring, yields=True
    ),
    Observer(
        "dashboard-labels", "Labels of dashboards", observe_labels, (DASHBOARDS, HOST_LABELS),
        is_needed=has_monitoring, yields=True,
    ),
    Observer(
        "rights-of-prometheus", "Rights of Prometheus", observe_rights, (RIGHTS,), is_needed=has_monitoring, yields=True
    ),
    Observer(
        "prometheus-operators", "Prometheus operators", observe_operators, (OPERATORS,),
        is_needed=has_monitoring, yields=True,
    ),
    Observer(
        "grafana-answers", "Answers of Grafana", observe_grafana, (RESPONSE, DATA_SOURCES, MONITORING_PODS),
        is_needed=has_monitoring, yields=True,
    ),
)  # fmt: skip

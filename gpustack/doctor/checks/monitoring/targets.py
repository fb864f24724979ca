"""Faults of the layer `monitoring` between the GPU exporter's Service and Prometheus: monitor, labels, port, and
rights."""

from collections import Counter

from gpustack.ask.judge import Result, build_ok_result, format_value
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.command import NO_HINT, Prose
from gpustack.doctor.check import build_names, check
from gpustack.probes.gpu.dcgm import APP, MONITORS
from gpustack.probes.monitoring.prometheus_rights import RIGHTS, SLICES
from gpustack.probes.monitoring.scrape import REJECTED_OBJECTS, REJECTION_EVENTS
from gpustack.probes.monitoring.service_monitors import SERVICE_MONITORS, ServiceMonitor
from gpustack.probes.proof import SERVICES, Service
from gpustack.steps.gpu.metrics_objects import MONITOR_NAME
from gpustack.steps.platform_namespaces import list_platform_namespaces

MONITOR = "monitor of the GPU exporter"
DCGM = "dcgm"


def list_exporter_services(view: View) -> list[Service]:
    """List the Services of exporters, by label or name, because either may be wrong."""
    return [
        service
        for service in view[SERVICES]
        if APP.items() <= service.labels.items() or f"{DCGM}-exporter" in service.name
    ]


def find_exporter_monitors(view: View) -> list[ServiceMonitor] | None:
    """List the ServiceMonitors for the exporter, by name or labels. Return None where the API has no
    ServiceMonitors."""
    monitors = view[SERVICE_MONITORS]
    if monitors is None:
        return None
    return [monitor for monitor in monitors if DCGM in " ".join((monitor.name, *monitor.match_labels.values()))]


def fits_service(monitor: ServiceMonitor, service: Service) -> bool:
    spaces = (monitor.namespace,) if monitor.spaces == () else monitor.spaces
    return (spaces is None or service.namespace in spaces) and monitor.match_labels.items() <= service.labels.items()


def explain_no_judgement(view: View) -> str:
    """Explain why there is nothing to judge. Return an empty text where there is."""
    if not view.spec.monitoring.enabled:
        return "the monitoring is not installed by gpustack"
    if not list_exporter_services(view):
        return "no exporter"
    return "" if find_exporter_monitors(view) is not None else "no ServiceMonitors in the API"


@check("mon-servicemonitor-disabled", SERVICE_MONITORS, SERVICES, MONITORS)
def lacks_service_monitor(view: View) -> Result:
    """Look for an installed exporter without a ServiceMonitor."""
    if reason := explain_no_judgement(view):
        return build_ok_result(MONITOR, reason)
    if monitors := find_exporter_monitors(view):
        return build_ok_result(MONITOR, format_value([monitor.name for monitor in monitors]))
    return Result(MONITOR, "present", format_value([monitor.name for monitor in view[MONITORS] or ()]))


@check("mon-servicemonitor-label-mismatch", SERVICE_MONITORS, SERVICES, MONITORS)
def label_mismatch(view: View) -> Result:
    """Check that one of the ServiceMonitors for the exporter selects its Service."""
    if reason := explain_no_judgement(view):
        return build_ok_result(MONITOR, reason)
    service_monitors, services = find_exporter_monitors(view) or [], list_exporter_services(view)
    if fitting := [
        monitor.name for monitor in service_monitors if any(fits_service(monitor, service) for service in services)
    ]:
        return build_ok_result(MONITOR, f"{format_value(fitting)} selects the Service")
    if not service_monitors:
        return build_ok_result(MONITOR, "none")
    selections = [f"{monitor.name} selects {format_selection(monitor)}" for monitor in service_monitors]
    view[MONITORS]  # the step gpu-metrics reports the same as a missing one
    service_names = format_value([f"{service.namespace}/{service.name}" for service in services])
    placeholders = build_names(NAME=[monitor.name for monitor in service_monitors])
    actual = f"{format_value(selections)}, but not {service_names}"
    foreign_names = [monitor.name for monitor in service_monitors if monitor.name != MONITOR_NAME]
    foreign_advice = Prose(
        "gpustack did not make {}; the GPU operator creates its own again", format_value(foreign_names)
    )
    return Result(
        MONITOR,
        "selecting the Service",
        actual,
        names=placeholders,
        person=foreign_advice if foreign_names else NO_HINT,
    )


def format_selection(monitor: ServiceMonitor) -> str:
    labels = ", ".join(f"{key}={value}" for key, value in sorted(monitor.match_labels.items())) or "any label"
    return f"{labels} in {format_value(monitor.spaces or [monitor.namespace])}"


@check("mon-servicemonitor-port-name", SERVICE_MONITORS, SERVICES)
def port_name(view: View) -> Result:
    """Check that a ServiceMonitor that selects the Service names a port of the Service."""
    if reason := explain_no_judgement(view):
        return build_ok_result(MONITOR, reason)
    couples = [
        (monitor, service)
        for monitor in find_exporter_monitors(view) or ()
        for service in list_exporter_services(view)
        if fits_service(monitor, service)
    ]
    if not couples:
        return build_ok_result(MONITOR, "none selects the Service")
    good = [
        monitor.name for monitor, service in couples if not monitor.ports or {None, *service.ports} & set(monitor.ports)
    ]
    if good:
        return build_ok_result(MONITOR, f"{format_value(good)} with a port of the Service")
    monitor, service = couples[0]
    return Result(f"port in {monitor.name}", format_value(list(service.ports)), format_value(list(monitor.ports)))


# Prometheus needs a right for one kind of each group.
NEEDED_KINDS = (("services",), ("pods",), ("endpoints", SLICES))


@check("mon-prometheus-rbac", RIGHTS)
def rights(view: View) -> Result:
    """Check the rights of Prometheus in the namespaces of the GPUs and of the monitoring."""
    spec, prometheus_rights = view.spec, view[RIGHTS]
    if prometheus_rights is None:
        return build_ok_result("RBAC of Prometheus", "no Prometheus")
    missing_rights: list[tuple[str, str]] = []
    unknown: list[tuple[str, str]] = []
    for space in dict.fromkeys((spec.gpu.namespace, spec.monitoring.namespace)):
        for kinds in NEEDED_KINDS:
            answers = [prometheus_rights.lists.get((kind, space)) for kind in kinds]
            if True not in answers:
                (unknown if None in answers else missing_rights).append((kinds[0], space))
    subject = f"objects that {prometheus_rights.account} may list"
    if missing_rights:
        kind, space = missing_rights[0]
        words = format_value([f"{kind} in {space}" for kind, space in missing_rights])
        return Result(subject, "services, pods, endpoints", f"not {words}", quote=f"{kind} {space} no")
    if unknown:
        kind, space = unknown[0]
        raise FactUnavailable(f"the API did not respond whether {prometheus_rights.account} may list {kind} in {space}")
    return build_ok_result(subject, "all required")


@check("mon-operator-rejected-object", REJECTED_OBJECTS, REJECTION_EVENTS)
def has_rejected_objects(view: View) -> Result:
    """Judge the operator's counter, and its events for the names, without objects of users. An event may outlive its
    object, or expire before it."""
    subject, counts = "objects rejected by the Prometheus operator", view[REJECTED_OBJECTS]
    if not counts:
        return build_ok_result(subject, "none")
    own_namespaces = list_platform_namespaces(view)
    events = [event for event in view[REJECTION_EVENTS] if event.kind in counts]
    foreign_counts = Counter(event.kind for event in events if event.namespace not in own_namespaces)
    own_events = [
        event
        for event in events
        if event.namespace in own_namespaces and counts[event.kind] > foreign_counts[event.kind]
    ]
    if own_events:
        words = format_value([f"{event.kind} {event.namespace}/{event.name}" for event in own_events])
        return Result(subject, "none of gpustack", f"{words}: {own_events[0].reason}")
    unnamed_counts = [
        f"{count - foreign_counts[kind]:g} {kind}" for kind, count in counts.items() if count > foreign_counts[kind]
    ]
    unclear_kinds = {event.kind for event in events if event.namespace in own_namespaces}
    if unnamed_counts or unclear_kinds:
        reason = (
            "were rejected, without an event that names them"
            if unnamed_counts
            else "of gpustack were rejected, maybe still"
        )
        raise FactUnavailable(f"{format_value(unnamed_counts or unclear_kinds)} {reason}")
    names = format_value([f"{event.namespace}/{event.name}" for event in events])
    return build_ok_result(subject, f"none of gpustack; {names}")

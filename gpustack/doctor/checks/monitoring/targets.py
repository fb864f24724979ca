"""Faults of the layer `monitoring` between the GPU exporter's Service and Prometheus: monitor, labels, port, rights."""

from collections import Counter

from gpustack.ask.judge import Result, as_text, ok
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.command import NO_HINT, Prose
from gpustack.doctor.check import check, names
from gpustack.doctor.checks.platform_namespaces import namespaces
from gpustack.probes.gpu.dcgm import APP, MONITORS
from gpustack.probes.monitoring.prometheus_rights import RIGHTS, SLICES
from gpustack.probes.monitoring.scrape import LEFT_OUT, REJECTED
from gpustack.probes.monitoring.service_monitors import SERVICE_MONITORS, ServiceMonitor
from gpustack.probes.proof import SERVICES, Service
from gpustack.steps.gpu.metrics_objects import OURS

MONITOR = "monitor of the GPU exporter"
DCGM = "dcgm"


def exporters(here: View) -> list[Service]:
    """Services of exporters, by label or name: either may be what is wrong."""
    return [one for one in here[SERVICES] if APP.items() <= one.labels.items() or f"{DCGM}-exporter" in one.name]


def meant(here: View) -> list[ServiceMonitor] | None:
    """Monitors that are for the exporter, or seem to be."""
    found = here[SERVICE_MONITORS]
    if found is None:
        return None
    return [one for one in found if DCGM in " ".join((one.name, *one.wanted.values()))]


def fits(monitor: ServiceMonitor, service: Service) -> bool:
    spaces = (monitor.namespace,) if monitor.spaces == () else monitor.spaces
    return (spaces is None or service.namespace in spaces) and monitor.wanted.items() <= service.labels.items()


def without_judgement(here: View) -> str:
    """Why there is nothing to judge; empty where there is."""
    if not here.spec.monitoring.enabled:
        return "the monitoring is not installed by gpustack"
    if not exporters(here):
        return "no exporter"
    return "" if meant(here) is not None else "no ServiceMonitors in the API"


@check("mon-servicemonitor-disabled", SERVICE_MONITORS, SERVICES, MONITORS)
def disabled(here: View) -> Result:
    """The exporter is installed, but has no ServiceMonitor."""
    if why := without_judgement(here):
        return ok(MONITOR, why)
    if found := meant(here):
        return ok(MONITOR, as_text([one.name for one in found]))
    return Result(MONITOR, "present", as_text([one.name for one in here[MONITORS] or ()]))


@check("mon-servicemonitor-label-mismatch", SERVICE_MONITORS, SERVICES, MONITORS)
def label_mismatch(here: View) -> Result:
    """ServiceMonitors for the exporter exist, but none selects its Service."""
    if why := without_judgement(here):
        return ok(MONITOR, why)
    found, services = meant(here) or [], exporters(here)
    if fitting := [one.name for one in found if any(fits(one, service) for service in services)]:
        return ok(MONITOR, f"{as_text(fitting)} selects the Service")
    if not found:
        return ok(MONITOR, "none")
    wanted = [f"{one.name} selects {pairs(one)} in {as_text(one.spaces or [one.namespace])}" for one in found]
    here[MONITORS]  # the step gpu-metrics says of the same that one is missing
    there = as_text([f"{one.namespace}/{one.name}" for one in services])
    called = names(NAME=[one.name for one in found])
    now = f"{as_text(wanted)}, but not {there}"
    others = [one.name for one in found if one.name != OURS]
    foreign = Prose("gpustack did not make {}; the GPU operator creates its own again", as_text(others))
    return Result(MONITOR, "selecting the Service", now, names=called, person=foreign if others else NO_HINT)


def pairs(monitor: ServiceMonitor) -> str:
    return ", ".join(f"{key}={value}" for key, value in sorted(monitor.wanted.items())) or "any label"


@check("mon-servicemonitor-port-name", SERVICE_MONITORS, SERVICES)
def port_name(here: View) -> Result:
    """Every ServiceMonitor that selects the Service names a port that the Service does not have."""
    if why := without_judgement(here):
        return ok(MONITOR, why)
    couples = [(one, service) for one in meant(here) or () for service in exporters(here) if fits(one, service)]
    if not couples:
        return ok(MONITOR, "none selects the Service")
    good = [one.name for one, service in couples if not one.ports or {None, *service.ports} & set(one.ports)]
    if good:
        return ok(MONITOR, f"{as_text(good)} with a port of the Service")
    monitor, service = couples[0]
    return Result(f"port in {monitor.name}", as_text(list(service.ports)), as_text(list(monitor.ports)))


# One kind of each suffices.
NEEDED = (("services",), ("pods",), ("endpoints", SLICES))


@check("mon-prometheus-rbac", RIGHTS)
def rights(here: View) -> Result:
    """In the namespaces of the GPUs and of the monitoring."""
    spec, found = here.spec, here[RIGHTS]
    if found is None:
        return ok("RBAC of Prometheus", "no Prometheus")
    missing: list[tuple[str, str]] = []
    unknown: list[tuple[str, str]] = []
    for space in dict.fromkeys((spec.gpu.namespace, spec.monitoring.namespace)):
        for kinds in NEEDED:
            answers = [found.lists.get((kind, space)) for kind in kinds]
            if True not in answers:
                (unknown if None in answers else missing).append((kinds[0], space))
    what = f"objects that {found.account} may list"
    if missing:
        kind, space = missing[0]
        words = as_text([f"{kind} in {space}" for kind, space in missing])
        return Result(what, "services, pods, endpoints", f"not {words}", quote=f"{kind} {space} no")
    if unknown:
        kind, space = unknown[0]
        raise FactUnavailable(f"the API did not respond whether {found.account} may list {kind} in {space}")
    return ok(what, "all required")


@check("mon-operator-rejected-object", REJECTED, LEFT_OUT)
def rejected(here: View) -> Result:
    """By the operator's counter, and by its events for the names: objects of users do not count. An event may outlive
    its object, or expire before it."""
    what, counts = "objects rejected by the Prometheus operator", here[REJECTED]
    if not counts:
        return ok(what, "none")
    ours, named = namespaces(here), [one for one in here[LEFT_OUT] if one.kind in counts]
    others = Counter(one.kind for one in named if one.namespace not in ours)
    mine = [one for one in named if one.namespace in ours and counts[one.kind] > others[one.kind]]
    if mine:
        words = as_text([f"{one.kind} {one.namespace}/{one.name}" for one in mine])
        return Result(what, "none of gpustack", f"{words}: {mine[0].why}")
    unnamed = [f"{count - others[kind]:g} {kind}" for kind, count in counts.items() if count > others[kind]]
    unclear = {one.kind for one in named if one.namespace in ours}
    if unnamed or unclear:
        why = "were rejected, without an event that names them" if unnamed else "of gpustack were rejected, maybe still"
        raise FactUnavailable(f"{as_text(unnamed or unclear)} {why}")
    return ok(what, f"none of gpustack; {as_text([f'{one.namespace}/{one.name}' for one in named])}")


CHECKS = (disabled, label_mismatch, port_name, rights, rejected)

"""Faults of the layer `monitoring` in Grafana: its login, its data source, its dashboards, and their queries."""

from urllib.parse import urlsplit

from gpustack.ask.judge import Result, build_ok_result, format_value
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.config.dashboards.json_model import DATA_SOURCE
from gpustack.config.versions import read_dcgm_fields
from gpustack.doctor.check import check, expect_none
from gpustack.probes.gpu.dcgm import COUNTERS
from gpustack.probes.kubernetes.applied_objects import CONFIG_MAPS
from gpustack.probes.monitoring.grafana import DASHBOARDS, DATA_SOURCES, RESPONSE, Dashboard, Response
from gpustack.probes.monitoring.scrape import DCGM_NAMES, HOST_LABELS
from gpustack.probes.proof import SERVICES
from gpustack.steps.dashboards import read_dashboards
from gpustack.steps.gpu.exporter import COUNTERS as OWN_COUNTERS

LABEL = ("metadata", "labels", "grafana_dashboard")
# The exporter leaves it out until an error occurs (NVIDIA/dcgm-exporter#700).
NEVER_YET = "DCGM_FI_DEV_XID_ERRORS"
NO_RESPONSE = "Grafana does not respond"


@check("mon-grafana-password-unknown", RESPONSE)
def password(view: View) -> Result:
    """Judge a login with the password in Grafana's Secret."""
    response = view[RESPONSE]
    if response is None:
        return build_ok_result("login from Grafana's Secret", "no Grafana")
    if not response.login:
        raise FactUnavailable(NO_RESPONSE)
    return Result("login from Grafana's Secret", "accepted", f"HTTP {response.login}", ok=response.login != 401)


def require_login(response: Response) -> None:
    """Raise FactUnavailable where Grafana did not accept the login, and so answered nothing else."""
    if response.login != 200:
        raise FactUnavailable(f"Grafana refused the login: HTTP {response.login}" if response.login else NO_RESPONSE)


@check("mon-grafana-plugin-lost", RESPONSE)
def plugin(view: View) -> Result:
    """Judge what Grafana answers about the health of the data source."""
    response = view[RESPONSE]
    if response is None:
        return build_ok_result("plugin of the data source", "no Grafana")
    require_login(response)
    if not response.health:
        raise FactUnavailable(NO_RESPONSE)
    actual = "registered" if response.registered else "plugin.notRegistered"
    return Result("plugin of the data source", "registered", actual, ok=response.registered)


@check("mon-grafana-datasource-wrong", DATA_SOURCES, SERVICES)
def data_source(view: View) -> Result:
    """Check that one data source has the uid that the dashboards use, points to a Service, and is the only default."""
    data_sources = view[DATA_SOURCES]
    subject = f"data sources with uid {DATA_SOURCE}"
    if not view.spec.monitoring.enabled or (not data_sources and not has_grafana(view)):
        return build_ok_result(subject, "no Grafana by gpustack")
    own_sources = [source for source in data_sources if source.uid == DATA_SOURCE]
    if len(own_sources) != 1:
        return Result(subject, "one", str(len(own_sources)))
    if is_dangling(view, own_sources[0].url):
        return Result(f"address of the data source {DATA_SOURCE}", "that of a Service", own_sources[0].url)
    defaults = [source.uid for source in data_sources if source.default]
    if len(defaults) > 1:
        return Result("default data sources", "one", format_value(defaults))
    return build_ok_result(subject, f"one, {own_sources[0].url}")


def has_grafana(view: View) -> bool:
    name = (view.spec.monitoring.namespace, f"{view.spec.monitoring.release}-grafana")
    return name in {(service.namespace, service.name) for service in view[SERVICES]}


def is_dangling(view: View, url: str) -> bool:
    """Tell whether an address is that of a missing Service of the cluster. An address outside is never one."""
    services = {(service.namespace, service.name): set(service.ports.values()) for service in view[SERVICES]}
    parts = urlsplit(url)
    name, _, rest = (parts.hostname or "").partition(".")
    space = rest.partition(".")[0] or view.spec.monitoring.namespace
    is_inside = not rest or ".svc" in f".{rest}" or rest in {namespace for namespace, _ in services}
    if not is_inside:
        return False
    return (space, name) not in services or (parts.port or 80) not in services[space, name]


@check("mon-grafana-dashboard-not-loaded", CONFIG_MAPS, DASHBOARDS)
def not_loaded(view: View) -> Result:
    """Look for gpustack's dashboards without the label, and for invalid JSON. The step dashboards checks a missing
    one."""
    config_maps = view[CONFIG_MAPS] or {}
    names = {f"{view.spec.monitoring.namespace}/gpustack-dashboard-{name}" for name in read_dashboards()}
    unlabelled_names = sorted(name for name in names & set(config_maps) if LABEL not in config_maps[name].fields)
    cut_names = [
        f"{dashboard.namespace}/{dashboard.name}"
        for dashboard in list_monitoring_dashboards(view)
        if not dashboard.valid
    ]
    faults = {"without its label": unlabelled_names, "invalid JSON": cut_names}
    words = [f"{fault}: {format_value(fault_names)}" for fault, fault_names in faults.items() if fault_names]
    return Result("dashboards", "loaded by Grafana", "; ".join(words) or "loaded", ok=not words)


def list_monitoring_dashboards(view: View) -> list[Dashboard]:
    """List dashboards in the namespace of the monitoring. Others belong to users."""
    return [dashboard for dashboard in view[DASHBOARDS] if dashboard.namespace == view.spec.monitoring.namespace]


def find_missing_metrics(view: View) -> dict[str, str]:
    """Return metrics of DCGM that dashboards name and Prometheus does not have, with their dashboard."""
    known_metrics = view[DCGM_NAMES]
    dashboards_by_metric = {
        metric: dashboard.name for dashboard in list_monitoring_dashboards(view) for metric in dashboard.metrics
    }
    if known_metrics:
        return {metric: name for metric, name in dashboards_by_metric.items() if metric not in known_metrics}
    return {}


@check("mon-dashboard-metric-name-wrong", DASHBOARDS, DCGM_NAMES, COUNTERS)
def metric_name(view: View) -> Result:
    """Look for a name that is not a field of DCGM, or not in the exporter's list. A listed metric that is missing now
    may come from another GPU or at another time."""
    counters, missing_metrics = view[COUNTERS].get(OWN_COUNTERS, ""), find_missing_metrics(view)
    mismatched_names = [
        f"{metric} in {name}"
        for metric, name in missing_metrics.items()
        if is_invented(metric) or is_left_out(metric, counters)
    ]
    return expect_none("metrics of the panels", "known", mismatched_names, "known")


def is_left_out(metric: str, counters: str) -> bool:
    """Tell whether gpustack's list of counters, if it is there, lacks the metric."""
    return bool(counters) and not any(line.startswith(f"{metric},") for line in counters.splitlines())


def is_invented(metric: str) -> bool:
    return metric.startswith("DCGM_FI_") and metric not in read_dcgm_fields()


@check("mon-dcgm-metrics-vanished-after-upgrade", DASHBOARDS, DCGM_NAMES)
def lacks_xid_metric(view: View) -> Result:
    """Look for a dashboard that uses the metric without a default. gpustack's dashboards take a missing one as zero."""
    name = find_missing_metrics(view).get(NEVER_YET)
    if name is None:
        return build_ok_result(f"panels with {NEVER_YET}", "none, or with data")
    return Result(f"{NEVER_YET}, for the dashboard {name}", "present", "not exported before the first error of a GPU")


@check("mon-dashboard-label-renamed", DASHBOARDS, HOST_LABELS)
def label(view: View) -> Result:
    """Compare the label of the host in the series and in the dashboards."""
    series = view[HOST_LABELS]
    series_labels = set(series)
    mismatched_labels = {
        dashboard.name: dashboard.labels
        for dashboard in list_monitoring_dashboards(view)
        if dashboard.labels and not series_labels & set(dashboard.labels)
    }
    if not series_labels or not mismatched_labels:
        return build_ok_result("label of the host", f"{format_value(series_labels)} in the series")
    name, labels = next(iter(mismatched_labels.items()))
    return Result(f"label of the host in {name}", format_value(series_labels), format_value(labels))

"""Faults of the layer `monitoring` in Grafana: its login, its data source, its dashboards, and what these ask for."""

from urllib.parse import urlsplit

from gpustack.ask.judge import Result, as_text, ok
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.config.dashboards.json_model import DATA_SOURCE
from gpustack.config.versions import dcgm_fields
from gpustack.doctor.check import check
from gpustack.probes.gpu.dcgm import COUNTERS
from gpustack.probes.kubernetes.applied import CONFIG_MAPS
from gpustack.probes.monitoring.grafana import DASHBOARDS, DATA_SOURCES, RESPONSE, Dashboard
from gpustack.probes.monitoring.scrape import DCGM_NAMES, HOST_LABELS
from gpustack.probes.proof import SERVICES
from gpustack.steps.dashboards import texts
from gpustack.steps.gpu.exporter import COUNTERS as OURS

LABEL = ("metadata", "labels", "grafana_dashboard")
# The exporter leaves it out until an error occurs (NVIDIA/dcgm-exporter#700).
NEVER_YET = "DCGM_FI_DEV_XID_ERRORS"


@check("mon-grafana-password-unknown", RESPONSE)
def password(here: View) -> Result:
    """By a login with the password in its Secret."""
    found = here[RESPONSE]
    if found is None:
        return ok("login from Grafana's Secret", "no Grafana")
    if not found.login:
        raise FactUnavailable("Grafana does not respond")
    return Result("login from Grafana's Secret", "accepted", f"HTTP {found.login}", ok=found.login != 401)


@check("mon-grafana-plugin-lost", RESPONSE)
def plugin(here: View) -> Result:
    """By what Grafana answers for the health of the data source."""
    found = here[RESPONSE]
    if found is None or found.login != 200:
        return ok("plugin of the data source", "login refused" if found else "no Grafana")
    if not found.health:
        raise FactUnavailable("Grafana does not respond")
    there = "registered" if found.registered else "plugin.notRegistered"
    return Result("plugin of the data source", "registered", there, ok=found.registered)


@check("mon-grafana-datasource-wrong", DATA_SOURCES, SERVICES)
def data_source(here: View) -> Result:
    """One data source has the uid that the dashboards use, points to a Service, and is the only default."""
    found = here[DATA_SOURCES]
    what = f"data sources with uid {DATA_SOURCE}"
    if not here.spec.monitoring.enabled or (not found and not grafana(here)):
        return ok(what, "no Grafana by gpustack")
    ours = [one for one in found if one.uid == DATA_SOURCE]
    if len(ours) != 1:
        return Result(what, "one", str(len(ours)))
    if is_dangling(here, ours[0].url):
        return Result(f"address of the data source {DATA_SOURCE}", "that of a Service", ours[0].url)
    defaults = [one.uid for one in found if one.default]
    if len(defaults) > 1:
        return Result("default data sources", "one", as_text(defaults))
    return ok(what, f"one, {ours[0].url}")


def grafana(here: View) -> bool:
    name = (here.spec.monitoring.namespace, f"{here.spec.monitoring.release}-grafana")
    return name in {(one.namespace, one.name) for one in here[SERVICES]}


def is_dangling(here: View, url: str) -> bool:
    """Whether an address means a Service of the cluster that is not there. One outside may be anybody's."""
    services = {(one.namespace, one.name): set(one.ports.values()) for one in here[SERVICES]}
    parts = urlsplit(url)
    name, _, rest = (parts.hostname or "").partition(".")
    space = rest.partition(".")[0] or here.spec.monitoring.namespace
    inside = not rest or ".svc" in f".{rest}" or rest in {namespace for namespace, _ in services}
    if not inside:
        return False
    return (space, name) not in services or (parts.port or 80) not in services[space, name]


@check("mon-grafana-dashboard-not-loaded", CONFIG_MAPS, DASHBOARDS)
def not_loaded(here: View) -> Result:
    """gpustack's dashboards exist without the label, or a dashboard is invalid JSON. A missing one is checked by the
    step dashboards."""
    there = here[CONFIG_MAPS] or {}
    names = {f"{here.spec.monitoring.namespace}/gpustack-dashboard-{name}" for name in texts()}
    bare = sorted(name for name in names & set(there) if LABEL not in there[name].fields)
    cut = [f"{one.namespace}/{one.name}" for one in of_monitoring(here) if not one.valid]
    words = [f"without its label: {as_text(bare)}"] * bool(bare) + [f"invalid JSON: {as_text(cut)}"] * bool(cut)
    return Result("dashboards", "loaded by Grafana", "; ".join(words) or "loaded", ok=not words)


def of_monitoring(here: View) -> list[Dashboard]:
    """What somebody has in a namespace of their own is theirs, and no fault of the cluster's."""
    return [one for one in here[DASHBOARDS] if one.namespace == here.spec.monitoring.namespace]


def asked_for(here: View) -> dict[str, str]:
    """Metrics of DCGM's that dashboards name and Prometheus does not have, by name, with the dashboard."""
    known = here[DCGM_NAMES]
    found = {metric: one.name for one in of_monitoring(here) for metric in one.metrics}
    return {metric: name for metric, name in found.items() if metric not in known} if known else {}


@check("mon-dashboard-metric-name-wrong", DASHBOARDS, DCGM_NAMES, COUNTERS)
def metric_name(here: View) -> Result:
    """A name that is not a field of DCGM, or not in the exporter's list. A listed metric that is missing now may come
    from another GPU or at another time."""
    given, missing = here[COUNTERS].get(OURS, ""), asked_for(here)
    wrong = [
        f"{metric} in {name}" for metric, name in missing.items() if is_invented(metric) or is_left_out(metric, given)
    ]
    return Result("metrics of the panels", "known", as_text(wrong) if wrong else "known", ok=not wrong)


def is_left_out(metric: str, given: str) -> bool:
    """By our list of counters, where it is there."""
    return bool(given) and not any(line.startswith(f"{metric},") for line in given.splitlines())


def is_invented(metric: str) -> bool:
    return metric.startswith("DCGM_FI_") and metric not in dcgm_fields()


@check("mon-dcgm-metrics-vanished-after-upgrade", DASHBOARDS, DCGM_NAMES)
def vanished(here: View) -> Result:
    """A dashboard uses it without a default; gpustack's take a missing one as zero."""
    name = asked_for(here).get(NEVER_YET)
    if name is None:
        return ok(f"panels with {NEVER_YET}", "none, or with data")
    return Result(f"{NEVER_YET}, for the dashboard {name}", "present", "not exported before the first error of a GPU")


@check("mon-dashboard-label-renamed", DASHBOARDS, HOST_LABELS)
def label(here: View) -> Result:
    """The label of the host in the series and in the dashboards."""
    series = here[HOST_LABELS]
    there = set(series)
    wrong = {one.name: one.labels for one in of_monitoring(here) if one.labels and not there & set(one.labels)}
    if not there or not wrong:
        return ok("label of the host", f"{as_text(there)} in the series")
    name, labels = next(iter(wrong.items()))
    return Result(f"label of the host in {name}", as_text(there), as_text(labels))


CHECKS = (password, plugin, data_source, not_loaded, metric_name, vanished, label)

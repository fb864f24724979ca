"""States of the layer `monitoring`, and targets that do not answer Prometheus."""

import re
from collections.abc import Sequence

from gpustack.ask.judge import Result, build_ok_result, format_value
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.doctor.check import check, expect_none
from gpustack.doctor.checks.monitoring.grafana import require_login
from gpustack.doctor.checks.monitoring.stack import list_units_on_port
from gpustack.doctor.checks.monitoring.targets import DCGM, list_exporter_services
from gpustack.doctor.checks.startup import is_starting, require_settled_api
from gpustack.probes.control_plane.control_plane import STATIC_PODS
from gpustack.probes.control_plane.kubeadm import COMPONENT_LISTENERS
from gpustack.probes.gpu.dcgm import EXPORTER, SERIES
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.host.units import UNITS
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.kubernetes.pod_states import GPU_PODS
from gpustack.probes.monitoring.grafana import RESPONSE
from gpustack.probes.monitoring.scrape import (
    BLANK_VALUES,
    CLOCKS,
    DOWN_TARGETS,
    DUPLICATE_JOBS,
    JOBS,
    KUBELETS,
    TARGET_ERRORS,
    ScrapeJob,
    TargetError,
)
from gpustack.probes.network.addresses import LISTENERS, PROGRAMS, is_taken
from gpustack.probes.proof import SERVICES
from gpustack.steps.own_node import find_node

# The errors of Go for a connection that was not made (net/net.go, net/dial.go). An exceeded deadline does not tell a
# slow program from a lost packet.
CONNECTION_ERROR = re.compile(r"dial tcp \S+: (?:connect: |i/o timeout)|no route to host|network is unreachable")
KUBELET = "kubelet"
DEADLINE = "context deadline exceeded"
MOST_ERRORS = 3
MOST_NAMES = 5
UNAUTHORIZED_ERROR = "HTTP status 401"
REFUSAL = re.compile(r"HTTP status 40[13]|x509: ")
# Jobs of the control plane, and the ports on which kubeadm makes them listen on loopback.
LOOPBACK = {"kube-etcd": 2381, "kube-proxy": 10249, "kube-controller-manager": 10257, "kube-scheduler": 10259}
KUBERNETES = ("default", "kube-system")
SCRAPE_TIME = 90
"""Seconds within which all targets are scraped again: three times the default interval."""
STALE_SCRAPE = "Prometheus may not have scraped it since"


def is_platform_job(view: View, job: ScrapeJob) -> bool:
    """Tell whether a job belongs to the cluster, its monitoring or its GPUs. Other jobs belong to users."""
    return job.namespace in (*KUBERNETES, view.spec.monitoring.namespace, view.spec.gpu.namespace)


@check("mon-control-plane-targets-loopback", JOBS, COMPONENT_LISTENERS)
def loopback(view: View) -> Result:
    """Look for targets that are down and listen on 127.0.0.1 only."""
    listeners = view[COMPONENT_LISTENERS]
    down_jobs = [job.job for job in view[JOBS] if job.job in LOOPBACK and not job.is_up]
    loopback_jobs = [job for job in down_jobs if listeners.get(LOOPBACK[job]) == ("127.0.0.1",)]
    return Result("targets that listen on 127.0.0.1 only", "none", format_value(loopback_jobs), ok=not loopback_jobs)


@check("mon-target-down-network", DOWN_TARGETS, JOBS, NODES, IDENTITY, LISTENERS, PROGRAMS, TARGET_ERRORS)
def network(view: View) -> Result:
    """Look for a node-exporter that listens on the host, but that Prometheus cannot reach. Another program on its port
    is another fault. A Prometheus that scrapes no node-exporter has tried none of these connections."""
    node, port = find_node(view), view.spec.monitoring.node_exporter_port
    if node is None:
        return build_ok_result("target of the node", "the host is not a node")
    subject, is_listening = f"target {node.address}:{port}", is_taken(view[LISTENERS], port)
    if not any("node-exporter" in f"{job.job} {job.service}" for job in view[JOBS]):
        raise FactUnavailable("Prometheus has no target of node-exporter")
    if f"{node.address}:{port}" not in {instance for _, instance in view[DOWN_TARGETS]}:
        return build_ok_result(subject, "responding")
    if not is_listening:
        return build_ok_result(subject, "not running")
    if view.has_fact(PROGRAMS) and (units := list_units_on_port(view, port)):
        return build_ok_result(subject, f"port used by {format_value(units)}")
    error = find_target_error(view, f"{node.address}:{port}")
    if CONNECTION_ERROR.search(error):
        return Result(subject, "reachable", f"listening, but not reachable for Prometheus: {error}")
    if not error or DEADLINE in error:
        raise FactUnavailable(f"{error or 'no error of Prometheus'}: a slow program or a lost packet")
    return build_ok_result(subject, f"reached, with an error: {error}")


def find_target_error(view: View, instance: str) -> str:
    """Return the last error of a target, empty where Prometheus has none any more."""
    return next((target.error for target in view[TARGET_ERRORS] if target.instance == instance), "")


@check("mon-clock-skew-empty-graphs", CLOCKS)
def clocks(view: View) -> Result:
    skews = [f"{instance} {seconds:.0f} s" for instance, seconds in view[CLOCKS].items()]
    return expect_none("clocks of nodes and of Prometheus", "in sync", skews, "in sync")


@check("mon-kubelet-target-unauthorized", KUBELETS, TARGET_ERRORS)
def kubelet_refuses(view: View) -> Result:
    """Judge the error that Prometheus reports of the kubelets. Where others refuse its token as well, the API server
    does, which all of them ask."""
    errors = [f"{target.node}: {target.error}" for target in view[KUBELETS] if REFUSAL.search(target.error)]
    if errors and all(UNAUTHORIZED_ERROR in error for error in errors) and (jobs := list_refusing_jobs(view)):
        return build_ok_result("kubelets", f"{format_value(jobs)} refuse the token of Prometheus, too")
    ok_text = f"scraping allowed by {len(view[KUBELETS])}"
    return expect_none("kubelets", "scraping allowed", errors[:3], ok_text)


def list_refusing_jobs(view: View) -> list[str]:
    """List the other jobs whose targets refuse the token of Prometheus; none where their errors are unknown."""
    errors = view[TARGET_ERRORS] if view.has_fact(TARGET_ERRORS) else ()
    return sorted({error.job for error in errors if error.job != "kubelet" and UNAUTHORIZED_ERROR in error.error})


def explain_absent_metrics(view: View) -> str:
    """Explain why there can be no metrics of GPUs. Return an empty text where there can be."""
    if not view.spec.monitoring.enabled:
        return "the monitoring is not installed by gpustack"
    return "" if list_exporter_services(view) else "no exporter"


@check("st-target-missing", JOBS, SERVICES)
def target_missing(view: View) -> Result:
    if reason := explain_absent_metrics(view):
        return build_ok_result("targets of the GPU exporter", reason)
    jobs = [job.job for job in view[JOBS] if DCGM in f"{job.job} {job.service}"]
    return Result("targets of the GPU exporter", "present", format_value(jobs), ok=bool(jobs))


@check("st-target-down", JOBS, STATIC_PODS, GPU_PODS, UNITS, TARGET_ERRORS, KUBELETS)
def target_down(view: View) -> Result:
    """Look for targets that are down. Many targets authenticate Prometheus through the API, so they fail while it
    restarts. A target that is starting does not count."""
    down_jobs = sorted({job.job for job in view[JOBS] if not job.is_up and is_platform_job(view, job)})
    if down_jobs:
        require_settled_api(view, SCRAPE_TIME, STALE_SCRAPE)
    starting_programs = [find_recent_start(view, job) for job in down_jobs]
    if down_jobs and all(starting_programs):
        raise FactUnavailable(f"{starting_programs[0]} has just started, and {STALE_SCRAPE}")
    if not down_jobs:
        return build_ok_result("targets", "up")
    return Result("targets", "up", f"down: {format_value(down_jobs)}{describe_target_errors(view, down_jobs)}")


def describe_target_errors(view: View, jobs: Sequence[str]) -> str:
    """Describe the different errors of the targets of some jobs, as Prometheus reports them. Return an empty text where
    they are not known. Those of the kubelets come in an answer of their own, which is short on large clusters too."""
    errors = view[TARGET_ERRORS] if view.has_fact(TARGET_ERRORS) else list_kubelet_errors(view)
    texts = {
        target.error: f"; {target.job} {target.instance}: {target.error}" for target in errors if target.job in jobs
    }
    remainder = f"; and {len(texts) - MOST_ERRORS} other errors" if len(texts) > MOST_ERRORS else ""
    return "".join([*list(texts.values())[:MOST_ERRORS], remainder])


def list_kubelet_errors(view: View) -> tuple[TargetError, ...]:
    targets = view[KUBELETS] if view.has_fact(KUBELETS) else ()
    return tuple(TargetError(KUBELET, target.node, target.error) for target in targets if target.error)


def find_recent_start(view: View, job: str) -> str:
    """Name what started after Prometheus may have scraped the job last. Return an empty text for nothing, or where that
    is unknown. The GPU exporter asks the kubelet for the pods of GPUs, and does not answer without it
    (NVIDIA/dcgm-exporter internal/pkg/server/server.go)."""
    pods = view[GPU_PODS] if DCGM in job and view.has_fact(GPU_PODS) else ()
    if starting_pods := [pod.name for pod in pods if pod.app == EXPORTER and is_starting(view, pod)]:
        return starting_pods[0]
    for host in view.hosts if DCGM in job or job == KUBELET else ():
        host_view = view.select_host(host.name)
        unit = host_view[UNITS].get("kubelet") if host_view.has_fact(UNITS) else None
        if unit and unit.active and unit.age is not None and unit.age < SCRAPE_TIME:
            return f"the kubelet of {host.name}"
    return ""


@check("st-no-metrics", SERIES, SERVICES)
def no_metrics(view: View) -> Result:
    if reason := explain_absent_metrics(view):
        return build_ok_result("GPUs in Prometheus", reason)
    count = len({series.uuid for series in view[SERIES]})
    return Result("GPUs in Prometheus", "1 or more", str(count), ok=bool(count))


@check("st-dashboard-nodata", RESPONSE, SERVICES)
def dashboard_nodata(view: View) -> Result:
    """Judge a query for GPUs through Grafana's data source, as a panel sends it."""
    if reason := explain_absent_metrics(view):
        return build_ok_result("series of GPUs in Grafana", reason)
    response = view[RESPONSE]
    if response is None:
        return build_ok_result("series of GPUs in Grafana", "no Grafana")
    require_login(response)
    return Result(
        "series of GPUs in Grafana", "present", "present" if response.samples else "none", ok=bool(response.samples)
    )


@check("st-dashboard-wrong", DUPLICATE_JOBS, BLANK_VALUES)
def dashboard_wrong(view: View) -> Result:
    duplicate_jobs, blanks = view[DUPLICATE_JOBS], view[BLANK_VALUES]
    sources = [f"{job.namespace}/{job.service} (job {job.job})" for job in duplicate_jobs]
    words = [f"duplicates from {format_value(sources)}"] * bool(duplicate_jobs)
    words += [f"placeholders in {format_value(sorted(blanks)[:MOST_NAMES])}"] * bool(blanks)
    if words:
        return Result("values of GPUs", "unique and valid", "; ".join(words))
    return build_ok_result("values of GPUs", "unique and valid")

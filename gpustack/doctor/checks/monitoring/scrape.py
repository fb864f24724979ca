"""States of the layer `monitoring`, and what Prometheus says of targets that do not answer."""

import re

from gpustack.ask.judge import Result, as_text, ok
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.doctor.check import check
from gpustack.doctor.checks.monitoring.stack import units_on_port
from gpustack.doctor.checks.monitoring.targets import DCGM, exporters
from gpustack.doctor.checks.startup import api_known, starting
from gpustack.probes.control_plane.control_plane import STARTED
from gpustack.probes.control_plane.kubeadm import LISTENING
from gpustack.probes.gpu.dcgm import EXPORTER, SERIES
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.host.units import UNITS
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.kubernetes.pod_states import GPU_PODS
from gpustack.probes.monitoring.grafana import RESPONSE
from gpustack.probes.monitoring.scrape import BLANKS, CLOCKS, DOWN, JOBS, KUBELETS, TWICE, ScrapeJob
from gpustack.probes.network.addresses import LISTENERS, PROGRAMS, is_taken
from gpustack.probes.proof import SERVICES
from gpustack.steps.own_node import own

REFUSED = re.compile(r"HTTP status 40[13]|x509: ")
# Jobs of the control plane by the port that kubeadm lets listen on loopback.
LOOPBACK = {"kube-etcd": 2381, "kube-proxy": 10249, "kube-controller-manager": 10257, "kube-scheduler": 10259}
KUBERNETES = ("default", "kube-system")
SCRAPED = 90
"""Seconds in which every target is asked anew: three times the default interval."""
ASKED_NOT = "Prometheus may not have asked"


def ours(here: View, job: ScrapeJob) -> bool:
    """Of the cluster, its monitoring and its GPUs; what people let Prometheus watch beside that is theirs."""
    return job.namespace in (*KUBERNETES, here.spec.monitoring.namespace, here.spec.gpu.namespace)


@check("mon-control-plane-targets-loopback", JOBS, LISTENING)
def loopback(here: View) -> Result:
    """They are scraped, do not answer, and listen on 127.0.0.1 only."""
    listening = here[LISTENING]
    down = [one.job for one in here[JOBS] if one.job in LOOPBACK and not one.up]
    found = [job for job in down if listening.get(LOOPBACK[job]) == ("127.0.0.1",)]
    return Result("targets that listen on 127.0.0.1 only", "none", as_text(found), ok=not found)


@check("mon-target-down-network", DOWN, NODES, IDENTITY, LISTENERS, PROGRAMS)
def network(here: View) -> Result:
    """node-exporter listens on the host, and Prometheus does not get through to it. Another program on its port is
    another fault."""
    node, port = own(here), here.spec.monitoring.node_exporter_port
    if node is None:
        return ok("target of the node", "the host is no node")
    what, listens = f"target {node.address}:{port}", is_taken(here[LISTENERS], port)
    if f"{node.address}:{port}" not in {instance for _, instance in here[DOWN]}:
        return ok(what, "answers")
    if not listens:
        return ok(what, "not running")
    if here.available(PROGRAMS) and (others := units_on_port(here, port)):
        return ok(what, f"{as_text(others)} has the port")
    return Result(what, "reached", "it listens here, and Prometheus does not reach it")


@check("mon-clock-skew-empty-graphs", CLOCKS)
def clocks(here: View) -> Result:
    found = [f"{instance} {seconds:.0f} s" for instance, seconds in here[CLOCKS].items()]
    return Result(
        "clocks of nodes beside that of Prometheus", "equal", as_text(found) if found else "equal", ok=not found
    )


@check("mon-kubelet-target-unauthorized", KUBELETS)
def kubelet_refuses(here: View) -> Result:
    """By Prometheus' own words."""
    found = [f"{one.node}: {one.error}" for one in here[KUBELETS] if REFUSED.search(one.error)]
    fine = f"none of {len(here[KUBELETS])} refuses"
    return Result("kubelets", "let Prometheus in", as_text(found[:3]) if found else fine, ok=not found)


def scraped(here: View) -> str:
    """Why no metrics of GPUs are to be had; empty where they are."""
    if not here.spec.monitoring.enabled:
        return "the monitoring is somebody else's"
    return "" if exporters(here) else "there is no exporter"


@check("st-target-missing", JOBS, SERVICES)
def target_missing(here: View) -> Result:
    if why := scraped(here):
        return ok("targets of the GPU exporter", why)
    found = [one.job for one in here[JOBS] if DCGM in f"{one.job} {one.service}"]
    return Result("targets of the GPU exporter", "there", as_text(found), ok=bool(found))


@check("st-target-down", JOBS, STARTED, GPU_PODS, UNITS)
def target_down(here: View) -> Result:
    """Many targets ask the API who it is that scrapes them: while it was started anew, they sent Prometheus away. Nor
    is a target down that is only just coming up."""
    found = sorted({one.job for one in here[JOBS] if not one.up and ours(here, one)})
    if found:
        api_known(here, SCRAPED, ASKED_NOT)
    started = [coming_up(here, job) for job in found]
    if found and all(started):
        raise FactUnavailable(f"{started[0]} was started just now, and {ASKED_NOT} since")
    return Result("targets", "up", f"down: {as_text(found)}" if found else "up", ok=not found)


def coming_up(here: View, job: str) -> str:
    """What of a job was started after Prometheus may have asked it last; empty for nothing, or where that is
    unknown. The GPU exporter asks the kubelet whose GPUs are, and answers nobody without it (NVIDIA/dcgm-exporter
    internal/pkg/server/server.go)."""
    pods = here[GPU_PODS] if DCGM in job and here.available(GPU_PODS) else ()
    if fresh := [pod.name for pod in pods if pod.app == EXPORTER and starting(here, pod)]:
        return fresh[0]
    for host in here.hosts if DCGM in job or job == "kubelet" else ():
        there = here.on(host.name)
        unit = there[UNITS].get("kubelet") if there.available(UNITS) else None
        if unit and unit.active and unit.age is not None and unit.age < SCRAPED:
            return f"the kubelet of {host.name}"
    return ""


@check("st-no-metrics", SERIES, SERVICES)
def no_metrics(here: View) -> Result:
    if why := scraped(here):
        return ok("GPUs in Prometheus", why)
    count = len({one.uuid for one in here[SERIES]})
    return Result("GPUs in Prometheus", "some", str(count), ok=bool(count))


@check("st-dashboard-nodata", RESPONSE, SERVICES)
def dashboard_nodata(here: View) -> Result:
    """A question for GPUs by way of Grafana's data source, as a panel asks it."""
    if why := scraped(here):
        return ok("GPUs by way of Grafana", why)
    found = here[RESPONSE]
    if found is None or found.login != 200:
        return ok("GPUs by way of Grafana", "nobody is let in" if found else "no Grafana")
    return Result("GPUs by way of Grafana", "some", "some" if found.samples else "none", ok=bool(found.samples))


@check("st-dashboard-wrong", TWICE, BLANKS)
def dashboard_wrong(here: View) -> Result:
    twice, blanks = here[TWICE], here[BLANKS]
    words = ["GPUs that count twice"] * bool(twice) + ["placeholders for no value"] * bool(blanks)
    if words:
        return Result("values of GPUs", "each once, and real", as_text(words))
    return ok("values of GPUs", "each once, and real")


CHECKS = (
    loopback,
    network,
    clocks,
    kubelet_refuses,
    target_missing,
    target_down,
    no_metrics,
    dashboard_nodata,
    dashboard_wrong,
)

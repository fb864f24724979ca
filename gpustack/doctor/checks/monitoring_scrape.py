"""States of the layer `monitoring`, and what Prometheus says of targets that do not answer."""

import re

from gpustack.ask.judge import said
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.doctor.checks.monitoring_stack import strangers
from gpustack.doctor.checks.monitoring_targets import DCGM, exporters
from gpustack.doctor.checks.starting import api_known, starting
from gpustack.doctor.tells import Told, confirmed, refuted, tells
from gpustack.probes.control_plane import STARTED
from gpustack.probes.dcgm import EXPORTER, SERIES
from gpustack.probes.grafana import RESPONSE
from gpustack.probes.kube import NODES
from gpustack.probes.kubeadm import LISTENING
from gpustack.probes.network import LISTENERS, PROGRAMS, is_taken
from gpustack.probes.pod_states import GPU_PODS
from gpustack.probes.proof import SERVICES
from gpustack.probes.scrape import BLANKS, CLOCKS, DOWN, JOBS, KUBELETS, TWICE, ScrapeJob
from gpustack.probes.system import IDENTITY
from gpustack.probes.units import UNITS
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


@tells("mon-control-plane-targets-loopback", JOBS, LISTENING)
def loopback(here: View) -> Told:
    """They are scraped, do not answer, and listen on 127.0.0.1 only."""
    listening = here[LISTENING]
    down = [one.job for one in here[JOBS] if one.job in LOOPBACK and not one.up]
    found = [job for job in down if listening.get(LOOPBACK[job]) == ("127.0.0.1",)]
    return Told(bool(found), "targets that listen on 127.0.0.1 only", "none", said(found))


@tells("mon-target-down-network", DOWN, NODES, IDENTITY, LISTENERS, PROGRAMS)
def network(here: View) -> Told:
    """node-exporter listens on the host, and Prometheus does not get through to it. Another program on its port is
    another fault."""
    node, port = own(here), here.spec.monitoring.node_exporter_port
    if node is None:
        return refuted("target of the node", "the host is no node")
    what, listens = f"target {node.address}:{port}", is_taken(here[LISTENERS], port)
    if f"{node.address}:{port}" not in {instance for _, instance in here[DOWN]}:
        return refuted(what, "answers")
    if not listens:
        return refuted(what, "not running")
    if here.told(PROGRAMS) and (others := strangers(here, port)):
        return refuted(what, f"{said(others)} has the port")
    return confirmed(what, "reached", "it listens here, and Prometheus does not reach it")


@tells("mon-clock-skew-empty-graphs", CLOCKS)
def clocks(here: View) -> Told:
    found = [f"{instance} {seconds:.0f} s" for instance, seconds in here[CLOCKS].items()]
    return Told(bool(found), "clocks of nodes beside that of Prometheus", "equal", said(found) if found else "equal")


@tells("mon-kubelet-target-unauthorized", KUBELETS)
def kubelet_refuses(here: View) -> Told:
    """By Prometheus' own words."""
    found = [f"{one.node}: {one.error}" for one in here[KUBELETS] if REFUSED.search(one.error)]
    fine = f"none of {len(here[KUBELETS])} refuses"
    return Told(bool(found), "kubelets", "let Prometheus in", said(found[:3]) if found else fine)


def scraped(here: View) -> str:
    """Why no metrics of GPUs are to be had; empty where they are."""
    if not here.spec.monitoring.enabled:
        return "the monitoring is somebody else's"
    return "" if exporters(here) else "there is no exporter"


@tells("st-target-missing", JOBS, SERVICES)
def target_missing(here: View) -> Told:
    if why := scraped(here):
        return refuted("targets of the GPU exporter", why)
    found = [one.job for one in here[JOBS] if DCGM in f"{one.job} {one.service}"]
    return Told(not found, "targets of the GPU exporter", "there", said(found))


@tells("st-target-down", JOBS, STARTED, GPU_PODS, UNITS)
def target_down(here: View) -> Told:
    """Many targets ask the API who it is that scrapes them: while it was started anew, they sent Prometheus away. Nor
    is a target down that is only just coming up."""
    found = sorted({one.job for one in here[JOBS] if not one.up and ours(here, one)})
    if found:
        api_known(here, SCRAPED, ASKED_NOT)
    started = [coming_up(here, job) for job in found]
    if found and all(started):
        raise FactUnavailable(f"{started[0]} was started just now, and {ASKED_NOT} since")
    return Told(bool(found), "targets", "up", f"down: {said(found)}" if found else "up")


def coming_up(here: View, job: str) -> str:
    """What of a job was started after Prometheus may have asked it last; empty for nothing, or where that cannot be
    told. The GPU exporter asks the kubelet whose GPUs are, and answers nobody without it (NVIDIA/dcgm-exporter
    internal/pkg/server/server.go)."""
    pods = here[GPU_PODS] if DCGM in job and here.told(GPU_PODS) else ()
    if fresh := [pod.name for pod in pods if pod.app == EXPORTER and starting(here, pod)]:
        return fresh[0]
    for host in here.hosts if DCGM in job or job == "kubelet" else ():
        there = here.on(host.name)
        unit = there[UNITS].get("kubelet") if there.told(UNITS) else None
        if unit and unit.active and unit.age is not None and unit.age < SCRAPED:
            return f"the kubelet of {host.name}"
    return ""


@tells("st-no-metrics", SERIES, SERVICES)
def no_metrics(here: View) -> Told:
    if why := scraped(here):
        return refuted("GPUs in Prometheus", why)
    count = len({one.uuid for one in here[SERIES]})
    return Told(not count, "GPUs in Prometheus", "some", str(count))


@tells("st-dashboard-nodata", RESPONSE, SERVICES)
def dashboard_nodata(here: View) -> Told:
    """A question for GPUs by way of Grafana's data source, as a panel asks it."""
    if why := scraped(here):
        return refuted("GPUs by way of Grafana", why)
    found = here[RESPONSE]
    if found is None or found.login != 200:
        return refuted("GPUs by way of Grafana", "nobody is let in" if found else "no Grafana")
    return Told(not found.samples, "GPUs by way of Grafana", "some", "some" if found.samples else "none")


@tells("st-dashboard-wrong", TWICE, BLANKS)
def dashboard_wrong(here: View) -> Told:
    twice, blanks = here[TWICE], here[BLANKS]
    words = ["GPUs that count twice"] * bool(twice) + ["placeholders for no value"] * bool(blanks)
    if words:
        return confirmed("values of GPUs", "each once, and real", said(words))
    return refuted("values of GPUs", "each once, and real")

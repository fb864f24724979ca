"""GPU metrics: the DCGM metrics of each GPU reach Prometheus, once, under stable names.

A ConfigMap of ours lists the exported counters, with the legacy names that dashboards and alerts use; the spec may add
fields. One ServiceMonitor lets Prometheus find the exporter: either NVIDIA's operator owns one with the exporter's name
(and deletes any object of that name if its ServiceMonitor is disabled), or ours has another name. Never both: each GPU
would be counted twice in every sum. Without the operator it is ours.

Settings: gpu.metrics. Sources: NVIDIA/gpu-operator v26.7.0 controllers/object_controls.go; NVIDIA/dcgm-exporter README.
"""

from gpustack.ask.judge import Result, as_text
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.config.host import Host
from gpustack.config.inventory import Inventory
from gpustack.probes.gpu.cluster import GPU_NODES
from gpustack.probes.gpu.dcgm import COUNTERS as COUNTERS_FACT
from gpustack.probes.gpu.dcgm import EXPORTER, MONITORS, SERIES, GpuSeries, Monitor
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.gpu.temporary import MARKS, read_mark
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubernetes.applied import SERVICE_MONITORS
from gpustack.probes.monitoring.scrape import GONE
from gpustack.steps.applied import differing
from gpustack.steps.control_plane.step import control_planes
from gpustack.steps.gpu.exporter import COUNTERS, count_watched, own_and_more, seconds
from gpustack.steps.gpu.hosts import expected, gpu_nodes, on_hosts
from gpustack.steps.gpu.metrics_objects import OURS, monitor_of_ours, wanted_monitor
from gpustack.steps.step import Step


def applies(inventory: Inventory, host: Host) -> bool:
    return inventory.spec.monitoring.enabled and control_planes(inventory, host)


def csv(here: View) -> Result | None:
    """The exporter is configured to export our counters, and those of the spec."""
    if not expected(here):
        return None
    wanted, found = own_and_more(here), here[COUNTERS_FACT].get(COUNTERS)
    if found == wanted:
        return None
    return Result(f"ConfigMap {COUNTERS}", "gpustack's counters", "different ones" if found else "nothing")


def monitor(here: View) -> Result | None:
    """Exactly one ServiceMonitor lets Prometheus find the exporter."""
    if not expected(here):
        return None
    wanted, found = wanted_monitor(here), here[MONITORS] or ()
    if wanted not in found:
        return Result("ServiceMonitor of the exporter", wanted.name, as_text([one.name for one in found]))
    ours = {Monitor(here.spec.gpu.namespace, name) for name in (EXPORTER, OURS)}
    others = [one for one in found if one not in ours]
    if others:
        names = as_text([f"{one.namespace}/{one.name}" for one in others])
        hint = Command(
            "kubectl", "-n", others[0].namespace, "delete", "servicemonitor", others[0].name, note="if it is not needed"
        )
        return Result("ServiceMonitors of the exporter", "one", f"also {names}", cure="operator", hint=hint)
    return (
        Result("ServiceMonitors of the exporter", "one", "two, so every GPU counts twice") if len(found) > 1 else None
    )


def monitor_content(here: View) -> Result | None:
    """A ServiceMonitor of ours has the interval and the relabelings of the spec."""
    wanted = wanted_monitor(here)
    if not expected(here) or wanted.name != OURS or wanted not in (here[MONITORS] or ()):
        return None
    return differing("ServiceMonitors", [monitor_of_ours(here)], here[SERVICE_MONITORS])


def series(here: View) -> Result | None:
    """Prometheus has a recent series of every GPU of every node, or of those of gpu.metrics.devices, by its UUID, from
    one scrape job: the series of a job that is no longer scraped can be queried for five minutes."""
    counts, wrong = expected(here), {}
    if not counts:
        return None
    fresh = max(GONE, 3 * seconds(here.spec.gpu.metrics.interval))
    by_host: dict[str, list[GpuSeries]] = {}
    for one in here[SERIES]:
        by_host.setdefault(one.host, []).append(one)
    for host, node in gpu_nodes(here).items():
        count = count_watched(here.spec.gpu.metrics.devices, counts[host])
        of_host = by_host.get(node.name, [])
        uuids = {one.uuid for one in of_host if one.age < fresh}
        newest = min((one.age for one in of_host), default=0)
        jobs = {one.job for one in of_host if one.age < newest + GONE}
        if len(uuids) != count:
            wrong[host] = f"{len(uuids)} of {count}"
        elif len(jobs) > 1:
            wrong[host] = f"each from {len(jobs)} jobs: {as_text(jobs)}"
    return on_hosts("GPUs in Prometheus", "all, each once", wrong, passing=True)


def temporary(here: View) -> Result | None:
    """No GPU is changed for a time, by `--for` or as profiling that is paused: what gpustack changes so stands on its
    node with a deadline and the values before, and the first command of `gpustack gpu` that asks host engines after
    that puts it back. To end it earlier, set it again without `--for`, or resume profiling."""
    if not expected(here) or not (found := here[MARKS]):
        return None
    known = {place: read_mark(*place, text, here.taken) for place, text in found.items()}
    words = [
        f"{node}: {mark.described if mark else f'{what}, no mark of gpustack: {found[node, what]}'}"
        for (node, what), mark in known.items()
    ]
    late = any(mark and mark.overdue for mark in known.values())
    hint = (
        Command("gpustack", "gpu", "config", "show", note="puts back what is overdue")
        if late
        else Command("gpustack", "explain", "gpu-metrics")
    )
    return Result("temporary changes of GPUs", "none", "; ".join(words), "operator", hint=hint)


STEP = Step(
    "gpu-metrics",
    scope="cluster",
    probes=(COUNTERS_FACT, MONITORS, SERVICE_MONITORS, GPU_NODES, IDENTITY, GPU_DEVICES, SERIES, MARKS),
    checks=(csv, monitor, monitor_content, series, temporary),
    needs=("monitoring", "gpu-operator", "gpu-plugin"),
    settle=180,
    applies=applies,
    interrupts="the exporter may be made anew; its series pause",
)

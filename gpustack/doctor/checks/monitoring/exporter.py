"""Faults of the layer `monitoring` of the GPU exporter: its own log, its pods, and the values that it gives."""

from gpustack.ask.judge import Result, as_text, ok
from gpustack.ask.view import View
from gpustack.config.versions import dcgm_fields
from gpustack.doctor.check import check
from gpustack.doctor.checks.monitoring.stack import out_of_memory
from gpustack.doctor.checks.node_lookup import on_own_node
from gpustack.doctor.checks.startup import starting
from gpustack.probes.gpu.cluster import GPU_DAEMON_SETS
from gpustack.probes.gpu.dcgm import APP, COUNTERS
from gpustack.probes.gpu.engine_pods import ENGINE
from gpustack.probes.gpu.logs import LOGS, LogLine
from gpustack.probes.gpu.settings import EXPORTERS, GPU_CONFIG_MAPS, SETTINGS
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.kubernetes.pod_states import GPU_PODS, PodState
from gpustack.probes.kubernetes.workloads import MONITORING_DEPLOYMENTS
from gpustack.probes.monitoring.scrape import BLANKS, TWICE
from gpustack.steps.gpu.exporter import COUNTERS_KEY

EXPORTER = APP["app"]
QUIET = "no such message"


def find_log_lines(here: View, what: str) -> list[LogLine]:
    """Of this host's containers."""
    return [one for one in here[LOGS] if one.what == what]


def find_log_lines_anywhere(here: View, what: str) -> list[LogLine]:
    """Of the first host that has it. Those that cannot tell come last: they count where no other one has it."""
    views = sorted((here.on(host.name) for host in here.hosts), key=lambda view: not view.available(LOGS))
    return next((found for view in views if (found := find_log_lines(view, what))), [])


def judge_log(what: str, found: list[LogLine]) -> Result:
    return Result(what, "no such message", f"{found[0].pod}: {found[0].line}" if found else QUIET, ok=not found)


@check("mon-dcgm-profiling-unsupported", LOGS)
def no_profiling(here: View) -> Result:
    return judge_log("log of the exporter", find_log_lines(here, "no-profiling"))


@check("mon-dcgm-profiling-module-error", LOGS)
def profiling_taken(here: View) -> Result:
    return judge_log("log of the exporter", find_log_lines(here, "profiling-taken"))


@check("mon-dcgm-hostengine-version", LOGS)
def engine_version(here: View) -> Result:
    return judge_log("log of the exporter", find_log_lines(here, "engine-version"))


@check("mon-dcgm-remote-engine-unreachable", SETTINGS, GPU_DAEMON_SETS, LOGS)
def engine_away(here: View) -> Result:
    """Only where the exporter is configured to use another pod's."""
    what = "separate DCGM pod"
    if not any(one.dcgm for one in here[SETTINGS] or ()):
        return ok(what, "not used: the exporter runs DCGM itself")
    pods = here[GPU_DAEMON_SETS].get(ENGINE)
    if pods is None or pods.ready < pods.wanted or not pods.wanted:
        return Result(what, "running", "none" if pods is None else f"{pods.ready} of {pods.wanted} running")
    return judge_log("log of the exporter", find_log_lines_anywhere(here, "engine-away"))


@check("mon-dcgm-remote-engine-unreachable guard", MONITORING_DEPLOYMENTS)
def services_are_reached(here: View) -> Result:
    """kube-state-metrics is ready only while it reaches the API by the address of its Service."""
    found = here[MONITORING_DEPLOYMENTS].get(f"{here.spec.monitoring.release}-kube-state-metrics")
    fine = found is not None and found.ready > 0
    return Result("another pod that uses Services", "not ready", "ready" if fine else "not ready", ok=not fine)


@check("mon-dcgm-blank-values", BLANKS)
def blanks(here: View) -> Result:
    found = here[BLANKS]
    return Result("placeholder values", "none", as_text(sorted(found)[:5]), ok=not found)


@check("mon-duplicate-metrics", TWICE)
def duplicates(here: View) -> Result:
    """A GPU with MIG instances has several series from one source, which is correct."""
    found = [f"{one.namespace}/{one.service or one.job} (job {one.job})" for one in here[TWICE]]
    return Result(
        "sources of the metrics of a GPU", "one", as_text(found) if found else "one for each GPU", ok=not found
    )


@check("mon-pod-attribution-missing", EXPORTERS)
def attribution(here: View) -> Result:
    found = [
        f"{one.name} {'without the directory of the kubelet' if one.asks_kubelet else 'without the pod mapping'}"
        for one in here[EXPORTERS]
        if not (one.asks_kubelet and one.mounts_kubelet)
    ]
    fine = "with the pod mapping of the kubelet" if here[EXPORTERS] else "none"
    return Result(
        "GPU exporter", "with the pod mapping of the kubelet", as_text(found) if found else fine, ok=not found
    )


@check("mon-dcgm-csv-config-bad", SETTINGS, EXPORTERS, GPU_CONFIG_MAPS, COUNTERS, LOGS)
def counters(here: View) -> Result:
    """The ConfigMap that the exporter is configured to read, and the errors it logs about its lines."""
    maps, texts = here[GPU_CONFIG_MAPS], here[COUNTERS]
    named = {one.counters_config for one in here[SETTINGS] or ()} | {one.config_map for one in here[EXPORTERS]}
    for name in sorted(named - {""}):
        if name not in maps:
            return Result("counters of the exporter", f"ConfigMap {name}", "no such ConfigMap")
        if COUNTERS_KEY not in maps[name]:
            return Result(f"keys of ConfigMap {name}", COUNTERS_KEY, as_text(maps[name]))
        if name in texts and (line := odd_line(texts[name])):
            return Result(f"ConfigMap {name}", "lines FIELD, TYPE, HELP with known fields", line)
    return judge_log("log of the exporter", find_log_lines_anywhere(here, "counters"))


def odd_line(text: str) -> str:
    """The first line that the exporter does not take (dcgm-exporter internal/pkg/counters)."""
    for line in text.splitlines():
        parts = [part.strip() for part in line.split(",")]
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if len(parts) < 3 or (parts[0] not in dcgm_fields() and not parts[0].startswith("DCGM_EXP_")):
            return line[:120]
    return ""


def own_pods(here: View, app: str) -> list[PodState]:
    """Pods of an app on this host's node; none where the host is no node."""
    return [pod for pod in on_own_node(here, GPU_PODS) if pod.app == app]


@check("mon-dcgm-exporter-oom", GPU_PODS, NODES, IDENTITY)
def exporter_oom(here: View) -> Result:
    found = out_of_memory(here, own_pods(here, EXPORTER), "exporter")
    return Result("GPU exporter", "within its memory limit", found or "not OOM-killed", ok=not found)


@check("st-dcgm-down", GPU_PODS, NODES, IDENTITY)
def dcgm_down(here: View) -> Result:
    """A node without a pod of the exporter is another fault. A pod that has just started for the first time does not
    count."""
    pods = own_pods(here, EXPORTER)
    down = [pod.name for pod in pods if not pod.ready and not starting(here, pod)]
    fine = "ready" if pods else "no pod on this node"
    return Result("GPU exporter", "ready", f"not ready: {as_text(down)}" if down else fine, ok=not down)


@check("st-dcgm-down -> st-target-missing", GPU_PODS, NODES, IDENTITY)
def exporter_has_no_address(here: View) -> Result:
    return dcgm_down(here)


CHECKS = (
    no_profiling,
    profiling_taken,
    engine_version,
    engine_away,
    services_are_reached,
    blanks,
    duplicates,
    attribution,
    counters,
    exporter_oom,
    dcgm_down,
    exporter_has_no_address,
)

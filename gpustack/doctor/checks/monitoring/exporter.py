"""Faults of the layer `monitoring` in the GPU exporter: its log, its pods, and its values."""

from gpustack.ask.judge import Result, build_ok_result, format_value
from gpustack.ask.message import shorten_message
from gpustack.ask.view import View
from gpustack.config.versions import read_dcgm_fields
from gpustack.doctor.check import check, expect_none
from gpustack.doctor.checks.monitoring.stack import find_oom_kill
from gpustack.doctor.checks.node_lookup import list_own_node_entries
from gpustack.doctor.checks.startup import is_starting
from gpustack.probes.gpu.cluster import GPU_DAEMON_SETS
from gpustack.probes.gpu.dcgm import APP, COUNTERS
from gpustack.probes.gpu.engine_pods import ENGINE
from gpustack.probes.gpu.logs import LOGS, LogLine
from gpustack.probes.gpu.settings import EXPORTERS, GPU_CONFIG_MAPS, SETTINGS
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.kubernetes.pod_states import GPU_PODS, PodState
from gpustack.probes.kubernetes.workloads import MONITORING_DEPLOYMENTS
from gpustack.probes.monitoring.scrape import BLANK_VALUES, DUPLICATE_JOBS
from gpustack.steps.gpu.exporter import COUNTERS_KEY

EXPORTER = APP["app"]
NO_MESSAGE = "no such message"


def find_log_lines(view: View, kind: str) -> list[LogLine]:
    """List the log lines of this kind of this host's containers."""
    return [log_line for log_line in view[LOGS] if log_line.kind == kind]


def find_log_lines_anywhere(cluster_view: View, kind: str) -> list[LogLine]:
    """Return the log lines of this kind of the first host that has any. A host whose logs are unknown comes last, and
    counts only where no other host has any."""
    views = sorted(
        (cluster_view.select_host(host.name) for host in cluster_view.hosts), key=lambda view: not view.has_fact(LOGS)
    )
    return next((log_lines for view in views if (log_lines := find_log_lines(view, kind))), [])


def judge_log(subject: str, log_lines: list[LogLine]) -> Result:
    return Result(
        subject,
        "no such message",
        f"{log_lines[0].pod}: {log_lines[0].line}" if log_lines else NO_MESSAGE,
        ok=not log_lines,
    )


@check("mon-dcgm-profiling-unsupported", LOGS)
def no_profiling(view: View) -> Result:
    return judge_log("log of the exporter", find_log_lines(view, "no-profiling"))


@check("mon-dcgm-profiling-module-error", LOGS)
def profiling_taken(view: View) -> Result:
    return judge_log("log of the exporter", find_log_lines(view, "profiling-taken"))


@check("mon-dcgm-hostengine-version", LOGS)
def engine_version(view: View) -> Result:
    return judge_log("log of the exporter", find_log_lines(view, "engine-version"))


@check("mon-dcgm-remote-engine-unreachable", SETTINGS, GPU_DAEMON_SETS, LOGS)
def engine_away(view: View) -> Result:
    """Judge the pod that runs DCGM, where the exporter is configured to use one."""
    subject = "separate DCGM pod"
    if not any(settings.dcgm for settings in view[SETTINGS] or ()):
        return build_ok_result(subject, "not used: the exporter runs DCGM itself")
    pods = view[GPU_DAEMON_SETS].get(ENGINE)
    if pods is None or pods.ready < pods.desired_pods or not pods.desired_pods:
        return Result(subject, "running", "none" if pods is None else f"{pods.ready} of {pods.desired_pods} running")
    return judge_log("log of the exporter", find_log_lines_anywhere(view, "engine-away"))


@check("mon-dcgm-remote-engine-unreachable guard", MONITORING_DEPLOYMENTS)
def services_are_reached(view: View) -> Result:
    """Check kube-state-metrics, which is ready only while it reaches the API by the address of its Service."""
    workload = view[MONITORING_DEPLOYMENTS].get(f"{view.spec.monitoring.release}-kube-state-metrics")
    is_ready = workload is not None and workload.ready > 0
    return Result("another pod that uses Services", "not ready", "ready" if is_ready else "not ready", ok=not is_ready)


@check("mon-dcgm-blank-values", BLANK_VALUES)
def blanks(view: View) -> Result:
    blank_values = view[BLANK_VALUES]
    return Result("placeholder values", "none", format_value(sorted(blank_values)[:5]), ok=not blank_values)


@check("mon-duplicate-metrics", DUPLICATE_JOBS)
def duplicates(view: View) -> Result:
    """Look for a GPU with several sources. A GPU with MIG instances has several series from one source, which is
    correct."""
    sources = [f"{job.namespace}/{job.service or job.job} (job {job.job})" for job in view[DUPLICATE_JOBS]]
    return expect_none("sources of the metrics of a GPU", "one", sources, "one for each GPU")


@check("mon-pod-attribution-missing", EXPORTERS)
def attribution(view: View) -> Result:
    faulty_exporters = [
        f"{pod.name} without the {'directory of the kubelet' if pod.asks_kubelet else 'pod mapping'}"
        for pod in view[EXPORTERS]
        if not (pod.asks_kubelet and pod.mounts_kubelet)
    ]
    mapping_text = "with the pod mapping of the kubelet" if view[EXPORTERS] else "none"
    return expect_none("GPU exporter", "with the pod mapping of the kubelet", faulty_exporters, mapping_text)


@check("mon-dcgm-csv-config-bad", SETTINGS, EXPORTERS, GPU_CONFIG_MAPS, COUNTERS, LOGS)
def counters(view: View) -> Result:
    """Judge the ConfigMap that the exporter is configured to read, and the errors that it logs about its lines."""
    maps, texts = view[GPU_CONFIG_MAPS], view[COUNTERS]
    config_maps = {settings.counters_config for settings in view[SETTINGS] or ()} | {
        pod.config_map for pod in view[EXPORTERS]
    }
    for name in sorted(config_maps - {""}):
        if name not in maps:
            return Result("counters of the exporter", f"ConfigMap {name}", "no such ConfigMap")
        if COUNTERS_KEY not in maps[name]:
            return Result(f"keys of ConfigMap {name}", COUNTERS_KEY, format_value(maps[name]))
        if name in texts and (line := find_odd_line(texts[name])):
            return Result(f"ConfigMap {name}", "lines FIELD, TYPE, HELP with known fields", line)
    return judge_log("log of the exporter", find_log_lines_anywhere(view, "counters"))


def find_odd_line(counters_text: str) -> str:
    """Return the first line that the exporter refuses (dcgm-exporter internal/pkg/counters), or an empty text."""
    for line in counters_text.splitlines():
        parts = [part.strip() for part in line.split(",")]
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if len(parts) < 3 or (parts[0] not in read_dcgm_fields() and not parts[0].startswith("DCGM_EXP_")):
            return shorten_message(line)
    return ""


def list_own_pods(view: View, app: str) -> list[PodState]:
    """List the pods of an app on this host's node. A host that is not a node has none."""
    return [pod for pod in list_own_node_entries(view, GPU_PODS) if pod.app == app]


@check("mon-dcgm-exporter-oom", GPU_PODS, NODES, IDENTITY)
def exporter_oom(view: View) -> Result:
    oom_kill = find_oom_kill(view, list_own_pods(view, EXPORTER), "exporter")
    return Result("GPU exporter", "within its memory limit", oom_kill or "not OOM-killed", ok=not oom_kill)


@check("st-dcgm-down", GPU_PODS, NODES, IDENTITY)
def dcgm_down(view: View) -> Result:
    """Check that the exporter's pods are ready. A node without a pod is another fault, and a pod that has just started
    for the first time does not count."""
    pods = list_own_pods(view, EXPORTER)
    down_pods = [pod.name for pod in pods if not pod.ready and not is_starting(view, pod)]
    ready_text = "ready" if pods else "no pod on this node"
    return Result(
        "GPU exporter", "ready", f"not ready: {format_value(down_pods)}" if down_pods else ready_text, ok=not down_pods
    )


@check("st-dcgm-down -> st-target-missing", GPU_PODS, NODES, IDENTITY)
def exporter_has_no_address(view: View) -> Result:
    return dcgm_down(view)

"""Judge whether the exporter's settings fit each other, the rest of the spec and the exporter's version."""

from collections.abc import Iterator
from functools import cache

from gpustack.config.complaint import Complaint, find_nearest
from gpustack.config.resources import read_own_counters
from gpustack.config.sections.exporter import DEFAULT_PORT, Metrics
from gpustack.config.sections.gpu import Gpu
from gpustack.config.versions import read_dcgm_fields, read_rows, read_version_set

KEY = "gpu.metrics"
# By these verify counts the GPUs in Prometheus, and prove follows a GPU to the dashboard.
REQUIRED_FIELDS = ("DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_POWER_USAGE")
# Ids of the fields that came with DCGM 4.7 (its field reference). An exporter ends at a name that it does not know.
DCGM_4_7_IDS = range(1600, 1650)
# NVIDIA/gpu-operator v26.7.0 assets/state-dcgm-exporter, 0400_service.yaml and 0800_daemonset.yaml.
LISTEN_RULE = f"port {DEFAULT_PORT} and any address: the operator's Service and probes know no other"

KeyedComplaint = tuple[set[str], Complaint]


def judge_exporter(file: str, gpu: Gpu, versions: str) -> Iterator[KeyedComplaint]:
    """Yield the keys that a complaint is about, and the complaint. `versions` is the name of the version set."""
    metrics = gpu.metrics
    yield from find_unknown_fields(file, metrics, versions)
    yield from judge_exclusions(file, metrics)
    has_operator = gpu.stack == "operator"
    if has_operator and metrics.listen != f":{DEFAULT_PORT}":
        yield build_complaint(file, "listen", metrics.listen, LISTEN_RULE, "gpu.stack")
    for key in ("pod_labels", "pod_uid"):
        if not has_operator and getattr(metrics, key):
            rule = "nothing: the exporter of gpu.stack: host has no access to the API"
            yield build_complaint(file, key, f"{key} with gpu.stack: host", rule, "gpu.stack")
    if metrics.engine != Metrics().engine and gpu.dcgm != "host":
        yield build_complaint(
            file, "engine", f"{metrics.engine}, without effect", "nothing, or gpu.dcgm: host", "gpu.dcgm"
        )
    if metrics.relabelings and has_operator and metrics.service_monitor == "operator":
        rule = "nothing, or service_monitor: ours; the operator's ServiceMonitor has no metricRelabelings"
        yield build_complaint(
            file, "relabelings", "relabelings without effect", rule, "gpu.stack", f"{KEY}.service_monitor"
        )


def find_unknown_fields(file: str, metrics: Metrics, versions: str) -> Iterator[KeyedComplaint]:
    exporter = read_version_set(versions).components["dcgm-exporter"]
    known_fields = sorted(list_known_fields(exporter))
    for index, name in enumerate(metrics.counters):
        if name in known_fields:
            continue
        if name in read_dcgm_fields():
            yield build_complaint(
                file, f"counters.{index}", name, f"a field of dcgm-exporter {exporter}; this one is newer"
            )
        else:
            rule = "a field that `gpustack explain metric` knows; others: dcgmExporter.config in your values"
            yield build_complaint(file, f"counters.{index}", name, rule, likely=find_nearest(name, known_fields))


def judge_exclusions(file: str, metrics: Metrics) -> Iterator[KeyedComplaint]:
    for index, name in enumerate(metrics.leave_out):
        if name in REQUIRED_FIELDS:
            yield build_complaint(file, f"leave_out.{index}", name, "another field: verify and prove read this one")
        elif name not in list_own_fields():
            rule = "a field of values/dcgm/counters.csv"
            yield build_complaint(file, f"leave_out.{index}", name, rule, likely=find_nearest(name, list_own_fields()))


@cache
def list_own_fields() -> tuple[str, ...]:
    """List the fields of gpustack's counters, in their order."""
    return tuple(
        line.partition(",")[0] for line in read_own_counters().splitlines() if line and not line.startswith("#")
    )


@cache
def list_known_fields(exporter: str) -> frozenset[str]:
    """List the names, in any spelling, that an exporter of this version knows. Its tag has DCGM's version and its
    own."""
    dcgm = tuple(int(part) for part in exporter.partition("-")[0].split("."))
    rows = (row for row in read_rows("dcgm-fields.csv") if dcgm >= (4, 7) or row[1] not in map(str, DCGM_4_7_IDS))
    return frozenset(name for row in rows for name in (row[0], row[4]) if name)


def build_complaint(
    file: str, key: str, actual: str, rule: str, *related_keys: str, likely: str = ""
) -> KeyedComplaint:
    full_key = f"{KEY}.{key}"
    keys = {f"{KEY}.{key.partition('.')[0]}", *related_keys}
    return keys, Complaint(file, f"gpustack.{full_key}", actual, rule, nearest=likely)

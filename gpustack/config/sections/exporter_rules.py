"""Whether the exporter's settings fit each other, the rest of the spec and the exporter's version."""

from collections.abc import Iterator
from functools import cache

from gpustack.config.complaint import Complaint, nearest
from gpustack.config.resources import own_counters
from gpustack.config.sections.exporter import LISTEN, Metrics
from gpustack.config.sections.gpu import Gpu
from gpustack.config.versions import dcgm_fields, rows, version_set

KEY = "gpu.metrics"
# By these verify counts the GPUs in Prometheus, and prove follows a GPU to the dashboard.
NEEDED = ("DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_POWER_USAGE")
# Ids of the fields that came with DCGM 4.7 (its field reference). An exporter ends at a name that it does not know.
OF_4_7 = range(1600, 1650)
# NVIDIA/gpu-operator v26.7.0 assets/state-dcgm-exporter, 0400_service.yaml and 0800_daemonset.yaml.
FIXED = f"port {LISTEN} and any address: the operator's Service and probes know no other"

Found = tuple[set[str], Complaint]


def complaints(file: str, gpu: Gpu, versions: str) -> Iterator[Found]:
    """The keys that each is about, and the complaint. `versions` is the name of the version set."""
    metrics = gpu.metrics
    yield from unknown_fields(file, metrics, versions)
    yield from left_out(file, metrics)
    operators = gpu.stack == "operator"
    if operators and metrics.listen != f":{LISTEN}":
        yield of(file, "listen", metrics.listen, FIXED, "gpu.stack")
    for key in ("pod_labels", "pod_uid"):
        if not operators and getattr(metrics, key):
            allowed = "nothing: the exporter of gpu.stack: host has no access to the API"
            yield of(file, key, f"{key} with gpu.stack: host", allowed, "gpu.stack")
    if metrics.engine != Metrics().engine and gpu.dcgm != "host":
        yield of(file, "engine", f"{metrics.engine}, without effect", "nothing, or gpu.dcgm: host", "gpu.dcgm")
    if metrics.relabelings and operators and metrics.service_monitor == "operator":
        allowed = "nothing, or service_monitor: ours; the operator's ServiceMonitor has no metricRelabelings"
        yield of(file, "relabelings", "relabelings without effect", allowed, "gpu.stack", f"{KEY}.service_monitor")


def unknown_fields(file: str, metrics: Metrics, versions: str) -> Iterator[Found]:
    exporter = version_set(versions).components["dcgm-exporter"]
    known = sorted(known_to(exporter))
    for at, name in enumerate(metrics.counters):
        if name in known:
            continue
        if name in dcgm_fields():
            yield of(file, f"counters.{at}", name, f"a field of dcgm-exporter {exporter}; this one is newer")
        else:
            allowed = "a field that `gpustack explain metric` knows; others: dcgmExporter.config in your values"
            yield of(file, f"counters.{at}", name, allowed, likely=nearest(name, known))


def left_out(file: str, metrics: Metrics) -> Iterator[Found]:
    for at, name in enumerate(metrics.leave_out):
        if name in NEEDED:
            yield of(file, f"leave_out.{at}", name, "another field: verify and prove read this one")
        elif name not in own_fields():
            allowed = "a field of values/dcgm/counters.csv"
            yield of(file, f"leave_out.{at}", name, allowed, likely=nearest(name, own_fields()))


@cache
def own_fields() -> tuple[str, ...]:
    """Those of our list of counters, in its order."""
    return tuple(line.partition(",")[0] for line in own_counters().splitlines() if line and not line.startswith("#"))


@cache
def known_to(exporter: str) -> frozenset[str]:
    """Names, in any spelling, that an exporter of this version knows. Its tag is DCGM's version and its own."""
    dcgm = tuple(int(part) for part in exporter.partition("-")[0].split("."))
    found = (row for row in rows("dcgm-fields.csv") if dcgm >= (4, 7) or row[1] not in map(str, OF_4_7))
    return frozenset(name for row in found for name in (row[0], row[4]) if name)


def of(file: str, key: str, found: str, allowed: str, *others: str, likely: str = "") -> Found:
    whole = f"{KEY}.{key}"
    about = {f"{KEY}.{key.partition('.')[0]}", *others}
    return about, Complaint(file, f"gpustack.{whole}", found, allowed, nearest=likely)

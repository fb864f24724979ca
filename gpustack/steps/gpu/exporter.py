"""What dcgm-exporter is to read, and its variables: the same with and without NVIDIA's operator.

Names of variables: NVIDIA/dcgm-exporter 4.5.3-4.8.2 pkg/cmd/app.go, NewApp.
"""

from gpustack.ask.view import View
from gpustack.config.resources import own_counters
from gpustack.config.sections.exporter import Metrics
from gpustack.config.spec import Spec
from gpustack.config.versions import rows

COUNTERS = "gpustack-dcgm-counters"
COUNTERS_KEY = "dcgm-metrics.csv"
REMOTE = "DCGM_REMOTE_HOSTENGINE_INFO"
# The type that a field of this kind has in Prometheus; what only looks like a counter is a gauge.
TYPES = {"counter": "counter", "label": "label"}


def variables(spec: Spec) -> dict[str, str]:
    """Those that differ from the exporter's own defaults, without its list of counters and what is about pods."""
    metrics, initial = spec.gpu.metrics, Metrics()
    found = {"DCGM_EXPORTER_INTERVAL": str(seconds(metrics.interval) * 1000)}
    if metrics.devices != initial.devices:
        found["DCGM_EXPORTER_DEVICES_STR"] = metrics.devices
    if metrics.shared_gpus:
        found["KUBERNETES_VIRTUAL_GPUS"] = "true"
    if spec.gpu.dcgm == "host":
        found[REMOTE] = metrics.engine
    return found


def count_watched(devices: str, gpus: int) -> int:
    """How many GPUs of a host with so many the exporter measures, by the devices of the spec."""
    _, _, indices = devices.partition(":")
    if not indices:
        return gpus
    ranges = (part.partition("-") for part in indices.split(","))
    chosen = {index for first, _, last in ranges for index in range(int(first), int(last or first) + 1)}
    return len([index for index in chosen if index < gpus])


def own_and_more(here: View) -> str:
    """The exporter's CSV."""
    return counters(here.spec.gpu.metrics.counters, here.spec.gpu.metrics.leave_out)


def counters(more: tuple[str, ...], without: tuple[str, ...] = ()) -> str:
    """Our set without some fields, and the fields that the spec adds."""
    own = "".join(line for line in own_counters().splitlines(keepends=True) if field(line) not in without)
    known = {field(line) for line in own.splitlines()}
    added = (name for name in dict.fromkeys(more) if name not in known)
    return own + "".join(f"{name}, {prometheus_type(name)}, asked for by the spec\n" for name in added)


def field(line: str) -> str:
    return line.partition(",")[0]


def prometheus_type(name: str) -> str:
    """Of a field, in any spelling; that of one that our table does not have is a gauge."""
    kinds = (row[3] for row in rows("dcgm-fields.csv") if name in (row[0], row[4]))
    return TYPES.get(next(kinds, ""), "gauge")


def count_series(text: str) -> int:
    """How many series a CSV makes of a GPU that has every field; labels make none."""
    lines = [line.split(",") for line in text.splitlines() if line and not line.startswith("#")]
    return sum(cells[1].strip() != "label" for cells in lines)


def patience(interval: str) -> str:
    """How long a scrape may take: never longer than the interval, or the Prometheus operator leaves the monitor out."""
    return f"{min(10, seconds(interval))}s"


def seconds(duration: str) -> int:
    """Of `15s`, `1m`."""
    return int(duration[:-1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800, "y": 31536000}[duration[-1]]

"""The counters and the environment of dcgm-exporter, which are the same with and without NVIDIA's operator.

Names of variables: NVIDIA/dcgm-exporter 4.5.3-4.8.2 pkg/cmd/app.go, NewApp.
"""

from gpustack.ask.view import View
from gpustack.config.resources import read_own_counters
from gpustack.config.sections.exporter import Metrics
from gpustack.config.spec import Spec
from gpustack.config.versions import read_rows
from gpustack.times import parse_duration

COUNTERS = "gpustack-dcgm-counters"
COUNTERS_KEY = "dcgm-metrics.csv"
REMOTE = "DCGM_REMOTE_HOSTENGINE_INFO"
# The type that a field of this kind has in Prometheus; what only looks like a counter is a gauge.
TYPES = {"counter": "counter", "label": "label"}


def build_environment(spec: Spec) -> dict[str, str]:
    """Build the variables that differ from the exporter's own defaults, without its list of counters and what is about
    pods."""
    metrics, defaults = spec.gpu.metrics, Metrics()
    environment = {"DCGM_EXPORTER_INTERVAL": f"{parse_duration(metrics.interval) * 1000:.0f}"}
    if metrics.devices != defaults.devices:
        environment["DCGM_EXPORTER_DEVICES_STR"] = metrics.devices
    if metrics.shared_gpus:
        environment["KUBERNETES_VIRTUAL_GPUS"] = "true"
    if spec.gpu.dcgm == "host":
        environment[REMOTE] = metrics.engine
    return environment


def count_watched_gpus(devices: str, gpus: int) -> int:
    """Count the GPUs of a host with so many that the exporter measures, by the devices of the spec."""
    _, _, indices = devices.partition(":")
    if not indices:
        return gpus
    ranges = (part.partition("-") for part in indices.split(","))
    indices_in_devices = {index for first, _, last in ranges for index in range(int(first), int(last or first) + 1)}
    return len([index for index in indices_in_devices if index < gpus])


def render_counters(view: View) -> str:
    """Render the exporter's CSV."""
    return merge_counters(view.spec.gpu.metrics.counters, view.spec.gpu.metrics.leave_out)


def merge_counters(additions: tuple[str, ...], exclusions: tuple[str, ...] = ()) -> str:
    """Merge gpustack's set, without some fields, with the fields that the spec adds."""
    shipped_counters = "".join(
        line for line in read_own_counters().splitlines(keepends=True) if parse_field(line) not in exclusions
    )
    shipped_fields = {parse_field(line) for line in shipped_counters.splitlines()}
    new_fields = (name for name in dict.fromkeys(additions) if name not in shipped_fields)
    return shipped_counters + "".join(
        f"{name}, {choose_prometheus_type(name)}, asked for by the spec\n" for name in new_fields
    )


def parse_field(line: str) -> str:
    return line.partition(",")[0]


def choose_prometheus_type(name: str) -> str:
    """Choose the type of a field, in any spelling; a field that gpustack's table does not have is a gauge."""
    kinds = (row[3] for row in read_rows("dcgm-fields.csv") if name in (row[0], row[4]))
    return TYPES.get(next(kinds, ""), "gauge")


def count_series(text: str) -> int:
    """Count the series that a CSV makes of a GPU that has every field; labels make none."""
    lines = [line.split(",") for line in text.splitlines() if line and not line.startswith("#")]
    return sum(cells[1].strip() != "label" for cells in lines)


def format_scrape_timeout(interval: str) -> str:
    """Format how long a scrape may take: never longer than the interval, or the Prometheus operator leaves the monitor
    out."""
    return f"{min(10, parse_duration(interval)):.0f}s"

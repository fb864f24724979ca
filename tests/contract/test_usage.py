"""Hours of GPUs out of a real Prometheus: of recorded series, and of raw ones where it has no rules of ours."""

import re
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gpustack.capacity.current import query_current_state
from gpustack.capacity.free_units import UNKNOWN_UNIT
from gpustack.capacity.read import query_usage
from gpustack.capacity.source import choose_source
from gpustack.capacity.usage import DIMENSIONS, group_hours
from gpustack.capacity.window import build_recent_window
from gpustack.metrics.prometheus import Prometheus
from gpustack.metrics.web import Access
from gpustack.report.capacity.text import format_units
from gpustack.times import HOUR
from tests.contract.prometheus_server import OF_THE_PAST, build_data_command, run_prometheus
from tests.contract.promtool import run_promtool
from tests.unit.gpus.exporter_faults import FAULTS, read_page
from tests.worlds.prometheus.usage import BEGIN, Recorder, index_by_name

OWNER = 'namespace="t",pod="p",uid="1"'
BOARD = 'job="gpus",instance="192.0.2.1:9400",hostname="n1",modelName="NVIDIA H100"'
# Of a target whose ServiceMonitor has honorLabels false, and true. The name of the exporter's pod tells nothing.
EXPORTER_POD = 'namespace="watch",pod="gpu-numbers-x7k",container="exporter"'
EXPORTED_LABELS = f'{BOARD},{EXPORTER_POD},exported_namespace="t",exported_pod="p",exported_container="c"'
HONOURED_LABELS = f'{BOARD},namespace="t",pod="p",container="c"'
FREE = f"{BOARD},{EXPORTER_POD}"
RAW: dict[str, float] = {
    'kube_node_status_capacity{node="n1",resource="nvidia_com_gpu"}': 4,
    'kube_node_status_allocatable{node="n1",resource="nvidia_com_gpu"}': 4,
    'kube_node_status_allocatable{node="n1",resource="cpu"}': 8,
    'kube_node_status_condition{node="n1",condition="Ready",status="true"}': 1,
    f'kube_pod_container_resource_requests{{node="n1",resource="nvidia_com_gpu",container="c",{OWNER}}}': 2,
    f'kube_pod_container_resource_requests{{node="n1",resource="cpu",container="c",{OWNER}}}': 6,
    f'kube_pod_status_phase{{phase="Running",{OWNER}}}': 1,
    f'kube_pod_labels{{label_team="vision",{OWNER}}}': 1,
    f'kube_pod_owner{{owner_kind="Job",owner_name="train",owner_is_controller="true",{OWNER}}}': 1,
    'kube_pod_container_resource_requests{resource="nvidia_com_gpu",container="c",namespace="t",pod="w",uid="2"}': 2,
    'kube_pod_container_resource_requests{resource="cpu",container="c",namespace="t",pod="w",uid="2"}': 4,
    'kube_pod_status_phase{phase="Pending",namespace="t",pod="w",uid="2"}': 1,
    'kube_pod_status_unschedulable{namespace="t",pod="w",uid="2"}': 1,
    'kube_pod_created{namespace="t",pod="w",uid="2"}': 1,
    f'up{{job="gpus",instance="192.0.2.1:9400",{EXPORTER_POD}}}': 1,
}  # fmt: skip
# The first are of all exporters until 4.8, the second of the default list of 4.9: gpustack/versions/dcgm-fields.csv.
OLD_NAMES = ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_DEV_GPU_TEMP")
NEW_NAMES = ("DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO", "DCGM_FI_DEV_GPU_TEMP_CELSIUS")


def build_gpu_series(names: tuple[str, str], pod_labels: str) -> dict[str, float]:
    """Build series of four GPUs, of which a pod has two."""
    engine, temperature = names
    labels = [f'gpu="{index}",UUID="GPU-{index}",{pod_labels if index < 2 else FREE}' for index in range(4)]
    return {f"{engine}{{{text}}}": 0.01 for text in labels} | {f"{temperature}{{{text}}}": 40 for text in labels}


@contextmanager
def serve_lines(folder: Path, lines: Iterable[str]) -> Iterator[Prometheus]:
    (folder / "series.txt").write_text("".join([*lines, "# EOF\n"]))
    assert run_promtool("tsdb", "create-blocks-from", "openmetrics", folder / "series.txt", folder / "data") == ""
    with run_prometheus(folder, build_data_command(folder, {}, OF_THE_PAST)) as server:
        yield Prometheus(Access(server.url))


def build_dead_counters() -> dict[str, float]:
    """Build the series of a real page of a T4 at work whose profiling counters are dead (NVIDIA/DCGM#303)."""
    (fault,) = (fault for fault in FAULTS if fault.kind == "utilisation without an engine")
    page = fault.change(read_page(fault.page))
    samples = [line.rpartition(" ") for line in page.splitlines() if "{" in line]
    labels = 'job="gpus",instance="192.0.2.1:9400",exported_namespace="t",exported_pod="p"'
    return {
        re.sub(r'Hostname="[^"]*"', 'Hostname="n1"', f"{name.removesuffix('}')},{labels}}}"): float(value)
        for name, _, value in samples
    }


def test_dead_counters_of_a_recorded_page_are_no_idle_hours(tmp_path: Path) -> None:
    end = int(time.time()) // 60 * 60
    values = RAW | {'kube_node_status_capacity{node="n1",resource="nvidia_com_gpu"}': 1} | build_dead_counters()
    lines = (
        f"{series} {value} {timestamp}\n"
        for series, value in values.items()
        for timestamp in range(end - 3 * HOUR, end + 1, 60)
    )
    with serve_lines(tmp_path, lines) as prometheus:
        source = choose_source(prometheus, build_recent_window(2 * HOUR, end), "label_team", "")
        usage = query_usage(source)
        current_state = query_current_state(source, usage.units)
    hours = index_by_name(group_hours(usage, ("namespace",)))["t",]
    assert [hours.attributed, hours.active, hours.idle] == pytest.approx([2, 1.98, 0])
    assert current_state.idle == ()
    (doubt,) = (doubt for doubt in usage.doubts if "cannot be true" in doubt)
    assert doubt.startswith("n1 GPU 0, 2.0 hours: DCGM_FI_PROF_GR_ENGINE_ACTIVE is 0 %, DCGM_FI_DEV_GPU_UTIL is 99 %")
    assert "restart the DCGM host engine" in doubt


def test_recorded_hours_are_those_that_were_put_in(tmp_path: Path) -> None:
    """Full hours have sixty samples, not sixty-one."""
    world = Recorder(12)
    world.record_node("n1", 0, 720, 8)
    world.record_node("m", 100, 720, 1, mig_1g_10gb=7)
    world.record_pod("n1", "a", 7, 431, 3, active=0.25, team="vision")
    world.record_pod("m", "b", 100, 700, 2, active=0.01, resource="nvidia_com_mig_1g_10gb", profile="1g.10gb")
    world.lose(200, 211)
    with serve_lines(tmp_path, world.render_openmetrics()) as prometheus:
        window = build_recent_window(12 * HOUR, BEGIN + 12 * HOUR)
        source = choose_source(prometheus, window, "label_team", "")
        assert source.recorded
        usage, recorded_usage = query_usage(source), query_usage(world.build_source())
    assert usage.recorded_hours == recorded_usage.recorded_hours == 12
    rows, recorded_rows = (
        index_by_name(group_hours(usage, DIMENSIONS)),
        index_by_name(group_hours(recorded_usage, DIMENSIONS)),
    )
    assert rows.keys() == recorded_rows.keys()
    for names, hours in rows.items():
        assert vars(hours) == pytest.approx(vars(recorded_rows[names]), abs=0.02), names


@pytest.mark.parametrize("pod_labels", [EXPORTED_LABELS, HONOURED_LABELS])
@pytest.mark.parametrize("names", [(OLD_NAMES, OLD_NAMES), (OLD_NAMES, NEW_NAMES)])
def test_raw_series_will_do_and_say_what_is_so_now(
    tmp_path: Path, pod_labels: str, names: tuple[tuple[str, str], tuple[str, str]]
) -> None:
    """The exporter is another one in the second half, and Prometheus may honour its labels."""
    end = int(time.time()) // 60 * 60
    middle = end - HOUR
    spans: list[tuple[dict[str, float], int, int]] = [(RAW, end - 3 * HOUR, end + 1)]
    spans.append((build_gpu_series(names[0], pod_labels), end - 3 * HOUR, middle if names[0] != names[1] else end + 1))
    spans += [(build_gpu_series(names[1], pod_labels), middle, end + 1)] * (names[0] != names[1])
    lines = (
        f"{series} {value} {timestamp}\n"
        for series_values, begin, stop in spans
        for series, value in series_values.items()
        for timestamp in range(begin, stop, 60)
    )
    with serve_lines(tmp_path, lines) as prometheus:
        source = choose_source(prometheus, build_recent_window(2 * HOUR, end), "label_team", "")
        assert not source.recorded
        usage = query_usage(source)
        current_state = query_current_state(source, usage.units)
    rows = index_by_name(group_hours(usage, ("namespace", "team", "model")))
    had = rows["t", "vision", "NVIDIA H100"]
    assert [had.allocated, had.attributed, had.idle, had.active] == pytest.approx([4, 4, 4, 0.04])
    assert rows["", "", "NVIDIA H100"].free == pytest.approx(4)
    (waiting,) = current_state.waiting
    assert (waiting.pod, waiting.units, waiting.unschedulable, waiting.waiting_since) == ("w", 2, True, 1)
    assert format_units(waiting.resource, waiting.units, waiting.gpus_per_unit) == "2 GPUs"
    (free,) = current_state.free
    assert (free.units, free.gpus_per_unit, free.usable) == (2, 1, False)
    assert free.reasons == ("t/w would fit, but for 4 CPUs, of which 2.0 are free",)
    (idle,) = current_state.idle
    assert (idle.pod, idle.team, idle.owner, idle.gpus, idle.at_least) == ("p", "vision", "Job/train", 2, True)


@pytest.mark.parametrize(
    ("exporter_series", "age", "words"),
    [
        (build_dead_counters(), 0, "2 shares of GPUs"),
        ({}, 0, "2 GPUs or shares"),
        (build_dead_counters(), 24 * HOUR, "2 GPUs or shares"),
    ],
    ids=["one GPU", "no exporter", "hours of yesterday"],
)
def test_shares_of_a_gpu_are_not_called_gpus(
    tmp_path: Path, exporter_series: dict[str, float], age: int, words: str
) -> None:
    """The node has one GPU that is offered four times, which its labels do not say; or nothing says how many it has."""
    end = int(time.time()) // 60 * 60
    lines = (
        f"{series} {value} {timestamp}\n"
        for series, value in (RAW | exporter_series).items()
        for timestamp in (*range(end - age - 3 * HOUR, end - age + 1, 60), *range(end - 300, end + 1, 60))
    )
    with serve_lines(tmp_path, lines) as prometheus:
        source = choose_source(prometheus, build_recent_window(2 * HOUR, end - age), "label_team", "")
        current_state = query_current_state(source, query_usage(source).units)
    (free,), (waiting,) = current_state.free, current_state.waiting
    assert format_units(free.resource, free.units, free.gpus_per_unit) == words
    assert (UNKNOWN_UNIT in free.reasons) == (free.gpus_per_unit is None)
    assert format_units(waiting.resource, waiting.units, waiting.gpus_per_unit) == words

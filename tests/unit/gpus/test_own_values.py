"""Tests of the values of each pod's own processes beside those of the GPU that pods share.

The page is that of a T4 at full load (tests/recorded/exporter-pages). Its lines for pods are constructed as exporter
4.8.2 writes them with --kubernetes-virtual-gpus (internal/pkg/transformation/kubernetes.go): utilisation and memory in
use of the GPU, and of the processes of each pod; all others once a pod.
"""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from gpustack.gpus.activity import Activity, build_activity
from gpustack.metrics.exposition import parse_page
from gpustack.metrics.prometheus import Series
from gpustack.metrics.readings import build_readings
from gpustack.report.gpus import activity as activity_report
from tests.unit.gpus.exporter_faults import D, read_page
from tests.unit.report.screen import print_screen

MIB = 2**20
FIELDS = (f"{D}GPU_UTIL", f"{D}FB_USED")
Values = Mapping[str, tuple[float, float]]
"""Utilisation in per cent and memory in MiB of the processes of each pod."""


def share_page(values: Values, *, slots: int = 1, time: float = 1000.0) -> list[Series]:
    """Share the T4 between pods, each with a number of slots."""
    shared_series = []
    for series in (series for family in parse_page(read_page("t4-full-load")).families for series in family.series):
        name, value = series.labels["__name__"], series.points[-1][1]
        labels = {**series.labels, "job": "exporter", "instance": "10.0.0.1:9400"}
        if name in FIELDS:
            shared_series.append(Series(labels, ((time, value),)))
        for number, pod in enumerate(pod for pod in values for _ in range(slots)):
            owner = {"exported_namespace": "team", "exported_pod": pod, "vgpu": str(number)}
            value_of_pod = dict(zip(FIELDS, values[pod], strict=True)).get(name, value)
            shared_series.append(Series({**labels, **owner}, ((time, value_of_pod),)))
    return shared_series


def load_pods(series: list[Series]) -> dict[str, dict[str, Any]]:
    document = json.loads(activity_report.render_json(build_activity(build_readings(series, {}))))
    return {row["pod"]: row for row in document["pods"]}


def print_pods(activity: Activity) -> str:
    return print_screen(lambda screen: activity_report.render_human(screen, activity, pods=True))


def test_each_pod_has_the_values_of_its_own_processes() -> None:
    series = share_page({"a": (60, 3000), "b": (31, 1800)})
    pods = load_pods(series)
    assert {name: (row["utilisation_ratio"], row["memory_used_bytes"]) for name, row in pods.items()} == {
        "a": (0.6, 3000 * MIB),
        "b": (0.31, 1800 * MIB),
    }
    assert {row["engine_ratio"] for row in pods.values()} == {0.156205}
    words = pods["a"]["basis"]
    assert (words["utilisation_ratio"], words["memory_used_bytes"]) == ("measured", "measured")
    assert (words["engine_ratio"], words["power_watts"]) == ("copied", "copied")
    text = print_pods(build_activity(build_readings(series, {})))
    assert "16 %*^" in text
    assert "60 % " in text
    assert "3 GiB" in text


def test_the_gpu_keeps_its_own_values() -> None:
    (gpu,) = build_activity(build_readings(share_page({"a": (60, 3000), "b": (31, 1800)}), {})).gpus
    assert (gpu.utilisation, gpu.memory) == (0.91, 5120 * MIB)
    assert [owner.pod for owner in gpu.owners] == ["a", "b"]


def test_a_pod_with_several_slots_counts_once() -> None:
    """The value of a pod is repeated for each of its slots: NVIDIA/dcgm-exporter#725 has 10056 MiB at slots 5 and
    19."""
    pods = load_pods(share_page({"a": (60, 10056), "b": (31, 0)}, slots=2))
    assert (pods["a"]["memory_used_bytes"], pods["a"]["gpu_count"]) == (10056 * MIB, 1)
    assert (pods["b"]["memory_used_bytes"], pods["b"]["basis"]["memory_used_bytes"]) == (0, "measured")


def test_pods_of_which_the_exporter_knows_no_process_are_unknown_with_the_reason() -> None:
    series = share_page({"a": (0, 0), "b": (0, 0)})
    activity = build_activity(build_readings(series, {}))
    assert {(pod.utilisation, pod.memory) for pod in activity.pods} == {(None, None)}
    assert (activity.gpus[0].utilisation, activity.gpus[0].memory) == (0.91, 5120 * MIB)
    assert [doubt.partition(", and 0 of each of its pods")[0] for doubt in activity.doubts] == [
        "node1 GPU 0: DCGM_FI_DEV_GPU_UTIL is 91 %",
        "node1 GPU 0: DCGM_FI_DEV_FB_USED is 5.0 GiB",
    ]
    assert all("hostPID" in doubt for doubt in activity.doubts)
    pods = load_pods(series)
    assert {"utilisation_ratio", "memory_used_bytes"} & set(pods["a"]["basis"]) == set()


def test_pods_of_an_idle_gpu_have_nothing() -> None:
    """0 of each pod contradicts nothing where the GPU does nothing."""
    idle = [
        Series(series.labels, ((1000.0, 0.0),)) if series.labels["__name__"] in FIELDS else series
        for series in share_page({"a": (0, 0), "b": (0, 0)})
    ]
    activity = build_activity(build_readings(idle, {}))
    assert {(pod.utilisation, pod.memory) for pod in activity.pods} == {(0, 0)}
    assert activity.doubts == ()


@pytest.mark.parametrize("reverse", [False, True])
def test_a_pod_that_is_alone_has_the_values_of_its_gpu(reverse: bool) -> None:
    series = share_page({"a": (0, 4900)})
    activity = build_activity(build_readings(series[::-1] if reverse else series, {}))
    (pod,) = activity.pods
    assert (pod.utilisation, pod.memory, pod.shared_gpus) == (0.91, 5120 * MIB, 0)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_gpu_of_one_pod_without_a_slot_keeps_its_values(reverse: bool) -> None:
    """The exporter numbers slots of shared GPUs alone, and has a value of the pod's own processes for any GPU."""
    series = [
        Series({key: text for key, text in entry.labels.items() if key != "vgpu"}, entry.points)
        for entry in share_page({"a": (0, 0)})
    ]
    (gpu,) = build_activity(build_readings(series[::-1] if reverse else series, {})).gpus
    assert (gpu.utilisation, gpu.memory, [owner.pod for owner in gpu.owners]) == (0.91, 5120 * MIB, ["a"])


def test_values_without_one_of_the_gpu_are_copies() -> None:
    """Exporters before 4.8.2 repeat the value of the GPU for each pod, and have none without a pod."""
    series = [entry for entry in share_page({"a": (91, 5120), "b": (91, 5120)}) if "exported_pod" in entry.labels]
    pods = load_pods(series)
    assert {row["basis"]["memory_used_bytes"] for row in pods.values()} == {"copied"}
    assert {row["memory_used_bytes"] for row in pods.values()} == {5120 * MIB}


def test_values_of_another_target_or_time_are_no_own_ones() -> None:
    """A second exporter that does not ask the kubelet has the value of the GPU, and no pod."""
    copies = [entry for entry in share_page({"a": (91, 5120), "b": (91, 5120)}) if "exported_pod" in entry.labels]
    other_series = [
        Series({**entry.labels, "job": "second", "instance": "10.0.0.1:9500"}, entry.points)
        for entry in share_page({"a": (0, 0)})
        if "exported_pod" not in entry.labels
    ]
    assert {row["basis"]["memory_used_bytes"] for row in load_pods([*copies, *other_series]).values()} == {"copied"}
    earlier_series = [
        Series(entry.labels, ((970.0, 5000.0),)) for entry in share_page({}) if "exported_pod" not in entry.labels
    ]
    assert {row["basis"]["memory_used_bytes"] for row in load_pods([*copies, *earlier_series]).values()} == {"copied"}


def test_a_pod_that_has_ended_has_no_own_value() -> None:
    ended_series = [
        Series(entry.labels, ((970.0, entry.points[-1][1]),))
        for entry in share_page({"c": (50, 4000)})
        if "exported_pod" in entry.labels and entry.labels["__name__"] in FIELDS
    ]
    readings = build_readings([*ended_series, *share_page({"a": (60, 3000), "b": (31, 1800)})], {})
    assert [reading.owner.pod for reading in readings.newest if reading.is_own and reading.owner] == ["a", "b"] * 2

"""Prometheus' answers become samples: whose node, which GPU, how old, how often scraped."""

from math import nan

import pytest

from gpustack.metrics import prometheus as metrics
from gpustack.proof.prometheus import (
    METRICS,
    Scrape,
    Series,
    choose_metric,
    parse_interval,
    parse_samples,
    parse_scrapes,
)
from tests.unit.proof.proof_inputs import TIME, build_sample

LABELS = {
    "__name__": "DCGM_FI_DEV_GPU_TEMP",
    "UUID": "GPU-1",
    "gpu": "0",
    "pci_bus_id": "00000000:65:00.0",
    "modelName": "NVIDIA H100 80GB HBM3",
    "hostname": "gpu1",
    "instance": "10.244.1.7:9400",
    "job": "nvidia-dcgm-exporter",
    "namespace": "gpu-operator",
    "pod": "exporter-a",
    "exported_namespace": "default",
    "exported_pod": "train-0",
}


def build_result(points: list[tuple[float, float]], **labels: str) -> list[metrics.Series]:
    return [metrics.Series({**LABELS, **labels}, tuple(points))]


def test_the_newest_value_counts() -> None:
    (sample,) = parse_samples(build_result([(1.0, 40.0), (16.0, 41.0), (31.0, nan)]), ["gpu1"], {})
    assert (sample.uuid, sample.node, sample.bus, sample.index) == ("GPU-1", "gpu1", "0000:65:00.0", "0")
    assert (sample.timestamp, sample.value) == (16.0, 41.0)
    assert (sample.owner, sample.target) == ("default/train-0", "nvidia-dcgm-exporter 10.244.1.7:9400")


def test_what_has_no_value_or_no_uuid_is_no_gpu() -> None:
    assert list(parse_samples(build_result([]), [], {})) == []
    assert list(parse_samples(build_result([(1.0, 40.0)], UUID=""), [], {})) == []


@pytest.mark.parametrize(
    ("labels", "pods", "node"),
    [
        ({}, {"gpu-operator/exporter-a": "gpu2"}, "gpu2"),
        ({}, {}, "gpu1"),
        ({"hostname": "", "Hostname": "gpu2"}, {}, "gpu2"),
        ({"node": "gpu2"}, {}, "gpu2"),
        ({"hostname": "nvidia-dcgm-exporter-x7"}, {}, ""),
    ],
)
def test_the_exporter_s_own_pod_tells_the_node_best(labels: dict[str, str], pods: dict[str, str], node: str) -> None:
    (sample,) = parse_samples(build_result([(1.0, 40.0)], **labels), ["gpu1", "gpu2"], pods)
    assert sample.node == node


@pytest.mark.parametrize(
    ("labels", "owner"),
    [
        ({}, "default/train-0"),
        ({"exported_pod": "", "exported_namespace": "", "pod": "train-1", "namespace": "default"}, "default/train-1"),
        ({"exported_pod": "", "exported_namespace": ""}, ""),
    ],
    ids=["honor-labels-false", "honor-labels-true", "free"],
)
def test_the_owner_is_read_with_both_settings_of_honor_labels(labels: dict[str, str], owner: str) -> None:
    (sample,) = parse_samples(build_result([(1.0, 40.0)], **labels), ["gpu1"], {"gpu-operator/exporter-a": "gpu1"})
    assert sample.owner == owner


def test_the_first_metric_that_most_gpus_have_is_chosen() -> None:
    temp, util, power = METRICS
    assert choose_metric({}) == ""
    assert choose_metric({util: [build_sample(0), build_sample(1)], temp: [build_sample(0)]}) == util
    assert choose_metric({power: [build_sample(0)], temp: [build_sample(1)]}) == temp


@pytest.mark.parametrize(
    ("text", "expected"),
    [("15s", 15), ("1m", 60), ("1m30s", 90), ("500ms", 0.5), ("1h", 3600), ("", 30), ("soon", 30), ("15 s", 30)],
)
def test_durations_as_prometheus_writes_them(text: str, expected: float) -> None:
    assert parse_interval(text) == expected


def test_intervals_are_those_of_the_targets() -> None:
    labels = {"job": "a", "instance": "b"}
    scrapes = parse_scrapes(
        [{"labels": labels, "scrapeInterval": "1m", "lastError": "refused"}, {"labels": {"job": "etcd"}}]
    )
    assert scrapes == {"a b": Scrape(60, "refused"), "etcd ": Scrape(30)}
    mine = Series("m", TIME, (build_sample(0, target="a b"),), scrapes)
    assert (mine.interval, mine.find_interval(mine.samples[0])) == (60, 60)
    assert Series("m", TIME).interval == 30

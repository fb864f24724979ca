"""Tests that alerts are named that cannot fire for the GPUs of a recorded page of metrics, with what they lack."""

import re

import pytest

from gpustack.gpus.contract import Contract, judge_exporter
from gpustack.metrics.exposition import parse_page
from gpustack.report.gpus.contract import list_silent_alerts
from gpustack.vocabulary.alert_needs import find_missing_words, format_missing, load_alert_needs
from tests.unit.gpus.exporter_faults import read_page


def judge_page(text: str) -> Contract:
    return judge_exporter("", parse_page(text), None, 0)


def list_lacks(text: str) -> dict[str, str]:
    return {alert.name: format_missing(alert.missing) for alert in judge_page(text).silent_alerts}


def test_a_missing_field_silences_its_alerts_alone() -> None:
    text = read_page("l4")
    shorter = re.sub(r"(?m)^.*DCGM_FI_DEV_ROW_REMAP_FAILURE.*\n", "", text)
    added_lacks = list_lacks(shorter).items() - list_lacks(text).items()
    assert added_lacks == {("GpuRowRemapFailed", "DCGM_FI_DEV_ROW_REMAP_FAILURE")}


def test_a_page_without_the_name_of_the_node_silences_what_is_joined_with_kubernetes() -> None:
    text = read_page("l4")
    assert "GpuFewerThanCapacity" not in list_lacks(text)
    lacks = list_lacks(text.replace('Hostname="node1"', 'Hostname="nvidia-dcgm-exporter-x7k2p"'))
    assert lacks["GpuFewerThanCapacity"] == "the node's name in the host label"


@pytest.mark.parametrize(
    ("label", "alerts"),
    [
        ("UUID", {"GpuLost", "GpuFewerThanCapacity", "GpuScrapedTwice"}),
        ("modelName", {"GpuDriverSkew", "GpuIdlePowerHigh"}),
    ],
)
def test_a_label_that_no_series_has_silences_what_reads_it(label: str, alerts: set[str]) -> None:
    text = read_page("l4")
    lacks = list_lacks(re.sub(f'{label}="[^"]*",', "", text))
    assert dict.fromkeys(alerts, f"the label {label}").items() == lacks.items() - list_lacks(text).items()


def test_a_busy_gpu_without_a_pod_silences_what_names_one() -> None:
    assert list_lacks(read_page("t4-full-load"))["GpuMemoryGrowth"] == "the label pod"
    assert "GpuMemoryGrowth" not in list_lacks(read_page("l4")), "an idle GPU has no pod"


def test_alerts_about_instances_need_instances() -> None:
    assert list_lacks(read_page("l4"))["GpuMigInstanceIdle"] == "MIG instances"
    assert "GpuMigInstanceIdle" not in list_lacks(read_page("a800-mig"))


def test_a_value_that_stands_for_none_is_missing() -> None:
    text = read_page("l4")
    assert "GpuTelemetryFrozen" not in list_lacks(text)
    blank = re.sub(r"(?m)^(DCGM_FI_DEV_POWER_USAGE\{.*\}) .+$", r"\1 9223372036854775794", text)
    assert list_lacks(blank)["GpuTelemetryFrozen"] == "DCGM_FI_DEV_POWER_USAGE"


def test_the_report_names_alerts_together_that_lack_the_same() -> None:
    lines = [row.text for row in list_silent_alerts(judge_page(read_page("t4-idle")))]
    assert "GpuHealthFail, GpuHealthWarn of Tesla T4: DCGM_EXP_GPU_HEALTH_STATUS" in lines
    assert len(lines) == len(set(lines)) > 1


@pytest.mark.parametrize(
    ("present", "expected"),
    [
        ({"a", "b"}, []),
        ({"a"}, [["b"], ["c", "d"]]),
        ({"a", "c"}, [["b"], ["d"]]),
        (set(), [["a", "b"], ["c", "d"]]),
    ],
)
def test_the_fewest_missing_words_come_first(present: set[str], expected: list[list[str]]) -> None:
    alternatives = (frozenset("ab"), frozenset("cd"), frozenset("abe"))
    assert [sorted(words) for words in find_missing_words(alternatives, present)] == expected


def test_every_alert_has_its_needs() -> None:
    assert load_alert_needs()["GpuMonitoringBlind"] == (frozenset(),), "it fires where all is missing"
    assert all(words for alert, needs in load_alert_needs().items() if alert != "GpuMonitoringBlind" for words in needs)

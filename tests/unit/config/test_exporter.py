"""Settings of the exporter: every mistake at once, with file and key, and what is wrong together."""

from typing import Any

import pytest

from gpustack.config.sections.exporter_rules import REQUIRED_FIELDS, list_known_fields, list_own_fields
from gpustack.proof.prometheus import METRICS
from tests.unit.config.specs import SPEC_FILE, list_complaints


def find_mistakes(**gpu: Any) -> dict[str, str]:
    """Find what is allowed instead, by key."""
    complaints = list_complaints({"gpu": gpu})
    assert {complaint.file for complaint in complaints} <= {SPEC_FILE}
    return {
        complaint.key.removeprefix("gpustack.gpu."): f"{complaint.rule} {complaint.nearest}" for complaint in complaints
    }


def test_all_mistakes_are_reported_at_once() -> None:
    metrics = {
        "interval": "500ms",
        "counters": ["DCGM_FI_DEV_GPU_UTL", "DCGM_FI_DEV_FAN_SPEED"],
        "leave_out": ["DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_SM_CLOK"],
        "devices": "g:1,",
        "listen": ":9401",
        "pod_labels": ["a,b", "(?=x)", "["],
        "relabelings": [{"action": "drop"}, {"acton": "keep"}],
    }
    mistakes = find_mistakes(dcgm="hots", metrics=metrics)
    assert sorted(mistakes) == [
        "dcgm", "metrics.counters.0", "metrics.devices", "metrics.interval", "metrics.leave_out.0",
        "metrics.leave_out.1", "metrics.listen", "metrics.pod_labels.0", "metrics.pod_labels.1",
        "metrics.pod_labels.2", "metrics.relabelings.0", "metrics.relabelings.1.acton",
    ]  # fmt: skip
    assert mistakes["metrics.counters.0"].endswith(" DCGM_FI_DEV_GPU_UTIL")
    assert mistakes["metrics.leave_out.1"].endswith(" DCGM_FI_DEV_SM_CLOCK")
    assert mistakes["metrics.relabelings.1.acton"].endswith(" action")


def test_a_field_newer_than_the_exporter_is_refused() -> None:
    """DCGM_FI_DEV_GPU_UTIL_RATIO is a name of both generations."""
    mistakes = find_mistakes(metrics={"counters": ["DCGM_FI_DEV_FB_USED_BYTES", "DCGM_FI_DEV_GPU_UTIL_RATIO"]})
    assert list(mistakes) == ["metrics.counters.0"]
    assert "newer" in mistakes["metrics.counters.0"]
    assert "DCGM_FI_DEV_FB_USED_BYTES" in list_known_fields("4.7.0-4.9.0")


@pytest.mark.parametrize(
    ("gpu", "keys"),
    [
        ({"metrics": {"engine": "localhost:5556"}}, ["metrics.engine"]),
        ({"dcgm": "host", "metrics": {"engine": "localhost:5556"}}, []),
        ({"metrics": {"relabelings": [{"target_label": "x"}]}}, ["metrics.relabelings"]),
        ({"metrics": {"relabelings": [{"target_label": "x"}], "service_monitor": "ours"}}, []),
        ({"stack": "host", "metrics": {"relabelings": [{"target_label": "x"}], "listen": ":9401"}}, []),
        (
            {"stack": "host", "metrics": {"pod_labels": ["app"], "pod_uid": True}},
            ["metrics.pod_labels", "metrics.pod_uid"],
        ),
        ({"metrics": {"relabelings": [{"action": "labeldrop", "source_labels": ["a"]}]}}, ["metrics.relabelings.0"]),
    ],
)
def test_settings_that_do_not_fit_the_exporter_are_refused(gpu: dict[str, Any], keys: list[str]) -> None:
    assert sorted(find_mistakes(**gpu)) == keys


@pytest.mark.parametrize("devices", ["f", "g", "g:0", "g:0,2-3"])
def test_devices_as_the_exporter_reads_them(devices: str) -> None:
    assert find_mistakes(metrics={"devices": devices}) == {}


def test_what_verify_and_prove_read_is_ours() -> None:
    assert sorted(REQUIRED_FIELDS) == sorted(METRICS)
    assert set(REQUIRED_FIELDS) <= set(list_own_fields())

"""The GPU exporter: what its log says, what its pods have, and which values it gives."""

import pytest

from gpustack.ask.probe import CLUSTER
from tests.unit.doctor.checks.asking import asked, in_cluster, told
from tests.unit.doctor.checks.started import exporter
from tests.unit.steps import recorded_gpus

LOG = "mon-dcgm-remote-engine-unreachable"


@pytest.mark.parametrize(
    ("id", "where", "cases", "outcome", "found"),
    [
        ("mon-dcgm-profiling-unsupported", "k1", {"gpu__logs": "said"}, "confirmed", "Not collecting DCP metrics"),
        ("mon-dcgm-profiling-unsupported", "k1", {"gpu__logs": "engine"}, "refuted", "says nothing of it"),
        ("mon-dcgm-profiling-unsupported", "k1", {"gpu__logs": "odd"}, "unknown", ""),
        ("mon-dcgm-profiling-module-error", "k2", {"gpu__logs": "engine"}, "confirmed", "unrecoverable error"),
        ("mon-dcgm-hostengine-version", "k2", {"gpu__logs": "engine"}, "confirmed", "API version mismatch"),
        (LOG, CLUSTER, {"gpu__logs": "engine"}, "refuted", "the exporter has its own"),
        (LOG, CLUSTER, {"gpu__policy_settings": "dcgm"}, "confirmed", "nothing"),
        (f"{LOG} guard", CLUSTER, {}, "confirmed", "ready"),
        ("mon-dcgm-blank-values", CLUSTER, {"scrape__blanks": "some"}, "confirmed", "DCGM_FI_DEV_MEMORY_TEMP"),
        ("mon-duplicate-metrics", CLUSTER, {"scrape__duplicates": "two-jobs"}, "confirmed", "default/dcgm-exporter"),
        ("mon-pod-attribution-missing", CLUSTER, {"gpu__exporters": "no-kubelet"}, "confirmed", "does not ask"),
        ("mon-pod-attribution-missing", CLUSTER, {"gpu__exporters": "none"}, "refuted", "there is none"),
        ("mon-dcgm-csv-config-bad", CLUSTER, {"gpu__policy_settings": "counters"}, "confirmed", "no such ConfigMap"),
        ("mon-dcgm-csv-config-bad", CLUSTER, {"gpu__config_maps": "no-key"}, "confirmed", "metrics.csv"),
        ("mon-dcgm-csv-config-bad", CLUSTER, {"gpu__logs": "said"}, "confirmed", "Could not find DCGM field"),
        ("mon-dcgm-exporter-oom", "k1", {"gpu__pods": "out-of-memory"}, "confirmed", "OOMKilled"),
        ("mon-dcgm-exporter-oom", "k2", {"gpu__pods": "out-of-memory"}, "refuted", "not killed for its memory"),
        ("mon-dcgm-exporter-oom", "k1", {"gpu__pods": "no-list"}, "unknown", ""),
        ("st-dcgm-down", "k1", {"gpu__pods": "init"}, "confirmed", "nvidia-dcgm-exporter-a"),
        ("st-dcgm-down", "k2", {"gpu__pods": "init"}, "refuted", "no pod of it here"),
        ("st-dcgm-down -> st-target-missing", "k1", {"gpu__pods": "init"}, "confirmed", "not ready"),
    ],
)
def test_the_exporter(id: str, where: str, cases: dict[str, str], outcome: str, found: str) -> None:
    said = told(in_cluster(id, where, **cases))
    assert said[0] == outcome, said
    assert found in said[1]


@pytest.mark.parametrize("line", ["DCGM_FI_DEV_GPU_TEMP, gauge", "DCGM_FI_DEV_NONE, gauge, Nothing.", "just words"])
def test_lines_that_the_exporter_does_not_take(line: str) -> None:
    from gpustack.doctor.checks.monitoring_exporter import odd_line
    from gpustack.steps.gpu_operator_values import counters

    assert odd_line(counters(("DCGM_EXP_XID_ERRORS_COUNT",))) == ""
    assert odd_line(f"{counters(())}{line}\n") == line


@pytest.mark.parametrize(
    ("since", "outcome"),
    [("2026-11-21T04:59:58Z", "refuted"), ("2026-11-21T04:58:58Z", "confirmed"), ("2026-11-21T05:01:00Z", "confirmed")],
)
def test_an_exporter_that_was_started_just_now_is_not_down(since: str, outcome: str) -> None:
    world = recorded_gpus.world(exporter(since))
    assert told(asked("st-dcgm-down", world, "k2"))[0] == outcome

"""The GPU exporter: what its log says, what its pods have, and which values it gives."""

import pytest

from gpustack.ask.probe import CLUSTER
from tests.unit.doctor.checks.evaluation import evaluate, judge_gpu_cluster, summarize
from tests.unit.doctor.checks.start_times import start_exporter
from tests.worlds.snapshots import gpus

LOG = "mon-dcgm-remote-engine-unreachable"


@pytest.mark.parametrize(
    ("id", "location", "cases", "outcome", "actual"),
    [
        ("mon-dcgm-profiling-unsupported", "k1", {"gpu__logs": "messages"}, "failed", "Not collecting DCP metrics"),
        ("mon-dcgm-profiling-unsupported", "k1", {"gpu__logs": "engine"}, "ok", "no such message"),
        ("mon-dcgm-profiling-unsupported", "k1", {"gpu__logs": "odd"}, "unknown", ""),
        ("mon-dcgm-profiling-module-error", "k2", {"gpu__logs": "engine"}, "failed", "unrecoverable error"),
        ("mon-dcgm-hostengine-version", "k2", {"gpu__logs": "engine"}, "failed", "API version mismatch"),
        (LOG, CLUSTER, {"gpu__logs": "engine"}, "ok", "not used: the exporter runs DCGM itself"),
        (LOG, CLUSTER, {"gpu__policy_settings": "dcgm"}, "failed", "none"),
        (f"{LOG} guard", CLUSTER, {}, "failed", "ready"),
        ("mon-dcgm-blank-values", CLUSTER, {"scrape__blanks": "some"}, "failed", "DCGM_FI_DEV_MEMORY_TEMP"),
        ("mon-duplicate-metrics", CLUSTER, {"scrape__duplicates": "two-jobs"}, "failed", "default/dcgm-exporter"),
        ("mon-pod-attribution-missing", CLUSTER, {"gpu__exporters": "no-kubelet"}, "failed", "without the pod mapping"),
        ("mon-pod-attribution-missing", CLUSTER, {"gpu__exporters": "none"}, "ok", "none"),
        ("mon-dcgm-csv-config-bad", CLUSTER, {"gpu__policy_settings": "counters"}, "failed", "no such ConfigMap"),
        ("mon-dcgm-csv-config-bad", CLUSTER, {"gpu__config_maps": "no-key"}, "failed", "metrics.csv"),
        ("mon-dcgm-csv-config-bad", CLUSTER, {"gpu__logs": "messages"}, "failed", "Could not find DCGM field"),
        ("mon-dcgm-exporter-oom", "k1", {"gpu__pods": "out-of-memory"}, "failed", "OOMKilled"),
        ("mon-dcgm-exporter-oom", "k2", {"gpu__pods": "out-of-memory"}, "ok", "not OOM-killed"),
        ("mon-dcgm-exporter-oom", "k1", {"gpu__pods": "no-list"}, "unknown", ""),
        ("st-dcgm-down", "k1", {"gpu__pods": "init"}, "failed", "nvidia-dcgm-exporter-a"),
        ("st-dcgm-down", "k2", {"gpu__pods": "init"}, "ok", "no pod on this node"),
        ("st-dcgm-down -> st-target-missing", "k1", {"gpu__pods": "init"}, "failed", "not ready"),
    ],
)
def test_faults_of_the_exporter_are_judged(
    id: str, location: str, cases: dict[str, str], outcome: str, actual: str
) -> None:
    result = summarize(judge_gpu_cluster(id, location, **cases))
    assert result[0] == outcome, result
    assert actual in result[1]


@pytest.mark.parametrize("line", ["DCGM_FI_DEV_GPU_TEMP, gauge", "DCGM_FI_DEV_NONE, gauge, Nothing.", "just words"])
def test_lines_that_the_exporter_does_not_take_fail(line: str) -> None:
    from gpustack.doctor.checks.monitoring.exporter import find_odd_line
    from gpustack.steps.gpu.exporter import merge_counters

    assert find_odd_line(merge_counters(("DCGM_EXP_XID_ERRORS_COUNT",))) == ""
    assert find_odd_line(f"{merge_counters(())}{line}\n") == line


@pytest.mark.parametrize(
    ("start", "outcome"),
    [("2026-11-21T04:59:58Z", "ok"), ("2026-11-21T04:58:58Z", "failed"), ("2026-11-21T05:01:00Z", "failed")],
)
def test_an_exporter_that_was_started_just_now_is_not_down(start: str, outcome: str) -> None:
    world = gpus.build_snapshot(start_exporter(start))
    assert summarize(evaluate("st-dcgm-down", world, "k2"))[0] == outcome

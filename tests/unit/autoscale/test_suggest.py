"""A suggestion has a metric and a target, or a reason why there is none."""

import re
from dataclasses import replace
from typing import cast

import pytest
import yaml

from gpustack.autoscale.candidates import QUEUES, list_queue_queries, list_share_queries
from gpustack.autoscale.manifest import Bounds, Draft, build_scaled_object
from gpustack.autoscale.suggest import LIMITING_SHARES, UNSUITABLE_CLASSES
from gpustack.autoscale.workload import ScaledWorkload, find_workload
from gpustack.errors import MissingDataError
from gpustack.metrics.prometheus import Prometheus
from gpustack.profile.classes import CLASSES
from gpustack.report.autoscale.text import list_lines
from tests.worlds.prometheus.gpu_series import BUSY, build_gpu_series
from tests.worlds.prometheus.windows import COMPUTE, DECODE, build_window
from tests.worlds.results.scaled_workloads import VLLM, Queries, build_draft, build_suggestion

SM, DRAM = "gpustack:gpu_sm_active:ratio", "gpustack:gpu_dram_active:ratio"


def test_a_queue_is_preferred_to_any_load() -> None:
    suggestion = build_suggestion({"vllm:num_requests_waiting": 3.0, SM: 0.9}, build_window(COMPUTE))
    assert (suggestion.metric, suggestion.target, suggestion.current_value) == ("vllm:num_requests_waiting", 5.0, 3.0)


def test_every_class_of_profiles_is_suited_or_not() -> None:
    without_conditions = {"insufficient-data", "not-measured", "mixed"}
    assert {*LIMITING_SHARES, *UNSUITABLE_CLASSES} == {cls.id for cls in CLASSES} | without_conditions
    assert not {*LIMITING_SHARES} & {*UNSUITABLE_CLASSES}


@pytest.mark.parametrize(("levels", "metric", "highest"), [(COMPUTE, SM, 0.9), (DECODE, DRAM, 0.82)])
def test_what_is_full_is_the_metric_and_the_target_is_below_what_it_reached(
    levels: dict[str, float], metric: str, highest: float
) -> None:
    suggestion = build_suggestion({SM: 0.5, DRAM: 0.5}, build_window(levels))
    assert suggestion.metric == metric
    assert 0.7 * highest < suggestion.target < 0.85 * highest


def test_without_a_series_now_nothing_is_suggested() -> None:
    suggestion = build_suggestion({}, build_window(COMPUTE))
    assert (suggestion.metric, suggestion.exit_status) == ("", 8)
    assert "no series of sm" in suggestion.reasons[0]


def test_no_number_is_no_value() -> None:
    assert build_suggestion({SM: float("nan")}, build_window(COMPUTE)).metric == ""


def test_idle_and_too_little_data_are_refused() -> None:
    idle = replace(build_window(dict.fromkeys(COMPUTE, 0.001)), seconds=3600.0, interval=40.0)
    for idle_window in (idle, build_window(COMPUTE, samples=3)):
        suggestion = build_suggestion({SM: 0.1}, idle_window)
        assert (suggestion.metric, suggestion.exit_status) == ("", 8)


DEAD_COUNTERS = BUSY | {name: 0 for name in BUSY if name.startswith("PROF_")} | {"GPU_UTIL": 99}
"""NVIDIA/dcgm-exporter#662: all profiling fields of a GPU that works are 0, since some minutes in the tests below."""


@pytest.mark.parametrize("pod", ["vllm-7d9f8c-x2k4p", "train-0"])
def test_load_that_is_not_measured_now_is_no_metric(pod: str) -> None:
    """A mean of dead counters falls, and replicas that are full would be removed."""
    series = build_gpu_series("gpu1", 0, {"exported_namespace": "team-a", "exported_pod": pod}, **DEAD_COUNTERS)
    suggestion = build_suggestion({SM: 0.01}, build_window(COMPUTE), series)
    if pod == "train-0":
        assert suggestion.metric == SM
        return
    assert (suggestion.metric, suggestion.exit_status) == ("", 8)
    assert "gpu1 GPU 0: DCGM_FI_PROF_GR_ENGINE_ACTIVE is 0 %, DCGM_FI_DEV_GPU_UTIL is 99 %" in suggestion.reasons[1]
    assert "restart the DCGM host engine" in suggestion.reasons[1]


def test_a_queue_needs_no_load_and_has_the_contradiction_as_a_doubt() -> None:
    pod = {"exported_namespace": "team-a", "exported_pod": "vllm-7d9f8c-x2k4p"}
    series = build_gpu_series("gpu1", 0, pod, **DEAD_COUNTERS)
    suggestion = build_suggestion({"vllm:num_requests_waiting": 3.0}, build_window(COMPUTE), series)
    assert suggestion.metric == "vllm:num_requests_waiting"
    assert "both cannot be true" in suggestion.doubts[1]


def test_where_it_was_not_full_the_target_is_an_estimate_that_says_so() -> None:
    suggestion = build_suggestion(
        {SM: 0.3}, build_window({**COMPUTE, "engine": 0.8, "sm": 0.45, "tensor": 0.2, "dram": 0.1})
    )
    assert suggestion.target == 0.6
    assert any("not seen at its limit" in doubt for doubt in suggestion.doubts)


@pytest.mark.parametrize(
    ("kind", "name", "pod", "other_pod"),
    [
        ("Deployment", "vllm", "vllm-7d9f8c-x2k4p", "vllm-large-7d9f8c-x2k4p"),
        ("StatefulSet", "tgi", "tgi-0", "tgi-0-x"),
        ("Deployment", "a.b", "a.b-7d9f8c-x2k4p", "axb-7d9f8c-x2k4p"),
    ],
)
def test_the_pattern_matches_pods_of_the_workload_alone(kind: str, name: str, pod: str, other_pod: str) -> None:
    """Prometheus anchors regular expressions."""
    pods = ScaledWorkload("team-a", kind, name, None).pods  # type: ignore[arg-type]
    assert re.fullmatch(pods, pod)
    assert not re.fullmatch(pods, other_pod)


def test_every_query_names_the_namespace_and_the_pods() -> None:
    queries = [*list_queue_queries(VLLM), *list_share_queries(VLLM, "sm")]
    assert len(queries) == len(QUEUES) + 3
    for query in queries:
        assert query.expr.startswith("avg(")
        assert 'namespace="team-a"' in query.expr
        assert 'pod=~"vllm-[a-z0-9]+-[a-z0-9]{5}"' in query.expr


def serve_owners(replica_set: str = "Deployment") -> Prometheus:
    labels = {
        "kube_pod_owner": {"owner_kind": "ReplicaSet", "owner_name": "vllm-7d9f8c"},
        "kube_replicaset_owner": {"owner_kind": replica_set, "owner_name": "vllm"},
    }
    return cast("Prometheus", Queries({**dict.fromkeys(labels, 1.0), "kube_deployment_spec_replicas": 3.0}, labels))


def test_the_deployment_of_a_pod_is_found() -> None:
    assert find_workload(serve_owners(), "team-a", "vllm-7d9f8c-x2k4p") == replace(VLLM, replicas=3)


def test_a_pod_that_nothing_scalable_owns_is_refused() -> None:
    with pytest.raises(MissingDataError) as excinfo:
        find_workload(serve_owners("Rollout"), "team-a", "vllm-7d9f8c-x2k4p")
    assert excinfo.value.reference == "autoscale-owner"
    assert excinfo.value.reason == "It is owned by Rollout vllm."
    with pytest.raises(MissingDataError, match="no Deployment"):
        find_workload(cast("Prometheus", Queries({})), "team-a", "train-0")


def test_a_metric_that_is_gone_is_not_taken_for_0() -> None:
    """KEDA's default is true, and then it removes replicas."""
    (trigger,) = build_scaled_object(build_draft())["spec"]["triggers"]
    assert trigger["metadata"]["ignoreNullValues"] == "false"
    assert trigger["metricType"] == "Value"


def test_what_is_printed_is_a_manifest() -> None:
    draft = build_draft()
    assert yaml.safe_load("\n".join(list_lines(draft))) == build_scaled_object(draft)
    refused_draft = Draft(build_suggestion({}, build_window(COMPUTE)), Bounds(1, 4), "http://p:9090")
    assert yaml.safe_load("\n".join(list_lines(refused_draft))) is None

"""HorizontalPodAutoscalers say what is missing, and other faults explain some of it."""

import pytest

from gpustack.ask.probe import CLUSTER
from tests.unit.doctor.checks.evaluation import judge_cluster
from tests.worlds.snapshots.answers import place_answers, read_case

EDGE = "autoscaling-api-down -> hpa-metric-missing"
IDS = ("hpa-target-missing", "hpa-metric-missing", EDGE, "autoscaling-api-taken -> hpa-metric-missing",
       "st-no-metrics -> hpa-metric-missing")  # fmt: skip


@pytest.mark.parametrize(
    ("case", "target", "metric", "external"),
    [
        ("none", "ok", "ok", "ok"),
        ("keda-scaling", "ok", "ok", "ok"),
        ("switched-off", "ok", "ok", "ok"),
        ("keda-no-metric", "ok", "failed", "failed"),
        ("resource-metric", "ok", "failed", "ok"),
        ("no-target", "failed", "ok", "ok"),
        ("forbidden", "unknown", "unknown", "unknown"),
    ],
)
def test_a_missing_target_or_metric_fails_its_check(case: str, target: str, metric: str, external: str) -> None:
    answers = place_answers(CLUSTER, read_case("autoscaling.scalings", case))
    assert tuple(judge_cluster(id, answers, CLUSTER)[0] for id in IDS) == (target, metric, *[external] * 3)


def test_the_reason_comes_before_it_is_cut() -> None:
    answers = place_answers(CLUSTER, read_case("autoscaling.scalings", "keda-no-metric"))
    assert (
        "unable to fetch metrics from external metrics API" in judge_cluster("hpa-metric-missing", answers, CLUSTER)[1]
    )


def test_an_autoscaler_is_named_with_target_and_reason() -> None:
    answers = place_answers(CLUSTER, read_case("autoscaling.scalings", "no-target"))
    assert judge_cluster("hpa-target-missing", answers, CLUSTER)[1].startswith(
        "default/keda-hpa-scaled for Deployment/scaled: the"
    )

"""Faults of the layer `autoscaling`, from the conditions of all HorizontalPodAutoscalers."""

import re

from gpustack.ask.judge import Result
from gpustack.ask.message import shorten_message
from gpustack.ask.view import View
from gpustack.doctor.check import build_names, check
from gpustack.probes.kubernetes.autoscaling import SCALINGS, Scaling

# Reasons of conditions that are False (kubernetes/kubernetes pkg/controller/podautoscaler/horizontal.go).
TARGET = "FailedGetScale"
EXTERNAL = "FailedGetExternalMetric"
METRIC = (
    EXTERNAL,
    "FailedGetObjectMetric",
    "FailedGetPodsMetric",
    "FailedGetResourceMetric",
    "FailedGetContainerResourceMetric",
    "FailedComputeMetricsReplicas",
    "InvalidMetricSourceType",
    "InvalidSelector",
)
MAX_SCALINGS = 3
SELECTOR = re.compile(r"/&LabelSelector\{.{0,2000}?\}:")


def judge_scalings(view: View, subject: str, expected: str, reasons: tuple[str, ...]) -> Result:
    scalings = [scaling for scaling in view[SCALINGS] if scaling.reason in reasons]
    names = build_names(NAMESPACE=[scaling.namespace for scaling in scalings])
    return Result(subject, expected, describe_scalings(scalings), ok=not scalings, names=names)


def describe_scalings(scalings: list[Scaling]) -> str:
    if not scalings:
        return "none without"
    remainder = f" (and {len(scalings) - MAX_SCALINGS} more)" if len(scalings) > MAX_SCALINGS else ""
    return (
        "; ".join(
            f"{scaling.place} for {scaling.target}: {shorten_reason(scaling.message)}"
            for scaling in scalings[:MAX_SCALINGS]
        )
        + remainder
    )


def shorten_reason(reason: str) -> str:
    """Drop the selector of a metric, which Go prints in full before the cause, and shorten the remainder."""
    return shorten_message(SELECTOR.sub(":", reason))


@check("hpa-target-missing", SCALINGS)
def target_missing(view: View) -> Result:
    return judge_scalings(view, "targets of HorizontalPodAutoscalers", "all there", (TARGET,))


@check("hpa-metric-missing", SCALINGS)
def metric_missing(view: View) -> Result:
    return judge_scalings(view, "metrics of HorizontalPodAutoscalers", "all there", METRIC)


def judge_external_metrics(view: View) -> Result:
    return judge_scalings(view, "external metrics of HorizontalPodAutoscalers", "missing", (EXTERNAL,))


taken_external = check("autoscaling-api-taken -> hpa-metric-missing", SCALINGS)(judge_external_metrics)
down_external = check("autoscaling-api-down -> hpa-metric-missing", SCALINGS)(judge_external_metrics)
unfed_external = check("st-no-metrics -> hpa-metric-missing", SCALINGS)(judge_external_metrics)

"""Faults of the layer `autoscaling`: what HorizontalPodAutoscalers say of themselves, whoever made them."""

import re

from gpustack.ask.judge import Result
from gpustack.ask.view import View
from gpustack.doctor.check import check, names
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
MOST = 3  # that are shown
SELECTOR = re.compile(r"/&LabelSelector\{.{0,2000}?\}:")


def judge_scalings(here: View, what: str, expected: str, reasons: tuple[str, ...]) -> Result:
    found = [one for one in here[SCALINGS] if one.reason in reasons]
    named = names(NAMESPACE=[one.namespace for one in found])
    return Result(what, expected, describe(found), ok=not found, names=named)


def describe(found: list[Scaling]) -> str:
    if not found:
        return "none without"
    more = f" (and {len(found) - MOST} more)" if len(found) > MOST else ""
    return "; ".join(f"{one.place} for {one.target}: {shorten(one.why)}" for one in found[:MOST]) + more


def shorten(why: str) -> str:
    """Without the selector of a metric, which Go prints in full, and before which nothing says what is wrong."""
    return SELECTOR.sub(":", why)[:240]


@check("hpa-target-missing", SCALINGS)
def target_missing(here: View) -> Result:
    return judge_scalings(here, "targets of HorizontalPodAutoscalers", "all there", (TARGET,))


@check("hpa-metric-missing", SCALINGS)
def metric_missing(here: View) -> Result:
    return judge_scalings(here, "metrics of HorizontalPodAutoscalers", "all there", METRIC)


def external_missing(here: View) -> Result:
    return judge_scalings(here, "external metrics of HorizontalPodAutoscalers", "missing", (EXTERNAL,))


@check("autoscaling-api-taken -> hpa-metric-missing", SCALINGS)
def taken_external(here: View) -> Result:
    return external_missing(here)


@check("autoscaling-api-down -> hpa-metric-missing", SCALINGS)
def down_external(here: View) -> Result:
    return external_missing(here)


@check("st-no-metrics -> hpa-metric-missing", SCALINGS)
def unfed_external(here: View) -> Result:
    return external_missing(here)


CHECKS = (target_missing, metric_missing, taken_external, down_external, unfed_external)

"""The metric and target that suit a workload, by its queue, else by its profile, or the reasons why none does."""

from collections.abc import Iterable
from dataclasses import dataclass

from gpustack.autoscale.candidates import QUEUES, WAITING_TARGET, Query, list_queue_queries, list_share_queries
from gpustack.autoscale.contradictions import find_contradictions
from gpustack.autoscale.workload import ScaledWorkload
from gpustack.exit_status import ExitStatus, select_status
from gpustack.metrics.prometheus import Prometheus
from gpustack.profile.analysis import Analysis
from gpustack.profile.class_ids import Id

# The share that limits workloads of a class, and so falls when there are more replicas.
LIMITING_SHARES: dict[Id, str] = {
    "tensor-bound": "sm",
    "compute-bound": "sm",
    "latency-bound": "sm",
    "memory-bound": "dram",
    "launch-bound": "engine",
    "power-limited": "sm",
    "moderate-tensor": "sm",
    "mixed": "sm",
}
WAITS_FOR_GPUS = "It waits for other GPUs of the same job: more replicas do not help it."
# More replicas are of no use, or the load of their GPUs does not say how full they are.
UNSUITABLE_CLASSES: dict[Id, str] = {
    "idle": "Its GPUs are idle: there is no load to scale by.",
    "partly-idle": "A part of its GPUs has no work: their mean hides the one that is full.",
    "throttled": "Heat or hardware slows its GPUs down: their load says nothing until that is repaired.",
    "imbalanced": "Its GPUs do different amounts of work: their mean hides the one that is full.",
    "alternating": "Its GPUs work in turn: none of them is full, however many replicas there are.",
    "waiting": "Its kernels wait, spin or hang: there is no load to scale by.",
    "communication-bound": WAITS_FOR_GPUS,
    "network-bound": WAITS_FOR_GPUS,
    "unseen-communication": WAITS_FOR_GPUS,
    "pcie-bound": "It waits for PCIe: its GPUs stay below any target while it is full.",
    "input-bound": "It waits for its input: its GPUs stay below any target while it is full.",
    "insufficient-data": "There is too little data for a verdict.",
    "not-measured": "Its activity was not measured: the metrics of its GPUs contradict each other.",
}
UNMEASURED_LOAD = "Its load is not measured now: the metrics of its GPUs contradict each other."
UNSATURATED_CLASSES = ("moderate-tensor", "mixed")
# Estimates: the share of the peak at which another replica is started, and the target where no peak was seen.
HEADROOM, DEFAULT_TARGET = 0.75, 0.6


@dataclass(frozen=True)
class Suggestion:
    """Hold a suggestion. `metric` is empty where none suits, and `reasons` say why. `current_value` is the result of
    `query` now. `target` is for one replica, in the unit of the metric."""

    workload: ScaledWorkload
    verdict: Id
    reasons: tuple[str, ...]
    doubts: tuple[str, ...] = ()
    metric: str = ""
    query: str = ""
    target: float = 0.0
    current_value: float = 0.0

    @property
    def exit_status(self) -> ExitStatus:
        return select_status(unknown=not self.metric)


def suggest_metric(prometheus: Prometheus, workload: ScaledWorkload, analysis: Analysis) -> Suggestion:
    verdict, contradictions = analysis.verdict, find_contradictions(prometheus, workload)
    if queue_answer := find_first_answer(prometheus, list_queue_queries(workload)):
        query, current_value = queue_answer
        queue_reason = (
            f"Requests wait in a queue that {QUEUES[query.metric]} measures: it grows when the replicas are full."
        )
        doubts = (
            f"{WAITING_TARGET:g} waiting requests a replica are an example of vLLM's; see what your latency allows.",
            *contradictions,
        )
        return Suggestion(
            workload, verdict.id, (queue_reason,), doubts, query.metric, query.expr, WAITING_TARGET, current_value
        )
    no_queue = "No queue of a known inference server is measured for its pods."
    if verdict.id in UNSUITABLE_CLASSES:
        return Suggestion(workload, verdict.id, (UNSUITABLE_CLASSES[verdict.id], no_queue, *verdict.reasons))
    if contradictions:
        return Suggestion(workload, verdict.id, (UNMEASURED_LOAD, *contradictions, no_queue))
    share = LIMITING_SHARES[verdict.id]
    if share == "sm" and not compute_peak(analysis, "sm"):
        share = "engine"
    share_answer = find_first_answer(prometheus, list_share_queries(workload, share))
    if not share_answer:
        return Suggestion(workload, verdict.id, (f"Prometheus has no series of {share} for its pods now.", no_queue))
    query, current_value = share_answer
    target, target_doubts = choose_target(analysis, share)
    class_reason = (
        f"It is {verdict.id} (confidence: {verdict.confidence}): {query.metric} is high where a replica is full."
    )
    return Suggestion(
        workload, verdict.id, (class_reason, no_queue), target_doubts, query.metric, query.expr, target, current_value
    )


def choose_target(analysis: Analysis, share: str) -> tuple[float, tuple[str, ...]]:
    """Choose the target of a share for one replica, and list the doubts about it."""
    verdict, doubts = analysis.verdict, list[str]()
    peak = compute_peak(analysis, share)
    if peak and verdict.id not in UNSATURATED_CLASSES:
        target = round(peak * HEADROOM, 2)
        doubts.append(f"{target:g} is {HEADROOM:g} of the {peak:.2f} that it reached in this time (95th percentile).")
    else:
        target = DEFAULT_TARGET
        doubts.append("It was not seen at its limit: measure it under full load, and suggest again.")
    if verdict.id == "memory-bound":
        doubts.append("Reading a language model's weights keeps memory busy at one request: a queue says more.")
    if verdict.confidence == "low":
        doubts.append("The verdict is unsure: gpustack profile analyze says why.")
    return target, tuple(doubts)


def compute_peak(analysis: Analysis, share: str) -> float | None:
    """Compute the 95th percentile of a share over time, as the median over the GPUs. Return None where it is not
    measured."""
    job = analysis.job
    return job.compute_median([window.compute_percentile(share, 0.95) for window in job.windows])


def find_first_answer(prometheus: Prometheus, queries: Iterable[Query]) -> tuple[Query, float] | None:
    """Find the first query that has a value now, and return both; None where no query has one."""
    for query in queries:
        for series in prometheus.query_instant(query.expr):
            sample = series.find_newest_value()
            if sample is not None:
                return query, sample
    return None

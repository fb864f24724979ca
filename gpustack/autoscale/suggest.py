"""Which metric and which target suit a workload, by its queue, else by its profile; or why none does."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import isnan

from gpustack.autoscale.candidates import QUEUES, WAITING, Query, queue_queries, share_queries
from gpustack.autoscale.workload import ScaledWorkload
from gpustack.metrics.prometheus import Prometheus
from gpustack.profile.analysis import Analysis
from gpustack.profile.classes import Id

# What is full where a workload is of a class, and so what falls when there are more replicas.
FULL: dict[Id, str] = {
    "tensor-bound": "sm",
    "compute-bound": "sm",
    "latency-bound": "sm",
    "memory-bound": "dram",
    "launch-bound": "engine",
    "moderate-tensor": "sm",
    "mixed": "sm",
}
# More replicas are of no use, or the load of their GPUs does not say how full they are.
UNSUITED: dict[Id, str] = {
    "idle": "Its GPUs are idle: there is no load to scale by.",
    "throttled": "Heat or hardware slows its GPUs down: their load says nothing until that is repaired.",
    "imbalanced": "Its GPUs do different amounts of work: their mean hides the one that is full.",
    "communication-bound": "It waits for other GPUs of the same job: more replicas do not help it.",
    "pcie-bound": "It waits for PCIe: its GPUs stay below any target while it is full.",
    "input-bound": "It waits for its input: its GPUs stay below any target while it is full.",
    "insufficient-data": "There is too little data for a verdict.",
}
NOT_FULL = ("moderate-tensor", "mixed")
# Estimates of ours: what is left until another replica is ready, and where the load of a full replica was not seen.
HEADROOM, UNSEEN = 0.75, 0.6


@dataclass(frozen=True)
class Suggestion:
    """`metric` is empty where none suits; then `why` says so. `now` is what `query` has at the moment. `target` is of
    one replica, in the unit of the metric."""

    workload: ScaledWorkload
    verdict: Id
    why: tuple[str, ...]
    doubts: tuple[str, ...] = ()
    metric: str = ""
    query: str = ""
    target: float = 0.0
    now: float = 0.0


def suggest(prometheus: Prometheus, workload: ScaledWorkload, analysis: Analysis) -> Suggestion:
    verdict = analysis.verdict
    if found := first_answered(prometheus, queue_queries(workload)):
        query, now = found
        waits = f"Requests wait in a queue that {QUEUES[query.metric]} measures: it grows when the replicas are full."
        doubts = (f"{WAITING:g} waiting requests a replica are an example of vLLM's; see what your latency allows.",)
        return Suggestion(workload, verdict.id, (waits,), doubts, query.metric, query.expr, WAITING, now)
    no_queue = "No queue of a known inference server is measured for its pods."
    if verdict.id in UNSUITED:
        return Suggestion(workload, verdict.id, (UNSUITED[verdict.id], no_queue, *verdict.reasons))
    share = FULL[verdict.id]
    if share == "sm" and not high(analysis, "sm"):
        share = "engine"
    answered = first_answered(prometheus, share_queries(workload, share))
    if not answered:
        return Suggestion(workload, verdict.id, (f"Prometheus has no series of {share} for its pods now.", no_queue))
    query, now = answered
    target, against = choose_target(analysis, share)
    why = f"It is {verdict.id} (sure: {verdict.confidence}): {query.metric} is high where a replica is full."
    return Suggestion(workload, verdict.id, (why, no_queue), against, query.metric, query.expr, target, now)


def choose_target(analysis: Analysis, share: str) -> tuple[float, tuple[str, ...]]:
    """And what speaks against it."""
    verdict, doubts = analysis.verdict, list[str]()
    most = high(analysis, share)
    if most and verdict.id not in NOT_FULL:
        target = round(most * HEADROOM, 2)
        doubts.append(f"{target:g} is {HEADROOM:g} of the {most:.2f} that it reached in this time (95th percentile).")
    else:
        target = UNSEEN
        doubts.append("It was not seen at its limit: measure it under full load, and suggest again.")
    if verdict.id == "memory-bound":
        doubts.append("Reading a language model's weights keeps memory busy at one request: a queue says more.")
    if verdict.confidence == "low":
        doubts.append("The verdict is unsure: gpustack profile analyze says why.")
    return target, tuple(doubts)


def high(analysis: Analysis, share: str) -> float | None:
    """The 95th percentile, of the median GPU."""
    job = analysis.job
    return job.middle([window.percentile(share, 0.95) for window in job.windows])


def first_answered(prometheus: Prometheus, queries: Iterable[Query]) -> tuple[Query, float] | None:
    """The first that has a value now, and the value."""
    for query in queries:
        for one in prometheus.instant(query.expr).series:
            value = one.points[-1][1]
            if not isnan(value):
                return query, value
    return None

"""Metrics that a workload can be scaled by: queues of inference servers, then what bounds its GPUs.

The mean of the pods that have the series, so a pod whose exporter is away takes nothing from the others: a sum would
fall and take replicas with it. What waits is asked first: the load of a GPU is high at one request as well as at many
(llm-d, "Autoscaling Workloads with KEDA and EPP Metrics"; docs/autoscaling.md).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gpustack.autoscale.workload import ScaledWorkload
from gpustack.profile.selection import quoted
from gpustack.profile.window import QUANTITIES

WINDOW = "2m"
# Gauges of requests that wait, one for each replica and model. Sources: docs.vllm.ai, Production Metrics; SGLang,
# Production Metrics; text-generation-inference, Metrics; triton-inference-server, docs/user_guide/metrics.md.
QUEUES: Mapping[str, str] = {
    "vllm:num_requests_waiting": "vLLM",
    "sglang:num_queue_reqs": "SGLang",
    "tgi_queue_size": "Text Generation Inference",
    "nv_inference_pending_request_count": "Triton",
}
# Of one replica. An example of vLLM's production stack has the same (docs.vllm.ai/projects/production-stack,
# autoscaling-keda).
WAITING = 5.0
# Our series of each share; a Prometheus without our rules has the exporter's own.
RECORDED: Mapping[str, str] = {
    "sm": "gpustack:gpu_sm_active:ratio",
    "engine": "gpustack:gpu_active:ratio",
    "dram": "gpustack:gpu_dram_active:ratio",
}


@dataclass(frozen=True)
class Query:
    """`expr` has one series without labels, or none."""

    metric: str
    expr: str


def queue_queries(of: ScaledWorkload) -> Iterator[Query]:
    """Summed over the models of a replica first."""
    for metric in QUEUES:
        where = selector(of, "")
        yield Query(metric, f"avg(sum by (pod) (avg_over_time({metric}{where}[{WINDOW}])))")


def share_queries(of: ScaledWorkload, share: str) -> Iterator[Query]:
    """With the places where a pod's name may be: our own series, and both values of honorLabels."""
    own = QUANTITIES[share]
    for metric, prefix in ((RECORDED[share], "workload_"), (own, "exported_"), (own, "")):
        yield Query(metric, f"avg(avg_over_time({metric}{selector(of, prefix)}[{WINDOW}]))")


def selector(of: ScaledWorkload, prefix: str) -> str:
    return f"{{{prefix}namespace={quoted(of.namespace)},{prefix}pod=~{quoted(of.pods)}}}"

"""Metrics that a workload can be scaled by: queues of inference servers, then what bounds its GPUs.

A query is the mean of the pods that have the series. A sum would fall, and remove replicas, where the exporter of one
pod is away. Queues come first, since the load of a GPU is high at one request as well as at many (llm-d, "Autoscaling
Workloads with KEDA and EPP Metrics"; docs/autoscaling.md).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gpustack.autoscale.workload import ScaledWorkload
from gpustack.profile.selection import quote_promql
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
# The target for one replica. An example of vLLM's production stack has the same
# (docs.vllm.ai/projects/production-stack, autoscaling-keda).
WAITING_TARGET = 5.0
# gpustack's series of each share; a Prometheus without its rules has those of the exporter.
RECORDED_METRICS: Mapping[str, str] = {
    "sm": "gpustack:gpu_sm_active:ratio",
    "engine": "gpustack:gpu_active:ratio",
    "dram": "gpustack:gpu_dram_active:ratio",
}


@dataclass(frozen=True)
class Query:
    """Hold a query of PromQL. `expr` has one series without labels, or none."""

    metric: str
    expr: str


def list_queue_queries(workload: ScaledWorkload) -> Iterator[Query]:
    """List queries of the queues of a workload, with the models of a replica summed first."""
    for metric in QUEUES:
        selector = build_selector(workload, "")
        yield Query(metric, f"avg(sum by (pod) (avg_over_time({metric}{selector}[{WINDOW}])))")


def list_share_queries(workload: ScaledWorkload, share: str) -> Iterator[Query]:
    """List queries of a share for each label that may have the name of the pod: that of gpustack's own series, and
    those of both values of honorLabels."""
    exported_metric = QUANTITIES[share]
    for metric, prefix in (
        (RECORDED_METRICS[share], "workload_"),
        (exported_metric, "exported_"),
        (exported_metric, ""),
    ):
        yield Query(metric, f"avg(avg_over_time({metric}{build_selector(workload, prefix)}[{WINDOW}]))")


def build_selector(workload: ScaledWorkload, prefix: str) -> str:
    return f"{{{prefix}namespace={quote_promql(workload.namespace)},{prefix}pod=~{quote_promql(workload.pods)}}}"

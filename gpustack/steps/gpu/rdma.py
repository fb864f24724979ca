"""Adapters for RDMA of hosts with GPUs, which nothing here sets up."""

from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.events import format_count
from gpustack.probes.network.rdma_adapters import RDMA_ADAPTERS
from gpustack.steps.gpu.count import list_gpus

NOT_SET_UP = "GPUDirect RDMA and GDRCopy are not set up, and NCCL takes TCP between nodes (docs/gpu.md)"


def describe_rdma_adapters(view: View) -> str:
    """Describe the adapters of a host and what NCCL uses instead; empty without any, and where they are unknown."""
    try:
        if not list_gpus(view):
            return ""
        adapters = view[RDMA_ADAPTERS]
    except FactUnavailable:
        return ""
    counts = ((len(adapters.infiniband), "InfiniBand adapter"), (len(adapters.roce), "RoCE adapter"))
    words = " and ".join(format_count(count, word) for count, word in counts if count)
    return f"{words}: {NOT_SET_UP}" if words else ""

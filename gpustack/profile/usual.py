"""Usual values of kinds of work, and advice where the kind is known. They are orientation, not thresholds.

Ranges are of published runs and NVIDIA's feature overview of DCGM (docs.nvidia.com/datacenter/dcgm), widened: [E].
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from gpustack.profile.classes import Id
from gpustack.profile.limits import Limits
from gpustack.profile.signals import Signals

Workload = Literal["training", "inference", "multi-gpu"]
Ranges = Mapping[str, tuple[float, float]]
# Measured shares, not of what is reachable; power is of the limit.
USUAL: Mapping[Workload, Mapping[str, Ranges]] = {
    "training": {
        "language model, pre-training, tuned": {
            "sm": (0.75, 0.95), "tensor": (0.35, 0.6), "dram": (0.3, 0.6), "power": (0.85, 1.0),
        },
        "fine-tuning, small batches": {"sm": (0.5, 0.9), "tensor": (0.1, 0.35), "dram": (0.4, 0.7)},
        "images, mixed precision": {"sm": (0.7, 0.95), "tensor": (0.1, 0.35), "dram": (0.5, 0.8)},
    },
    "inference": {
        "language model, prefill": {"sm": (0.73, 0.97), "tensor": (0.3, 0.6), "dram": (0.3, 0.6)},
        "language model, decode": {"sm": (0.5, 0.97), "tensor": (0.02, 0.12), "dram": (0.55, 0.95)},
        "small models": {"sm": (0.05, 0.5), "tensor": (0.0, 0.1), "dram": (0.05, 0.4)},
        "recommender, embeddings": {"sm": (0.3, 0.7), "tensor": (0.0, 0.1), "dram": (0.3, 0.6)},
    },
    "multi-gpu": {"data-parallel, all GPUs alike": {"spread": (0.0, 0.1)}},
}  # fmt: skip
# In place of the advice of the class.
ADVICE: Mapping[tuple[Id, Workload], tuple[str, ...]] = {
    ("input-bound", "training"): ("More loader workers, prefetching, a local store.", "Decode and augment on the GPU."),
    ("input-bound", "inference"): (
        "Compare with the rate of requests: with few of them, demand is low and nothing is wrong.",
        "Fewer replicas, or several models on one GPU (MPS, MIG).",
    ),
    ("memory-bound", "training"): ("Fused kernels and optimiser, larger batches, activations in 8 or 16 bits.",),
    ("memory-bound", "inference"): ("Continuous batching, quantised weights, a paged and quantised KV cache.",),
    ("launch-bound", "training"): ("Larger batches, torch.compile, CUDA graphs, a fused optimiser.",),
    ("launch-bound", "inference"): ("Batch requests, CUDA graphs; several models on one GPU (MPS, MIG).",),
    ("idle", "training"): ("Release them; look at the log of the job: it may hang.",),
    ("idle", "inference"): ("Scale to zero, or share one GPU among several such pods.",),
}


@dataclass(frozen=True)
class Usual:
    """Describe a kind of work with the values outside of its usual ranges: name, value, minimum and maximum."""

    name: str
    outliers: tuple[tuple[str, float, float, float], ...]


def compare_usual(workload: Workload, signals: Signals, limits: Limits) -> tuple[Usual, ...]:
    """Compare with all kinds of a workload, the nearest first. A quantity that was not measured is not compared."""
    raw = {"tensor": limits.tensor_reachable, "dram": limits.dram_reachable}
    usuals = []
    for what, ranges in USUAL[workload].items():
        values = {name: getattr(signals, name) for name in ranges}
        outside = [
            (name, value * raw.get(name, 1.0), *ranges[name])
            for name, value in values.items()
            if value is not None and not ranges[name][0] <= value * raw.get(name, 1.0) <= ranges[name][1]
        ]
        if any(value is not None for value in values.values()):
            usuals.append(Usual(what, tuple(outside)))
    return tuple(sorted(usuals, key=lambda usual: len(usual.outliers)))

"""Usual values of kinds of work, and advice where the kind is known. They are orientation, not thresholds.

Ranges are of published runs and NVIDIA's feature overview of DCGM (docs.nvidia.com/datacenter/dcgm), widened: [E].
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from gpustack.profile.class_ids import Id
from gpustack.profile.limits import Limits
from gpustack.profile.signals import Signals

Workload = Literal["training", "inference", "multi-gpu"]
Ranges = Mapping[str, tuple[float, float]]
# For every kind of work. A board holds its own limit, mostly 85 to 90 degrees; links are shares of their peak,
# memory_used of the memory of the board.
COMMON_RANGES: Ranges = {"temperature": (25, 85), "pcie": (0.0, 0.25), "memory_used": (0.3, 0.95)}
# Measured shares, not of what is reachable; power is of the limit.
USUAL: Mapping[Workload, Mapping[str, Ranges]] = {
    "training": {
        "language model, pre-training, tuned": {
            "sm": (0.75, 0.95), "tensor": (0.35, 0.6), "dram": (0.3, 0.6), "power": (0.85, 1.0), "nvlink": (0.0, 0.5),
        },
        "fine-tuning, small batches": {"sm": (0.5, 0.9), "tensor": (0.1, 0.35), "dram": (0.4, 0.7)},
        "images, mixed precision": {"sm": (0.7, 0.95), "tensor": (0.1, 0.35), "dram": (0.5, 0.8)},
    },
    "inference": {
        "language model, prefill": {"sm": (0.73, 0.97), "tensor": (0.3, 0.6), "dram": (0.3, 0.6)},
        "language model, decode": {"sm": (0.5, 0.97), "tensor": (0.02, 0.12), "dram": (0.55, 0.95)},
        "small models": {"sm": (0.05, 0.5), "tensor": (0.0, 0.1), "dram": (0.05, 0.4), "memory_used": (0.02, 0.95)},
        "recommender, embeddings": {"sm": (0.3, 0.7), "tensor": (0.0, 0.1), "dram": (0.3, 0.6)},
    },
    "multi-gpu": {"data-parallel, all GPUs alike": {"spread": (0.0, 0.1), "nvlink": (0.01, 0.5)}},
}  # fmt: skip
TENSOR_SATURATION = 0.5  # tensor cores: with more, a larger batch gains little
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


def read_levels(signals: Signals, limits: Limits) -> Mapping[str, float | None]:
    """Read the values that are compared: shares as measured, the temperature in degrees."""
    names = ("sm", "tensor", "dram", "power", "pcie", "nvlink", "spread", "memory", "temperature")
    raw = {"tensor": limits.tensor_reachable, "dram": limits.dram_reachable}
    levels = {name: getattr(signals, name, signals.means.get(name)) for name in names}
    shares = {name: None if value is None else value * raw.get(name, 1.0) for name, value in levels.items()}
    return {**shares, "memory_used": shares["memory"]}


def compare_usual(workload: Workload, signals: Signals, limits: Limits) -> tuple[Usual, ...]:
    """Compare with all kinds of a workload, the nearest first. A quantity that was not measured is not compared."""
    levels, usuals = read_levels(signals, limits), []
    for kind, own_ranges in USUAL[workload].items():
        ranges = {**COMMON_RANGES, **own_ranges}
        known_levels = {name: value for name in ranges if (value := levels[name]) is not None}
        outliers = [
            (name, value, *ranges[name]) for name, value in known_levels.items() if not is_within(value, ranges[name])
        ]
        if known_levels.keys() & own_ranges.keys():
            usuals.append(Usual(kind, tuple(outliers)))
    return tuple(sorted(usuals, key=lambda usual: len(usual.outliers)))


def is_within(value: float, ends: tuple[float, float]) -> bool:
    return ends[0] <= value <= ends[1]


def list_workload_notes(workload: Workload | None, signals: Signals) -> Iterator[str]:
    """List what the memory of a training and the temperature say."""
    least_memory, highest_temperature = COMMON_RANGES["memory_used"][0], COMMON_RANGES["temperature"][1]
    has_room = workload == "training" and signals.memory is not None and signals.memory < least_memory
    if has_room and signals.tensor is not None and signals.tensor < TENSOR_SATURATION:
        yield f"The batch may be too small: memory used is {signals.format_mean('memory_used')}."
    if "temperature" in signals.means and signals.means["temperature"] > highest_temperature:
        yield f"The GPUs are hot: {signals.format_mean('temperature')}, usually below {highest_temperature:g} °C."

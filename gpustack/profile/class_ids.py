"""Names of the classes of workloads, on which scripts may rely. A pause is one of a stretch only."""

from typing import Literal

Id = Literal[
    "insufficient-data",
    "not-measured",
    "idle",
    "partly-idle",
    "throttled",
    "power-limited",
    "imbalanced",
    "alternating",
    "waiting",
    "communication-bound",
    "network-bound",
    "pcie-bound",
    "unseen-communication",
    "input-bound",
    "tensor-bound",
    "memory-bound",
    "compute-bound",
    "launch-bound",
    "latency-bound",
    "moderate-tensor",
    "mixed",
    "pause",
]

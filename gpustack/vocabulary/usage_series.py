"""The recorded series that reports read, and the meaning of their samples.

scripts/values/usage_rules.py writes the rules, docs/capacity.md explains them. Counts are of units of a resource; UNIT
says how many GPUs one is.
"""

import re

INTERVAL = 60
"""Seconds between two samples: the interval of their rule group, recorded with them as SAMPLE."""
HOUR = "59m59s999ms"
"""An hour without its first moment: where samples lie on full hours it has sixty and not sixty-one, in Prometheus 2
too (its ranges had both ends until 3.0)."""
SHARES = {1 / 7: r"1g\..+", 2 / 7: r"2g\..+", 3 / 7: r"3g\..+", 4 / 7: r"4g\..+", 1.0: r"7g\..+"}
"""What part of a GPU a MIG instance is: its compute slices of seven, by the profile's name
(https://docs.nvidia.com/datacenter/tesla/mig-user-guide/)."""
QUARTERS = {1 / 4: r"1g\.(6|24)gb.*", 2 / 4: r"2g\.(12|48)gb.*", 1.0: r"4g\.(24|96)gb.*"}
"""And of models with four slices, by the same guide: A30 and RTX PRO 6000 Blackwell. These count first."""

SAMPLE = "gpustack:usage_sample:seconds"
UNIT = "gpustack:node_usage_unit:ratio"
GPUS = "gpustack:node_usage_gpus:count"
OFFERED_UNITS = "gpustack:node_usage_offered:count"
ALLOCATED_UNITS = "gpustack:node_usage_allocated:count"
ATTRIBUTED_UNITS = "gpustack:node_usage_attributed:count"
ACTIVE_UNITS = "gpustack:node_usage_active:count"
IDLE_UNITS = "gpustack:node_usage_idle:count"
QUEUED_UNITS = "gpustack:namespace_usage_queued:count"
SCHEDULED_PODS = "gpustack:namespace_usage_scheduled:count"
WAITED_SECONDS = "gpustack:namespace_usage_waited:seconds"
HELD_GPUS = "gpustack:gpu_held:ratio"
HELD_PROCESSES = "gpustack:gpu_held_processes:ratio"
"""The utilisation of the processes of a pod that has a GPU, where its exporter has that beside the GPU's own."""
SCOPE, OF_POD = "scope", "pod"
"""The label and the value of samples that are of a pod's own processes; without it they are of the GPU."""
TEAM = "gpustack:pod_team:info"
POD = "gpustack:pod_usage_allocated:count"
CONTRADICTION = "gpustack:gpu_activity_contradiction:bool"
"""GPUs whose profiling counters read 0 while the value that its label WITNESS names shows work. It has no sample of any
other GPU."""
CONTRADICTING = "gpustack:gpu_usage_contradicting:ratio"
"""The value that contradicts them, as a sample of usage."""
WITNESS = "witness"

UNITS = (0.0, 1e6)
"""The least and the most that a sample is: units of a resource of a node, or of a namespace."""
LIMITS = {CONTRADICTING: (0.0, 1.5), SAMPLE: (1.0, 3600.0), UNIT: (1e-4, 1.0), WAITED_SECONDS: (0.0, 1e12)}
"""The same of series that count something else."""

IDLE_BELOW = 0.05
"""Of the time the engine is busy: below it a GPU does nothing, as in the alert GpuIdleAllocated."""


def format_series_label(name: str) -> str:
    """Format a label of Kubernetes as kube-state-metrics does: example.com/costCenter is label_example_com_cost_center
    (internal/store/utils.go)."""
    words = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return "label_" + re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", words).lower()

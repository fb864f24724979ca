"""STEPS: all steps, in the order of installation. The only list; an executor does not reorder it."""

from typing import Any

from gpustack.ask.probe import Probe
from gpustack.steps import (
    alerts,
    containerd,
    control_plane,
    dashboards,
    firewall,
    flannel,
    gpu_driver,
    gpu_metrics,
    gpu_operator,
    gpu_plugin,
    gpu_runtime,
    gpu_sharing,
    helm,
    kubernetes,
    monitoring,
    prereqs,
    storage,
    taint,
    workers,
)
from gpustack.steps.step import Step

STEPS: tuple[Step, ...] = (
    prereqs.STEP,
    firewall.STEP,
    containerd.STEP,
    kubernetes.STEP,
    control_plane.STEP,
    flannel.STEP,
    workers.STEP,
    taint.STEP,
    helm.STEP,
    storage.STEP,
    monitoring.STEP,
    gpu_driver.STEP,
    gpu_runtime.STEP,
    gpu_operator.STEP,
    gpu_sharing.STEP,
    gpu_plugin.STEP,
    gpu_metrics.STEP,
    dashboards.STEP,
    alerts.STEP,
)

PROBES: tuple[Probe[Any], ...] = tuple({probe.id: probe for step in STEPS for probe in step.probes}.values())

"""STEPS: all steps, in the order of installation. The only list; an executor does not reorder it."""

from typing import Any

from gpustack.ask.probe import Probe
from gpustack.steps import alerts, dashboards, flannel, helm, storage, taint, workers
from gpustack.steps.containerd import step as containerd
from gpustack.steps.control_plane import step as control_plane
from gpustack.steps.firewall import step as firewall
from gpustack.steps.gpu import driver as gpu_driver
from gpustack.steps.gpu import metrics as gpu_metrics
from gpustack.steps.gpu import operator as gpu_operator
from gpustack.steps.gpu import plugin as gpu_plugin
from gpustack.steps.gpu import runtime as gpu_runtime
from gpustack.steps.gpu import sharing as gpu_sharing
from gpustack.steps.kubernetes import step as kubernetes
from gpustack.steps.monitoring import step as monitoring
from gpustack.steps.prereqs import step as prereqs
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

"""The list of all steps, in the order of installation. There is no other list, and an executor does not reorder it."""

from types import ModuleType
from typing import Any

from gpustack.ask.probe import Probe
from gpustack.steps import alerts, dashboards, flannel, helm, node_labels, serve, storage, taint, workers
from gpustack.steps.autoscaling import step as autoscaling
from gpustack.steps.care import step as care
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
from gpustack.steps.standalone import care as standalone_care
from gpustack.steps.standalone import exporters as standalone_exporters
from gpustack.steps.standalone import monitoring as standalone_monitoring
from gpustack.steps.step import Step

MODULES: tuple[ModuleType, ...] = (
    prereqs,
    firewall,
    containerd,
    kubernetes,
    control_plane,
    flannel,
    workers,
    taint,
    node_labels,
    helm,
    storage,
    monitoring,
    gpu_driver,
    gpu_runtime,
    gpu_operator,
    gpu_sharing,
    gpu_plugin,
    gpu_metrics,
    dashboards,
    alerts,
    serve,
    autoscaling,
    care,
    standalone_exporters,
    standalone_monitoring,
    standalone_care,
)
"""The docstrings of these modules are the manual pages of the steps."""
STEPS: tuple[Step, ...] = tuple(module.STEP for module in MODULES)
PROBES: tuple[Probe[Any], ...] = tuple({probe.id: probe for step in STEPS for probe in step.probes}.values())

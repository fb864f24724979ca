"""The objects that the roles of cluster steps create besides Helm releases, by step: the variable
`gpustack_objects`."""

from collections.abc import Callable, Mapping
from typing import Any

from gpustack.ask.view import View
from gpustack.steps import alerts, dashboards, node_labels, serve
from gpustack.steps.care import objects as care
from gpustack.steps.gpu import metrics_objects as gpu_metrics_objects
from gpustack.steps.gpu import plugin as gpu_plugin
from gpustack.steps.gpu import sharing as gpu_sharing

OBJECTS: Mapping[str, Callable[[View], dict[str, Any]]] = {
    "node-labels": node_labels.build_variables,
    "gpu-sharing": gpu_sharing.build_variables,
    "gpu-plugin": gpu_plugin.build_variables,
    "gpu-metrics": gpu_metrics_objects.build_variables,
    "dashboards": dashboards.build_variables,
    "alerts": alerts.build_variables,
    "serve": serve.build_variables,
    "care": care.build_variables,
}

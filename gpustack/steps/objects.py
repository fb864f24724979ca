"""What the roles of cluster steps create in the cluster besides Helm releases, by step: the variable
`gpustack_objects`."""

from collections.abc import Callable, Mapping
from typing import Any

from gpustack.ask.view import View
from gpustack.steps import alerts, dashboards, serve
from gpustack.steps.gpu import metrics_objects as gpu_metrics_objects
from gpustack.steps.gpu import plugin as gpu_plugin
from gpustack.steps.gpu import sharing as gpu_sharing

OBJECTS: Mapping[str, Callable[[View], dict[str, Any]]] = {
    "gpu-sharing": gpu_sharing.wanted,
    "gpu-plugin": gpu_plugin.wanted,
    "gpu-metrics": gpu_metrics_objects.wanted,
    "dashboards": dashboards.wanted,
    "alerts": alerts.wanted,
    "serve": serve.wanted,
}

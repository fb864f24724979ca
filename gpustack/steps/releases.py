"""All Helm releases of ours, by the step that brings each."""

from collections.abc import Callable, Mapping

from gpustack.ask.view import View
from gpustack.steps import gpu_operator_values, monitoring_values
from gpustack.steps.release import Release

RELEASES: Mapping[str, Callable[[View], Release]] = {
    "monitoring": monitoring_values.release,
    "gpu-operator": gpu_operator_values.release,
}

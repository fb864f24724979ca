"""The Helm releases of gpustack, by the step that installs each, with the condition for it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gpustack.ask.view import View
from gpustack.steps.autoscaling import values as keda_values
from gpustack.steps.gpu import operator_values as gpu_operator_values
from gpustack.steps.monitoring import values as monitoring_values
from gpustack.steps.release import Release


@dataclass(frozen=True)
class StepRelease:
    """Hold the condition for a release and its builder. Both raise FactUnavailable. Where the condition does not hold,
    a forced play of the step installs nothing."""

    condition: Callable[[View], bool]
    builder: Callable[[View], Release]


RELEASES: Mapping[str, StepRelease] = {
    "monitoring": StepRelease(monitoring_values.needs_release, monitoring_values.build_release),
    "gpu-operator": StepRelease(gpu_operator_values.needs_release, gpu_operator_values.build_release),
    "autoscaling": StepRelease(keda_values.needs_release, keda_values.build_release),
}


def needs_any_release(view: View) -> bool:
    """Tell whether any release is needed. Raise FactUnavailable where none is known to be needed, and one is
    unknown."""
    return any(step_release.condition(view) for step_release in RELEASES.values())

"""All our Helm releases, by the step that installs each, and whether the step has one to install."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gpustack.ask.view import View
from gpustack.steps.autoscaling import values as keda_values
from gpustack.steps.gpu import operator_values as gpu_operator_values
from gpustack.steps.monitoring import values as monitoring_values
from gpustack.steps.release import Release


@dataclass(frozen=True)
class Brought:
    """Both raise FactUnavailable. Where it is not `wanted`, a forced play of the step brings nothing."""

    wanted: Callable[[View], bool]
    release: Callable[[View], Release]


RELEASES: Mapping[str, Brought] = {
    "monitoring": Brought(monitoring_values.wanted, monitoring_values.release),
    "gpu-operator": Brought(gpu_operator_values.wanted, gpu_operator_values.release),
    "autoscaling": Brought(keda_values.wanted, keda_values.release),
}


def any_wanted(here: View) -> bool:
    """Raises FactUnavailable where no release is known to be wanted, and one is unknown."""
    return any(one.wanted(here) for one in RELEASES.values())

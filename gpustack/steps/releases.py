"""All Helm releases of ours, by the step that brings each."""

from collections.abc import Callable, Mapping

from gpustack.ask.view import View
from gpustack.steps import monitoring_values
from gpustack.steps.release import Release

RELEASES: Mapping[str, Callable[[View], Release]] = {"monitoring": monitoring_values.release}

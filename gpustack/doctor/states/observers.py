"""Observers of abnormal states, by the kind of object that they look at."""

from gpustack.doctor.states import (
    api_extensions,
    containers,
    failed_pods,
    gpus,
    node_conditions,
    node_labels,
    outside_names,
    pending_pods,
    units,
    warning_events,
    workloads,
)
from gpustack.doctor.states.state import Observer

MODULES = (
    containers, failed_pods, pending_pods, node_labels, node_conditions, gpus, units, workloads, api_extensions,
    warning_events,
)  # fmt: skip
OBSERVERS: tuple[Observer, ...] = tuple(observer for module in MODULES for observer in module.OBSERVERS)
LATER_OBSERVERS = outside_names.OBSERVERS
"""Observers of the answers of a second round. Where there was none they find nothing, and nothing is unknown."""
TITLES = {observer.id: observer.title for observer in OBSERVERS}

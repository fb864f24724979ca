"""Observers of abnormal states, by the kind of object that they look at."""

from gpustack.doctor.states import (
    alerts,
    api_extensions,
    bindings,
    budgets,
    certificate_requests,
    claims,
    containers,
    contradictions,
    control_planes,
    cordons,
    daemons,
    deletions,
    device_health,
    disks,
    diverted_routes,
    ended_work,
    failed_pods,
    failure_counts,
    gates,
    gpus,
    host_differences,
    kernel_messages,
    kernels,
    kubelet_access,
    kubelet_errors,
    kubelet_settings,
    leaders,
    limits,
    logged_errors,
    manifests,
    node_conditions,
    node_labels,
    operands,
    outside_names,
    packages,
    pending_pods,
    placements,
    proven_gpus,
    reverse_paths,
    scraped_objects,
    service_pods,
    silences,
    units,
    unproven_boots,
    warning_events,
    workloads,
)
from gpustack.doctor.states.state import Observer

MODULES = (
    disks, daemons, units, control_planes, containers, deletions, device_health, failed_pods, pending_pods, node_labels,
    node_conditions, gpus, workloads, operands, contradictions, ended_work, api_extensions, scraped_objects, kernels,
    packages, host_differences, warning_events,
)  # fmt: skip
OBSERVERS: tuple[Observer, ...] = tuple(observer for module in MODULES for observer in module.OBSERVERS)
OPTIONAL_OBSERVERS = (
    *outside_names.OBSERVERS, *cordons.OBSERVERS, *budgets.OBSERVERS, *kernel_messages.OBSERVERS,
    *proven_gpus.OBSERVERS, *gates.OBSERVERS, *unproven_boots.OBSERVERS, *limits.OBSERVERS, *kubelet_access.OBSERVERS,
    *placements.OBSERVERS, *bindings.OBSERVERS, *kubelet_errors.OBSERVERS, *alerts.OBSERVERS, *manifests.OBSERVERS,
    *kubelet_settings.OBSERVERS, *service_pods.OBSERVERS, *certificate_requests.OBSERVERS,
    *failure_counts.OBSERVERS, *leaders.OBSERVERS,
    *diverted_routes.OBSERVERS, *reverse_paths.OBSERVERS, *logged_errors.OBSERVERS,
    *disks.PROGRAM_OBSERVERS, *claims.OBSERVERS, *silences.OBSERVERS,
)  # fmt: skip
"""Observers that find nothing where their answers are unavailable, and nothing is unknown: no finding needs them."""
TITLES = {observer.id: observer.title for observer in OBSERVERS}

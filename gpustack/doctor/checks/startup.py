"""Grace periods of containers that have just started, and of clients of the API server after its restart."""

from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.probes.control_plane.control_plane import STATIC_PODS
from gpustack.probes.kubernetes.pod_states import Container, PodState

STARTS, CLOCKS = 60, 10
"""Seconds in which an exporter becomes ready (its first readiness probe comes after 45: NVIDIA/dcgm-exporter
deployment/templates/daemonset.yaml) and the device plugin is registered, and by which clocks may differ."""
API_RETRY = 60
"""Seconds within which a client asks again after an API server was gone: at most 30, and up to as many more by chance
(kubernetes/client-go tools/cache/reflector.go)."""


def is_starting(view: View, pod: PodState) -> bool:
    """Tell whether all containers that are not ready run for the first time, and had no time to become ready."""
    starting_containers = [container for container in pod.containers if not container.ready and not container.init]
    return bool(starting_containers) and all(is_young(view, container) for container in starting_containers)


def is_new(view: View, pod: PodState) -> bool:
    """Tell whether all containers were just started for the first time, ready or not."""
    main_containers = [container for container in pod.containers if not container.init]
    return bool(main_containers) and all(is_young(view, container) for container in main_containers)


def is_young(view: View, container: Container) -> bool:
    """Tell whether a container started for the first time, less than STARTS seconds ago."""
    if container.started_at is None or container.last_reason:
        return False
    return -CLOCKS < (view.started_at - container.started_at).total_seconds() < STARTS


def require_settled_api(view: View, limit: int = API_RETRY, reason: str = "kube-proxy may not know of it yet") -> None:
    """Raise FactUnavailable where the API server started fewer than `limit` seconds ago, so that its clients may not
    know yet. The default is for kube-proxy, because an API server that ends removes itself from its Service."""
    plane = view.select_host(view.acting_host)
    start = plane[STATIC_PODS].get("kube-apiserver") if plane.has_fact(STATIC_PODS) else None
    if start and start.running and start.age < limit:
        raise FactUnavailable(f"the API server was started {start.age} s ago, and {reason} since")

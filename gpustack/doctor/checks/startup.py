"""What had no time yet to become what it is to be: containers, and what asks the API server."""

from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.probes.control_plane.control_plane import STARTED
from gpustack.probes.kubernetes.pod_states import Container, PodState

STARTS, CLOCKS = 60, 10
"""Seconds in which an exporter becomes ready (its first readiness probe comes after 45: NVIDIA/dcgm-exporter
deployment/templates/daemonset.yaml) and the device plugin is registered, and by which clocks may differ."""
API_RETRY = 60
"""Seconds within which a client asks an API server again that was gone: at most 30, and up to as many more by chance
(kubernetes/client-go tools/cache/reflector.go)."""


def starting(here: View, pod: PodState) -> bool:
    """All that is not ready runs, has not ended before, and had no time to become ready."""
    waited = [one for one in pod.containers if not one.ready and not one.init]
    return bool(waited) and all(young(here, one) for one in waited)


def new(here: View, pod: PodState) -> bool:
    """All of it was started just now, for the first time; ready or not."""
    running = [one for one in pod.containers if not one.init]
    return bool(running) and all(young(here, one) for one in running)


def young(here: View, one: Container) -> bool:
    if one.started is None or one.last:
        return False
    return -CLOCKS < (here.taken - one.started).total_seconds() < STARTS


def api_known(here: View, within: int = API_RETRY, who: str = "kube-proxy may not know of it yet") -> None:
    """Raises FactUnavailable where the API server that is asked was started so few seconds ago that others may not know
    yet that it is back; by itself, of kube-proxy: an API server that ends takes itself off its service."""
    plane = here.on(here.acting)
    found = plane[STARTED].get("kube-apiserver") if plane.available(STARTED) else None
    if found and found.running and found.age < within:
        raise FactUnavailable(f"the API server was started {found.age} s ago, and {who} since")

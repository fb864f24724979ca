"""Programs of a control plane that do not run, while the API server cannot say so, and an etcd that is not healthy."""

from collections.abc import Iterator
from dataclasses import replace

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.checks.etcd import SLOW_WRITE_LIMIT
from gpustack.doctor.states.state import AbnormalState, Kind, Observer
from gpustack.probes.control_plane.control_plane import LAST_LOGS, STATIC_PODS
from gpustack.probes.control_plane.etcd import HEALTH, SLOW_REQUESTS
from gpustack.probes.control_plane.last_lines import COMPONENT_LINES
from gpustack.probes.kubernetes.pod_states import SYSTEM_PODS


def observe_static_pods(view: View) -> Iterator[AbnormalState]:
    """Observe programs whose newest container ended, and those of whose manifest the kubelet complains. With an API
    server the state of their pods says the same, and more."""
    if View(view.snapshot, CLUSTER).has_fact(SYSTEM_PODS):
        return
    runs, last_words = view[STATIC_PODS], view[LAST_LOGS]
    last_lines = view[COMPONENT_LINES] if view.has_fact(COMPONENT_LINES) else {}
    for name in sorted({*(name for name, run in runs.items() if not run.running), *last_words}):
        words = last_words.get(name) or "its newest container ended"
        command = Command("crictl", "ps", "-a")
        state = build_state(view, "static-pod-stopped", f"static pod {name}", words, command)
        yield replace(state, last_lines=() if last_words.get(name) else last_lines.get(name, ()))


def observe_etcd(view: View) -> Iterator[AbnormalState]:
    health = view[HEALTH]
    if health and not health.healthy:
        message = health.reason or "it says of itself that it is not healthy"
        command = Command("curl", "http://127.0.0.1:2381/health")
        yield build_state(view, "etcd-unhealthy", f"etcd of {view.location}", message, command)


def observe_writes(view: View) -> Iterator[AbnormalState]:
    """Observe an etcd many of whose writes waited for the disk for more than a second."""
    times = view[SLOW_REQUESTS].times
    if times >= SLOW_WRITE_LIMIT:
        message = f"{times} writes to its disk took too long (slow fdatasync) within 5 minutes"
        command = Command("crictl", "logs", "--since", "5m", "etcd")
        yield AbnormalState("etcd-slow", "risk", (view.location,), (f"etcd of {view.location}",), message, command)


def build_state(view: View, kind: Kind, subject: str, message: str, command: Command) -> AbnormalState:
    return AbnormalState(kind, "broken", (view.location,), (subject,), message, command)


OBSERVERS = (
    Observer(
        "static-pods", "Programs of the control plane", observe_static_pods,
        (STATIC_PODS, LAST_LOGS, COMPONENT_LINES, SYSTEM_PODS),
        scope="host", yields=True,
    ),
    Observer("etcds", "Health of etcd", observe_etcd, (HEALTH,), scope="host", yields=True),
    Observer("etcd-writes", "Writes of etcd", observe_writes, (SLOW_REQUESTS,), scope="host", yields=True),
)  # fmt: skip

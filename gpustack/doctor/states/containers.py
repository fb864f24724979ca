"""Containers that do not run, run and are not ready, or are restarted again and again."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from gpustack.ask.probe import Probe
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.config.spec import Spec
from gpustack.doctor.checks.startup import STARTS
from gpustack.doctor.states.node_hosts import NODE_NOT_READY, list_silent_nodes, locate_node
from gpustack.doctor.states.ownership import is_platform_pod
from gpustack.doctor.states.state import AbnormalState, Kind, Observer, Severity
from gpustack.probes.kubernetes.container_logs import ContainerLog
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.kubernetes.pod_states import (
    ENDING_PODS,
    FLANNEL_PODS,
    GPU_PODS,
    KEDA_PODS,
    MANY_RESTARTS,
    MONITORING_PODS,
    PENDING_PODS,
    STORAGE_PODS,
    SYSTEM_PODS,
    Container,
    PodState,
)
from gpustack.probes.kubernetes.pods import START_REASONS
from gpustack.probes.kubernetes.probe_failures import PROBE_FAILURES
from gpustack.probes.kubernetes.warning_events import MOUNT_WARNINGS
from gpustack.steps.platform_namespaces import list_platform_namespaces

SHORT_RUN = timedelta(minutes=10)
"""The kubelet restarts a container that has run for so long at once again (pkg/kubelet, twice MaxContainerBackOff)."""
LONG_START = timedelta(minutes=10)
"""A pod that waits longer for its sandbox, volumes, image or init containers is reported. The largest image of the
platform is that of NVIDIA's driver, of 1 to 2 GB."""
SLOW_START = timedelta(minutes=2)
"""A container of the platform is started within this time; kubeadm gives the control plane four minutes."""
RESTART_REASON = "CrashLoopBackOff"
"""The kubelet's message beside this reason only says how long it waits, and in which pod."""
ENDED_WELL = "Completed"
OOM_REASON = "OOMKilled"
"""The kubelet's reason where the kernel killed a container that needed more memory than its limit."""
RECENT_KILL = timedelta(days=1)
ENDED_KINDS: tuple[Kind, ...] = ("container-not-running", "container-restarts", "container-killed")
"""Kinds of states of a container that are about a run that ended."""


def build_observer(
    probe: Probe[tuple[PodState, ...]], namespace: str, is_needed: Callable[[Spec], bool] = lambda _: True
) -> Observer:
    name = f"containers-of-{probe.id.replace('.', '-')}"
    return Observer(name, f"Containers in {namespace}", build_function(probe), (probe, NODES), is_needed=is_needed)


def build_function(probe: Probe[tuple[PodState, ...]]) -> Callable[[View], Iterator[AbnormalState]]:
    """Build the function that observes the containers of the pods of a probe. Pods that ended or are being deleted have
    none."""

    def observe_containers(view: View) -> Iterator[AbnormalState]:
        for pod in view[probe]:
            if pod.phase in ("Pending", "Running") and not pod.deleted:
                yield from list_states(view, pod)

    return observe_containers


def list_states(view: View, pod: PodState) -> Iterator[AbnormalState]:
    """List the states of a pod's containers. Those that wait for an init container are not reported beside it."""
    pod_severity: Severity = "broken" if is_platform_pod(view, pod) else "note"
    has_waited_long = bool(pod.unready_since and view.started_at - pod.unready_since > LONG_START)
    for container in pod.containers:
        if is_stopped(container):
            message = describe_stop(container)
            yield build_state(view, pod, container, "container-not-running", pod_severity, message, pod.unready_since)
        elif is_restarted_often(view, container):
            severity: Severity = "risk" if container.ready and pod_severity == "broken" else pod_severity
            yield build_state(
                view, pod, container, "container-restarts", severity, describe_end(container), container.ended_at
            )
        elif is_killed(view, container):
            kill_severity: Severity = "risk" if pod_severity == "broken" else pod_severity
            message = f"{describe_end(container)}: it needed more memory than its limit"
            yield build_state(view, pod, container, "container-killed", kill_severity, message, container.ended_at)
        elif is_never_ready(view, container):
            message = "It runs, and its readiness probe does not succeed."
            yield build_state(view, pod, container, "container-not-ready", pod_severity, message, pod.unready_since)
        elif is_slow_to_start(view, container):
            start_severity: Severity = "risk" if pod_severity == "broken" else pod_severity
            message = "It runs, and its startup probe does not succeed; in the end the kubelet restarts it."
            yield build_state(
                view, pod, container, "container-not-ready", start_severity, message, container.started_at
            )
    if has_waited_long and (awaited_container := find_awaited(pod)):
        message = describe_wait(awaited_container)
        yield build_state(
            view, pod, awaited_container, "container-not-started", pod_severity, message, pod.unready_since
        )


def is_stopped(container: Container) -> bool:
    """Tell whether a container waits for another reason than a normal start, or ended with an error."""
    if container.ready or container.started_at or container.reason in START_REASONS:
        return False
    return bool(container.reason) and container.reason != ENDED_WELL


def is_restarted_often(view: View, container: Container) -> bool:
    """Tell whether a container runs that was restarted often, and whose last run was short and ended not long ago."""
    if not container.started_at or container.restarts < MANY_RESTARTS:
        return False
    if not (container.ended_at and container.last_started_at):
        return False
    is_recent = view.started_at - container.ended_at < SHORT_RUN
    return is_recent and container.ended_at - container.last_started_at < SHORT_RUN


def is_killed(view: View, container: Container) -> bool:
    """Tell whether a container runs whose last run the kernel ended within a day, for want of memory."""
    if not container.started_at or container.last_reason != OOM_REASON or not container.ended_at:
        return False
    return view.started_at - container.ended_at < RECENT_KILL


def is_never_ready(view: View, container: Container) -> bool:
    """Tell whether a container has been running for long enough to be ready, and is not. While its startup probe goes
    on, it is starting: the kubelet restarts it where that fails."""
    if container.init or container.ready or not container.probed or not container.started_at:
        return False
    return (view.started_at - container.started_at).total_seconds() > STARTS


def is_slow_to_start(view: View, container: Container) -> bool:
    """Tell whether a container runs for so long that its startup probe should have succeeded. Prometheus may read its
    log for a quarter of an hour, and works after that."""
    if container.init or container.ready or container.probed or not container.started_at:
        return False
    return view.started_at - container.started_at > SLOW_START


def find_awaited(pod: PodState) -> Container | None:
    """Find the container for which a pod waits: an init container that runs, or else the first that was not started."""
    running_containers = (container for container in pod.containers if container.init and container.started_at)
    created_containers = (container for container in pod.containers if container.reason in START_REASONS)
    if any(is_stopped(container) for container in pod.containers):
        return None
    return next(running_containers, None) or next(created_containers, None)


def describe_stop(container: Container) -> str:
    """Describe why a container does not run: how its last run ended, or the kubelet's reason and words."""
    if container.ended:
        return describe_end(container)
    if container.reason == RESTART_REASON:
        return f"{RESTART_REASON}: {describe_end(container)}"
    return f"{container.reason}: {container.message.strip()}" if container.message else container.reason


def describe_end(container: Container) -> str:
    """Describe how the last run of a container ended: `exit code 1 (Error)`, and its last words where it left any."""
    reason, words = container.last_reason, container.last_message
    if container.ended:
        reason, words = container.reason, container.message
    status = f"exit code {container.exit_code}" + (f", signal {container.signal}" if container.signal else "")
    return f"{status} ({reason})" + (f": {words.strip()}" if words else "")


def describe_wait(container: Container) -> str:
    if container.started_at:
        return "This init container runs, and the others wait until it ends."
    return f"{container.reason}: {container.message}" if container.message else container.reason


def build_state(
    view: View,
    pod: PodState,
    container: Container,
    kind: Kind,
    severity: Severity,
    message: str,
    onset: datetime | None,
) -> AbnormalState:
    part = "init container" if container.init else "container"
    log = find_log(pod, container, kind)
    nodes = list_silent_nodes(view, [pod]) if kind == "container-not-ready" else ()
    describe_command = Command("kubectl", "-n", pod.namespace, "describe", "pod", pod.name)
    return AbnormalState(
        kind,
        severity,
        (locate_node(view, pod.node),),
        (f"pod {pod}, {part} {container.name}",),
        message,
        log.command if log and kind in ENDED_KINDS else describe_command,
        onset,
        container.restarts,
        log=None if kind in ENDED_KINDS and has_words(container) else log,
        members=nodes,
        symptom=NODE_NOT_READY if nodes else "",
    )


def find_log(pod: PodState, container: Container, kind: Kind) -> ContainerLog | None:
    """Find the log of the run that ended last, or that of a run that goes on where that is what is reported. Return
    None where there was no such run."""
    if kind in ENDED_KINDS:
        has_log, is_previous = container.exit_code is not None, not container.ended
    else:
        has_log, is_previous = container.started_at is not None, False
    return ContainerLog(pod.namespace, pod.name, container.name, is_previous) if has_log else None


def has_words(container: Container) -> bool:
    """Tell whether the kubelet has words of the run that ended last, or of its start."""
    return bool(container.message if container.ended else container.last_message)


def observe_gpu_pods(view: View) -> Iterator[AbnormalState]:
    """List containers that do not start, or are restarted again and again, of pods with GPUs in namespaces of users:
    they hold GPUs and do no work. What else happens to those that once ran is left to their users."""
    restarted_pods = view[ENDING_PODS] if view.has_fact(ENDING_PODS) else ()
    for pod in (*view[PENDING_PODS], *restarted_pods):
        if pod.gpus and pod.namespace not in list_platform_namespaces(view) and not pod.deleted:
            mounts = list(list_mount_states(view, pod))
            states = (add_probe_failure(view, state) for state in list_states(view, pod))
            yield from mounts or states


def list_mount_states(view: View, pod: PodState) -> Iterator[AbnormalState]:
    """List the state of a pod for which the kubelet does not mount a volume: no container has a state of it, and the
    kubelet tries for ever."""
    events = view[MOUNT_WARNINGS] if view.has_fact(MOUNT_WARNINGS) else ()
    own_events = [event for event in events if event.subject == f"pod {pod}" and event.last_at and event.count > 1]
    awaited_container = find_awaited(pod)
    if awaited_container and own_events:
        event = max(own_events, key=lambda event: str(event.last_at))
        message = f"{describe_wait(awaited_container)}; {event.reason}: {event.message}"
        yield build_state(view, pod, awaited_container, "container-not-started", "note", message, event.first_at)


def add_probe_failure(view: View, state: AbnormalState) -> AbnormalState:
    """Return the state of a container with what its probes say, where they fail: the kubelet ends it for that, and an
    exit code alone looks like a crash. Of pods of the platform their events say it."""
    failures = view[PROBE_FAILURES] if view.has_fact(PROBE_FAILURES) else {}
    words = failures.get(state.subjects[0].removeprefix("pod "))
    return replace(state, message=f"{state.message}; {words}", topic=state.message) if words else state


OBSERVERS = (
    Observer(
        "containers-with-gpus",
        "Containers with GPUs that do not start",
        observe_gpu_pods,
        (PENDING_PODS, ENDING_PODS, PROBE_FAILURES, MOUNT_WARNINGS),
    ),
    build_observer(SYSTEM_PODS, "kube-system"),
    build_observer(FLANNEL_PODS, "kube-flannel"),
    build_observer(STORAGE_PODS, "local-path-storage"),
    build_observer(GPU_PODS, "the namespace of the GPU operator"),
    build_observer(MONITORING_PODS, "the namespace of monitoring", lambda spec: spec.monitoring.enabled),
    build_observer(KEDA_PODS, "the namespace of KEDA", lambda spec: spec.autoscaling.enabled),
)

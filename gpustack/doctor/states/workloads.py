"""Workloads of the platform whose pods the API server refuses: by Pod Security, a webhook or a quota."""

from collections.abc import Iterator, Mapping

from gpustack.ask.probe import CLUSTER, Probe
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.ownership import is_platform_label_set
from gpustack.doctor.states.state import AbnormalState, Observer
from gpustack.probes.gpu.cluster import GPU_DAEMON_SETS, GPU_DEPLOYMENTS
from gpustack.probes.kubernetes.pod_states import MONITORING_PODS
from gpustack.probes.kubernetes.refused_pods import REFUSED_PODS, RefusedPod
from gpustack.probes.kubernetes.workloads import MONITORING_DAEMON_SETS, MONITORING_DEPLOYMENTS, Workload

Workloads = Mapping[str, Workload]


def observe_gpu_workloads(view: View) -> Iterator[AbnormalState]:
    space = view.spec.gpu.namespace
    yield from list_short_workloads(view, space, GPU_DEPLOYMENTS, GPU_DAEMON_SETS)


def observe_monitoring_workloads(view: View) -> Iterator[AbnormalState]:
    space = view.spec.monitoring.namespace
    yield from list_short_workloads(view, space, MONITORING_DEPLOYMENTS, MONITORING_DAEMON_SETS)
    for refusal in view[REFUSED_PODS]:
        is_stateful_set = (refusal.namespace, refusal.kind) == (space, "StatefulSet")
        if is_stateful_set and refusal.name in list_stateful_sets(view) and not has_pods(view, refusal.name):
            yield build_state(refusal)


def list_short_workloads(
    view: View, space: str, deployments: Probe[Workloads], daemon_sets: Probe[Workloads]
) -> Iterator[AbnormalState]:
    """List the Deployments and DaemonSets of the platform in a namespace that lack pods because they are refused. A
    Deployment says so itself. Events stay for an hour: a DaemonSet whose pods exist has got them since, and where they
    do not work the reason is another."""
    for name, workload in view[deployments].items():
        if workload.refusal and lacks_pods(view, space, workload):
            yield build_state(RefusedPod("Deployment", space, name, workload.refusal, None, None, 0))
    sets = view[daemon_sets]
    for refusal in view[REFUSED_PODS]:
        is_known = (refusal.namespace, refusal.kind) == (space, "DaemonSet") and refusal.name in sets
        if is_known and lacks_pods(view, space, sets[refusal.name]) and has_missing_pods(sets[refusal.name]):
            yield build_state(refusal)


def lacks_pods(view: View, space: str, workload: Workload) -> bool:
    """Tell whether a workload of a namespace belongs to the platform and has fewer pods than it is to have."""
    return not workload.runs and is_platform_label_set(view.spec, space, workload.labels)


def has_missing_pods(daemon_set: Workload) -> bool:
    return daemon_set.created_pods < daemon_set.desired_pods


def list_stateful_sets(view: View) -> tuple[str, ...]:
    """List the StatefulSets that the Prometheus operator makes for the release."""
    release = view.spec.monitoring.release
    return tuple(f"{program}-{release}-{program}" for program in ("prometheus", "alertmanager"))


def has_pods(view: View, stateful_set: str) -> bool:
    return any(pod.owner == f"StatefulSet/{stateful_set}" for pod in view[MONITORING_PODS])


def build_state(refusal: RefusedPod) -> AbnormalState:
    kind = refusal.kind.lower()
    return AbnormalState(
        "pods-refused",
        "broken",
        (CLUSTER,),
        (f"{kind} {refusal.namespace}/{refusal.name}",),
        refusal.message,
        Command("kubectl", "-n", refusal.namespace, "describe", kind, refusal.name),
        refusal.first_at,
        refusal.count,
    )


OBSERVERS = (
    Observer(
        "workloads-of-gpus",
        "Workloads of GPUs",
        observe_gpu_workloads,
        (GPU_DEPLOYMENTS, GPU_DAEMON_SETS, REFUSED_PODS),
    ),
    Observer(
        "workloads-of-monitoring",
        "Workloads of monitoring",
        observe_monitoring_workloads,
        (MONITORING_DEPLOYMENTS, MONITORING_DAEMON_SETS, REFUSED_PODS, MONITORING_PODS),
        is_needed=lambda spec: spec.monitoring.enabled,
    ),
)

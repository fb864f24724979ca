"""Work with GPUs that users gave to Kubernetes and that nothing runs any more, or never did, in the words of the
controller or the scheduler: pods that the API server refuses, rollouts that stop, Jobs that failed, pods that made room
for others. No pod has a state of these, since there is none.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.state import AbnormalState, Kind, Observer
from gpustack.doctor.states.workloads import find_workload
from gpustack.probes.kubernetes.gpu_workloads import (
    FAILURE_TYPE,
    PROGRESS_TYPE,
    REFUSAL_TYPE,
    SHORT_DEPLOYMENTS,
    SHORT_JOBS,
    GpuWorkload,
)
from gpustack.probes.kubernetes.pod_states import FAILED_PODS, PENDING_PODS, Container
from gpustack.probes.kubernetes.preemptions import PREEMPTIONS
from gpustack.probes.kubernetes.refused_pods import REFUSED_PODS
from gpustack.steps.platform_namespaces import list_platform_namespaces

RECENT_FAILURE = timedelta(days=1)
"""A Job that failed is reported for so long: it stays until somebody deletes it."""


def observe_deployments(view: View) -> Iterator[AbnormalState]:
    """List Deployments of users whose pods are refused, or whose rollout has stopped. Pods that wait have a state of
    their own, which says more."""
    for workload in list_workloads(view, view[SHORT_DEPLOYMENTS]):
        conditions = {condition.type: condition for condition in workload.conditions}
        if refusal := conditions.get(REFUSAL_TYPE):
            yield build_state("deployment", workload, "pods-refused", refusal.message, refusal.changed_at)
        elif stall := conditions.get(PROGRESS_TYPE):
            pods = (pod for pod in view[PENDING_PODS] if pod.namespace == workload.namespace)
            members = tuple(f"pod {pod}" for pod in pods if find_workload(pod) == f"Deployment/{workload.name}")
            words = f"{stall.reason}: {stall.message}"
            yield build_state("deployment", workload, "workload-stalled", words, stall.changed_at, members)


def observe_jobs(view: View) -> Iterator[AbnormalState]:
    """List Jobs of users that failed within a day, and those whose pods are refused."""
    refusals = {(refusal.namespace, refusal.name): refusal for refusal in view[REFUSED_PODS] if refusal.kind == "Job"}
    for workload in list_workloads(view, view[SHORT_JOBS]):
        failure = next((condition for condition in workload.conditions if condition.type == FAILURE_TYPE), None)
        refusal = refusals.get((workload.namespace, workload.name))
        if failure:
            is_recent = failure.changed_at is None or view.started_at - failure.changed_at < RECENT_FAILURE
            words = f"{failure.reason}: {failure.message}{describe_last_pod(view, workload)}"
            if is_recent:
                yield build_state("job", workload, "job-failed", words, failure.changed_at)
        elif refusal:
            yield build_state("job", workload, "pods-refused", refusal.message, refusal.first_at)


def list_workloads(view: View, workloads: tuple[GpuWorkload, ...]) -> Iterator[GpuWorkload]:
    return (workload for workload in workloads if workload.namespace not in list_platform_namespaces(view))


def describe_last_pod(view: View, workload: GpuWorkload) -> str:
    """Describe how the last failed pod of a Job ended; nothing where it is gone, as at a deadline."""
    owner = f"Job/{workload.name}"
    pods = [pod for pod in view[FAILED_PODS] if pod.namespace == workload.namespace and pod.owner == owner]
    ends = [(container.ended_at, container) for pod in pods for container in pod.containers if container.ended_at]
    return describe_end(max(ends, key=lambda end: end[0])[1]) if ends else ""


def describe_end(container: Container) -> str:
    words = f": {container.message.strip()}" if container.message else ""
    return f"; the last container ended with exit code {container.exit_code} ({container.reason}){words}"


def build_state(
    kind: str,
    workload: GpuWorkload,
    state: Kind,
    message: str,
    onset: datetime | None,
    members: tuple[str, ...] = (),
) -> AbnormalState:
    arguments = ("logs", f"job/{workload.name}") if state == "job-failed" else ("describe", kind, workload.name)
    command = Command("kubectl", "-n", workload.namespace, *arguments)
    subject = f"{kind} {workload}"
    return AbnormalState(state, "note", (CLUSTER,), (subject,), message, command, onset, members=members)


def observe_preemptions(view: View) -> Iterator[AbnormalState]:
    """List the pods that made room for others. The API does not say any more what they requested."""
    for preemption in view[PREEMPTIONS]:
        successor = f"; it made room for the pod {preemption.successor}" if preemption.successor else ""
        command = Command("kubectl", "get", "priorityclasses")
        subject = f"pod {preemption.namespace}/{preemption.name}"
        message = f"{preemption.message}{successor}"
        yield AbnormalState("pod-preempted", "note", (CLUSTER,), (subject,), message, command, preemption.preempted_at)


OBSERVERS = (
    Observer("deployments-with-gpus", "Deployments with GPUs", observe_deployments, (SHORT_DEPLOYMENTS, PENDING_PODS)),
    Observer("jobs-with-gpus", "Jobs with GPUs", observe_jobs, (SHORT_JOBS, REFUSED_PODS, FAILED_PODS)),
    Observer("preemptions", "Pods that made room", observe_preemptions, (PREEMPTIONS,)),
)

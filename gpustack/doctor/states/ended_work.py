"""Work that Kubernetes was given and does not bring to its end: namespaces to delete, and jobs of charts."""

from collections.abc import Iterator
from datetime import timedelta

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.state import AbnormalState, Observer, Severity
from gpustack.probes.helm import GPU_JOBS, MONITORING_JOBS
from gpustack.probes.kubernetes.namespaces import ENDING_NAMESPACES
from gpustack.steps.platform_namespaces import list_platform_namespaces

USUAL_DELETION = timedelta(minutes=5)
"""The time in which a namespace is usually deleted: its pods have at most their grace period, of 30 s as a rule."""


def observe_ending_namespaces(view: View) -> Iterator[AbnormalState]:
    """Observe namespaces whose deletion takes long, with what their controller says of it."""
    for name, namespace in view[ENDING_NAMESPACES].items():
        if view.started_at - namespace.deleted_at < USUAL_DELETION and not namespace.blockers:
            continue
        severity: Severity = "broken" if name in list_platform_namespaces(view) else "note"
        message = "; ".join(namespace.blockers) or "it is being deleted"
        command = Command("kubectl", "get", "namespace", name, "-o", "yaml")
        yield AbnormalState(
            "namespace-ending", severity, (CLUSTER,), (f"namespace {name}",), message, command, namespace.deleted_at
        )


def observe_jobs(view: View) -> Iterator[AbnormalState]:
    namespaces = {GPU_JOBS: view.spec.gpu.namespace, MONITORING_JOBS: view.spec.monitoring.namespace}
    for probe, namespace in namespaces.items():
        for job in view[probe] if view.has_fact(probe) else ():
            if job.failed_pods and not job.done:
                command = Command("kubectl", "-n", namespace, "logs", f"job/{job.name}")
                message = f"it is not complete, and {job.failed_pods} of its pods failed"
                subject = f"job {namespace}/{job.name}"
                yield AbnormalState("job-failed", "broken", (CLUSTER,), (subject,), message, command)


OBSERVERS = (
    Observer(
        "ending-namespaces", "Namespaces that are deleted", observe_ending_namespaces, (ENDING_NAMESPACES,), yields=True
    ),
    Observer("hook-jobs", "Jobs of charts", observe_jobs, (GPU_JOBS, MONITORING_JOBS), yields=True),
)

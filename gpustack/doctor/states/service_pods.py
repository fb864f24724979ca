"""Services of the platform that select no pod: their labels or those of the pods were changed, and clients reach
nothing."""

from collections.abc import Iterator

from gpustack.ask.judge import format_value
from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.state import AbnormalState, Observer
from gpustack.probes.gpu.cluster import GPU_NODES
from gpustack.probes.kubernetes.pod_states import GPU_PODS, MONITORING_PODS, SYSTEM_PODS
from gpustack.probes.proof import SERVICES


def observe_services(view: View) -> Iterator[AbnormalState]:
    """List Services with a selector that no pod of their namespace has. Without GPUs the operator has no operands."""
    probes = {"kube-system": SYSTEM_PODS, view.spec.monitoring.namespace: MONITORING_PODS}
    if any(node.capacity for node in view[GPU_NODES]):
        probes[view.spec.gpu.namespace] = GPU_PODS
    for service in view[SERVICES]:
        probe = probes.get(service.namespace)
        if not probe or not view.has_fact(probe) or not (pods := view[probe]):
            continue
        if not any(service.selector.items() <= pod.labels.items() for pod in pods):
            labels = format_value([f"{key}={value}" for key, value in sorted(service.selector.items())])
            message = f"it selects {labels}, and no pod of its namespace has these labels"
            command = Command("kubectl", "-n", service.namespace, "get", "pods", "--show-labels")
            subject = f"service {service.namespace}/{service.name}"
            yield AbnormalState("service-without-pods", "risk", (CLUSTER,), (subject,), message, command)


OBSERVERS = (
    Observer(
        "services", "Services without pods", observe_services,
        (SERVICES, GPU_NODES, SYSTEM_PODS, MONITORING_PODS, GPU_PODS),
    ),
)  # fmt: skip

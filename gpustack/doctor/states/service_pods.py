"""Services of the platform that select no pod, or none on the node of a client: labels or policies were changed, and
clients reach nothing. Services of anybody for which no load balancer is made."""

from collections.abc import Iterator
from datetime import timedelta

from gpustack.ask.judge import format_value
from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.node_hosts import locate_node
from gpustack.doctor.states.state import AbnormalState, Observer, Severity
from gpustack.probes.gpu.cluster import GPU_NODES
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.kubernetes.pod_states import GPU_PODS, MONITORING_PODS, SYSTEM_PODS, PodState
from gpustack.probes.proof import SERVICES, Service
from gpustack.steps.platform_namespaces import list_platform_namespaces

BALANCER_TYPE = "LoadBalancer"
"""The type of a Service for which a controller outside Kubernetes makes a load balancer."""
USUAL_WAIT = timedelta(minutes=2)
"""A controller has made a load balancer by then."""


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


def observe_local_services(view: View) -> Iterator[AbnormalState]:
    """List Services by which pods reach only pods of their own node, and the nodes without one that is ready. Of a
    DaemonSet each node has one that is to have one."""
    ready_nodes = [node.name for node in view[NODES] if node.ready]
    for probe in (SYSTEM_PODS, MONITORING_PODS, GPU_PODS):
        pods = view[probe] if view.has_fact(probe) else ()
        for service in view[SERVICES] if pods else ():
            selected_pods = [pod for pod in pods if is_selected(service, pod)]
            nodes = sorted({pod.node for pod in selected_pods if pod.ready})
            missing_nodes = sorted({*ready_nodes} - {*nodes})
            is_spread = any(pod.owner.startswith("DaemonSet/") for pod in selected_pods)
            if service.local and nodes and missing_nodes and not is_spread:
                message = (
                    "internalTrafficPolicy Local sends pods to those of their own node, and its ready pods run on "
                    f"{format_value(nodes)}: on {format_value(missing_nodes)} nobody answers"
                )
                command = Command("kubectl", "-n", service.namespace, "get", "service", service.name, "-o", "yaml")
                subject = f"service {service.namespace}/{service.name}"
                hosts = tuple(locate_node(view, name) for name in missing_nodes)
                severity: Severity = "broken" if service.namespace == "kube-system" else "risk"
                yield AbnormalState("service-without-pods", severity, hosts, (subject,), message, command)


def observe_addresses(view: View) -> Iterator[AbnormalState]:
    """List Services that wait for the address of a load balancer: Kubernetes makes none, and no event says so."""
    for service in view[SERVICES]:
        age = view.started_at - service.created_at if service.created_at else None
        is_due = age is None or age > USUAL_WAIT
        if service.kind == BALANCER_TYPE and not service.external_addresses and is_due:
            ports = format_value(sorted(service.node_ports.values()))
            message = f"its type is {BALANCER_TYPE}, and no load balancer has given it an address"
            message += f"; ports of each node: {ports}" if service.node_ports else ""
            is_ours = service.namespace in list_platform_namespaces(view)
            command = Command("kubectl", "-n", service.namespace, "describe", "service", service.name)
            subject = f"service {service.namespace}/{service.name}"
            yield AbnormalState(
                "service-without-address", "risk" if is_ours else "note", (CLUSTER,), (subject,), message, command,
                service.created_at,
            )  # fmt: skip


def is_selected(service: Service, pod: PodState) -> bool:
    """Tell whether a Service selects a pod. One without a selector has endpoints that somebody else writes."""
    has_labels = bool(service.selector) and service.selector.items() <= pod.labels.items()
    return has_labels and service.namespace == pod.namespace


OBSERVERS = (
    Observer(
        "services", "Services without pods", observe_services,
        (SERVICES, GPU_NODES, SYSTEM_PODS, MONITORING_PODS, GPU_PODS),
    ),
    Observer(
        "local-services", "Services of one node", observe_local_services,
        (SERVICES, NODES, SYSTEM_PODS, MONITORING_PODS, GPU_PODS),
    ),
    Observer("load-balancers", "Addresses of load balancers", observe_addresses, (SERVICES,)),
)  # fmt: skip

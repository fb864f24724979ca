"""Faults of the layer `monitoring` in its own parts: ports, volumes, memory, webhooks, and a second operator."""

import re
from collections.abc import Iterable

from gpustack.ask.judge import Result, build_ok_result, format_value
from gpustack.ask.view import View
from gpustack.command import Command, Prose
from gpustack.doctor.check import build_names, check, expect_none
from gpustack.probes.kubernetes.admission import MUTATING, VALIDATING, Webhook
from gpustack.probes.kubernetes.pod_states import MONITORING_PODS, PENDING_PODS, Container, PodState
from gpustack.probes.kubernetes.storage import CLAIMS, CLASSES, PROVISIONER
from gpustack.probes.kubernetes.workloads import MONITORING_DEPLOYMENTS
from gpustack.probes.monitoring.prometheus_rights import OPERATORS
from gpustack.probes.monitoring.workloads import GROUP, PROMETHEUSES
from gpustack.probes.network.addresses import LISTENERS, PROGRAMS, is_taken
from gpustack.probes.proof import SERVICES
from gpustack.steps.platform_namespaces import list_platform_namespaces

OUT_OF_MEMORY = "OOMKilled"
RECENT_TIME = 3600
"""Seconds for which a run that ended counts: a container that has run for longer since then is healthy."""
LOCAL_PATH = "rancher.io/local-path"
NOT_RUNNING = "not running"
# A message of the condition Reconciled (prometheus-operator pkg/operator, CheckStorageClass).
NO_CLASS = re.compile(r'storage class "([^"]+)" does not exist')


def find_oom_kill(view: View, pods: Iterable[PodState], container: str = "") -> str:
    """Name the container that the kernel killed for its memory, recently or without a restart since. Return an empty
    text for none."""
    for pod in pods:
        for state in pod.containers:
            was_killed = OUT_OF_MEMORY in (state.reason, state.last_reason)
            if was_killed and container in state.name and is_down_or_restarted(view, state):
                return f"{state.name} of {pod.name}: {OUT_OF_MEMORY}"
    return ""


def is_down_or_restarted(view: View, container: Container) -> bool:
    """Tell whether a container is not ready, or its last end is recent."""
    end_time = container.ended_at
    return not container.ready or (end_time is not None and (view.started_at - end_time).total_seconds() < RECENT_TIME)


def list_units_on_port(view: View, port: int) -> list[str]:
    """List units of the host, other than pods, that listen on a port."""
    return [program.unit for program in view[PROGRAMS] if program.port == port and program.unit != "pod"]


@check("mon-node-exporter-port-host-process", LISTENERS, PROGRAMS)
def port_of_a_host(view: View) -> Result:
    """Look for a program outside of pods that uses the port."""
    port = view.spec.monitoring.node_exporter_port
    subject = f"port {port}"
    if not view.spec.monitoring.enabled:
        return build_ok_result(subject, "not needed: no monitoring")
    if not is_taken(view[LISTENERS], port):
        return build_ok_result(subject, "free")
    units = list_units_on_port(view, port)
    if not units:
        return build_ok_result(subject, "used by a pod")
    return Result(
        subject,
        "free for node-exporter",
        format_value(units),
        names=build_names(UNIT=[unit for unit in units if unit != "-"]),
    )


@check("mon-node-exporter-port-other-pod", PENDING_PODS)
def port_of_a_pod(view: View) -> Result:
    """Look for a node-exporter of gpustack that waits for a port that another pod of the node uses."""
    platform_pods = [pod for pod in view[PENDING_PODS] if pod.namespace in list_platform_namespaces(view)]
    exporter_pods = [pod for pod in platform_pods if "node-exporter" in f"{pod.app} {pod.name}"]
    waiting_pods = [
        f"{pod}: {pod.unscheduled_reason}" for pod in exporter_pods if "free ports" in pod.unscheduled_reason
    ]
    return expect_none("node exporters", "scheduled", waiting_pods[:3], "none waiting for a port")


@check("mon-prometheus-pvc-pending", CLAIMS, CLASSES, PROVISIONER, PROMETHEUSES)
def claim_pending(view: View) -> Result:
    """Look for claims without a provisioner. A claim that waits only for its first consumer does not count. If the
    class does not exist, the operator creates no claim."""
    classes = {storage_class.name: storage_class for storage_class in view[CLASSES]}
    default_class = next((storage_class.name for storage_class in classes.values() if storage_class.default), None)
    provisioner = view[PROVISIONER].get("local-path-provisioner")
    problems = []
    for claim in view[CLAIMS]:
        name = default_class if claim.storage_class is None else claim.storage_class
        if claim.phase != "Pending":
            continue
        if name not in classes:
            problems.append(f"{claim.name}: no {f'class {name}' if name else 'default class'}")
        elif classes[name].provisioner == LOCAL_PATH and (provisioner is None or not provisioner.ready):
            problems.append(f"{claim.name}: provisioner of {name} not running")
    if not problems:
        prometheuses = (view[PROMETHEUSES] or {}).items()
        problems = [
            f"{name}: no class {refusal[1]}"
            for name, prometheus in prometheuses
            if (refusal := NO_CLASS.search(prometheus.reason))
        ]
    return expect_none("volumes of the monitoring", "bound", problems, "none without a provisioner")


@check("mon-prometheus-oom", MONITORING_PODS)
def prometheus_oom(view: View) -> Result:
    pods = [pod for pod in view[MONITORING_PODS] if pod.name.startswith("prometheus-")]
    oom_kill = find_oom_kill(view, pods, "prometheus")
    return Result("Prometheus", "within its memory limit", oom_kill or "not OOM-killed", ok=not oom_kill)


def list_webhooks(view: View) -> list[Webhook]:
    """List webhooks that can refuse objects of the monitoring."""
    return [
        webhook
        for webhook in (*view[VALIDATING], *view[MUTATING])
        if GROUP in webhook.groups and webhook.is_required and webhook.service
    ]


def format_operator_service(view: View) -> str:
    return f"{view.spec.monitoring.namespace}/{view.spec.monitoring.release}-operator"


def find_deserted_webhooks(view: View) -> list[str]:
    """List webhooks whose Service is missing, or is that of an operator that is not running."""
    services = {f"{service.namespace}/{service.name}" for service in view[SERVICES]}
    operator = f"{view.spec.monitoring.release}-operator"
    deployment = view[MONITORING_DEPLOYMENTS].get(operator)
    operator_service = format_operator_service(view)
    problems = [
        f"{hook.name}: no Service {hook.service}" for hook in list_webhooks(view) if hook.service not in services
    ]
    is_down = deployment is None or not deployment.ready
    return problems + [
        f"{webhook.name}: {operator} {NOT_RUNNING}"
        for webhook in list_webhooks(view)
        if webhook.service == operator_service and is_down
    ]


@check("mon-admission-webhook-down", VALIDATING, MUTATING, SERVICES, MONITORING_DEPLOYMENTS)
def webhook_down(view: View) -> Result:
    """Judge webhooks with failurePolicy Fail."""
    problems = find_deserted_webhooks(view) + [
        f"{hook.name}: no certificate" for hook in list_webhooks(view) if not hook.has_ca_bundle
    ]
    services = {f"{service.namespace}/{service.name}" for service in view[SERVICES]} | {format_operator_service(view)}
    foreign_webhooks = [
        webhook.name.partition("/")[0] for webhook in list_webhooks(view) if webhook.service not in services
    ]
    subject = "webhooks of the monitoring"
    if not problems:
        return build_ok_result(subject, "responding" if list_webhooks(view) else "none")
    if foreign_webhooks:
        person = Prose("gpustack did not make {}: delete it if it is not needed", format_value(foreign_webhooks))
        return Result(
            subject, "responding", format_value(problems), names=build_names(NAME=foreign_webhooks), person=person
        )
    if not any(problem.endswith(NOT_RUNNING) for problem in problems):
        return Result(subject, "responding", format_value(problems))
    space, _, operator = format_operator_service(view).partition("/")
    start = Command("kubectl", "-n", space, "scale", "deployment", operator, "--replicas", "1")
    person = Prose("start the operator first, because helm upgrade needs the webhook: {}", start)
    return Result(subject, "responding", format_value(problems), person=person)


@check("mon-admission-webhook-down guard", VALIDATING, MUTATING, SERVICES, MONITORING_DEPLOYMENTS)
def webhook_deserted(view: View) -> Result:
    problems = find_deserted_webhooks(view)
    ok_text = "a Service with a running operator"
    return expect_none("backend of the webhook", "a running operator", problems, ok_text)


@check("mon-two-operators-fight", OPERATORS)
def two_operators(view: View) -> Result:
    """Look for more than one running operator that watches all namespaces."""
    running_operators = [operator for operator in view[OPERATORS] if operator.running]
    at_large = [f"{operator.namespace}/{operator.name}" for operator in running_operators if not operator.narrowed]
    if len(at_large) < 2:
        return build_ok_result(
            "Prometheus operators",
            format_value([f"{operator.namespace}/{operator.name}" for operator in running_operators]),
        )
    return Result("Prometheus operators for all namespaces", "one", format_value(at_large))

"""Faults of the layer `monitoring` in its own parts: ports, volumes, memory, webhooks, a second operator."""

import re
from collections.abc import Iterable

from gpustack.ask.judge import Result, as_text, ok
from gpustack.ask.view import View
from gpustack.command import Command, Prose
from gpustack.doctor.check import check, names
from gpustack.doctor.checks.platform_namespaces import namespaces
from gpustack.probes.kubernetes.admission import MUTATING, VALIDATING, Webhook
from gpustack.probes.kubernetes.pod_states import MONITORING_PODS, PENDING_PODS, Container, PodState
from gpustack.probes.kubernetes.storage import CLAIMS, CLASSES, PROVISIONER
from gpustack.probes.kubernetes.workloads import MONITORING_DEPLOYMENTS
from gpustack.probes.monitoring.prometheus_rights import OPERATORS
from gpustack.probes.monitoring.workloads import GROUP, PROMETHEUSES
from gpustack.probes.network.addresses import LISTENERS, PROGRAMS, is_taken
from gpustack.probes.proof import SERVICES

OUT_OF_MEMORY = "OOMKilled"
RECENT = 3600
"""Seconds for which a run that ended counts: a container that has run since then is well."""
LOCAL_PATH = "rancher.io/local-path"
DOWN = "not running"
# Of the condition Reconciled: prometheus-operator pkg/operator, CheckStorageClass.
NO_CLASS = re.compile(r'storage class "([^"]+)" does not exist')


def out_of_memory(here: View, pods: Iterable[PodState], container: str = "") -> str:
    """Which container the kernel killed for its memory, lately or without coming back; empty for none."""
    for pod in pods:
        for one in pod.containers:
            if container in one.name and OUT_OF_MEMORY in (one.why, one.last) and is_recent(here, one):
                return f"{one.name} of {pod.name}: {OUT_OF_MEMORY}"
    return ""


def is_recent(here: View, one: Container) -> bool:
    ended = one.ended
    return not one.ready or (ended is not None and (here.taken - ended).total_seconds() < RECENT)


def units_on_port(here: View, port: int) -> list[str]:
    """Units of the host that have a port, and are no pod."""
    return [one.unit for one in here[PROGRAMS] if one.port == port and one.unit != "pod"]


@check("mon-node-exporter-port-host-process", LISTENERS, PROGRAMS)
def port_of_a_host(here: View) -> Result:
    """A program outside of pods uses the port."""
    port = here.spec.monitoring.node_exporter_port
    what = f"port {port}"
    if not here.spec.monitoring.enabled:
        return ok(what, "not needed: no monitoring")
    if not is_taken(here[LISTENERS], port):
        return ok(what, "free")
    found = units_on_port(here, port)
    if not found:
        return ok(what, "used by a pod")
    return Result(
        what, "free for node-exporter", as_text(found), names=names(UNIT=[unit for unit in found if unit != "-"])
    )


@check("mon-node-exporter-port-other-pod", PENDING_PODS)
def port_of_a_pod(here: View) -> Result:
    """gpustack's node-exporter waits for a port that another pod of the node uses."""
    ours = [pod for pod in here[PENDING_PODS] if pod.namespace in namespaces(here)]
    waiting = [pod for pod in ours if "node-exporter" in f"{pod.app} {pod.name}"]
    found = [f"{pod}: {pod.unscheduled}" for pod in waiting if "free ports" in pod.unscheduled]
    return Result(
        "node exporters", "scheduled", as_text(found[:3]) if found else "none waiting for a port", ok=not found
    )


@check("mon-prometheus-pvc-pending", CLAIMS, CLASSES, PROVISIONER, PROMETHEUSES)
def claim_pending(here: View) -> Result:
    """A claim that waits only for its first consumer does not count. If the class does not exist, the operator creates
    no claim."""
    classes = {one.name: one for one in here[CLASSES]}
    default = next((one.name for one in classes.values() if one.default), None)
    provisioner = here[PROVISIONER].get("local-path-provisioner")
    found = []
    for claim in here[CLAIMS]:
        name = default if claim.storage_class is None else claim.storage_class
        if claim.phase != "Pending":
            continue
        if name not in classes:
            found.append(f"{claim.name}: no {f'class {name}' if name else 'default class'}")
        elif classes[name].provisioner == LOCAL_PATH and (provisioner is None or not provisioner.ready):
            found.append(f"{claim.name}: provisioner of {name} not running")
    if not found:
        made = (here[PROMETHEUSES] or {}).items()
        found = [f"{name}: no class {refused[1]}" for name, one in made if (refused := NO_CLASS.search(one.why))]
    return Result(
        "volumes of the monitoring", "bound", as_text(found) if found else "none without a provisioner", ok=not found
    )


@check("mon-prometheus-oom", MONITORING_PODS)
def prometheus_oom(here: View) -> Result:
    pods = [pod for pod in here[MONITORING_PODS] if pod.name.startswith("prometheus-")]
    found = out_of_memory(here, pods, "prometheus")
    return Result("Prometheus", "within its memory limit", found or "not OOM-killed", ok=not found)


def hooks(here: View) -> list[Webhook]:
    """Those that can keep objects of the monitoring out."""
    return [one for one in (*here[VALIDATING], *here[MUTATING]) if GROUP in one.groups and one.must and one.service]


def service_of_ours(here: View) -> str:
    return f"{here.spec.monitoring.namespace}/{here.spec.monitoring.release}-operator"


def find_deserted(here: View) -> list[str]:
    """Webhooks whose Service is not there, or is that of an operator that does not run."""
    services = {f"{one.namespace}/{one.name}" for one in here[SERVICES]}
    operator = f"{here.spec.monitoring.release}-operator"
    ours = here[MONITORING_DEPLOYMENTS].get(operator)
    at = service_of_ours(here)
    found = [f"{one.name}: no Service {one.service}" for one in hooks(here) if one.service not in services]
    down = ours is None or not ours.ready
    return found + [f"{one.name}: {operator} {DOWN}" for one in hooks(here) if one.service == at and down]


@check("mon-admission-webhook-down", VALIDATING, MUTATING, SERVICES, MONITORING_DEPLOYMENTS)
def webhook_down(here: View) -> Result:
    """Only webhooks with failurePolicy Fail."""
    found = find_deserted(here) + [f"{one.name}: no certificate" for one in hooks(here) if not one.signed]
    services = {f"{one.namespace}/{one.name}" for one in here[SERVICES]} | {service_of_ours(here)}
    left = [one.name.partition("/")[0] for one in hooks(here) if one.service not in services]
    what = "webhooks of the monitoring"
    if not found:
        return ok(what, "responding" if hooks(here) else "none")
    if left:
        person = Prose("gpustack did not make {}: delete it if it is not needed", as_text(left))
        return Result(what, "responding", as_text(found), names=names(NAME=left), person=person)
    if not any(one.endswith(DOWN) for one in found):
        return Result(what, "responding", as_text(found))
    space, _, operator = service_of_ours(here).partition("/")
    start = Command("kubectl", "-n", space, "scale", "deployment", operator, "--replicas", "1")
    person = Prose("start the operator first, because helm upgrade needs the webhook: {}", start)
    return Result(what, "responding", as_text(found), person=person)


@check("mon-admission-webhook-down guard", VALIDATING, MUTATING, SERVICES, MONITORING_DEPLOYMENTS)
def webhook_deserted(here: View) -> Result:
    found = find_deserted(here)
    fine = "a Service with a running operator"
    return Result("backend of the webhook", "a running operator", as_text(found) if found else fine, ok=not found)


@check("mon-two-operators-fight", OPERATORS)
def two_operators(here: View) -> Result:
    """More than one running operator watches all namespaces."""
    running = [one for one in here[OPERATORS] if one.running]
    at_large = [f"{one.namespace}/{one.name}" for one in running if not one.narrowed]
    if len(at_large) < 2:
        return ok("Prometheus operators", as_text([f"{one.namespace}/{one.name}" for one in running]))
    return Result("Prometheus operators for all namespaces", "one", as_text(at_large))


CHECKS = (port_of_a_host, port_of_a_pod, claim_pending, prometheus_oom, webhook_down, webhook_deserted, two_operators)

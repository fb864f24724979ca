"""Serve: `gpustack serve` in the cluster, if serve.enabled asks for it.

It answers over HTTP what each GPU and pod does, for autoscalers and scripts, at gpustack-serve in the namespace of the
monitoring. It reads Prometheus and nothing else: its ServiceAccount has no rights, and its pod no token. There is no
login, so whoever reaches the Service can read names of pods and nodes. With serve.enabled: false this step removes it.

Its image is yours: none is published (docs/serve.md has the command that builds it).

Settings: serve, monitoring. Sources: docs/serve.md; Kubernetes' documentation of Deployments, probes and Pod Security
Standards.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from gpustack.ask.judge import Result
from gpustack.ask.probe import FactUnavailable, Probe
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.config.serve_image import PORT, select_image
from gpustack.probes.kubernetes.applied_objects import DEPLOYMENTS, SERVICE_ACCOUNTS, SERVICES, AppliedObject
from gpustack.probes.kubernetes.workloads import MONITORING_DEPLOYMENTS
from gpustack.steps.applied_objects import Object, build_object, find_object_mismatch
from gpustack.steps.monitoring.values import format_prometheus_url
from gpustack.steps.step import Step
from gpustack.steps.tolerations import build_platform_tolerations
from gpustack.steps.workloads import find_stopped_deployment

NAME = "gpustack-serve"
LABELS = {"app.kubernetes.io/name": NAME}
HEALTH = "/healthz"
USER_ID = 65532
# The Deployment is the last to go: while it is there, `leftovers` finds the others.
KINDS: Mapping[str, tuple[str, Probe[Mapping[str, AppliedObject] | None]]] = {
    "ServiceAccount": ("v1", SERVICE_ACCOUNTS),
    "Service": ("v1", SERVICES),
    "Deployment": ("apps/v1", DEPLOYMENTS),
}


def build_objects(view: View) -> list[Object]:
    """Build the objects that are to exist, of each kind one."""
    if not view.spec.serve.enabled:
        return []
    port = {"name": "http", "port": PORT, "targetPort": "http", "protocol": "TCP"}
    template = {"metadata": {"labels": LABELS}, "spec": build_pod(view)}
    contents: Mapping[str, Object] = {
        "ServiceAccount": {"automountServiceAccountToken": False},
        "Service": {"spec": {"type": "ClusterIP", "selector": LABELS, "ports": [port]}},
        "Deployment": {"spec": {"replicas": 1, "selector": {"matchLabels": LABELS}, "template": template}},
    }
    space = view.spec.monitoring.namespace
    return [
        build_object(kind, api, space, NAME, {"labels": LABELS}, contents[kind]) for kind, (api, _) in KINDS.items()
    ]


def build_pod(view: View) -> dict[str, Any]:
    """Build the pod as the Pod Security Standard `restricted` requires it, and with nothing to write to.

    Readiness is that of the process: while Prometheus is down, it answers with the reason. A busy one answers 503 on
    every path (gpustack/serve/server.py), so it is alive as long as one of twelve probes gets through.
    """
    prometheus = format_prometheus_url(view.snapshot.inventory)
    names = [word for name in list_service_names(view) for word in ("--allow-host", name)]
    health = {"httpGet": {"path": HEALTH, "port": "http"}, "periodSeconds": 10, "timeoutSeconds": 5}
    container = {
        "name": "serve",
        "image": select_image(view.spec),
        "args": ["serve", "--prometheus", prometheus, "--listen", f"0.0.0.0:{PORT}", *names],
        "ports": [{"name": "http", "containerPort": PORT, "protocol": "TCP"}],
        "readinessProbe": {**health, "failureThreshold": 3},
        "livenessProbe": {**health, "failureThreshold": 12},
        "resources": {"requests": {"cpu": "20m", "memory": "96Mi"}, "limits": {"memory": "384Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    return {
        "serviceAccountName": NAME,
        "automountServiceAccountToken": False,
        # Variables of every Service of the namespace; options of gpustack are named GPUSTACK_… too.
        "enableServiceLinks": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER_ID,
            "runAsGroup": USER_ID,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        **({"tolerations": tolerations} if (tolerations := build_platform_tolerations(view.spec)) else {}),
        "containers": [container],
    }


def list_service_names(view: View) -> tuple[str, ...]:
    """List the names of the Service, from the shortest on, as pods of any namespace may call it."""
    space = view.spec.monitoring.namespace
    service = f"{NAME}.{space}.svc"
    return NAME, f"{NAME}.{space}", service, f"{service}.{view.spec.kubernetes.dns_domain}"


def owns_object(view: View, kind: str) -> bool:
    return f"{view.spec.monitoring.namespace}/{NAME}" in (view[KINDS[kind][1]] or {})


def build_variables(view: View) -> dict[str, Any]:
    """Build what the role reads. `objects` is empty where the name is known to be somebody else's; `dropped` are
    objects of gpustack to be deleted, as KIND NAMESPACE NAME."""
    space = view.spec.monitoring.namespace
    objects, removals = build_objects(view), list[str]()
    with suppress(FactUnavailable):
        if foreign(view):
            objects = []
        if not view.spec.serve.enabled:
            removals = [f"{kind} {space} {NAME}" for kind in KINDS if owns_object(view, kind)]
    return {"objects": objects, "dropped": removals}


def foreign(view: View) -> Result | None:
    """The Deployment of this name, if there is one, is gpustack's: another one would be overwritten."""
    if not view.spec.serve.enabled or NAME not in view[MONITORING_DEPLOYMENTS] or owns_object(view, "Deployment"):
        return None
    space = view.spec.monitoring.namespace
    hint = Command("kubectl", "-n", space, "delete", "deployment", NAME, note="if it is not needed")
    return Result(f"Deployment {space}/{NAME}", "gpustack's", "another's", cure="operator", hint=hint)


def objects_applied(view: View) -> Result | None:
    """ServiceAccount, Service and Deployment exist and match this release and the spec."""
    if not view.spec.serve.enabled or foreign(view):
        return None
    for document in build_objects(view):
        kind = document["kind"]
        if result := find_object_mismatch(kind, [document], view[KINDS[kind][1]]):
            return result
    return None


def available(view: View) -> Result | None:
    """The pod of gpustack serve is running and answers."""
    if not view.spec.serve.enabled or foreign(view):
        return None
    return find_stopped_deployment(NAME, view[MONITORING_DEPLOYMENTS])


def leftovers(view: View) -> Result | None:
    """If serve.enabled is false, nothing of gpustack serve is left in the cluster."""
    if view.spec.serve.enabled or NAME not in view[MONITORING_DEPLOYMENTS] or not owns_object(view, "Deployment"):
        return None
    return Result(f"{NAME} without serve.enabled", "nothing", "a Deployment of gpustack")


STEP = Step(
    "serve",
    scope="cluster",
    probes=(*(probe for _, probe in KINDS.values()), MONITORING_DEPLOYMENTS),
    checks=(foreign, objects_applied, available, leftovers),
    needs=("monitoring",),
    settle_seconds=120,
    pulls=True,
    is_enabled=lambda inventory: inventory.spec.monitoring.enabled,
)

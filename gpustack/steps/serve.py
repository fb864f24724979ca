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
from gpustack.config.host import Host
from gpustack.config.inventory import Inventory
from gpustack.config.served import PORT, image_of
from gpustack.probes.kubernetes.applied import DEPLOYMENTS, SERVICE_ACCOUNTS, SERVICES, Applied
from gpustack.probes.kubernetes.nodes import add_reason
from gpustack.probes.kubernetes.workloads import MONITORING_DEPLOYMENTS
from gpustack.steps.applied import Object, differing, stamped
from gpustack.steps.control_plane.step import control_planes
from gpustack.steps.monitoring.values import prometheus_url
from gpustack.steps.step import Step

NAME = "gpustack-serve"
LABELS = {"app.kubernetes.io/name": NAME}
HEALTH = "/healthz"
NOBODY = 65532
# The Deployment is the last to go: while it is there, `leftovers` finds the others.
KINDS: Mapping[str, tuple[str, Probe[Mapping[str, Applied] | None]]] = {
    "ServiceAccount": ("v1", SERVICE_ACCOUNTS),
    "Service": ("v1", SERVICES),
    "Deployment": ("apps/v1", DEPLOYMENTS),
}


def applies(inventory: Inventory, host: Host) -> bool:
    return inventory.spec.monitoring.enabled and control_planes(inventory, host)


def objects(here: View) -> list[Object]:
    """Those that are wanted, of each kind one."""
    if not here.spec.serve.enabled:
        return []
    port = {"name": "http", "port": PORT, "targetPort": "http", "protocol": "TCP"}
    template = {"metadata": {"labels": LABELS}, "spec": pod(here)}
    contents: Mapping[str, Object] = {
        "ServiceAccount": {"automountServiceAccountToken": False},
        "Service": {"spec": {"type": "ClusterIP", "selector": LABELS, "ports": [port]}},
        "Deployment": {"spec": {"replicas": 1, "selector": {"matchLabels": LABELS}, "template": template}},
    }
    space = here.spec.monitoring.namespace
    return [stamped(kind, api, space, NAME, {"labels": LABELS}, contents[kind]) for kind, (api, _) in KINDS.items()]


def pod(here: View) -> dict[str, Any]:
    """As the Pod Security Standard `restricted` wants it, and with nothing to write to.

    Readiness is that of the process: while Prometheus is down, it answers with the reason. A busy one answers 503 on
    every path (gpustack/serve/server.py), so it is alive as long as one of twelve probes gets through."""
    prometheus = prometheus_url(here.snapshot.inventory)
    names = [word for name in list_names(here) for word in ("--allow-host", name)]
    health = {"httpGet": {"path": HEALTH, "port": "http"}, "periodSeconds": 10, "timeoutSeconds": 5}
    container = {
        "name": "serve",
        "image": image_of(here.spec),
        "args": [
            "serve",
            "--prometheus",
            prometheus,
            "--listen",
            f"0.0.0.0:{PORT}",
            *names,
        ],
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
            "runAsUser": NOBODY,
            "runAsGroup": NOBODY,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
    }


def list_names(here: View) -> tuple[str, ...]:
    """Return the names of the Service, from the shortest on, as pods of any namespace may call it."""
    space = here.spec.monitoring.namespace
    service = f"{NAME}.{space}.svc"
    return NAME, f"{NAME}.{space}", service, f"{service}.{here.spec.kubernetes.dns_domain}"


def ours(here: View, kind: str) -> bool:
    return f"{here.spec.monitoring.namespace}/{NAME}" in (here[KINDS[kind][1]] or {})


def wanted(here: View) -> dict[str, Any]:
    """None of `objects` where the name is known to be somebody else's; `dropped` are to be deleted: those of ours that
    are known of, as KIND NAMESPACE NAME."""
    space = here.spec.monitoring.namespace
    brought, dropped = objects(here), list[str]()
    with suppress(FactUnavailable):
        if foreign(here):
            brought = []
        if not here.spec.serve.enabled:
            dropped = [f"{kind} {space} {NAME}" for kind in KINDS if ours(here, kind)]
    return {"objects": brought, "dropped": dropped}


def foreign(here: View) -> Result | None:
    """No Deployment of this name is somebody else's: it would be overwritten."""
    if not here.spec.serve.enabled or NAME not in here[MONITORING_DEPLOYMENTS] or ours(here, "Deployment"):
        return None
    space = here.spec.monitoring.namespace
    hint = Command("kubectl", "-n", space, "delete", "deployment", NAME, note="if it is not needed")
    return Result(f"Deployment {space}/{NAME}", "gpustack's", "another's", cure="operator", hint=hint)


def brought(here: View) -> Result | None:
    """ServiceAccount, Service and Deployment exist and match this release and the spec."""
    if not here.spec.serve.enabled or foreign(here):
        return None
    for one in objects(here):
        kind = one["kind"]
        if found := differing(kind, [one], here[KINDS[kind][1]]):
            return found
    return None


def available(here: View) -> Result | None:
    """Its pod is running and answers."""
    if not here.spec.serve.enabled or foreign(here):
        return None
    found = here[MONITORING_DEPLOYMENTS].get(NAME)
    if found is None or not found.wanted:
        return Result(NAME, "running", "scaled to 0" if found else "nothing")
    return None if found.runs else Result(NAME, "running", add_reason("not running", found.refused), passing=True)


def leftovers(here: View) -> Result | None:
    """With serve.enabled: false, nothing of it is left in the cluster."""
    if here.spec.serve.enabled or NAME not in here[MONITORING_DEPLOYMENTS] or not ours(here, "Deployment"):
        return None
    return Result(f"{NAME} without serve.enabled", "nothing", "a Deployment of gpustack")


STEP = Step(
    "serve",
    scope="cluster",
    probes=(*(probe for _, probe in KINDS.values()), MONITORING_DEPLOYMENTS),
    checks=(foreign, brought, available, leftovers),
    needs=("monitoring",),
    settle=120,
    pulls=True,
    applies=applies,
)

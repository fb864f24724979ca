"""Extensions of the API without a server: API groups that are not available, and webhooks without a running pod."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.state import AbnormalState, Observer, Severity
from gpustack.probes.kubernetes.admission import MUTATING, VALIDATING, Webhook
from gpustack.probes.kubernetes.api_services import ENDPOINTS, UNAVAILABLE_APIS
from gpustack.probes.proof import SERVICES

USUAL_RESTART = timedelta(seconds=60)
"""The time in which a server is usually back whose pod was replaced."""
KINDS = {VALIDATING: "validatingwebhookconfiguration", MUTATING: "mutatingwebhookconfiguration"}
EXTERNAL = "ExternalName"
"""The type of a Service that is a name outside the cluster, and has no endpoints."""


def is_recent(view: View, onset: datetime | None) -> bool:
    return onset is not None and view.started_at - onset < USUAL_RESTART


def observe_api_services(view: View) -> Iterator[AbnormalState]:
    for api in view[UNAVAILABLE_APIS]:
        yield AbnormalState(
            "api-unavailable",
            "risk" if is_recent(view, api.onset) else "broken",
            (CLUSTER,),
            (f"apiservice {api.name}",),
            api.message,
            Command("kubectl", "describe", "apiservice", api.name),
            api.onset,
        )


def observe_webhooks(view: View) -> Iterator[AbnormalState]:
    """List webhooks behind which nothing responds. Where an answer is required, the API server refuses the objects."""
    services = {f"{service.namespace}/{service.name}": service for service in view[SERVICES]}
    for probe, kind in KINDS.items():
        for webhook in view[probe]:
            service = services.get(webhook.service)
            if not webhook.service or (service and service.kind == EXTERNAL):
                continue
            if not service:
                yield build_state(kind, webhook, "does not exist", None, "broken")
            elif not (endpoints := view[ENDPOINTS].get(webhook.service)) or not endpoints.ready:
                changed_at = endpoints.changed_at if endpoints else None
                severity: Severity = "risk" if is_recent(view, changed_at) else "broken"
                yield build_state(kind, webhook, "has no ready endpoint", changed_at, severity)


def build_state(kind: str, webhook: Webhook, trouble: str, onset: datetime | None, severity: Severity) -> AbnormalState:
    configuration, _, name = webhook.name.partition("/")
    objects = ", ".join(webhook.resources or webhook.groups)
    effect = f"refuses {objects}" if webhook.is_required else f"accepts {objects} without asking it"
    return AbnormalState(
        "webhook-unanswered",
        severity if webhook.is_required else "risk",
        (CLUSTER,),
        (f"{kind} {configuration}, webhook {name}",),
        f"its Service {webhook.service} {trouble}, so that the API server {effect}",
        Command("kubectl", "get", kind, configuration, "-o", "yaml"),
        onset,
    )


OBSERVERS = (
    Observer("api-services", "Servers of API groups", observe_api_services, (UNAVAILABLE_APIS,)),
    Observer("webhooks", "Webhooks of the API server", observe_webhooks, (VALIDATING, MUTATING, SERVICES, ENDPOINTS)),
)

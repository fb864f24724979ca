"""Webhooks that the API server asks before it takes an object, and Services with pods behind them.

Kinds: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers.
"""

from dataclasses import dataclass

from gpustack.ask.probe import Answer, Api, Probe
from gpustack.probes.kubernetes.nodes import entries

PATH = "/apis/admissionregistration.k8s.io/v1"


@dataclass(frozen=True)
class Webhook:
    """`service` is namespace/name, empty for one that a URL leads to; `groups` are those of the objects that it judges;
    `must`: without its answer the object is refused. `signed`: somebody put in the certificate by which it is known."""

    name: str
    service: str
    groups: tuple[str, ...]
    must: bool
    signed: bool


def webhooks(answer: Answer) -> tuple[Webhook, ...]:
    found = []
    for entry in entries(answer):
        for one in entry.get("webhooks") or ():
            client = one["clientConfig"]
            at = client.get("service") or {}
            found.append(
                Webhook(
                    f"{entry['metadata']['name']}/{one['name']}",
                    f"{at['namespace']}/{at['name']}" if at else "",
                    tuple(sorted({group for rule in one.get("rules") or () for group in rule.get("apiGroups") or ()})),
                    one.get("failurePolicy", "Fail") == "Fail",
                    bool(client.get("caBundle")),
                )
            )
    return tuple(found)


KEEP = (
    "metadata.name", "webhooks.name", "webhooks.clientConfig", "webhooks.rules.apiGroups", "webhooks.failurePolicy"
)  # fmt: skip
VALIDATING = Probe("admission.validating", Api(f"{PATH}/validatingwebhookconfigurations", KEEP), webhooks)
MUTATING = Probe("admission.mutating", Api(f"{PATH}/mutatingwebhookconfigurations", KEEP), webhooks)

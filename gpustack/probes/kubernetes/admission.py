"""Webhooks that the API server asks before it accepts an object, and Services with pods behind them.

Kinds: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gpustack.ask.probe import Answer, Api, Probe
from gpustack.probes.kubernetes.nodes import list_objects

PATH = "/apis/admissionregistration.k8s.io/v1"


@dataclass(frozen=True)
class Webhook:
    """Describe a webhook.

    `service` is namespace/name, empty for one at a URL; `groups` are those of the objects that it judges, and
    `resources` are their names as kubectl takes them;
    `is_required`: without its answer the object is refused. `has_ca_bundle`: the certificate by which it is verified is
    set.
    """

    name: str
    service: str
    groups: tuple[str, ...]
    is_required: bool
    has_ca_bundle: bool
    resources: tuple[str, ...] = ()


def parse_webhooks(answer: Answer) -> tuple[Webhook, ...]:
    webhooks = []
    for entry in list_objects(answer):
        for webhook in entry.get("webhooks") or ():
            client = webhook["clientConfig"]
            service = client.get("service") or {}
            webhooks.append(
                Webhook(
                    f"{entry['metadata']['name']}/{webhook['name']}",
                    f"{service['namespace']}/{service['name']}" if service else "",
                    tuple(
                        sorted({group for rule in webhook.get("rules") or () for group in rule.get("apiGroups") or ()})
                    ),
                    webhook.get("failurePolicy", "Fail") == "Fail",
                    bool(client.get("caBundle")),
                    tuple(sorted(set(list_resources(webhook)))),
                )
            )
    return tuple(webhooks)


def list_resources(webhook: Any) -> Iterator[str]:
    """List the resources of the rules of a webhook, as `pods` and `prometheusrules.monitoring.coreos.com`."""
    for rule in webhook.get("rules") or ():
        for group in rule.get("apiGroups") or ():
            yield from (f"{resource}.{group}".rstrip(".") for resource in rule.get("resources") or ())


FIELDS = (
    "metadata.name", "webhooks.name", "webhooks.clientConfig", "webhooks.rules.apiGroups", "webhooks.rules.resources",
    "webhooks.failurePolicy",
)  # fmt: skip
VALIDATING = Probe("admission.validating", Api(f"{PATH}/validatingwebhookconfigurations", FIELDS), parse_webhooks)
MUTATING = Probe("admission.mutating", Api(f"{PATH}/mutatingwebhookconfigurations", FIELDS), parse_webhooks)

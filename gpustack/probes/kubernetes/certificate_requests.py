"""CertificateSigningRequests that have no certificate, such as those of kubelets for the certificate that they show.

Nothing in Kubernetes approves those of the signer kubernetes.io/kubelet-serving
(https://kubernetes.io/docs/reference/access-authn-authz/kubelet-tls-bootstrapping). The API server validates no name of
a request (kubernetes/kubernetes pkg/apis/certificates/validation).
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gpustack.ask.api_list import read_items
from gpustack.ask.message import shorten_message
from gpustack.ask.probe import Answer, Api, Probe
from gpustack.ask.prune import keep_items
from gpustack.probes.kubernetes.names import PATH_SEGMENT, require_names
from gpustack.probes.kubernetes.nodes import load_body
from gpustack.probes.parsing import parse_optional_time

REFUSALS, APPROVAL = ("Denied", "Failed"), "Approved"


@dataclass(frozen=True)
class CertificateRequest:
    """Describe a request without a certificate. `refusal` are the words of who denied it, or of the signer that failed,
    empty where it waits. `approved_at` is when somebody approved it, None where nobody did."""

    name: str
    signer: str
    user: str
    created_at: datetime | None
    refusal: str
    approved_at: datetime | None = None


def parse_certificate_requests(answer: Answer) -> tuple[CertificateRequest, ...]:
    requests = []
    for entry in read_items(load_body(answer)):
        require_names(entry, PATH_SEGMENT)
        metadata, spec, conditions = entry["metadata"], entry["spec"], entry.get("status", {}).get("conditions") or ()
        refusals = [condition for condition in conditions if condition["type"] in REFUSALS]
        approved_at = None if refusals else find_approval(entry)
        if refusals or approved_at or not conditions:
            words = [f"{refusal['type']}: {refusal.get('message', '')}".removesuffix(": ") for refusal in refusals]
            created_at = parse_optional_time(metadata.get("creationTimestamp"))
            signer, user = spec["signerName"], spec.get("username", "")
            refusal = shorten_message("; ".join(words))
            request = CertificateRequest(metadata["name"], signer, user, created_at, refusal, approved_at)
            requests.append(request)
    return tuple(requests)


def find_approval(entry: Any) -> datetime | None:
    """Find when a request was approved that has no certificate. A recording of an older release has no times of
    conditions, and no certificates either."""
    status = entry.get("status", {})
    if status.get("certificate"):
        return None
    approvals = (condition for condition in status.get("conditions") or () if condition["type"] == APPROVAL)
    return next((parse_optional_time(approval.get("lastUpdateTime")) for approval in approvals), None)


def prune_requests(text: str) -> str:
    """Keep the requests without a certificate."""
    return keep_items(text, lambda entry: not entry.get("status", {}).get("certificate"))


CERTIFICATE_REQUESTS = Probe(
    "api.certificate-requests",
    Api(
        "/apis/certificates.k8s.io/v1/certificatesigningrequests?limit=500",
        (
            "metadata.name", "metadata.creationTimestamp", "spec.signerName", "spec.username",
            "status.conditions.type", "status.conditions.message", "status.conditions.lastUpdateTime",
            "status.certificate",
        ),
    ),
    parse_certificate_requests,
    pruner=prune_requests,
)  # fmt: skip

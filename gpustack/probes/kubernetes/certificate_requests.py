"""CertificateSigningRequests that have no certificate, such as those of kubelets for the certificate that they show.

Nothing in Kubernetes approves those of the signer kubernetes.io/kubelet-serving
(https://kubernetes.io/docs/reference/access-authn-authz/kubelet-tls-bootstrapping). The API server validates no name of
a request (kubernetes/kubernetes pkg/apis/certificates/validation).
"""

from dataclasses import dataclass
from datetime import datetime

from gpustack.ask.api_list import read_items
from gpustack.ask.message import shorten_message
from gpustack.ask.probe import Answer, Api, Probe
from gpustack.probes.kubernetes.names import PATH_SEGMENT, require_names
from gpustack.probes.kubernetes.nodes import load_body
from gpustack.probes.parsing import parse_optional_time

REFUSALS = ("Denied", "Failed")


@dataclass(frozen=True)
class CertificateRequest:
    """Describe a request without a certificate. `refusal` are the words of who denied it, or of the signer that failed,
    empty where it waits."""

    name: str
    signer: str
    user: str
    created_at: datetime | None
    refusal: str


def parse_certificate_requests(answer: Answer) -> tuple[CertificateRequest, ...]:
    requests = []
    for entry in read_items(load_body(answer)):
        require_names(entry, PATH_SEGMENT)
        metadata, spec, conditions = entry["metadata"], entry["spec"], entry.get("status", {}).get("conditions") or ()
        refusals = [condition for condition in conditions if condition["type"] in REFUSALS]
        if refusals or not conditions:
            words = [f"{refusal['type']}: {refusal.get('message', '')}".removesuffix(": ") for refusal in refusals]
            created_at = parse_optional_time(metadata.get("creationTimestamp"))
            signer, user = spec["signerName"], spec.get("username", "")
            request = CertificateRequest(metadata["name"], signer, user, created_at, shorten_message("; ".join(words)))
            requests.append(request)
    return tuple(requests)


CERTIFICATE_REQUESTS = Probe(
    "api.certificate-requests",
    Api(
        "/apis/certificates.k8s.io/v1/certificatesigningrequests?limit=500",
        (
            "metadata.name", "metadata.creationTimestamp", "spec.signerName", "spec.username",
            "status.conditions.type", "status.conditions.message",
        ),
    ),
    parse_certificate_requests,
)  # fmt: skip

"""Requests for certificates that nobody approved, that no signer answers, or that were refused."""

from collections.abc import Iterator
from datetime import timedelta

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.state import AbnormalState, Observer, Severity
from gpustack.probes.kubernetes.certificate_requests import CERTIFICATE_REQUESTS, CertificateRequest

USUAL_APPROVAL = timedelta(minutes=5)
USUAL_ISSUE = timedelta(minutes=1)
"""The time within which a signer has issued a certificate: that of Kubernetes watches the requests."""
OWN_SIGNERS = "kubernetes.io/"
"""The beginning of the signers of Kubernetes itself."""


def observe_requests(view: View) -> Iterator[AbnormalState]:
    """List requests without a certificate. A kubelet makes another one every few minutes, which is the same state."""
    for request in view[CERTIFICATE_REQUESTS]:
        since, limit = (
            (request.approved_at, USUAL_ISSUE) if request.approved_at else (request.created_at, USUAL_APPROVAL)
        )
        is_young = bool(since and view.started_at - since < limit)
        if request.refusal or not is_young:
            severity: Severity = "risk" if request.signer.startswith(OWN_SIGNERS) else "note"
            yield AbnormalState(
                "certificate-pending", severity, (CLUSTER,), (f"certificate request of {request.user}",),
                f"{describe_wait(request)} (signer {request.signer}, request {request.name})",
                Command("kubectl", "describe", "csr", request.name), since,
                topic=f"{request.signer} {request.user} {bool(request.approved_at)}",
            )  # fmt: skip


def describe_wait(request: CertificateRequest) -> str:
    """Describe what a request waits for. The controller manager signs for Kubernetes' own signers."""
    if request.refusal or not request.approved_at:
        return request.refusal or "nobody approved it"
    signer = "the controller manager" if request.signer.startswith(OWN_SIGNERS) else "its signer"
    return f"it is approved, and {signer} has not issued the certificate"


OBSERVERS = (Observer("certificate-requests", "Requests for certificates", observe_requests, (CERTIFICATE_REQUESTS,)),)

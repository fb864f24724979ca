"""Requests for certificates that nobody approved, that no signer answers, or that were refused."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.state import AbnormalState, Observer, Severity
from gpustack.probes.kubernetes.certificate_requests import CERTIFICATE_REQUESTS, CertificateRequest

USUAL_APPROVAL = timedelta(minutes=5)
MACHINE_SIGNERS = ("kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet")
"""Signers of kubelets: a program approves their requests at once, or none does."""
USUAL_ISSUE = timedelta(minutes=1)
"""The time within which a program approves a request, or issues a certificate: it watches the requests."""
OWN_SIGNERS = "kubernetes.io/"
"""The beginning of the signers of Kubernetes itself."""


def observe_requests(view: View) -> Iterator[AbnormalState]:
    """List requests without a certificate. A kubelet makes another one every few minutes, which is the same state."""
    for request in view[CERTIFICATE_REQUESTS]:
        wait_start, limit = find_deadline(request)
        is_young = bool(wait_start and view.started_at - wait_start < limit)
        if request.refusal or not is_young:
            severity: Severity = "risk" if request.signer.startswith(OWN_SIGNERS) else "note"
            yield AbnormalState(
                "certificate-pending", severity, (CLUSTER,), (f"certificate request of {request.user}",),
                f"{describe_wait(request)} (signer {request.signer}, request {request.name})",
                Command("kubectl", "describe", "csr", request.name), wait_start,
                topic=f"{request.signer} {request.user} {bool(request.approved_at)}",
            )  # fmt: skip


def find_deadline(request: CertificateRequest) -> tuple[datetime | None, timedelta]:
    """Find since when a request waits, and how long that is usual."""
    if request.approved_at:
        return request.approved_at, USUAL_ISSUE
    return request.created_at, USUAL_ISSUE if request.signer in MACHINE_SIGNERS else USUAL_APPROVAL


def describe_wait(request: CertificateRequest) -> str:
    """Describe what a request waits for. The controller manager signs for Kubernetes' own signers."""
    if request.refusal or not request.approved_at:
        return request.refusal or "nobody approved it"
    signer = "the controller manager" if request.signer.startswith(OWN_SIGNERS) else "its signer"
    return f"it is approved, and {signer} has not issued the certificate"


OBSERVERS = (Observer("certificate-requests", "Requests for certificates", observe_requests, (CERTIFICATE_REQUESTS,)),)

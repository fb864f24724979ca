"""Requests for certificates that nobody approved, or that were refused."""

from collections.abc import Iterator
from datetime import timedelta

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.state import AbnormalState, Observer, Severity
from gpustack.probes.kubernetes.certificate_requests import CERTIFICATE_REQUESTS

USUAL_APPROVAL = timedelta(minutes=5)
OWN_SIGNERS = "kubernetes.io/"
"""The beginning of the signers of Kubernetes itself."""


def observe_requests(view: View) -> Iterator[AbnormalState]:
    """List requests without a certificate. A kubelet makes another one every few minutes, which is the same state."""
    for request in view[CERTIFICATE_REQUESTS]:
        is_young = bool(request.created_at and view.started_at - request.created_at < USUAL_APPROVAL)
        if request.refusal or not is_young:
            severity: Severity = "risk" if request.signer.startswith(OWN_SIGNERS) else "note"
            message = f"{request.refusal or 'nobody approved it'} (signer {request.signer}, request {request.name})"
            yield AbnormalState(
                "certificate-pending", severity, (CLUSTER,), (f"certificate request of {request.user}",), message,
                Command("kubectl", "describe", "csr", request.name), request.created_at,
                topic=f"{request.signer} {request.user}",
            )  # fmt: skip


OBSERVERS = (Observer("certificate-requests", "Requests for certificates", observe_requests, (CERTIFICATE_REQUESTS,)),)

"""Answers that are no values: why there is none, as RFC 9457 (Problem Details for HTTP APIs) has it."""

from http import HTTPStatus

from gpustack.ask.redact.printable import plain
from gpustack.ask.redact.redact import redact
from gpustack.errors import GpustackError
from gpustack.serve.models import Problem

CONTENT_TYPE = "application/problem+json"
SHOWN = 80


class Refusal(Exception):
    """`reference` has a page of `gpustack explain`, `reason` is a sentence or two."""

    def __init__(self, status: HTTPStatus, reference: str, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reference, self.reason = status, reference, reason


def shown(text: str) -> str:
    """What a client sent, as it may stand in an answer."""
    return plain(text if len(text) <= SHOWN else f"{text[:SHOWN]}…")


def refuse_error(error: BaseException) -> Refusal:
    """Of asking Prometheus. Where it answered and has no GPU, that is an answer; all else may pass. Raises the error
    that is a bug of ours."""
    if not isinstance(error, GpustackError):
        raise error
    status = HTTPStatus.NOT_FOUND if error.reference == "gpu-no-series" else HTTPStatus.SERVICE_UNAVAILABLE
    reason = redact(plain(f"{error.message} {error.why}")).strip()
    return Refusal(status, error.reference, reason if reason.endswith(".") else f"{reason}.")


def refuse_late(seconds: float) -> Refusal:
    reason = f"Prometheus has not answered within {seconds:.0f} s."
    return Refusal(HTTPStatus.SERVICE_UNAVAILABLE, "serve-late", reason)


def refuse_missing(reference: str, reason: str) -> Refusal:
    return Refusal(HTTPStatus.NOT_FOUND, reference, plain(reason))


def problem(refusal: Refusal) -> str:
    status, detail = refusal.status, refusal.reason
    found = Problem(type="about:blank", title=status.phrase, status=status, detail=detail, reference=refusal.reference)
    return found.model_dump_json()
